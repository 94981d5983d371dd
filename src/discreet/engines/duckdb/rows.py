"""Table expressions with the codes, units and values of the declared columns.

Where rows must be bounded or parsed, verbs read kept tables; else each verb scans the source anew. The
rows of people are bounded once, with all columns. A CSV file is parsed for the columns that the first verb
asks for, and once more, for all columns, when a later verb asks for another one. Field, unit, guess,
code and value are layers of one query.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from discreet.engines.csv.parts import CsvParts
from discreet.engines.duckdb import cells as cells
from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb import units as units
from discreet.engines.duckdb.scan import Scan, csv_table
from discreet.engines.duckdb.session import Session
from discreet.engines.duckdb.sql import Sql
from discreet.errors import BadSource, EngineFailed
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

_ENCODED = "encoded_rows"
_TALLIED = "tallied_rows"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A table in memory, and what it holds of each row."""

    name: str
    columns: frozenset[str]
    with_values: bool

    def serves(self, columns: frozenset[str], with_values: bool) -> bool:
        return columns <= self.columns and (self.with_values or not with_values)


class EncodedRows:
    """The rows of one source, as its schema reads them. Thread safe: kept tables are made under a lock."""

    def __init__(self, session: Session, schema: Schema, scan: Scan) -> None:
        self._session = session
        self._schema = schema
        self._scan = scan
        self._place = {column.name: place for place, column in enumerate(schema.columns)}
        self._kept_once = scan.csv is not None or schema.unit.identifier is not None
        self._making = threading.Lock()
        self._made: dict[str, _Kept] = {}
        families = [units.FieldType.of(type_name).family for _, type_name in scan.fields]
        if "unknown" in families:
            name = [*schema.names, schema.unit.identifier][families.index("unknown")]
            raise BadSource(
                f"Column {name!r} has a type that is not known. No row was read. Convert it first."
            )
        if schema.unit.identifier is not None and families[-1] == "unreadable":
            raise BadSource(
                f"The identifier {schema.unit.identifier!r} has a type that cannot tell people apart. "
                "No row was read. Make it a number or a text."
            )
        for place, column in enumerate(schema.columns):
            cells.declare(column, _declared(place), session)

    def count(self, columns: Iterable[Column] | None = None) -> int:
        """How many rows the (bounded) table has; `columns` are those that will be read next, if known."""
        columns = self._schema.columns if columns is None else columns
        table = self._kept_table(columns) if self._kept_once else self._scanned()
        ((rows,),) = self._session.rows(exp.select("count(*)").from_(table))
        return int(rows)

    def _scanned(self) -> Sql:
        """The source's table. Only verbs come here, so that nothing is read before the charge."""
        if self._scan.read is not None:
            self._scan.read()
        return self._scan.table.copy()

    def number_categories(self) -> frozenset[str]:
        """Categories whose field is a number."""
        return frozenset(
            column.name
            for column, (_, type_name) in zip(self._schema.columns, self._scan.fields, strict=False)
            if column.kind == "category"
            and units.unit_type(column, units.FieldType.of(type_name)) == "DOUBLE"
        )

    def code(self, column: Column) -> Sql:
        return s.name(f"c{self._place[column.name]}")

    def place(self, column: Column) -> Sql:
        """The column's name in `with_places`."""
        return s.name(f"p{self._place[column.name]}")

    def value(self, column: Column) -> Sql:
        """The column's name among the values of `encoded`."""
        return s.name(f"v{self._place[column.name]}")

    def encoded(self, columns: Iterable[Column], with_values: bool = False) -> Sql:
        """A table expression with the codes c0, c1, ... (and values v0, ...) of some columns."""
        if self._kept_once:
            return self._kept_table(columns, with_values=with_values)
        return self._layers(list(columns), with_values).subquery("encoded", copy=False)

    def with_places(self, columns: Sequence[Column]) -> Sql:
        """A table expression with the numbers p0, p1, ... of value cells, null in any other cell."""
        if not self._kept_once:
            return self._layers(list(columns), only_places=True).subquery("placed", copy=False)
        numbers = [
            exp.alias_(cells.place_of_code(column, self.code(column)), self.place(column).name)
            for column in columns
        ]
        return exp.select(*numbers).from_(self._kept_table(columns)).subquery("placed", copy=False)

    def integer_units(self, column: Column) -> exp.Select | None:
        """A query for the units of a column, where these are 64-bit integers in the source itself."""
        n = self._place[column.name]
        type_ = units.unit_type(column, units.FieldType.of(self._scan.fields[n][1]))
        if self._kept_once or type_ != "BIGINT":
            return None
        known = exp.Not(this=s.is_null(s.name(f"u{n}")))
        return self._layers([column], only_units=True).where(known)

    def _kept_table(self, columns: Iterable[Column], *, with_values: bool = False) -> Sql:
        return self._made_once(_ENCODED, columns, with_values=with_values, with_units=False)

    def _made_once(
        self, table: str, columns: Iterable[Column], *, with_values: bool, with_units: bool
    ) -> Sql:
        """A table that the first to need it makes, while others wait for it.

        One that does not serve stays as it is, for another thread may be reading it; the next one has
        all columns and gets another name. Which columns are asked for is public, so that this may show.
        """
        asked = frozenset(column.name for column in columns) or frozenset(self._schema.names[:1])
        with self._making:
            kept = self._made.get(table)
            if kept is None or not kept.serves(asked, with_values):
                bounded = self._schema.unit.identifier is not None
                if bounded or kept is not None:
                    asked, with_values = frozenset(self._schema.names), not with_units
                name = table if kept is None else f"{table}_with_all_columns"
                kept = _Kept(name, asked, with_values)
                self._keep(kept, with_units)
                self._made[table] = kept
        return exp.table_(kept.name)

    def tally_rows(self, columns: Sequence[Column]) -> Sql:
        """A table expression with the units u0, u1, ... and codes c0, c1, ... of some columns.

        Kept apart from the table of codes, which is smaller and serves every other verb.
        """
        if not self._kept_once:
            layers = self._layers(list(columns), with_units=True)
            return layers.subquery("tallied", copy=False)
        return self._made_once(_TALLIED, columns, with_values=False, with_units=True)

    def _keep(self, kept: _Kept, with_units: bool) -> None:
        """Makes a table of codes and values (or units); with an identifier, of the rows that are kept."""
        name = kept.name
        columns = [column for column in self._schema.columns if column.name in kept.columns]
        bounded = self._schema.unit.identifier is not None
        layers = partial(
            self._layers,
            columns,
            with_values=bounded or kept.with_values,
            with_identifier=bounded,
            with_units=with_units,
        )
        if self._scan.csv is None:
            rows = layers()
            self._create(
                name, self._bounded(rows.subquery("rows"), with_units) if bounded else rows
            )
            return
        read = name if not bounded else f"{name}_read"
        self._read_csv(self._scan.csv, read, layers)
        if bounded:
            self._create(name, self._bounded(exp.table_(read), with_units))
            self._session.drop(read)

    def _read_csv(self, csv: CsvParts, name: str, layers: Callable[..., exp.Select]) -> None:
        """Makes a table of all rows of CSV files, batch by batch."""
        done: float = 0
        with closing(csv.batches()) as batches:
            for number, batch in enumerate(batches):
                query = layers(table=csv_table(csv, batch.files))
                with self._session.share_of_progress(done, batch.share):
                    made = self._create(name, query) if number == 0 else self._insert(name, query)
                if made != batch.rows and self._schema.unit.identifier is None:
                    raise EngineFailed(
                        "The engine read other rows than the file holds. What was charged stays "
                        "charged. This is a defect of the program. Please report it."
                    )
                done = batch.share

    def _create(self, name: str, query: exp.Select) -> int:
        """Makes a table, in the place of one that a reading which failed left behind."""
        ((made,),) = self._session.rows(f"CREATE OR REPLACE TABLE {name} AS {s.render(query)}")
        return int(made)

    def _insert(self, name: str, query: exp.Select) -> int:
        ((made,),) = self._session.rows(f"INSERT INTO {name} {s.render(query)}")
        return int(made)

    def _bounded(self, rows: Sql, with_units: bool) -> exp.Select:
        """The rows that are kept of each person.

        Rows are numbered by all that is kept of them: those that share a number's place are then
        alike, so which of them is kept depends on nobody else's rows.
        """
        columns = self._schema.columns
        codes = [self.code(column) for column in columns]
        values = [s.name(f"v{n}") for n, one in enumerate(columns) if one.value_bounds is not None]
        blank = s.text("")
        texts = [s.call("coalesce", s.cast(code, "VARCHAR"), blank) for code in codes]
        key = s.call("md5", s.call("concat_ws", s.text(":"), s.name("identifier"), *texts))
        keyed = exp.select(exp.Star(), exp.alias_(key, "key")).from_(rows).subquery("keyed")
        units_kept = [s.name(f"u{n}") for n in range(len(columns))] if with_units else []
        order = exp.Order(expressions=[s.name("key"), *values, *units_kept])
        number = exp.Window(this=exp.RowNumber(), partition_by=[s.name("identifier")], order=order)
        kept = exp.LTE(this=number, expression=s.whole(self._schema.unit.max_rows))
        chosen = [*units_kept, s.name("identifier")] if with_units else values
        query = exp.select(*codes, *chosen).from_(keyed)
        query.set("qualify", exp.Qualify(this=kept))
        return query

    def _layers(
        self,
        columns: Sequence[Column],
        with_values: bool = False,
        with_identifier: bool = False,
        with_units: bool = False,
        only_places: bool = False,
        only_units: bool = False,
        table: Sql | None = None,
    ) -> exp.Select:
        """Field, unit, guess, code, value: each a query over the one before, so none is computed twice."""
        places = [self._place[column.name] for column in columns]
        types = {n: units.FieldType.of(self._scan.fields[n][1]) for n in places}
        kept = [s.name("identifier")] if with_identifier else []

        def field(n: int) -> Sql:
            raw = s.name(self._scan.fields[n][0])
            return units.csv_field(raw, self._schema.csv) if self._scan.csv else raw

        def identifier() -> Sql:
            n = len(self._schema.columns)
            return units.identifier(field(n), units.FieldType.of(self._scan.fields[n][1]))

        query = exp.select(
            *(
                exp.alias_(units.field(field(n), types[n], self._schema.columns[n].kind), f"f{n}")
                for n in places
            ),
            *([exp.alias_(identifier(), "identifier")] if with_identifier else []),
        ).from_(self._scanned() if table is None else table)
        if with_identifier:
            query = (
                exp.select(exp.Star())
                .from_(query.subquery("named"))
                .where(exp.Not(this=s.is_null(s.name("identifier"))))
            )

        def over(below: exp.Select, found: dict[str, Sql], *passed: str) -> exp.Select:
            chosen = [exp.alias_(one, alias) for alias, one in found.items()]
            names = [s.name(one) for one in passed]
            return exp.select(*chosen, *names, *kept).from_(
                below.subquery("below", copy=False), copy=False
            )

        unit_of = {
            f"u{n}": units.unit(column, s.name(f"f{n}"), types[n])
            for n, column in zip(places, columns, strict=True)
        }
        query = over(query, unit_of)
        if only_units:
            return exp.select(*map(s.name, unit_of)).from_(query.subquery("units", copy=False))
        guesses = {
            f"g{n}": guess
            for n, column in zip(places, columns, strict=True)
            if (guess := cells.guess(column, s.name(f"u{n}"))) is not None
        }
        joined = [
            n
            for n, column in zip(places, columns, strict=True)
            if cells.is_joined(column, units.unit_type(column, types[n]))
        ]
        guesses |= {f"g{n}": s.name(_declared(n), "place") for n in joined}
        if guesses:
            query = over(query, guesses, *unit_of)
        for n in joined:
            same = s.equal(s.name("below", f"u{n}"), s.name(_declared(n), "value"))
            query = query.join(exp.table_(_declared(n)), on=same, join_type="left", copy=False)
        letter, number = ("p", cells.place) if only_places else ("c", cells.code)
        codes = {
            f"{letter}{n}": number(
                column,
                s.name(f"u{n}"),
                units.unit_type(column, types[n]),
                declared=_declared(n),
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
            f"v{n}": cells.value(column, s.name(f"u{n}"), s.name(f"c{n}"))
            for n, column in zip(places, columns, strict=True)
            if column.value_bounds is not None
        }
        return over(query, values, *codes, *passed)


def _declared(place: int) -> str:
    return f"declared_{place}"
