"""`open_engine`: from a source and a schema to the engine that reads it.

A new engine is one module and one line in `ENGINES`; nothing of a database is imported before an
engine is opened.
"""

from __future__ import annotations

from importlib import import_module

from discreet.engines.protocol import Engine, Progress
from discreet.engines.sources import Source, recognise, view_source
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema

ENGINES = {
    "duckdb": "discreet.engines.duckdb.engine",
}
"""By name, the module that has `open_source` and `describe_source`."""

_ENGINE_OF_FORMAT = dict.fromkeys(
    ("parquet", "csv", "duckdb", "pandas", "polars", "arrow", "view"), "duckdb"
)
DEFAULT_MEMORY = "768MB"


def open_engine(
    source: object,
    schema: Schema,
    *,
    memory_limit: str = DEFAULT_MEMORY,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Engine:
    """The engine for a source: a path, a glob, `file.duckdb::table`, or a data frame; of a view, a folder.

    `memory_limit` is for the engine; beyond it, work spills to a private temporary directory.
    Raises `BadSource` where the table cannot be opened or lacks a declared column.
    """
    found = source_of(source, schema)
    module = import_module(ENGINES[_ENGINE_OF_FORMAT[found.format]])
    engine: Engine = module.open_source(
        found, schema, memory_limit=memory_limit, threads=threads, progress=progress
    )
    return engine


def source_of(source: object, schema: Schema) -> Source:
    """The files or the object behind a source; of a view, its tables' files."""
    return recognise(source) if schema.view is None else view_source(source, schema.view)


def column_names_and_types(source: object, csv: CsvOptions | None = None) -> list[tuple[str, str]]:
    """Each column's name and logical type, from metadata alone; for a CSV file the type is "".

    The first line of a CSV file is taken for names. Where it looks like a row (a field is a
    number, or empty in a file without other names), it is refused unless `csv` says that it is a
    header: a row in a schema draft would be a release.
    """
    found: Source = recognise(source)
    module = import_module(ENGINES[_ENGINE_OF_FORMAT[found.format]])
    described: list[tuple[str, str]] = module.describe_source(found, csv)
    return described
