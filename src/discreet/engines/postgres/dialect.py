"""PostgreSQL's dialect: no TRY_CAST, so every cast, product and date is looked at before it is made.

CASE decides what is evaluated: PostgreSQL promises its order, but for constants, which it computes when it
plans. So a branch that could fail uses the value that its condition looked at, never constants alone.
Integers beyond 64 bits are NUMERIC, which holds 131,072 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from discreet.engines.letters import changed_by_list
from discreet.engines.postgres.arithmetic import bound, used
from discreet.engines.postgres.numbers import PostgresNumbers, finite_decimal, rendered
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.searching import searched
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn
from discreet.schema.columns.values import WHITESPACE


class PostgresTexts(Dialect):
    """The texts of `Dialect`."""

    def text_of(self, value: Sql, of: str) -> Sql:
        if of != "number":
            return s.cast(value, "VARCHAR")
        return used(value, _spelled_double)

    def constant_text(self, value: str) -> Sql:
        return by_bytes(s.text(storable(value)))

    def key_text(self, value: Sql) -> Sql:
        return value

    def matches(self, value: Sql, pattern: str) -> Sql:
        return s.binary(exp.RegexpLike, value, s.text(f"^(?:{pattern})$"))

    def extracted(self, value: Sql, pattern: str, group: int) -> Sql:
        return s.call("substring", value, s.text(pattern))

    def trimmed(self, value: Sql, characters: str, function: str = "trim") -> Sql:
        return s.call("btrim" if function == "trim" else function, value, s.text(characters))

    def changed_case(self, value: Sql, function: str) -> Sql:
        """Letters outside ASCII by a list: what PostgreSQL makes of them hangs on the server's locale."""
        return used(value, lambda text: changed_by_list(text, function))

    def like(self, value: Sql, pattern: Sql, *, any_case: bool) -> Sql:
        if any_case:
            value, pattern = (self.changed_case(one, "lower") for one in (value, pattern))
        matched = exp.Like(this=s.own(value), expression=s.own(pattern))
        return exp.Paren(this=exp.Escape(this=matched, expression=s.text("")))


def by_bytes(text: Sql) -> Sql:
    """The text without the collation of its column or of the database."""
    rule = exp.to_identifier("C", quoted=True)
    return exp.Paren(this=exp.Collate(this=s.own(text), expression=rule))


