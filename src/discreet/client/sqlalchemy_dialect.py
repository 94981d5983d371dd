"""A SQLAlchemy dialect over releases and services, for `pandas.read_sql` and BI tools.

discreet:////srv/people.release                              a release file
discreet://:TOKEN@host:8765/releases/people?tls=true         a service's release
discreet://:TOKEN@host:8765/datasets/people?epsilon=0.1      live, each new question charged
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import types
from sqlalchemy.engine import URL, default

TYPES = {
    "integer": types.Integer,
    "number": types.Float,
    "date": types.Date,
    "datetime": types.DateTime,
    "boolean": types.Boolean,
}


class DiscreetDialect(default.DefaultDialect):
    """One table, read by aggregates alone."""

    name = "discreet"
    driver = "discreet"
    supports_alter = False
    supports_default_values = False
    supports_sane_rowcount = False
    supports_statement_cache = False
    supports_native_boolean = True
    default_paramstyle = "qmark"
    postfetch_lastrowid = False

    @classmethod
    def import_dbapi(cls) -> Any:
        from discreet.client import dbapi

        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        options = dict(url.query)
        if not url.host:
            return [f"/{(url.database or '').lstrip('/')}"], {}
        scheme = "https" if options.pop("tls", "") in ("true", "1") else "http"
        port = f":{url.port}" if url.port else ""
        target = f"{scheme}://{url.host}{port}/{url.database or ''}"
        given: dict[str, Any] = {"token": url.password}
        for name in ("epsilon", "accuracy"):
            if name in options:
                given[name] = options[name]
        return [target], given

    def initialize(self, connection: Any) -> None:
        """Nothing is asked to begin with: a question may have a price."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        return dbapi_connection.source is not None

    def _table(self, connection: Any) -> tuple[str, list[tuple[str, str]]]:
        raw = connection.connection.dbapi_connection
        found: tuple[str, list[tuple[str, str]]] = raw.columns()
        return found

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        return ["main"]

    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return [self._table(connection)[0]]

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    def has_table(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        return table_name == self._table(connection)[0]

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return [
            {
                "name": name,
                "type": TYPES.get(kind, types.String)(),
                "nullable": True,
                "default": None,
            }
            for name, kind in self._table(connection)[1]
        ]

    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return []

    def get_indexes(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return []
