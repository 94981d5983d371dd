"""Table expressions with the codes, units and values of the declared columns.

Field, unit, guess, code and value are layers of one query, each over the one before, so that nothing is
computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.engines.sql import cells, units
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.fields import MIXED_UP
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadSource
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema


class Layers:
    """The columns of one source, as its schema reads them."""

    def __init__(
        self,
        schema: Schema,
        fields: Sequence[tuple[str, str]],
        dialect: Dialect,
        *,
        is_csv: bool = False,
    ) -> None:
        """`fields` are the names and types of the declared columns, then the identifier's."""
        self.dialect = dialect
        self._schema = schema
        self._fields = fields
        self._is_csv = is_csv
        self._types = [dialect.field_type(type_name) for _, type_name in fields]
        self._place = {column.name: place for place, column in enumerate(schema.columns)}
        families = [type_.family for type_ in self._types]
        if "unknown" in families:
            name = [*schema.names, schema.unit.identifier][families.index("unknown")]
            raise BadSource(
                f"Column {name!r} has a type that is not known. No row was read. Convert it first."
            )
        if schema.unit.identifier is not None and (
            families[-1] == "unreadable" or MIXED_UP.fullmatch(fields[-1][1])
        ):
            raise BadSource(
                f"The identifier {schema.unit.identifier!r} has a type or a collation that cannot tell people apart. "
                "No row was read. Make it a whole number of 32 or 64 bits, or a plain text, spelled in one way."
            )

    def unit_type(self, column: Column) -> str:
        return units.unit_type(column, self._types[self._place[column.name]])

    def number_categories(self) -> frozenset[str]:
        """Categories whose field is a number."""
        return frozenset(
            column.name
            for column in self._schema.columns
            if column.kind == "category" and self.unit_type(column) == "DOUBLE"
        )

    def unit(self, column: Column) -> Sql:
        return s.name(f"u{self._place[column.name]}")

    def code(self, column: Column) -> Sql:
        return s.name(f"c{self._place[column.name]}")

    def place(self, column: Column) -> Sql:
        """The column's name among numbers of value cells."""
        return s.name(f"p{self._place[column.name]}")

    def value(self, column: Column) -> Sql:
        """The column's name among the values."""
        return s.name(f"v{self._place[column.name]}")

    def declared(self, column: Column) -> str:
        """The name of what a dialect tells its database of a column beforehand."""
        return f"declared_{self._place[column.name]}"

    def bounded(self, rows: Sql, with_units: bool) -> exp.Select:
        """The rows that are kept of each person.

        Rows are numbered by all that is kept of them: those that share a number's place are then
        alike, so which of them is kept depends on nobody else's rows.
        """
        columns = self._schema.columns
        codes = [self.code(column) for column in columns]
        values = [self.value(one) for one in columns if one.value_bounds is not None]
        blank = s.text("")
        texts = [s.call("coalesce", s.cast(code, "VARCHAR"), blank) for code in codes]
        key = s.call("md5", s.call("concat_ws", s.text(":"), s.name("identifier"), *texts))
        keyed = exp.select(exp.Star(), exp.alias_(key, "key")).from_(rows)
        units_kept = [self.unit(one) for one in columns] if with_units else []
        order = exp.Order(expressions=[s.name("key"), *values, *units_kept])
        number = exp.Window(this=exp.RowNumber(), partition_by=[s.name("identifier")], order=order)
        chosen = [*units_kept, s.name("identifier")] if with_units else values
        first = self.dialect.first_of(keyed, number, self._schema.unit.max_rows)
        return first.select(*codes, *chosen, append=False, copy=False)

    def of(
        self,
        columns: Sequence[Column],
        table: Sql,
        *,
        with_values: bool = False,
        with_identifier: bool = False,
        with_units: bool = False,
        only_places: bool = False,
        only_units: bool = False,
    ) -> exp.Select:
        """Field, unit, guess, code, value of some columns of a table."""
        dialect, places = self.dialect, [self._place[column.name] for column in columns]
        kept = [s.name("identifier")] if with_identifier else []
        kinds = [*(column.kind for column in self._schema.columns), "identifier"]

        def field(n: int) -> Sql:
            raw, csv = s.name(self._fields[n][0]), self._schema.csv
            return units.csv_field(raw, csv, dialect, kinds[n]) if self._is_csv else raw

        def identifier() -> Sql:
            n = len(self._schema.columns)
            return dialect.identifier(field(n), self._types[n])

        query = exp.select(
            *(
                exp.alias_(dialect.field(field(n), self._types[n], kinds[n]), f"f{n}")
                for n in places
            ),
            *([exp.alias_(identifier(), "identifier")] if with_identifier else []),
        ).from_(table)
        if with_identifier:
            letters = s.call("length", s.name("identifier"))  # null where there is none
            query = (
                exp.select(exp.Star())
                .from_(dialect.layer(query, "named"))
                .where(s.at_most(letters, s.whole(units.LONGEST_TEXT)))
            )

        def over(below: exp.Select, found: dict[str, Sql], *passed: str) -> exp.Select:
            chosen = [exp.alias_(s.own(one), alias, copy=False) for alias, one in found.items()]
            names = [s.name(one) for one in passed]
            return exp.select(*chosen, *names, *kept).from_(
                dialect.layer(below, "below"), copy=False
            )

        unit_of = {
            f"u{n}": units.unit(column, s.name(f"f{n}"), self._types[n], dialect)
            for n, column in zip(places, columns, strict=True)
        }
        query = over(query, unit_of)
        if only_units:
            return exp.select(*map(s.name, unit_of)).from_(query.subquery("units", copy=False))
        guesses = {
            f"g{n}": guess
            for n, column in zip(places, columns, strict=True)
            if (guess := dialect.guess(column, s.name(f"u{n}"))) is not None
        }
        joined = [one for one in columns if dialect.is_joined(one, self.unit_type(one))]
        for one in joined:
            guesses[f"g{self._place[one.name]}"] = s.name(self.declared(one), "place")
        if guesses:
            query = over(query, guesses, *unit_of)
        for one in joined:
            same = s.equal(
                s.name("below", self.unit(one).name), s.name(self.declared(one), "value")
            )
            table = exp.table_(self.declared(one))
            query = query.join(table, on=same, join_type="left", copy=False)
        letter, number = ("p", cells.place) if only_places else ("c", cells.code)
        codes = {
            f"{letter}{n}": number(
                column,
                s.name(f"u{n}"),
                self.unit_type(column),
                dialect,
                declared=self.declared(column),
                guessed=s.name(f"g{n}"),
            )
            for n, column in zip(places, columns, strict=True)
        }
        if only_places:
            return over(query, codes)
        passed = tuple(unit_of) if with_units else ()
        if not with_values:
            return over(query, codes, *passed)
        query = over(query, codes, *unit_of)
        values = {
            f"v{n}": cells.value(column, s.name(f"u{n}"), s.name(f"c{n}"), dialect)
            for n, column in zip(places, columns, strict=True)
            if column.value_bounds is not None
        }
        return over(query, values, *codes, *passed)
