"""Whole numbers, decimals and doubles in PostgreSQL: its casts fail, so every number is looked at before it is cast."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.postgres import arithmetic
from discreet.engines.postgres.arithmetic import used
from discreet.engines.postgres.rendering import Quotient
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.values import NUMBER_PATTERN, WHOLE_PATTERN

_LONGEST_NUMBER = 6_000
"""Characters of a text that is read as a number: with an exponent of four digits NUMERIC holds it."""
_FIRST_BEYOND, _LAST_BEFORE = 2**63, -(2**63) - 1
_BEYOND_DOUBLES = 2**1024 - 2**970
"""From here on the nearest double is infinite."""
_BELOW_DOUBLES = "2.4703282292062327209e-324"
"""Up to here, or a hair less, the nearest double is 0."""


class PostgresNumbers(Dialect):
    """The numbers of `Dialect`."""

    # -- Whole numbers

    def fitted(self, value: Sql, to: str) -> Sql:
        return s.cast(value, to)

    def narrowed(self, wide: Sql) -> Sql:
        low, high = s.whole(_LAST_BEFORE), s.whole(_FIRST_BEYOND)
        clamped = s.clamp(wide, low, high)  # a null becomes the lowest, and a null again
        return s.cast(s.call("nullif", s.call("nullif", clamped, low), high), "BIGINT")

    def divided_down(self, value: Sql, size: int) -> Sql:
        by = s.cast(s.whole(size), "BIGINT")

        def floor(number: Sql) -> Sql:
            toward_zero = s.binary(Quotient, number, by)
            below = s.less(s.call("mod", number, by), s.whole(0))
            return s.subtract(toward_zero, s.cast(below, "INTEGER"))

        return used(s.cast(value, "BIGINT"), floor)

    def wide_divided_down(self, wide: Sql, size: int) -> Sql:
        by = s.cast(s.whole(size), "HUGEINT")

        def floor(number: Sql) -> Sql:
            below = s.less(s.call("mod", number, by), s.whole(0))
            return s.subtract(s.call("div", number, by), s.cast(below, "INTEGER"))

        return used(wide, floor)

    def quotient(self, value: Sql, size: int, *, wide: bool) -> Sql:
        if wide:
            return s.call("div", value, s.cast(s.whole(size), "HUGEINT"))
        return s.binary(Quotient, value, s.whole(size))

    def shifted(self, place: Sql, bits: int) -> Sql:
        return s.call("div", place, s.cast(s.whole(1 << bits), "HUGEINT"))

    def whole_of_boolean(self, value: Sql) -> Sql:
        return s.cast(s.cast(value, "INTEGER"), "BIGINT")

    def whole_remainder(self, left: Sql, right: Sql) -> Sql:
        divisor = s.call("nullif", s.cast(right, "HUGEINT"), s.whole(0))
        return s.cast(s.call("mod", s.cast(left, "HUGEINT"), divisor), "BIGINT")

    # -- Doubles

    def is_finite(self, value: Sql) -> Sql:
        """NaN is more than infinity to PostgreSQL."""
        return s.both(s.less(s.double(float("-inf")), value), s.less(value, s.double(float("inf"))))

    def calculated(self, kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
        return arithmetic.calculated(kind, left, right)

    def remainder(self, left: Sql, right: Sql) -> Sql:
        return arithmetic.remainder(left, right)

    def real_function(self, function: str, value: Sql, least: float) -> Sql:
        def there(number: Sql) -> Sql:
            return s.choose(
                [(s.at_most(s.double(least), number), s.call(function, number))], s.null()
            )

        return used(value, there)

    def rounded_away(self, value: Sql) -> Sql:
        def away(number: Sql) -> Sql:
            whole = s.call("trunc", number)
            half = s.at_most(s.double(0.5), s.call("abs", s.subtract(number, whole)))
            return s.choose([(half, s.add(whole, s.call("sign", number)))], whole)

        return used(value, away)

    def nearest(self, value: Sql) -> Sql:
        low, high = s.double(-(2.0**63)), s.double(2.0**63)

        def inside(number: Sql) -> Sql:
            fits = s.both(s.at_most(low, number), s.less(number, high))
            return s.choose([(fits, s.cast(number, "BIGINT"))], s.null())

        return used(value, inside)

    def wide_of_whole_double(self, value: Sql) -> Sql:
        """A cast to NUMERIC keeps 15 digits, so it goes through 64 bits."""
        far = 10**30

        def exact(number: Sql) -> Sql:
            above = s.at_most(s.double(2.0**63), number)
            below = s.less(number, s.double(-(2.0**63)))
            whole = s.cast(s.cast(number, "BIGINT"), "HUGEINT")
            return s.choose([(above, s.whole(far)), (below, s.whole(-far))], whole)

        return used(value, exact)

    def rounded_product(self, value: Sql, scale: int) -> Sql:
        near = s.clamp(value, s.double(-(2.0**54)), s.double(2.0**54))
        return s.call("round", s.multiply(near, s.double(float(scale))))

    def scaled(self, distance: Sql, scale: float) -> Sql:
        product = s.multiply(distance, s.double(scale))
        if scale >= 1:
            return product
        tiny = s.less(s.call("abs", distance), s.double(1e-300 / scale))
        return s.choose([(tiny, s.double(0.0))], product)

    # -- Other numbers

    def double_of_text(self, value: Sql) -> Sql:
        short = r"[+-]?[0-9]{1,15}(\.[0-9]{0,15})?"

        def read(text: Sql) -> Sql:
            number = s.cast(text, "HUGEINT")
            return s.choose(
                [
                    (self.matches(text, short), s.cast(text, "DOUBLE")),
                    (_is_number(text, NUMBER_PATTERN, self), _double_of_decimal(number)),
                ],
                s.null(),
            )

        return used(value, read)

    def wide_of_text(self, value: Sql) -> Sql:
        def read(text: Sql) -> Sql:
            number = s.cast(text, "HUGEINT")
            return s.choose([(_is_number(text, WHOLE_PATTERN, self), number)], s.null())

        return used(value, read)

    def usual_integer(self, value: Sql) -> tuple[Sql, Sql]:
        return self.matches(value, "-?[0-9]{1,18}"), s.cast(value, "HUGEINT")

    def digits_of(self, value: Sql) -> Sql:
        def read(text: Sql) -> Sql:
            return s.choose([(self.matches(text, "[0-9]{1,18}"), s.cast(text, "BIGINT"))], s.null())

        return used(value, read)

    def double_of_decimal(self, value: Sql, type_: FieldType) -> Sql:
        return _double_of_decimal(value)

    def floor_of_decimal(self, value: Sql) -> Sql:
        return s.call("floor", value)

    def decimal_is(self, value: Sql, digit: int) -> Sql:
        return s.equal(value, s.whole(digit))


def finite_decimal(raw: Sql) -> Sql:
    odd = [s.cast(s.text(one), "HUGEINT") for one in ("NaN", "Infinity", "-Infinity")]
    return s.choose([(s.is_in(raw, odd), s.null())], raw)


def _is_number(text: Sql, pattern: str, dialect: Dialect) -> Sql:
    short = s.at_most(s.call("length", text), s.whole(_LONGEST_NUMBER))
    return s.both(short, dialect.matches(text, pattern))


def _double_of_decimal(value: Sql) -> Sql:
    size = s.call("abs", value)
    beyond = s.at_most(s.whole(_BEYOND_DOUBLES), size)
    below = s.at_most(size, s.cast(s.text(_BELOW_DOUBLES), "HUGEINT"))
    cases = [(beyond, s.null()), (below, s.double(0.0))]
    return s.choose(cases, s.cast(value, "DOUBLE"))
