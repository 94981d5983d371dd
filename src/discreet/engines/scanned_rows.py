"""The rows of a table that is scanned anew by each verb, and bounded anew where the unit is an identifier.

Nothing is kept where the rows lie. The database must show each verb the same rows; bounding then keeps the
same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlglot import exp

from discreet.engines.sql.layers import Layers
from discreet.engines.sql.rows import Rows
from discreet.engines.sql.session import Session
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadSource, EngineFailed
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

_PLANNED_COLUMNS = 100


class PlanningSession(Session, Protocol):
    """A session that can also look at a query without running it."""

    def plan(self, query: Sql) -> None:
        """Lets the database read and plan a query that is not run."""
        ...


class ScannedRows(Rows):
    """See `Rows`. It has no state but the names of things."""

    def __init__(
        self, session: PlanningSession, schema: Schema, table: Sql, layers: Layers
    ) -> None:
        self._session = session
        self._schema = schema
        self._table = table
        self.layers = layers

    def rehearse(self) -> None:
        """Has the database plan what verbs will ask of each column, without reading a row.

        A type whose casts it does not know is then refused here, and not after a charge.
        """
        bounded = self._schema.unit.identifier is not None
        for start in range(0, len(self._schema.columns), _PLANNED_COLUMNS):
            columns = self._schema.columns[start : start + _PLANNED_COLUMNS]
            query = self._scan(columns, with_values=True, with_identifier=bounded, with_units=True)
            try:
                self._session.plan(query)
            except EngineFailed:
                names = ", ".join(repr(column.name) for column in columns[:30])
                raise BadSource(
                    f"The database cannot read a type of one of the columns {names}. No row was read. "
                    "Convert it to a number, a text, a boolean, a date or a timestamp first."
                ) from None

    def count(self, columns: Iterable[Column] | None = None) -> int:
        bounded = self._schema.unit.identifier is not None
        table = self._bounded(with_units=False) if bounded else self._table.copy()
        ((rows,),) = self._session.rows(exp.select("count(*)").from_(table))
        return int(rows)

    def encoded(self, columns: Iterable[Column], with_values: bool = False) -> Sql:
        if self._schema.unit.identifier is not None:
            return self._bounded(with_units=False)
        return self._layer(self._scan(columns, with_values=with_values), "encoded")

    def with_places(self, columns: Sequence[Column]) -> Sql:
        if self._schema.unit.identifier is not None:
            return self.places_of_codes(columns, self._bounded(with_units=False))
        return self._layer(self._scan(columns, only_places=True), "placed")

    def tally_rows(self, columns: Sequence[Column]) -> Sql:
        if self._schema.unit.identifier is not None:
            return self._bounded(with_units=True)
        return self._layer(self._scan(columns, with_units=True), "tallied")

    def _bounded(self, *, with_units: bool) -> Sql:
        rows = self._scan(
            self._schema.columns, with_values=True, with_identifier=True, with_units=with_units
        )
        return self.layers.bounded(self._layer(rows, "rows"), with_units).subquery("bounded")

    def _scan(self, columns: Iterable[Column], **kept: bool) -> exp.Select:
        return self.layers.of(list(columns), self._table.copy(), **kept)

    def _layer(self, query: exp.Select, name: str) -> Sql:
        return self.layers.dialect.layer(query, name)
