"""PostgreSQL's dialect: no TRY_CAST, so every cast, product and date is looked at before it is made.

CASE decides what is evaluated: PostgreSQL promises its order, but for constants, which it computes when it
plans. So a branch that could fail uses the value that its condition looked at, never constants alone.
Integers beyond 64 bits are NUMERIC, which holds 131,072 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from discreet.engines.postgres.arithmetic import used
from discreet.engines.postgres.calendar import PostgresCalendar, spelled_era
from discreet.engines.postgres.numbers import PostgresNumbers, finite_decimal
from discreet.engines.postgres.rendering import rendered
from discreet.engines.postgres.texts import PostgresTexts, by_bytes, storable
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.searching import searched
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn
from discreet.schema.columns.values import WHITESPACE


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
