"""The rows of a PostgreSQL table: scanned anew by each verb, and bounded anew where the unit is an identifier.

Nothing is kept on the server, for that would take more than SELECT. Every verb runs in the same transaction, so
each sees the same rows, and bounding keeps the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from discreet.engines.postgres.dialect import DIALECT
from discreet.engines.postgres.session import Session
from discreet.engines.sql.layers import Layers
from discreet.engines.sql.rows import Rows
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema


class TableRows(Rows):
    """See `Rows`. It has no state but the names of things."""

    def __init__(
        self, session: Session, schema: Schema, table: Sql, fields: Sequence[tuple[str, str]]
    ) -> None:
        self._session = session
        self._schema = schema
        self._table = table
        self.layers = Layers(schema, fields, DIALECT)

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
        return DIALECT.layer(query, name)
