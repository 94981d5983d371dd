"""How the files behind a data frame store its moments, which Spark shows as microseconds whatever they were, and short
whole numbers.

It multiplies milliseconds, and stops at one that is too far, after the charge; so it does with ORC's seconds. It cuts off
nanoseconds, so that two people's identifiers may become one. Both are told by a column's type, which stands at the end
of each Parquet file.

It also reads all files by the types of one. A whole number of another file then loses its upper bits, so that people
become one, and a far day that is read as a moment stops it. So types that differ are refused, but for wider ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from discreet.engines.sources import SourceColumn
from discreet.engines.spark.session import Session
from discreet.errors import BadSource

_SUFFIXES = (".parquet", ".parq", ".pq")
_TEXT = re.compile(r"string( collate .*)?|(var)?char\(\d+\)", re.IGNORECASE)
_UNKNOWN = "unknown"
"""How a file of another format stores a moment, or one that only a server can open."""


_WIDER = (
    ("tinyint", "smallint", "int", "bigint"), ("tinyint", "smallint", "int", "double"), ("float", "double"),
    ("binary", "string"), ("timestamp", "timestamp_ntz", "timestamp"),
)  # fmt: skip
"""Types that hold whatever one before them in a line holds. Moments are alike here: what stores them is looked at apart."""


def refuse_other_types(session: Session, frame: Any, columns: Sequence[SourceColumn]) -> None:
    """Refuses columns that some file has in a type which does not fit that of the frame."""
    # As they are called, with signs that mean any other sign behind a stroke.
    files = [re.sub(r"([][{}*?\\])", r"\\\1", unquote(one)) for one in frame.inputFiles()]
    wanted: dict[str, set[str]] = {}
    for one in columns:
        wanted.setdefault(one.name.lower(), set()).add(one.type_name)
    # One look at all files, which fails where types differ, and then one at each.
    schemas = [_schema(session, files)] if files else []
    if None in schemas:
        schemas = [_schema(session, [file]) for file in files]
    for field in (field for schema in schemas if schema for field in schema.fields):
        for type_ in wanted.get(field.name.lower(), ()):
            if not _fits(field.dataType.simpleString(), type_):
                raise BadSource(
                    f"Column {field.name!r} is of another type in some of the files than Spark reads it by, and values "
                    "may not fit. No row was read. Write the files anew with one type."
                )


def _schema(session: Session, files: list[str]) -> Any:
    """The types in files of Parquet or ORC; `None` where these differ, or where the format is another."""
    for format_ in ("parquet", "orc"):
        with suppress(Exception):
            reader = session.spark.read.format(format_).option("mergeSchema", True)
            return reader.option("ignoreCorruptFiles", False).load(files).schema
    if len(files) == 1 and files[0].lower().endswith(_SUFFIXES):
        raise _not_parquet(files[0])
    return None


def _not_parquet(file: str) -> BadSource:
    return BadSource(f"{file!r} cannot be opened as Parquet. No row was read.")


def _fits(stored: str, wanted: str) -> bool:
    stored, wanted = (_TEXT.sub("string", one) for one in (stored, wanted))
    return stored == wanted or any(
        stored in line and wanted in line[line.index(stored) :] for line in _WIDER
    )


def rounded_moments(
    session: Session, frame: Any, columns: Sequence[SourceColumn]
) -> frozenset[int]:
    """The places of columns whose moments may be finer than Spark shows them; `BadSource` where one may stop it."""
    rounded = set()
    for column, kinds in _stored(session, frame, columns):
        is_elsewhere = _UNKNOWN in kinds and not session.is_remote
        if is_elsewhere or any("MILLIS" in kind for kind in kinds):
            raise BadSource(
                f"Column {column.name!r} is stored in milliseconds, or in files that are not Parquet, and Spark stops at "
                "a moment that is too far for microseconds. No row was read. Write the column to Parquet in microseconds, or give "
                "the path of Parquet files without spark: before it."
            )
        if any("MICROS" not in kind for kind in kinds):
            rounded.add(column.place)
    return frozenset(rounded)


def cut_numbers(frame: Any, columns: Sequence[SourceColumn]) -> frozenset[int]:
    """The places of short whole numbers in files: Parquet has 32 bits for each, and Spark drops the upper ones."""
    short = [one.place for one in columns if one.type_name in ("tinyint", "smallint")]
    return frozenset(short if short and frame.inputFiles() else ())


def _stored(
    session: Session, frame: Any, columns: Sequence[SourceColumn]
) -> list[tuple[SourceColumn, set[str]]]:
    """The moments among some columns, and all ways in which the frame's files may store each."""
    found = [(one, set[str]()) for one in columns if one.type_name.startswith("timestamp")]
    if session.is_remote:
        return [(column, {_UNKNOWN}) for column, _ in found]
    for file in frame.inputFiles() if found else ():
        kinds = _kinds(session, file)
        for column, stored in found:
            own = kinds.get(column.name.lower())
            # A column that the file does not have by this name may be any of it.
            stored |= set().union(*kinds.values()) if own is None else own
    return found


def _kinds(session: Session, file: str) -> dict[str, set[str]]:
    """What the end of a file says of the type of each of its moments; names may differ in case alone."""
    jvm = session.spark._jvm
    parquet, hadoop = jvm.org.apache.parquet.hadoop, jvm.org.apache.hadoop.fs
    settings = session.spark._jsc.hadoopConfiguration()
    path = hadoop.Path(unquote(file) if "%" in file else file)
    try:
        opened = parquet.util.HadoopInputFile.fromPath(path, settings)
        reader = parquet.ParquetFileReader.open(opened)
    except Exception:
        reader = None
    if reader is None and file.lower().endswith(_SUFFIXES):
        raise _not_parquet(file)
    if reader is None:  # Hive's Parquet files have no suffix, so any other was worth a look
        return {"": {_UNKNOWN}}
    try:
        columns = reader.getFooter().getFileMetaData().getSchema().getFields()
        found: dict[str, set[str]] = {}
        for place in range(columns.size()):
            column = columns.get(place)
            kind = str(column.getLogicalTypeAnnotation())  # such as TIMESTAMP(MICROS,true)
            if column.isPrimitive():
                kind = f"{column.asPrimitiveType().getPrimitiveTypeName()} {kind}"
            if "TIMESTAMP" in kind or "INT96" in kind:
                found.setdefault(str(column.getName()).lower(), set()).add(kind)
        return found
    finally:
        reader.close()
