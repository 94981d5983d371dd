"""The PostgreSQL engine: counts are made where the rows lie, and only counts cross the wire.

One scan for each verb, by GROUPING SETS where several marginals are asked for. An identifier's rows are
numbered by a window function in each verb, which sorts them on the server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from discreet.engines.postgres.address import TableName
from discreet.engines.protocol import Progress
from discreet.engines.sources import Source
from discreet.engines.sql.engine import SqlEngine
from discreet.errors import BadSource
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema

if TYPE_CHECKING:
    from discreet.engines.postgres.rows import TableRows
    from discreet.engines.postgres.session import Session


def open_source(
    source: Source,
    schema: Schema,
    *,
    memory_limit: str,
    threads: int | None,
    progress: Progress | None,
) -> PostgresEngine:
    """The engine of a table, once every declared column is found in it.

    `threads` is the server's matter, and how far it is with a query it does not say.
    """
    session = _opened(source, memory_limit)
    try:
        from discreet.engines.postgres.catalog import found_table, found_view
        from discreet.engines.postgres.rows import TableRows

        found = found_table if schema.view is None else found_view
        table, fields = found(session, TableName.read(source.table or ""), schema)
        rows = TableRows(session, schema, table, fields)
        rows.rehearse()
        return PostgresEngine(session, schema, rows)
    except BaseException:
        session.close()
        raise


def describe_source(source: Source, csv: CsvOptions | None) -> list[tuple[str, str]]:
    """Names and types, from the database's catalog alone."""
    session = _opened(source, "64MB")
    try:
        from discreet.engines.postgres.catalog import find

        columns = find(session, TableName.read(source.table or "")).columns
        return [(column.name, column.type_name.upper()) for column in columns]
    finally:
        session.close()


def _opened(source: Source, memory_limit: str) -> Session:
    try:
        import_module("psycopg")
    except ImportError:
        raise BadSource(
            "PostgreSQL is read through psycopg, which is not installed. No row was read. Install "
            "discreet[postgres]."
        ) from None
    from discreet.engines.postgres.session import Session

    return Session(source.value, memory_limit=memory_limit)


class PostgresEngine(SqlEngine):
    """Counts with PostgreSQL. See `protocol.Engine` for what the verbs promise.

    Thread safe: verbs called at the same time wait for each other.
    """

    most_groupings = 200

    def __init__(self, session: Session, schema: Schema, rows: TableRows) -> None:
        super().__init__(session, schema, rows)
        self._connection = session

    def close(self) -> None:
        self._connection.close()
