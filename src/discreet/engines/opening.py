"""`open_engine`: from a source and a schema to the engine that reads it.

A new engine is one module and one entry in `ENGINES`; nothing of a database is imported before an
engine is opened. An engine from outside is added by `register`, and by `registered` for a while.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from discreet.engines import sources
from discreet.engines.postgres.address import recognise as postgres_recognise
from discreet.engines.protocol import Engine, Progress
from discreet.engines.sources import UNDECODED, Source, view_source
from discreet.engines.spark.address import recognise as spark_recognise
from discreet.errors import BadInput, BadSource
from discreet.schema.columns.values import NUMBER_PATTERN, WHITESPACE
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """An engine: where it stands, and what it reads."""

    module: str
    """Has `open_source` and `describe_source`. Imported when a source is opened, not before."""
    formats: tuple[str, ...]
    """The formats of sources that it reads; no other engine reads them."""
    recognise: Callable[[object], Source | None] = lambda source: None
    """For sources that are known to this engine alone: told by name or type, before any row is read."""


ENGINES = {
    "duckdb": EngineEntry(
        "discreet.engines.duckdb.engine",
        ("parquet", "csv", "duckdb", "pandas", "polars", "arrow", "view"),
    ),
    "postgres": EngineEntry("discreet.engines.postgres.engine", ("postgres",), postgres_recognise),
    "spark": EngineEntry("discreet.engines.spark.engine", ("spark",), spark_recognise),
}
"""By name."""
DEFAULT_MEMORY = "768MB"
_DATED = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
"""What begins like a date."""


def register(name: str, entry: EngineEntry) -> None:
    """Add an engine from outside. Its name and its formats must be new."""
    taken = {each for known in ENGINES.values() for each in known.formats}
    if name in ENGINES or taken & set(entry.formats):
        raise BadInput(f"There is an engine {name!r} already, or one that reads its formats.")
    ENGINES[name] = entry


@contextmanager
def registered(name: str, entry: EngineEntry) -> Iterator[None]:
    """Add an engine from outside for a while."""
    register(name, entry)
    try:
        yield
    finally:
        del ENGINES[name]


def recognise(source: object) -> Source:
    """The source behind an object: as some engine alone knows it, or as all do."""
    return _known_to_one(source) or sources.recognise(source)


def _known_to_one(source: object) -> Source | None:
    found = (entry.recognise(source) for entry in ENGINES.values())
    return next((one for one in found if one is not None), None)


def _module_for(source: Source) -> Any:
    for entry in ENGINES.values():
        if source.format in entry.formats:
            return import_module(entry.module)
    raise BadInput(f"No engine reads sources of the format {source.format!r}.")


def open_engine(
    source: object,
    schema: Schema,
    *,
    memory_limit: str = DEFAULT_MEMORY,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Engine:
    """The engine for a source: a path, a glob, `file.duckdb::table`, `postgresql://host/db#schema.table`,
    `spark:catalog.schema.table`, or a data frame; of a view, a folder.

    `memory_limit` is for the engine; beyond it, work spills to a private temporary directory.
    Raises `BadSource` where the table cannot be opened or lacks a declared column.
    """
    found = source_of(source, schema)
    engine: Engine = _module_for(found).open_source(
        found, schema, memory_limit=memory_limit, threads=threads, progress=progress
    )
    return engine


def source_of(source: object, schema: Schema) -> Source:
    """The files or the object behind a source; of a view, its tables' files, or their schema in a database."""
    if schema.view is None:
        return recognise(source)
    return _known_to_one(source) or view_source(source, schema.view)


def column_names_and_types(source: object, csv: CsvOptions | None = None) -> list[tuple[str, str]]:
    """Each column's name and logical type, from metadata alone; for a CSV file the type is "".

    The first line of a CSV file is taken for names. Where it looks like a row (a field is a
    number, or empty in a file without other names), it is refused unless `csv` says that it is a
    header: a row in a schema draft would be a release.
    """
    found: Source = recognise(source)
    described: list[tuple[str, str]] = _module_for(found).describe_source(found, csv)
    if found.format == "csv" and csv is None:
        refuse_row_as_header([name for name, _ in described])
    return described


def refuse_row_as_header(names: Sequence[str]) -> None:
    """For drafts, where nothing else tells a header from a row: a header holds no numbers and no dates.

    A line in which another delimiter stands has not been taken apart, so it may hide anything.
    """
    plain = [name.strip(WHITESPACE) for name in names]
    if any(UNDECODED & set(name) for name in plain):
        raise BadSource(
            "The first line is not UTF-8 text, so it is not shown. Say how the file is written, as in "
            "--encoding cp1252 for one from Windows, or save it as UTF-8."
        )
    if any(re.search(r"[;|\t]", name) for name in plain):
        raise BadSource(
            "The first line holds a ; or | or a tab inside of a name, so it may be a row, and is not shown. "
            "Say what stands between the fields, as in --delimiter ';', or write the schema by hand, with the "
            "file's `delimiter` under [csv], and its `names` if it has no header."
        )
    if any(re.fullmatch(NUMBER_PATTERN, name) or _DATED.match(name) for name in plain):
        raise BadSource(
            "The first line looks like a row, because it holds a number or a date. So it is not shown. If the "
            "file has no header, list its columns, as in --names age,sex; if these are names, say --header."
        )