def storable(text: str) -> str:
    """A text that a statement can hold; one that no row can hold becomes another that none does."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _spelled_double(number: Sql) -> Sql:
    """Digits as DuckDB writes them: 1.0, and no exponent up to 10^16."""
    plain = s.cast(number, "VARCHAR")
    size = s.call("abs", number)
    whole = s.call("trunc", number)
    digits = s.cast(s.cast(whole, "BIGINT"), "VARCHAR")
    fraction = s.call("abs", s.subtract(number, whole))
    last = s.subtract(
        s.call("length", plain), s.whole(4)
    )  # before e+15, the only digit of the fraction
    behind = s.binary(exp.DPipe, s.text("."), s.call("substr", plain, last, s.whole(1)))
    large = s.both(s.at_most(s.double(1e15), size), s.less(size, s.double(1e16)))
    no_fraction = s.equal(fraction, s.double(0.0))
    is_plain = s.binary(exp.RegexpLike, plain, s.text(r"[.e]"))
    dotted: Callable[[Sql], Sql] = lambda text: s.binary(exp.DPipe, text, s.text(".0"))  # noqa: E731
    return s.choose(
        [
            (s.both(large, no_fraction), dotted(digits)),
            (large, s.binary(exp.DPipe, digits, behind)),
            (is_plain, plain),
        ],
        dotted(plain),
    )


_FARTHEST_DAY = 10_000_000
_FARTHEST_MOMENT = 9_223_372_036_854_775_807
_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}


class PostgresCalendar(Dialect):
    """The days and moments of `Dialect`."""

    def days_of_date(self, value: Sql) -> Sql:
        def days(day: Sql) -> Sql:
            passed = s.subtract(day, _epoch())
            clamped = s.clamp(passed, s.whole(-_FARTHEST_DAY), s.whole(_FARTHEST_DAY))
            return s.choose([(s.call("isfinite", day), s.cast(clamped, "BIGINT"))], s.null())

        return used(value, days)

    def days_of_iso_text(self, value: Sql) -> Sql:
        def number(text: Sql, start: int, length: int) -> Sql:
            piece = s.call("substr", text, s.whole(start), s.whole(length))
            return s.cast(self.digits_of(piece), "INTEGER")

        def first(year: Sql, month: Sql, day: Sql) -> Sql:
            known = [
                s.both(s.at_most(s.whole(1), one), s.at_most(one, s.whole(most)))
                for one, most in ((year, 9999), (month, 12), (day, 31))
            ]
            start = s.call("make_date", year, month, s.whole(1))
            started = s.choose([(s.both(s.both(known[0], known[1]), known[2]), start)], s.null())
            return bound([s.add(started, s.subtract(day, s.whole(1))), month], of_month)

        def of_month(day: Sql, month: Sql) -> Sql:
            same = s.equal(self.part_of_day("month", day), month)
            return s.choose([(same, s.cast(s.subtract(day, _epoch()), "BIGINT"))], s.null())

        return bound([number(value, 1, 4), number(value, 6, 2), number(value, 9, 2)], first)

    def microseconds_of(self, value: Sql, type_: FieldType) -> Sql:
        def passed(moment: Sql) -> Sql:
            seconds = exp.Extract(this=exp.var("EPOCH"), expression=s.own(moment))
            micros = s.multiply(seconds, s.whole(1_000_000))
            ends = s.whole(-_FARTHEST_MOMENT), s.whole(_FARTHEST_MOMENT)
            clamped = s.cast(s.clamp(micros, *ends), "BIGINT")
            return s.choose([(s.call("isfinite", moment), clamped)], s.null())

        return used(value, passed)

    def text_of_date(self, value: Sql) -> Sql:
        finite = s.choose([(s.call("isfinite", value), value)], s.null())
        return spelled_era(s.cast(finite, "VARCHAR"))

    def day(self, days: Sql) -> Sql:
        return s.add(_epoch(), s.cast(days, "INTEGER"))

    def part_of_day(self, part: str, day: Sql) -> Sql:
        return s.cast(s.call("date_part", s.text(_PARTS.get(part, part)), day), "INTEGER")

    def days_into(self, unit: str, day: Sql) -> Sql:
        start = s.call("date_trunc", s.text(unit), s.cast(day, "TIMESTAMP"))
        return s.subtract(day, s.cast(start, "DATE"))


def _epoch() -> Sql:
    return s.cast(s.text("1970-01-01"), "DATE")


def spelled_era(text: Sql) -> Sql:
    return s.call("replace", text, s.text(" BC"), s.text(" (BC)"))


class PostgresPlaces(Dialect):
    """The looking up of cells of `Dialect`."""

    def place_of_text(self, column: CategoryColumn, unit: Sql, declared: str, joined: Sql) -> Sql:
        return place_of_texts(column.values, unit)

    def place_of_number(self, places: Mapping[float, int], unit: Sql) -> Sql:
        ordered = sorted(places.items())
        return _searched(unit, [(s.double(number), place) for number, place in ordered])

    def place_among_edges(
        self, column: NumberColumn, unit: Sql, declared: str, guessed: Sql
    ) -> Sql:
        """How many edges lie at or below; closed right: all but those at or above."""
        edges = column.inner_edges or ()
        if column.closed == "left":
            return s.call("width_bucket", unit, _doubles(edges))
        mirrored = s.subtract(s.double(0.0), unit)
        beyond = s.call("width_bucket", mirrored, _doubles([-edge for edge in reversed(edges)]))
        return s.subtract(s.whole(len(edges)), beyond)


def place_of_texts(texts: Sequence[str], value: Sql) -> Sql:
    """The place of a text in a list; null where it is not there."""
    places = {text: place for place, text in reversed(list(enumerate(texts))) if "\0" not in text}
    ordered = sorted(places.items(), key=lambda pair: storable(pair[0]).encode())
    return _searched(value, [(by_bytes(s.text(storable(text))), place) for text, place in ordered])


def _searched(value: Sql, options: Sequence[tuple[Sql, int]]) -> Sql:
    return searched(value, options, rendered, most=2)


def _doubles(numbers: Sequence[float]) -> Sql:
    listed = "{" + ",".join(repr(number) for number in numbers) + "}"
    return exp.Cast(
        this=s.text(listed), to=exp.DataType.build("double precision[]", dialect="postgres")
    )


_FAMILIES = {
    "integer": ("int2", "int4", "int8"),
    "float": ("float4", "float8"),
    "decimal": ("numeric",),
    "boolean": ("bool",),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamptz"),
    "text": ("text", "varchar", "bpchar", "name", "char", "uuid", "json", "jsonb", "xml", "enum", "citext",
             "inet", "cidr", "macaddr", "macaddr8"),
    "unreadable": ("bytea", "bit", "varbit", "time", "timetz", "interval", "money", "array", "composite",
                   "range", "multirange", "point", "line", "lseg", "box", "path", "polygon", "circle",
                   "tsvector", "tsquery", "pg_lsn", "xid", "xid8", "tid", "cid", "pg_snapshot"),
}  # fmt: skip
"""By the types' own names; a domain has its base type's, other kinds of types the kind's."""
_LONGEST_IDENTIFIER = 1_000_000
_MOST_GROUPED = 30


