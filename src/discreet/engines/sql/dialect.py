"""`Dialect`: what databases write differently. A database is one subclass; all else in this room is shared.

Each method returns an expression that no row can make fail: null where SQL would raise an error. The rest
of this room builds on that, so a method that can fail on some row is a leak. An argument is written once
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

    @abstractmethod
    def fitted(self, value: Sql, to: str) -> Sql:
        """A value that fits the type, of its own family, by how it was made."""

    @abstractmethod
    def narrowed(self, wide: Sql) -> Sql:
        """A whole number in 64 bits; null beyond."""

    @abstractmethod
    def divided_down(self, value: Sql, size: int) -> Sql:
        """floor(value / size) of a 64-bit number, as a whole number: SQL divides toward zero."""

    @abstractmethod
    def wide_divided_down(self, wide: Sql, size: int) -> Sql:
        """The same of a wide number."""

    @abstractmethod
    def quotient(self, value: Sql, size: int, *, wide: bool) -> Sql:
        """value / size, of a number that is not negative."""

    @abstractmethod
    def shifted(self, place: Sql, bits: int) -> Sql:
        """The number of a cell ("UBIGINT") without its lowest bits."""

    @abstractmethod
    def whole_of_boolean(self, value: Sql) -> Sql: ...

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

    @abstractmethod
    def rounded_away(self, value: Sql) -> Sql:
        """A double, rounded to a whole number, halves away from zero."""

    @abstractmethod
    def nearest(self, value: Sql) -> Sql:
        """A double as the nearest 64-bit integer, halves to the even one; null beyond."""

    @abstractmethod
    def wide_of_whole_double(self, value: Sql) -> Sql:
        """A whole double as a wide number, exact in 64 bits; any number outside of them, beyond."""

    @abstractmethod
    def rounded_product(self, value: Sql, scale: int) -> Sql:
        """round(value * scale), halves to even; beyond +-2^53 any double as far out."""

    @abstractmethod
    def scaled(self, distance: Sql, scale: float) -> Sql:
        """distance * scale, where that is within +-2^53; too small a product is 0."""

    # -- Other numbers

    @abstractmethod
    def double_of_text(self, value: Sql) -> Sql:
        """The double nearest to a text that fits `NUMBER_PATTERN`; else null."""

    @abstractmethod
    def wide_of_text(self, value: Sql) -> Sql:
        """A text that fits `WHOLE_PATTERN`; null for any other, and where it is too long to read."""

    @abstractmethod
    def usual_integer(self, value: Sql) -> tuple[Sql, Sql]:
        """Whether a text is the usual spelling of a 64-bit number, and that number as a wide one."""

    @abstractmethod
    def digits_of(self, value: Sql) -> Sql:
        """A text of a few digits as a 64-bit number; null for any other."""

    @abstractmethod
    def double_of_decimal(self, value: Sql, type_: FieldType) -> Sql: ...

    @abstractmethod
    def floor_of_decimal(self, value: Sql) -> Sql: ...

    @abstractmethod
    def decimal_is(self, value: Sql, digit: int) -> Sql:
        """Whether a decimal is 0, or 1."""

    # -- Texts, compared byte by byte

    @abstractmethod
    def text_of(self, value: Sql, of: str) -> Sql:
        """A text, or a value of the type `of` as one: "integer", "number", "boolean"."""

    @abstractmethod
    def constant_text(self, value: str) -> Sql: ...

    @abstractmethod
    def key_text(self, value: Sql) -> Sql:
        """A text that a statement can hold; null for any other."""

    @abstractmethod
    def matches(self, value: Sql, pattern: str) -> Sql:
        """Whether the whole text fits a pattern of RE2."""

    @abstractmethod
    def extracted(self, value: Sql, pattern: str, group: int) -> Sql:
        """The first piece that fits; null or "" where none does."""

    @abstractmethod
    def trimmed(self, value: Sql, characters: str, function: str = "trim") -> Sql: ...

    @abstractmethod
    def changed_case(self, value: Sql, function: str) -> Sql:
        """`lower` or `upper`: each character by itself."""

    @abstractmethod
    def like(self, value: Sql, pattern: Sql, *, any_case: bool) -> Sql:
        """LIKE without an escape character."""

    # -- Days and moments

    @abstractmethod
    def days_of_date(self, value: Sql) -> Sql:
        """Days since 1970-01-01, clamped to +-10 million; null where not finite."""

    @abstractmethod
    def days_of_iso_text(self, value: Sql) -> Sql:
        """The same of a text that begins like 2020-01-31; null where there is no such day."""

    @abstractmethod
    def microseconds_of(self, value: Sql, type_: FieldType) -> Sql:
        """Microseconds since 1970-01-01 UTC of a timestamp; null where not finite."""

    @abstractmethod
    def text_of_date(self, value: Sql) -> Sql: ...

    @abstractmethod
    def day(self, days: Sql) -> Sql:
        """The date so many days after 1970-01-01, for days of the years 1 to 9999."""

    @abstractmethod
    def part_of_day(self, part: str, day: Sql) -> Sql:
        """The year, month, ... of a date."""

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

    @abstractmethod
    def layer(self, query: exp.Select, name: str) -> Sql:
        """A query as a table whose columns are computed once a row, however often they are used."""

    def first_of(self, rows: exp.Select, window: exp.Window, most: int) -> exp.Select:
        """The rows whose number in a window is at most `most`."""
        query = exp.select(exp.Star()).from_(rows.subquery("numbered", copy=False), copy=False)
        query.set("qualify", exp.Qualify(this=exp.LTE(this=window, expression=s.whole(most))))
        return query

    @abstractmethod
    def grouping(self, names: Sequence[Sql]) -> Sql:
        """A bit for each name that a row of GROUPING SETS is not grouped by, the first the highest."""
