"""Spark's dialect: TRY_CAST and other functions that give null instead of an error, in ANSI mode or not.

No expression hangs on a setting of the session: not on ANSI mode, the time zone or the case of names. Whole
numbers beyond 64 bits are DECIMAL(38, 0), which holds the product of any two 64-bit numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.engines.letters import changed_by_list, letters
from discreet.engines.spark import spelling
from discreet.engines.spark.writing import render, type_named, used
from discreet.engines.sql import cells
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.searching import searched
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn
from discreet.schema.columns.values import NUMBER_PATTERN, WHITESPACE, WHOLE_PATTERN

_FAMILIES = (
    (r"tinyint|smallint|int|bigint", "integer"),
    (r"float|double", "float"),
    (r"decimal\((\d+),(\d+)\)", "decimal"),
    (r"boolean", "boolean"),
    (r"date", "date"),
    (r"timestamp", "timestamp"),
    (r"timestamp_ntz", "instant"),  # read as microseconds since 1970-01-01
    (r"string( collate .*)?|(var)?char\(\d+\)", "text"),
    (r"binary|void|variant|interval.*|time\(\d\)|(array|map|struct)<.*", "unreadable"),
)
MOST_SEARCHED = 64
"""A category of more values is looked up by a join."""
_LONGEST_NUMBER = 6_000
"""Characters of a text that is read as a number: the time to read it grows with their square."""
_FARTHEST_DAY = 10_000_000
_DIGITS_OF_SHORT = {"tinyint": 3, "smallint": 5}
"""Whole numbers that Parquet stores in more bits than they have."""
_LARGEST = 1.7976931348623157e308
_PARTS = {"week": "weekofyear"}
_UNTYPED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")


class SparkDialect(Dialect):
    """See `Dialect`."""

    def render(self, query: Sql) -> str:
        return render(query)

    # -- Fields

    def field_type(self, type_name: str) -> FieldType:
        plain = type_name.removeprefix("ROUNDED ")
        for pattern, family in _FAMILIES:
            if found := re.fullmatch(pattern, plain, re.IGNORECASE | re.DOTALL):
                if family == "decimal":
                    return FieldType(family, int(found[1]), scale=int(found[2]))
                digits = _DIGITS_OF_SHORT.get(plain, 0)
                return FieldType(family, digits, per_second=10**6 if family == "instant" else 0)
        return FieldType("unknown")

    def field(self, raw: Sql, type_: FieldType, kind: str) -> Sql:
        if type_.family == "unreadable":
            return s.null()
        if type_.family == "instant":
            return spelling.microseconds_of_local(raw)
        if type_.family == "boolean" and kind == "category":
            return s.cast(raw, "VARCHAR")
        if type_.family == "integer" and type_.digits:
            # Spark passes over parts of files by what they say of least and greatest values, where a condition looks
            # at a plain column. Of short numbers that is not what Spark reads: it drops their upper bits.
            return s.call("shiftleft", s.cast(raw, "INTEGER"), s.whole(0))
        if not type_.is_text:
            return raw.copy()
        value = _by_bytes(raw)
        return value if kind in ("category", "integer") else self.trimmed(value, WHITESPACE)

    def identifier(self, raw: Sql, type_: FieldType) -> Sql:
        if type_.family == "float":
            return used(spelling.of_double(self.finite(raw)), s.with_one_zero)
        if type_.family == "date":
            return self.text_of_date(raw)
        if type_.family == "timestamp":
            return spelling.of_moment(s.call("unix_micros", raw))
        if type_.family == "instant":
            return spelling.of_moment(spelling.microseconds_of_local(raw))
        return _by_bytes(s.try_cast(raw, "VARCHAR"))

    # -- Whole numbers

    def fitted(self, value: Sql, to: str) -> Sql:
        """Types without a sign are left out: any type of whole numbers holds what fits them."""
        return s.own(value) if to in _UNTYPED else s.try_cast(value, to)

    def narrowed(self, wide: Sql) -> Sql:
        return s.try_cast(wide, "BIGINT")

    def divided_down(self, value: Sql, size: int) -> Sql:
        by = s.cast(s.whole(size), "BIGINT")

        def floor(number: Sql) -> Sql:
            below = s.less(s.call("mod", number, by), s.whole(0))
            return s.subtract(s.divide_whole(number, by), s.cast(below, "BIGINT"))

        return used(s.cast(value, "BIGINT"), floor)

    def wide_divided_down(self, wide: Sql, size: int) -> Sql:
        """Clamped before, where the quotient would leave 64 bits: who asks clamps it further."""
        farthest = s.whole(size << 62)
        low = exp.Neg(this=farthest.copy())

        def floor(number: Sql) -> Sql:
            below = s.less(s.call("mod", number, s.whole(size)), s.whole(0))
            whole = s.divide_whole(number, s.whole(size))
            return s.subtract(s.cast(whole, "HUGEINT"), s.cast(below, "BIGINT"))

        return used(s.clamped_or_null(wide, low, farthest), floor)

    def quotient(self, value: Sql, size: int, *, wide: bool) -> Sql:
        """Spark's DIV is a 64-bit number whatever is divided."""
        if wide:
            most = s.cast(s.whole(size * (2**63 - 1)), "HUGEINT")
            least = s.choose([(s.less(most, value), most)], s.cast(value, "HUGEINT"))
            return s.divide_whole(least, s.whole(size))
        return s.divide_whole(value, s.whole(size))

    def shifted(self, place: Sql, bits: int) -> Sql:
        return s.divide_whole(place, s.whole(1 << bits))

    def whole_remainder(self, left: Sql, right: Sql) -> Sql:
        return s.call("try_mod", s.cast(left, "BIGINT"), s.cast(right, "BIGINT"))

    # -- Doubles

    def is_finite(self, value: Sql) -> Sql:
        """NaN is more than infinity to Spark."""
        return s.at_most(s.call("abs", value), s.double(_LARGEST))

    def finite(self, value: Sql) -> Sql:
        return used(value, lambda one: s.choose([(self.is_finite(one), one)], s.null()))

    def calculated(self, kind: type[exp.Binary], left: Sql, right: Sql) -> Sql:
        if kind is exp.Div:
            return self.finite(s.call("try_divide", left, right))
        return self.finite(s.binary(kind, left, right))

    def remainder(self, left: Sql, right: Sql) -> Sql:
        return self.finite(s.call("try_mod", left, right))

    def real_function(self, function: str, value: Sql, least: float) -> Sql:
        def there(number: Sql) -> Sql:
            known = s.at_most(s.double(least), number)
            return s.choose([(known, s.call(function, number))], s.null())

        return used(value, there)

    def rounded_away(self, value: Sql) -> Sql:
        def away(number: Sql) -> Sql:
            even = s.call("rint", number)
            half = s.equal(s.call("abs", s.subtract(number, even)), s.double(0.5))
            outer = s.add(number, s.multiply(s.call("sign", number), s.double(0.5)))
            return s.choose([(half, outer)], even)

        return used(value, away)

    def nearest(self, value: Sql) -> Sql:
        """With the limits written out: Spark takes 2^63 for 2^63 - 1."""

        def inside(number: Sql) -> Sql:
            fits = s.both(
                s.at_most(s.double(-(2.0**63)), number), s.less(number, s.double(2.0**63))
            )
            return s.choose([(fits, s.try_cast(s.call("rint", number), "BIGINT"))], s.null())

        return used(value, inside)

    def wide_of_whole_double(self, value: Sql) -> Sql:
        """A cast to a decimal keeps 17 digits, so it goes through 64 bits."""
        far = 10**30

        def exact(number: Sql) -> Sql:
            above = s.at_most(s.double(2.0**63), number)
            below = s.less(number, s.double(-(2.0**63)))
            whole = s.cast(s.try_cast(number, "BIGINT"), "HUGEINT")
            ends = [
                (one, s.cast(s.whole(end), "HUGEINT")) for one, end in ((above, far), (below, -far))
            ]
            return s.choose(ends, whole)

        return used(value, exact)

    def rounded_product(self, value: Sql, scale: int) -> Sql:
        return s.call("rint", s.multiply(value, s.double(float(scale))))

    # -- Other numbers

    def double_of_text(self, value: Sql) -> Sql:
        def read(text: Sql) -> Sql:
            number = s.try_cast(text, "DOUBLE")
            known = s.both(self.matches(text, NUMBER_PATTERN), self.is_finite(number))
            return s.choose([(_is_long(text), s.null()), (known, number)], s.null())

        return used(value, read)

    def wide_of_text(self, value: Sql) -> Sql:
        def read(text: Sql) -> Sql:
            whole = s.try_cast(text, "HUGEINT")
            return s.choose(
                [(_is_long(text), s.null()), (self.matches(text, WHOLE_PATTERN), whole)], s.null()
            )

        return used(value, read)

    def usual_integer(self, value: Sql) -> tuple[Sql, Sql]:
        return self.matches(value, "-?[0-9]{1,18}"), s.try_cast(value, "HUGEINT")

    def digits_of(self, value: Sql) -> Sql:
        return s.try_cast(value, "BIGINT")

    def double_of_decimal(self, value: Sql, type_: FieldType) -> Sql:
        return s.cast(value, "DOUBLE")

    def floor_of_decimal(self, value: Sql) -> Sql:
        return s.try_cast(exp.Floor(this=s.own(value)), "HUGEINT")

    def decimal_is(self, value: Sql, digit: int) -> Sql:
        return s.equal(value, s.whole(digit))

    # -- Texts

    def text_of(self, value: Sql, of: str) -> Sql:
        return spelling.of_double(value) if of == "number" else s.try_cast(value, "VARCHAR")

    def key_text(self, value: Sql) -> Sql:
        """Null where the bytes are no text, for two such would come back as one."""
        nul = s.call("contains", value, s.call("chr", s.whole(0)))
        return s.choose([(nul, s.null())], s.call("try_validate_utf8", value))

    def matches(self, value: Sql, pattern: str) -> Sql:
        return s.binary(exp.RegexpLike, value, s.text(rf"\A(?:{pattern})\z"))

    def trimmed(self, value: Sql, characters: str, function: str = "trim") -> Sql:
        if function == "trim":
            return s.call("btrim", value, s.text(characters))
        return s.call(function, s.text(characters), value)

    def changed_case(self, value: Sql, function: str) -> Sql:
        """Letters outside ASCII by a list: Spark makes two letters of some."""
        return used(value, lambda text: changed_by_list(text, function))

    def like(self, value: Sql, pattern: Sql, *, any_case: bool) -> Sql:
        """By a pattern that takes each piece where it first stands, and never looks again: Spark's own tries all
        places of all pieces together, which on some texts of a thousand letters does not end."""
        text = pattern.name.encode("utf-8", "replace").decode()
        if any_case:
            value = self.changed_case(value, "lower")
            text = text.translate(str.maketrans(*letters("lower")))
        first, *others = [_regular(piece) for piece in text.split("%")]
        found = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
        last = f".*{others[-1]}" if others else ""
        return self.matches(value, f"(?s){first}{found}{last}")

    # -- Days and moments

    def days_of_date(self, value: Sql) -> Sql:
        low, high = s.whole(-_FARTHEST_DAY), s.whole(_FARTHEST_DAY)
        days = s.call("unix_date", value)
        return used(days, lambda one: s.cast(s.clamped_or_null(one, low, high), "BIGINT"))

    def days_of_iso_text(self, value: Sql) -> Sql:
        day = s.call("substr", value, s.whole(1), s.whole(10))
        return s.cast(s.call("unix_date", s.try_cast(day, "DATE")), "BIGINT")

    def microseconds_of(self, value: Sql, type_: FieldType) -> Sql:
        return s.own(value) if type_.family == "instant" else s.call("unix_micros", value)

    def text_of_date(self, value: Sql) -> Sql:
        return used(value, spelling.of_date)

    def day(self, days: Sql) -> Sql:
        return s.call("date_from_unix_date", s.cast(days, "INTEGER"))

    def part_of_day(self, part: str, day: Sql) -> Sql:
        if part == "dayofweek":
            return s.subtract(s.call("dayofweek", day), s.whole(1))
        if part == "isodow":
            return s.add(s.call("weekday", day), s.whole(1))
        return s.call(_PARTS.get(part, part), day)

    def days_into(self, unit: str, day: Sql) -> Sql:
        return used(
            day, lambda one: s.call("datediff", one, s.call("trunc", one, s.text(unit.upper())))
        )

    # -- Looking up a cell

    def place_of_text(self, column: CategoryColumn, unit: Sql, declared: str, joined: Sql) -> Sql:
        if self.is_joined(column, "VARCHAR"):
            return joined
        return place_of_texts(column.values, unit)

    def is_joined(self, column: Column, unit_type: str) -> bool:
        listed = isinstance(column, CategoryColumn) and len(column.values) > MOST_SEARCHED
        return listed and unit_type == "VARCHAR"

    def place_of_number(self, places: Mapping[float, int], unit: Sql) -> Sql:
        ordered = sorted(places.items())
        return _searched(unit, [(s.double(number), place) for number, place in ordered])

    def place_among_edges(
        self, column: NumberColumn, unit: Sql, declared: str, guessed: Sql
    ) -> Sql:
        """From the guess, which is off by one at most, by the two edges around it."""
        edges = (-math.inf, *(column.inner_edges or ()), math.inf)
        text = s.text(",".join(map(repr, edges)))
        listed = exp.Cast(this=s.call("split", text, s.text(",")), to=type_named("ARRAY<DOUBLE>"))
        under = s.call("get", listed, s.cast(guessed, "INTEGER"))
        over = s.call("get", listed, s.add(s.cast(guessed, "INTEGER"), s.whole(1)))
        before, after = (
            (s.less(unit, under), s.at_most(over, unit))
            if column.closed == "left"
            else (s.at_most(unit, under), s.less(over, unit))
        )
        return s.add(s.subtract(guessed, s.cast(before, "BIGINT")), s.cast(after, "BIGINT"))

    def guess(self, column: Column, unit: Sql) -> Sql | None:
        return cells.guessed(column, unit, self)

    # -- Queries

    def first_of(self, rows: exp.Select, window: exp.Window, most: int) -> exp.Select:
        """With nulls last, as elsewhere, so that the same rows are the first."""
        order = window.args["order"]
        order.set(
            "expressions",
            [exp.Ordered(this=one, desc=False, nulls_first=False) for one in order.expressions],
        )
        numbered = exp.select(exp.Star(), exp.alias_(window, "place_of_row")).from_(
            self.layer(rows, "counted"), copy=False
        )
        kept = s.at_most(s.name("place_of_row"), s.whole(most))
        return exp.select(exp.Star()).from_(numbered.subquery("numbered", copy=False)).where(kept)

    def grouping(self, names: Sequence[Sql]) -> Sql:
        bits = s.cast(s.whole(0), "BIGINT")
        for name in names:
            bits = s.add(s.multiply(bits, s.whole(2)), s.call("grouping", name))
        return bits


DIALECT = SparkDialect()


def place_of_texts(texts: Sequence[str], value: Sql) -> Sql:
    """The place of a text in a list; null where it is not there."""
    places = {text: place for place, text in reversed(list(enumerate(texts)))}
    ordered = sorted(places.items(), key=lambda pair: pair[0].encode("utf-8", "replace"))
    return _searched(value, [(s.text(text), place) for text, place in ordered])


def _searched(value: Sql, options: Sequence[tuple[Sql, int]]) -> Sql:
    return searched(value, options, render, most=3, suffix="L")


def _regular(piece: str) -> str:
    """A piece of LIKE, in which `_` is any letter, as a regular expression."""
    plain = [f"\\{one}" if one.isascii() and not one.isalnum() else one for one in piece]
    return "".join("." if one == "\\_" else one for one in plain)


def _by_bytes(text: Sql) -> Sql:
    """The text without the collation of its column."""
    return s.call("collate", text, s.text("UTF8_BINARY"))


def _is_long(text: Sql) -> Sql:
    return s.less(s.whole(_LONGEST_NUMBER), s.call("length", text))
