"""`spark:catalog.schema.table`, `spark:people.parquet`, and PySpark's data frames: what is read through Spark."""

from __future__ import annotations

from discreet.engines.sources import Source
from discreet.errors import BadSource

SCHEME = "spark:"
_PARQUET = (".parquet", ".parq", ".pq")


def recognise(source: object) -> Source | None:
    """The source of a name or a data frame; `None` for anything else. Nothing of Spark is imported."""
    if isinstance(source, str):
        return _named(source.removeprefix(SCHEME)) if source.startswith(SCHEME) else None
    kind = type(source)
    if kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql."):
        return Source("spark", value=source)
    return None


def _named(name: str) -> Source:
    if not name or "\0" in name:
        raise BadSource(
            "The source names no table. Nothing was read. Write spark:catalog.schema.table, or the path of "
            "Parquet files behind spark:, as in spark:people.parquet."
        )
    return Source("spark", table=name)


def is_path(name: str) -> bool:
    """Whether a name is a path of Parquet files. One between backquotes is a name: delta.`/data/people`."""
    return "`" not in name and ("/" in name or name.lower().endswith(_PARQUET))
