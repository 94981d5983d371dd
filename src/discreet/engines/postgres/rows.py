"""The rows of a PostgreSQL table: see `scanned_rows`.

Nothing is kept on the server, for that would take more than SELECT. Every verb runs in the same transaction, so
each sees the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.engines.postgres.dialect import DIALECT
from discreet.engines.postgres.session import Session
from discreet.engines.scanned_rows import ScannedRows
from discreet.engines.sql.layers import Layers
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadSource
from discreet.schema.schema import Schema

_MOST_COLUMNS = 500
"""A code, a value and a unit of each are columns of one query, which may have 1,664."""


class TableRows(ScannedRows):
    """See `ScannedRows`."""

    def __init__(
        self, session: Session, schema: Schema, table: Sql, fields: Sequence[tuple[str, str]]
    ) -> None:
        if schema.unit.identifier is not None and len(schema.columns) > _MOST_COLUMNS:
            raise BadSource(
                f"The schema declares {len(schema.columns)} columns besides an identifier. No row was read. PostgreSQL allows at most {_MOST_COLUMNS}; declare fewer."
            )
        super().__init__(session, schema, table, Layers(schema, fields, DIALECT))
