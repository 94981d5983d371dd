"""The rows of a source in DuckDB: scanned anew by each verb, or kept once in a table of codes.

Where rows must be bounded or parsed, verbs read kept tables; else each verb scans the source anew. The
rows of people are bounded once, with all columns. A CSV file is parsed for the columns that the first verb
asks for, and once more, for all columns, when a later verb asks for another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from discreet.engines.csv.parts import CsvParts
from discreet.engines.duckdb.dialect import DIALECT, declarations, render
from discreet.engines.duckdb.scan import Scan, csv_table
from discreet.engines.duckdb.session import Session
from discreet.engines.sql import syntax as s
from discreet.engines.sql.layers import Layers
from discreet.engines.sql.rows import Rows
from discreet.engines.sql.syntax import Sql
from discreet.errors import EngineFailed
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


class EncodedRows(Rows):
    """The rows of one source, as its schema reads them. Thread safe: kept tables are made under a lock."""

    def __init__(self, session: Session, schema: Schema, scan: Scan) -> None:
        self._session = session
        self._schema = schema
        self._scan = scan
        self._kept_once = scan.csv is not None or schema.unit.identifier is not None
        self._making = threading.Lock()
        self._made: dict[str, _Kept] = {}
        self.layers = Layers(schema, scan.fields, DIALECT, is_csv=scan.csv is not None)
        for column in schema.columns:
            name = self.layers.declared(column)
            statements, variable = declarations(column, name)
            for statement in statements:
                session.run(statement)
            if variable is not None:
                session.set_variable(name, variable)

    def count(self, columns: Iterable[Column] | None = None) -> int:
        columns = self._schema.columns if columns is None else columns
        table = self._kept_table(columns) if self._kept_once else self._scanned()
        ((rows,),) = self._session.rows(exp.select("count(*)").from_(table))
        return int(rows)

    def _scanned(self) -> Sql:
        """The source's table. Only verbs come here, so that nothing is read before the charge."""
        if self._scan.read is not None:
            self._scan.read()
        return self._scan.table.copy()

    def encoded(self, columns: Iterable[Column], with_values: bool = False) -> Sql:
        if self._kept_once:
            return self._kept_table(columns, with_values=with_values)
        return self._layers(list(columns), with_values=with_values).subquery("encoded", copy=False)

    def with_places(self, columns: Sequence[Column]) -> Sql:
        if self._kept_once:
            return self.places_of_codes(columns, self._kept_table(columns))
        return self._layers(list(columns), only_places=True).subquery("placed", copy=False)

    def integer_units(self, column: Column) -> exp.Select | None:
        """A query for the units of a column, where these are 64-bit integers in the source itself."""
        if self._kept_once or self.layers.unit_type(column) != "BIGINT":
            return None
        known = exp.Not(this=s.is_null(self.layers.unit(column)))
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
        """Kept apart from the table of codes, which is smaller and serves every other verb."""
        if not self._kept_once:
            layers = self._layers(list(columns), with_units=True)
            return layers.subquery("tallied", copy=False)
        return self._made_once(_TALLIED, columns, with_values=False, with_units=True)

    def unit_rows(self, columns: Sequence[Column]) -> Sql:
        if self._kept_once:
            return self.tally_rows(columns)
        return self._layers(list(columns), only_units=True).subquery("tallied", copy=False)

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
                name, self.layers.bounded(rows.subquery("rows"), with_units) if bounded else rows
            )
            return
        read = name if not bounded else f"{name}_read"
        self._read_csv(self._scan.csv, read, layers)
        if bounded:
            self._create(name, self.layers.bounded(exp.table_(read), with_units))
            self._session.drop(read)

    def _read_csv(self, csv: CsvParts, name: str, layers: Callable[..., exp.Select]) -> None:
        """Makes a table of all rows of CSV files, batch by batch."""
        done: float = 0
        with closing(csv.batches()) as batches:
            for number, batch in enumerate(batches):
                query = layers(table=csv_table(csv, batch.files))
                with self._session.share_of_progress(done, batch.share):
                    made = self._create(name, query, more=number > 0)
                if made != batch.rows and self._schema.unit.identifier is None:
                    raise EngineFailed(
                        "The engine read other rows than the file holds. What was charged stays "
                        "charged. This is a defect of the program. Please report it."
                    )
                done = batch.share

    def _create(self, name: str, query: exp.Select, *, more: bool = False) -> int:
        """Makes a table, in the place of one that a reading which failed left behind, or adds to it."""
        what = f"INSERT INTO {name}" if more else f"CREATE OR REPLACE TABLE {name} AS"
        ((made,),) = self._session.rows(f"{what} {render(query)}")
        return int(made)

    def _layers(
        self, columns: Sequence[Column], table: Sql | None = None, **kept: bool
    ) -> exp.Select:
        return self.layers.of(columns, self._scanned() if table is None else table, **kept)