class PostgresDialect(PostgresNumbers, PostgresTexts, PostgresCalendar, PostgresPlaces):
    """See `Dialect`."""

    def render(self, query: Sql) -> str:
        return rendered(query)

    # -- Fields

    def field_type(self, type_name: str) -> FieldType:
        name = type_name.lower().removesuffix(" collate")
        for family, names in _FAMILIES.items():
            if name in names:
                return FieldType(family)
        return FieldType("unknown")

    def field(self, raw: Sql, type_: FieldType, kind: str) -> Sql:
        if type_.family == "unreadable":
            return s.null()
        if type_.family == "decimal":
            return finite_decimal(raw)
        if type_.family == "boolean" and kind != "boolean":
            return s.cast(raw, "VARCHAR" if kind == "category" else "INTEGER")
        if not type_.is_text:
            return raw.copy()
        value = by_bytes(s.cast(raw, "VARCHAR"))
        return value if kind in ("category", "integer") else self.trimmed(value, WHITESPACE)

    def identifier(self, raw: Sql, type_: FieldType) -> Sql:
        if type_.family == "float":
            text = used(self.text_of(self.finite(s.cast(raw, "DOUBLE")), "number"), s.with_one_zero)
        elif type_.family == "decimal":
            # 1.0 and 1.00 are equal, so they are one person's.
            text = s.cast(s.call("trim_scale", finite_decimal(raw)), "VARCHAR")
        elif type_.family == "date":
            text = self.text_of_date(raw)
        elif type_.family == "timestamp":
            known = s.choose([(s.call("isfinite", raw), raw)], s.null())
            # In UTC, for a cast between the two types stops at the calendar's end.
            spelled = s.call("replace", s.cast(known, "VARCHAR"), s.text("+00"), s.text(""))
            text = spelled_era(spelled)
        else:
            text = s.cast(raw, "VARCHAR")
        text = by_bytes(text)
        short = s.at_most(s.call("octet_length", text), s.whole(_LONGEST_IDENTIFIER))
        return s.choose([(short, text)], s.null())

    # -- Queries

    def layer(self, query: exp.Select, name: str) -> Sql:
        """OFFSET 0 keeps the planner from writing an expression into every place that uses it."""
        return query.offset(0, copy=False).subquery(name, copy=False)

    def first_of(self, rows: exp.Select, window: exp.Window, most: int) -> exp.Select:
        numbered = exp.select(exp.Star(), exp.alias_(window, "place_of_row")).from_(
            self.layer(rows, "counted"), copy=False
        )
        kept = s.at_most(s.name("place_of_row"), s.whole(most))
        return exp.select(exp.Star()).from_(numbered.subquery("numbered", copy=False)).where(kept)

    def grouping(self, names: Sequence[Sql]) -> Sql:
        """In parts, for GROUPING takes at most 31 names."""
        bits = s.cast(s.whole(0), "BIGINT")
        for start in range(0, len(names), _MOST_GROUPED):
            part = names[start : start + _MOST_GROUPED]
            bits = s.multiply(bits, s.cast(s.whole(1 << len(part)), "BIGINT"))
            bits = s.add(bits, s.call("grouping", *part))
        return bits

    def once(self, value: Sql, body: Callable[[Sql], Sql]) -> Sql:
        """`body` of a value that is computed once."""
        return used(value, body)


DIALECT = PostgresDialect()
