"""`Dialect`: what databases write differently. A database is one subclass; everything else in this package is shared.

What stands here is written for databases that have TRY_CAST and integers of 128 bits, or decimals as wide; one
that lacks them overrides it. What has no common spelling is abstract.

Each method returns an expression that no row can make fail: null where SQL would raise an error. The rest
of this package builds on that, so a method that can fail on some row is a leak. An argument is written once
unless it is a plain name, for expressions nest, and their text would double at each level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.engines.sql import syntax as s
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn
from discreet.schema.columns.values import NUMBER_PATTERN, WHOLE_PATTERN


class Dialect(ABC):
    """One database's way to write total expressions. It has no state."""

    @abstractmethod
    def render(self, query: Sql) -> str:
        """The text of a query."""

    # -- Fields: from a column of the source to a value of its family

    @abstractmethod
    def field_type(self, type_name: str) -> FieldType: ...

    @abstractmethod
    def field(self, raw: Sql, type_: FieldType, kind: str) -> Sql:
        """The field as `units.unit` expects it: texts lose white space at their ends, except those of
        categories, and those of integers, which lose it later where they have any."""

    @abstractmethod
    def identifier(self, raw: Sql, type_: FieldType) -> Sql:
        """An identifier as text; null, so that its rows are left out, where it is null or not finite."""

    # -- Whole numbers: 64 bits ("BIGINT"), and wider ones that no operation here overflows ("HUGEINT")

    def fitted(self, value: Sql, to: str) -> Sql:
        """A value that fits the type, of its own family, by how it was made."""
        return s.try_cast(value, to)

    def narrowed(self, wide: Sql) -> Sql:
        """A whole number in 64 bits; null beyond."""
        return s.try_cast(wide, "BIGINT")

    def divided_down(self, value: Sql, size: int) -> Sql:
        """floor(value / size) of a 64-bit number, as a whole number: SQL divides toward zero."""
        wide = s.cast(value, "HUGEINT")
        below = s.subtract(wide, s.rest(wide, size, "HUGEINT"))
        return s.divide_whole(below, s.cast(s.whole(size), "HUGEINT"))

    def wide_divided_down(self, wide: Sql, size: int) -> Sql:
        """The same of a wide number."""
        return self.divided_down(wide, size)

    def quotient(self, value: Sql, size: int, *, wide: bool) -> Sql:
        """value / size, of a number that is not negative."""
        return s.divide_whole(value, s.whole(size))

    @abstractmethod
    def shifted(self, place: Sql, bits: int) -> Sql:
        """The number of a cell ("UBIGINT") without its lowest bits."""

    def whole_of_boolean(self, value: Sql) -> Sql:
        return s.cast(value, "BIGINT")

    # -- Doubles: finite, or null

    @abstractmethod
    def is_finite(self, value: Sql) -> Sql:
        """Whether a double or a date is neither infinite nor NaN."""

    def finite(self, value: Sql) -> Sql:
        return s.choose([(self.is_finite(value), value)], s.null())

    @abstractmethod
    def calculated(self, kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
        """left + - * / right, of doubles; null where the divisor is 0 or the result not finite."""

    @abstractmethod
    def remainder(self, left: Sql, right: Sql) -> Sql:
        """left - right * trunc(left / right), exactly, of doubles; null where the divisor is 0."""

    @abstractmethod
    def whole_remainder(self, left: Sql, right: Sql) -> Sql:
        """The same of 64-bit numbers."""

    @abstractmethod
    def real_function(self, function: str, value: Sql, least: float) -> Sql:
        """sqrt or ln of a double; null of one below `least`."""

    def rounded_away(self, value: Sql) -> Sql:
        """A double, rounded to a whole number, halves away from zero."""
        return s.call("round", value)

    @abstractmethod
    def nearest(self, value: Sql) -> Sql:
        """A double as the nearest 64-bit integer, halves to the even one; null beyond."""

    def wide_of_whole_double(self, value: Sql) -> Sql:
        """A whole double as a wide number, exact in 64 bits; any number outside of them, beyond."""
        return s.try_cast(value, "HUGEINT")

    @abstractmethod
    def rounded_product(self, value: Sql, scale: int) -> Sql:
        """round(value * scale), halves to even; beyond +-2^53 any double as far out."""

    def scaled(self, distance: Sql, scale: float) -> Sql:
        """distance * scale, where that is within +-2^53; too small a product is 0."""
        return s.multiply(distance, s.double(scale))

    # -- Other numbers

    def double_of_text(self, value: Sql) -> Sql:
        """The double nearest to a text that fits `NUMBER_PATTERN`; else null."""
        number = s.try_cast(value, "DOUBLE")
        read = s.both(self.matches(value, NUMBER_PATTERN), self.is_finite(number))
        return s.choose([(read, number)], s.null())

    def wide_of_text(self, value: Sql) -> Sql:
        """A text that fits `WHOLE_PATTERN`; null for any other, and where it is too long to read."""
        whole = s.try_cast(value, "HUGEINT")
        return s.choose([(self.matches(value, WHOLE_PATTERN), whole)], s.null())

    def usual_integer(self, value: Sql) -> tuple[Sql, Sql]:
        """Whether a text is the usual spelling of a 64-bit number, and that number as a wide one."""
        usual = s.try_cast(value, "BIGINT")
        return s.equal(s.cast(usual, "VARCHAR"), value), s.cast(usual, "HUGEINT")

    def digits_of(self, value: Sql) -> Sql:
        """A text of a few digits as a 64-bit number; null for any other."""
        return s.try_cast(value, "BIGINT")

    @abstractmethod
    def double_of_decimal(self, value: Sql, type_: FieldType) -> Sql: ...

    def floor_of_decimal(self, value: Sql) -> Sql:
        return s.try_cast(s.call("floor", value), "HUGEINT")

    def decimal_is(self, value: Sql, digit: int) -> Sql:
        """Whether a decimal is 0, or 1."""
        pattern = r"1(\.0*)?" if digit else r"-?0?(\.0*)?"
        return self.matches(s.cast(value, "VARCHAR"), pattern)

    # -- Texts, compared byte by byte

    def text_of(self, value: Sql, of: str) -> Sql:
        """A text, or a value of the type `of` as one: "integer", "number", "boolean"."""
        return s.try_cast(value, "VARCHAR")

    def constant_text(self, value: str) -> Sql:
        return s.text(value)

    @abstractmethod
    def key_text(self, value: Sql) -> Sql:
        """A text that a statement can hold; null for any other."""

    @abstractmethod
    def matches(self, value: Sql, pattern: str) -> Sql:
        """Whether the whole text fits a pattern of RE2."""

    def extracted(self, value: Sql, pattern: str, group: int) -> Sql:
        """The first piece that fits; null or "" where none does."""
        return s.call("regexp_extract", value, s.text(pattern), s.whole(group))

    @abstractmethod
    def trimmed(self, value: Sql, characters: str, function: str = "trim") -> Sql: ...

    def changed_case(self, value: Sql, function: str) -> Sql:
        """`lower` or `upper`: each character by itself."""
        return s.call(function, value)

    def like(self, value: Sql, pattern: Sql, *, any_case: bool) -> Sql:
        """LIKE without an escape character."""
        return s.binary(exp.ILike if any_case else exp.Like, value, pattern)

    # -- Days and moments

    @abstractmethod
    def days_of_date(self, value: Sql) -> Sql:
        """Days since 1970-01-01, clamped to +-10 million; null where not finite."""

    def days_of_iso_text(self, value: Sql) -> Sql:
        """The same of a text that begins like 2020-01-31; null where there is no such day."""
        day = s.call("substr", value, s.whole(1), s.whole(10))
        return self.days_of_date(s.try_cast(day, "DATE"))

    @abstractmethod
    def microseconds_of(self, value: Sql, type_: FieldType) -> Sql:
        """Microseconds since 1970-01-01 UTC of a timestamp; null where not finite."""

    def text_of_date(self, value: Sql) -> Sql:
        return s.try_cast(self.finite(value), "VARCHAR")

    @abstractmethod
    def day(self, days: Sql) -> Sql:
        """The date so many days after 1970-01-01, for days of the years 1 to 9999."""

    def part_of_day(self, part: str, day: Sql) -> Sql:
        """The year, month, ... of a date."""
        return s.call(part, day)

    @abstractmethod
    def days_into(self, unit: str, day: Sql) -> Sql:
        """How many days of its year, quarter or month passed before a date."""

    # -- Looking up a cell

    @abstractmethod
    def place_of_text(self, column: CategoryColumn, unit: Sql, declared: str, joined: Sql) -> Sql:
        """The place of a text among a category's values; null where it is none of them."""

    @abstractmethod
    def place_of_number(self, places: Mapping[float, int], unit: Sql) -> Sql:
        """What a number stands for; null where it is not listed."""

    @abstractmethod
    def place_among_edges(
        self, column: NumberColumn, unit: Sql, declared: str, guessed: Sql
    ) -> Sql: ...

    def guess(self, column: Column, unit: Sql) -> Sql | None:
        """What `place_among_edges` wants in a layer below its own."""
        return None

    def is_joined(self, column: Column, unit_type: str) -> bool:
        """Whether `place_of_text` wants a table joined, named `declared`."""
        return False

    # -- Queries

    def layer(self, query: exp.Select, name: str) -> Sql:
        """A query as a table whose columns are computed once a row, however often they are used."""
        return query.subquery(name, copy=False)

    def first_of(self, rows: exp.Select, window: exp.Window, most: int) -> exp.Select:
        """The rows whose number in a window is at most `most`."""
        query = exp.select(exp.Star()).from_(rows.subquery("numbered", copy=False), copy=False)
        query.set("qualify", exp.Qualify(this=exp.LTE(this=window, expression=s.whole(most))))
        return query

    def grouping(self, names: Sequence[Sql]) -> Sql:
        """A bit for each name that a row of GROUPING SETS is not grouped by, the first the highest."""
        return s.call("grouping_id", *names)
