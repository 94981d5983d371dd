"""Where the rows of a data frame lie, and what is refused for that, before a row is read.

Text is parsed while it is read: a line of many commas stops Spark after the charge, and an open quote may take the
next lines with it. An RDD, and a source of another kind, may run any program for each row. So rows lie in Parquet or
ORC files, in tables that are made of these, or in memory.

What a folder is named, as in `code=01`, is a column to Spark. It has that value in all rows below, whatever the files
hold; and it is a number, 1, unless one of the folders is named by none, so that one row would change all others.

A file that is read by two names counts twice, and so do rows that a Delta, Hudi or Iceberg table has replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from discreet.engines.spark.session import Session
from discreet.errors import BadSource
from discreet.schema.columns.column import folded

_FORMATS = re.compile(r"\w*(Parquet|Orc)FileFormat")
_PLAIN_FORMATS = ("ParquetFileFormat", "OrcFileFormat", "ParquetTable", "OrcTable")
"""Those that know nothing of replaced rows."""
_TABLES = re.compile(r"(Parquet|Orc)Table|DeltaTableV2|SparkTable|\w*(Iceberg|Delta|Hoodie)\w*")
_PROVIDERS = ("parquet", "delta", "iceberg", "hudi")
"""What is read through Spark Connect. Of ORC, nothing there tells a moment that may stop Spark."""
_HIVE = re.compile("parquet|orc", re.IGNORECASE)
_LOGS = ("_delta_log", ".hoodie")


def leaves(frame: Any) -> Iterator[Any]:
    """The places that a plan reads, as Java's objects."""
    found = frame._jdf.queryExecution().analyzed().collectLeaves()
    return (found.apply(place) for place in range(found.size()))


def odd_source(leaf: Any) -> str | None:
    """What is odd in a place that rows are read from; `None` where no row can stop it or reach into others."""
    kind = _kind(leaf)
    if kind == "LogicalRDD":
        return None if leaf.rdd().isCheckpointed() else "an RDD, which may run any program"
    if kind == "HiveTableRelation":
        serde = str(leaf.tableMeta().storage().serde())
        return None if _HIVE.search(serde) else "a Hive table of text"
    if kind == "LogicalRelation" or kind.startswith("DataSourceV2"):
        name = _format(leaf)
        known = _FORMATS if kind == "LogicalRelation" else _TABLES
        return None if known.fullmatch(name) else f"a source of the kind {name}"
    return None


def odd_remote_source(session: Session, plan: Any) -> str | None:
    """The same of a plan that only the server knows, by the format that was named or that the catalog knows."""
    if type(plan).__name__ == "DataSource":
        named = plan._format or session.spark.conf.get("spark.sql.sources.default")
    else:
        described = session.spark.sql(f"DESCRIBE TABLE EXTENDED {plan.table_name}").collect()
        named = next((row[1] for row in described if row[0] == "Provider"), "unknown")
    is_known = str(named).lower() in _PROVIDERS
    return None if is_known else f"a source of the format {str(named)[:40]}"


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _format(leaf: Any) -> str:
    """The class of a file's format, or of the relation where there is none."""
    if _kind(leaf) != "LogicalRelation":
        return _kind(leaf.table())
    relation = leaf.relation()
    return _kind(relation.fileFormat() if _kind(relation) == "HadoopFsRelation" else relation)


def _index(leaf: Any) -> Any:
    """The list of a leaf's files and folders, and the types in the files; `None` where it has none."""
    kind = _kind(leaf)
    if kind == "LogicalRelation" and _kind(leaf.relation()) == "HadoopFsRelation":
        return leaf.relation().location(), leaf.relation().dataSchema()
    if kind.startswith("DataSourceV2") and _format(leaf) in _PLAIN_FORMATS:
        return leaf.table().fileIndex(), leaf.table().dataSchema()
    return None


def named_by_folders(session: Session, frame: Any) -> tuple[set[str], set[str]]:
    """Columns that folders name: those that the files hold too, and those whose type Spark may have guessed."""
    if session.is_remote:
        return _named_by_remote_folders(session, frame)
    hidden: set[str] = set()
    guessed: set[str] = set()
    for leaf in leaves(frame):
        if (found := _index(leaf)) is None:
            continue
        index, held = found
        folders = {folded(str(one.name())): one for one in index.partitionSchema().fields()}
        hidden |= folders.keys() & {folded(str(name)) for name in held.fieldNames()}
        if _kind(leaf) != "LogicalRelation" or not leaf.catalogTable().isDefined():
            types = {name: one.dataType().simpleString() for name, one in folders.items()}
            guessed |= {name for name, type_ in types.items() if type_ != "string"}
    return hidden, guessed


