"""PostgreSQL's dialect: no TRY_CAST, so every cast, product and date is looked at before it is made.

CASE decides what is evaluated: PostgreSQL promises its order, but for constants, which it computes when it
plans. So a branch that could fail uses the value that its condition looked at, never constants alone.
Integers beyond 64 bits are NUMERIC, which holds 131,072 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from discreet.engines.letters import letters
from discreet.engines.postgres import arithmetic
from discreet.engines.postgres.arithmetic import bound, used
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import FieldType
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn
from discreet.schema.columns.values import NUMBER_PATTERN, WHITESPACE, WHOLE_PATTERN

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
_LONGEST_NUMBER = 6_000
"""Characters of a text that is read as a number: with an exponent of four digits NUMERIC holds it."""
_LONGEST_IDENTIFIER = 1_000_000
_FARTHEST_DAY = 10_000_000
_FARTHEST_MOMENT = 9_223_372_036_854_775_807
_FIRST_BEYOND, _LAST_BEFORE = 2**63, -(2**63) - 1
_BEYOND_DOUBLES = 2**1024 - 2**970
"""From here on the nearest double is infinite."""
_BELOW_DOUBLES = "2.4703282292062327209e-324"
"""Up to here, or a hair less, the nearest double is 0."""
_MOST_GROUPED = 30
_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}


class _Generator(PostgresGenerator):
    """Renders our types, and doubles as doubles: PostgreSQL reads 1e0 as NUMERIC."""

    TYPE_MAPPING = {  # noqa: RUF012 (sqlglot's own way)
        **PostgresGenerator.TYPE_MAPPING,
        exp.DataType.Type.UTINYINT: "INTEGER",
        exp.DataType.Type.USMALLINT: "INTEGER",
        exp.DataType.Type.UINT: "BIGINT",
        exp.DataType.Type.UBIGINT: "NUMERIC",
        exp.DataType.Type.INT128: "NUMERIC",
        exp.DataType.Type.VARCHAR: "TEXT",
    }

    def literal_sql(self, expression: exp.Literal) -> str:
        text: str = super().literal_sql(expression)
        is_double = not expression.is_string and "e" in text
        return f"CAST('{text}' AS DOUBLE PRECISION)" if is_double else text

    def trycast_sql(self, expression: exp.TryCast) -> str:
        raise AssertionError("PostgreSQL has no TRY_CAST")


class PostgresDialect(Dialect):
    """See `Dialect`."""

    def render(self, query: Sql) -> str:
        text: str = _Generator(dialect=Postgres()).generate(query, copy=False)
        return text

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
            return _finite_decimal(raw)
        if type_.family == "boolean" and kind != "boolean":
            return s.cast(raw, "VARCHAR" if kind == "category" else "INTEGER")
        if not type_.is_text:
            return raw.copy()
        value = _by_bytes(s.cast(raw, "VARCHAR"))
        return value if kind in ("category", "integer") else self.trimmed(value, WHITESPACE)

    def identifier(self, raw: Sql, type_: FieldType) -> Sql:
        if type_.family == "float":
            text = used(self.text_of(self.finite(s.cast(raw, "DOUBLE")), "number"), s.with_one_zero)
        elif type_.family == "decimal":
            # 1.0 and 1.00 are equal, so they are one person's.
            text = s.cast(s.call("trim_scale", _finite_decimal(raw)), "VARCHAR")
        elif type_.family == "date":
            text = self.text_of_date(raw)
        elif type_.family == "timestamp":
            known = s.choose([(s.call("isfinite", raw), raw)], s.null())
            # In UTC, for a cast between the two types stops at the calendar's end.
            spelled = s.call("replace", s.cast(known, "VARCHAR"), s.text("+00"), s.text(""))
            text = _spelled_era(spelled)
        else:
            text = s.cast(raw, "VARCHAR")
        text = _by_bytes(text)
        short = s.at_most(s.call("octet_length", text), s.whole(_LONGEST_IDENTIFIER))
        return s.choose([(short, text)], s.null())

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
            toward_zero = s.binary(_Quotient, number, by)
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
        return s.binary(_Quotient, value, s.whole(size))

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

    # -- Texts

    def text_of(self, value: Sql, of: str) -> Sql:
        if of != "number":
            return s.cast(value, "VARCHAR")
        return used(value, _spelled_double)

    def constant_text(self, value: str) -> Sql:
        return _by_bytes(s.text(_storable(value)))

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
        before, after = letters(function)

        def changed(text: Sql) -> Sql:
            ascii_only = s.equal(s.call("octet_length", text), s.call("length", text))
            mapped = s.call("translate", text, s.text(before), s.text(after))
            return s.choose([(ascii_only, s.call(function, text))], mapped)

        return used(value, changed)

    def like(self, value: Sql, pattern: Sql, *, any_case: bool) -> Sql:
        if any_case:
            value, pattern = (self.changed_case(one, "lower") for one in (value, pattern))
        matched = exp.Like(this=s.own(value), expression=s.own(pattern))
        return exp.Paren(this=exp.Escape(this=matched, expression=s.text("")))

    # -- Days and moments

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
        return _spelled_era(s.cast(finite, "VARCHAR"))

    def day(self, days: Sql) -> Sql:
        return s.add(_epoch(), s.cast(days, "INTEGER"))

    def part_of_day(self, part: str, day: Sql) -> Sql:
        return s.cast(s.call("date_part", s.text(_PARTS.get(part, part)), day), "INTEGER")

    def days_into(self, unit: str, day: Sql) -> Sql:
        start = s.call("date_trunc", s.text(unit), s.cast(day, "TIMESTAMP"))
        return s.subtract(day, s.cast(start, "DATE"))

    # -- Looking up a cell

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


class _Quotient(exp.Div):
    """Division of integers, toward zero: `/`, where sqlglot would write a cast for exp.Div."""


def _quotient_sql(self: Any, expression: exp.Binary) -> str:
    return str(self.binary(expression, "/"))


_Generator.TRANSFORMS = {**PostgresGenerator.TRANSFORMS, _Quotient: _quotient_sql}


def place_of_texts(texts: Sequence[str], value: Sql) -> Sql:
    """The place of a text in a list; null where it is not there."""
    places = {text: place for place, text in reversed(list(enumerate(texts))) if "\0" not in text}
    ordered = sorted(places.items(), key=lambda pair: _storable(pair[0]).encode())
    return _searched(
        value, [(_by_bytes(s.text(_storable(text))), place) for text, place in ordered]
    )


def _searched(value: Sql, options: Sequence[tuple[Sql, int]]) -> Sql:
    """The number of the option that equals a value, by halves of halves; they are in order.

    Written as a text at once: thousands of options would be a tree that takes seconds to copy.
    """
    if not options:
        return s.cast(s.null(), "BIGINT")
    written = DIALECT.render(value)
    listed = [(DIALECT.render(option), place) for option, place in options]

    def search(low: int, high: int) -> str:
        if high - low <= 2:
            cases = "".join(f" WHEN {written} = {text} THEN {n}" for text, n in listed[low:high])
            return f"CASE{cases} END"
        middle = (low + high) // 2
        is_below = f"{written} < {listed[middle][0]}"
        return f"CASE WHEN {is_below} THEN {search(low, middle)} ELSE {search(middle, high)} END"

    return exp.Paren(this=exp.Var(this=search(0, len(listed))))


def _doubles(numbers: Sequence[float]) -> Sql:
    listed = "{" + ",".join(repr(number) for number in numbers) + "}"
    return exp.Cast(
        this=s.text(listed), to=exp.DataType.build("double precision[]", dialect="postgres")
    )


def _by_bytes(text: Sql) -> Sql:
    """The text without the collation of its column or of the database."""
    rule = exp.to_identifier("C", quoted=True)
    return exp.Paren(this=exp.Collate(this=s.own(text), expression=rule))


def _storable(text: str) -> str:
    """A text that a statement can hold; one that no row can hold becomes another that none does."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _epoch() -> Sql:
    return s.cast(s.text("1970-01-01"), "DATE")


def _spelled_era(text: Sql) -> Sql:
    return s.call("replace", text, s.text(" BC"), s.text(" (BC)"))


def _finite_decimal(raw: Sql) -> Sql:
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
