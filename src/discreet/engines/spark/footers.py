"""Parquet files whose moments Spark cannot read: in milliseconds, where some lie beyond what microseconds hold.

Spark multiplies them and stops at one that is too far, after the charge. So such a column is refused by its type,
which stands at the end of each file.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from discreet.engines.spark.session import Session
from discreet.errors import BadSource

_SUFFIXES = (".parquet", ".parq", ".pq")


def refuse_milliseconds(session: Session, frame: Any, names: list[str]) -> None:
    """`BadSource` where some Parquet file of a data frame holds one of the columns in milliseconds."""
    if session.is_remote or not names:
        return
    for file in frame.inputFiles():
        if not file.lower().endswith(_SUFFIXES):
            continue
        kinds = _kinds(session, file)
        for name in names:
            if "MILLIS" in kinds.get(name.lower(), ""):
                raise BadSource(
                    f"Column {name!r} is stored in milliseconds, and Spark stops at a moment that is too far "
                    "for microseconds. No row was read. Write the column in microseconds, or give the "
                    "path of the files without spark: before it."
                )


def _kinds(session: Session, file: str) -> dict[str, str]:
    """What the end of a file says of each column's type."""
    jvm = session.spark._jvm
    parquet, hadoop = jvm.org.apache.parquet.hadoop, jvm.org.apache.hadoop.fs
    settings = session.spark._jsc.hadoopConfiguration()
    path = hadoop.Path(unquote(file) if "%" in file else file)
    reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, settings))
    try:
        columns = reader.getFooter().getFileMetaData().getSchema().getFields()
        found = {}
        for place in range(columns.size()):
            column = columns.get(place)
            found[str(column.getName()).lower()] = str(column.getLogicalTypeAnnotation())
        return found
    finally:
        reader.close()