def _named_by_remote_folders(session: Session, frame: Any) -> tuple[set[str], set[str]]:
    plan = frame._plan
    options = getattr(plan, "_options", None) or {}
    if str(options.get("recursiveFileLookup", "")).lower() == "true":
        return set(), set()  # then no folder names a column
    files = list(frame.inputFiles())
    parts = {unquote(unquote(part)) for one in files for part in one.split("/")[:-1]}
    folders = {folded(part.split("=")[0]) for part in parts if "=" in part}
    if not folders:
        return set(), set()
    held = {folded(name) for name in session.spark.read.parquet(*map(unquote, files)).columns}
    types = {folded(one.name): one.dataType.simpleString() for one in frame.schema.fields}
    is_declared = type(plan).__name__ != "DataSource"
    guessed = {one for one in folders - held if types.get(one, "string") != "string"}
    return folders & held, set() if is_declared else guessed


def refuse_counting_twice(session: Session, frame: Any, name: str) -> None:
    """Refuses a file that is read twice, and files of a table that also hold rows which were replaced."""
    if session.is_remote:
        files = plain = list(frame.inputFiles())
    else:
        files, plain = [], []
        for leaf in leaves(frame):
            if (found := _index(leaf)) is not None:
                own = [str(one) for one in found[0].inputFiles()]
                files += own
                plain += own if _format(leaf) in _PLAIN_FORMATS else []
    if len(set(map(_identity, files))) < len(files):
        raise BadSource(
            f"A file of {name} would be read twice: by two names, by a link, or by a union with itself. Its rows would "
            "count twice. No row was read. Name each file once."
        )
    if any(_has_log(session, folder) for folder in _folders(plain)):
        raise BadSource(
            f"{name} reads the files of a Delta, Hudi or Iceberg table: some of them hold rows that were replaced, "
            "which would count again. No row was read. Read it as such a table, as in spark:delta.`/data/people`, or "
            "write its rows to other files."
        )


def skips_what_it_cannot_read(session: Session, frame: Any) -> bool:
    """Whether Spark leaves out the rest of a file where it cannot read a value, so that one row takes others with it."""
    said = [
        session.spark.conf.get(f"spark.{one}ignoreCorruptFiles", "false")
        for one in ("", "sql.files.")
    ]
    if session.is_remote:
        options = getattr(frame._plan, "_options", None) or {}
        said += [value for name, value in options.items() if name.lower() == "ignorecorruptfiles"]
    else:
        said += [_option(leaf, "ignorecorruptfiles") for leaf in leaves(frame)]
    return any(str(one).lower() == "true" for one in said)


def _option(leaf: Any, name: str) -> Any:
    """What a place was told to be read with."""
    kind = _kind(leaf)
    if kind == "LogicalRelation" and _kind(leaf.relation()) == "HadoopFsRelation":
        found = leaf.relation().options().get(name)
        return found.get() if found.isDefined() else None
    return leaf.options().get(name) if kind.startswith("DataSourceV2") else None


def _identity(file: str) -> object:
    """What a file is, whatever its name, on a disk of this machine; elsewhere its name."""
    place = urlsplit(file)
    try:
        return Path(unquote(place.path)).stat()[1:3] if place.scheme in ("", "file") else file
    except OSError:
        return file


def _folders(files: Iterable[str]) -> set[tuple[str, str]]:
    """All folders above some files, each behind what comes before paths of its disk."""
    found = set()
    for file in files:
        place = urlsplit(file)
        before = f"{place.scheme}://{place.netloc}" if place.scheme else ""
        found |= {(before, str(one)) for one in PurePosixPath(unquote(place.path)).parents}
    return found


def _has_log(session: Session, folder: tuple[str, str]) -> bool:
    """Whether a folder is that of a table which keeps replaced rows."""
    before, path = folder
    if session.is_remote:
        here = Path(path)
        return any((here / one).exists() for one in _LOGS) or any(
            here.glob("metadata/*.metadata.json")
        )
    hadoop = session.spark._jvm.org.apache.hadoop.fs
    settings = session.spark._jsc.hadoopConfiguration()
    place = hadoop.Path(before + path)
    disk = place.getFileSystem(settings)
    try:
        if any(disk.exists(hadoop.Path(place, one)) for one in _LOGS):
            return True
        described = hadoop.Path(place, "metadata")
        listed = disk.listStatus(described) if disk.exists(described) else ()
    except Exception:  # a folder that may not be looked into holds no table that can be read
        return False
    return any(str(one.getPath().getName()).endswith(".metadata.json") for one in listed)
