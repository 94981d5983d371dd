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
from discreet.errors import BadSource, EngineFailed
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

_MOST_COLUMNS = 500
"""A code, a value and a unit of each are columns of one query, which may have 1,664."""
_PLANNED_COLUMNS = 100


class TableRows(Rows):
    """See `Rows`. It has no state but the names of things."""

    def __init__(
        self, session: Session, schema: Schema, table: Sql, fields: Sequence[tuple[str, str]]
    ) -> None:
        self._session = session
        self._schema = schema
        self._table = table
        self.layers = Layers(schema, fields, DIALECT)
        if schema.unit.identifier is not None and len(schema.columns) > _MOST_COLUMNS:
            raise BadSource(
                f"The schema declares {len(schema.columns)} columns beside an identifier. No row was read. "
                f"PostgreSQL bounds the rows of people with at most {_MOST_COLUMNS}; declare fewer."
            )

    def rehearse(self) -> None:
        """Has the server plan what verbs will ask of each column, without reading a row.

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
        return DIALECT.layer(query, name)
