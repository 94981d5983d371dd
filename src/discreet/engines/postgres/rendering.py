"""The text of a query: sqlglot's spelling for PostgreSQL, with our types, doubles and quotients."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from discreet.engines.sql.syntax import Sql


def rendered(query: Sql) -> str:
    text: str = _Generator(dialect=Postgres()).generate(query, copy=False)
    return text


class Quotient(exp.Div):
    """Division of integers, toward zero: `/`, where sqlglot would write a cast for exp.Div."""


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


def _quotient_sql(self: Any, expression: exp.Binary) -> str:
    return str(self.binary(expression, "/"))


_Generator.TRANSFORMS = {**PostgresGenerator.TRANSFORMS, Quotient: _quotient_sql}
