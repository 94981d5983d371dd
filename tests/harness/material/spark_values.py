"""Values that are spelled as PostgreSQL reads them, as a data frame of Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.spark_session import cast_frame, session

_TYPES = {
    "VARCHAR": "string",
    "UUID": "string",
    "INTEGER": "int",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}
"""By DuckDB's name; other types have the same one."""


def cast_values(names: Iterable[str], texts: Iterable[str | None], duckdb_type: str) -> Any:
    """A data frame of columns that all hold the same values."""
    spelled = [_spelled(text, duckdb_type) for text in texts]
    cast = cast_frame(names, spelled, _TYPES.get(duckdb_type, duckdb_type))
    return session().createDataFrame(cast.toArrow(), cast.schema)  # a cast tells nobody apart


def _spelled(text: str | None, type_: str) -> str | None:
    """Spark has no infinite days, a sign before long years, and a year 0 before the year 1."""
    if text is None or not type_.startswith(("DATE", "TIMESTAMP")):
        return text
    if "infinity" in text:
        return None
    if text.endswith(" BC"):
        return f"-{int(text[:4]) - 1:04}{text[4:-3]}"
    return text if text[4] == "-" else f"+{text}"
