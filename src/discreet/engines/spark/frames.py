"""From a source to a data frame that no row can make fail, and its columns.

A data frame may run anything for each row, and stop at some row, after the charge. So it may only choose columns
and rows of tables, by plain comparisons: everything else is refused before a row is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from discreet.engines.sources import Source, SourceColumn, locate
from discreet.engines.spark.address import is_path
from discreet.engines.spark.dialect import DIALECT
from discreet.engines.spark.footers import cut_numbers, refuse_other_types, rounded_moments
from discreet.engines.spark.origins import Origins, parts
from discreet.engines.spark.places import (
    named_by_folders,
    odd_remote_source,
    odd_source,
    refuse_counting_twice,
    skips_what_it_cannot_read,
)
from discreet.engines.spark.session import Session
from discreet.engines.sql.syntax import Sql
from discreet.engines.sql.views import joined
from discreet.errors import BadSource
from discreet.schema.columns.column import folded
from discreet.schema.schema import Schema

_REBASING = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.avro.datetimeRebaseModeInRead",
)
"""Set to EXCEPTION, a date before 1900 stops the reader."""
_PLANS = {
    "Project", "Filter", "SubqueryAlias", "View", "LogicalRelation", "DataSourceV2Relation", "HiveTableRelation",
    "DataSourceV2ScanRelation", "LocalRelation", "LogicalRDD", "Range", "Union", "Repartition", "ResolvedHint",
}  # fmt: skip
_EXPRESSIONS = {
    "AttributeReference", "Alias", "Literal", "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual",
    "GreaterThan", "GreaterThanOrEqual", "And", "Or", "Not", "IsNull", "IsNotNull", "In", "InSet", "IsNaN",
    "StartsWith", "EndsWith", "Contains",
}  # fmt: skip
"""What a data frame may be made of, beside casts that cannot fail."""
_COMPARISONS = _EXPRESSIONS & {
    "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "In", "InSet",
}  # fmt: skip
_PASSED_OVER = {"float", "double", "tinyint", "smallint"}
"""Types by whose comparisons Spark passes over parts of files: what these say of least and greatest values knows no NaN, no
-0.0 and no upper bits, so that one row beside others would decide whether they are read."""
_PLAIN_TYPES = re.compile(
    r"void|boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*|string.*|(var)?char\(.*|binary|date|timestamp(_ntz)?"
)
"""Types between which casts are null where they fail, if Spark is not in ANSI mode. Those of others stop it in any mode."""
_MOMENTS = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame with its columns as they are named there; in queries they are s0, s1, ..."""

    frame: Any
    columns: list[SourceColumn]
    origins: Origins | None
    """None where only the server knows the plan, which then reads one table or its files."""

    def given(self, session: Session) -> Sql:
        """As a table that queries can name."""
        names = [f"s{column.place}" for column in self.columns]
        return session.given(self.frame.toDF(*names))

    def fields(self, session: Session, read: Sequence[SourceColumn]) -> list[tuple[str, str]]:
        """The names in queries and the types of some columns, once no value behind them can stop Spark or mix people."""
        behind = list(read) if self.origins is None else self.origins.behind(read)
        self._refuse_folders(session, behind)
        refuse_other_types(session, self.frame, behind)
        rounded = rounded_moments(session, self.frame, behind) | cut_numbers(self.frame, behind)
        rounded |= frozenset() if self.origins is None else self.origins.spelled_anew(read)
        return [
            (f"s{one.place}", f"ROUNDED {one.type_name}" if one.place in rounded else one.type_name)
            for one in read
        ]

    def _refuse_folders(self, session: Session, behind: Sequence[SourceColumn]) -> None:
        """Refuses columns that folders name in the place of files, or in a type that other folders decide."""
        hidden, guessed = named_by_folders(session, self.frame)
        for one in behind:
            if folded(one.name) in hidden | guessed:
                raise BadSource(
                    f"Column {one.name!r} is what folders are named, such as {one.name}=3: "
                    + (
                        "the files hold it too, and what they hold would be lost. "
                        if folded(one.name) in hidden
                        else "Spark reads their names as numbers unless one of them is none, so that one row would change all others. "
                    )
                    + "No row was read. Name the path, as in spark:/data/people, or read it with a schema in which such a column is a string."
                )


def opened(session: Session, source: Source) -> Frame:
    """The data frame of a source."""
    if source.value is not None:
        return _checked(session, source.value, "The data frame")
    return _table(session, source.table or "")


def _table(session: Session, name: str) -> Frame:
    spark, failed = session.spark, ""
    try:
        if is_path(name):
            frame = _read(spark, name)
            own = _read(spark, name, recursiveFileLookup=True)
            if _is_renamed_by_folders(frame, own):
                frame = own
            elif texts := _folders_as_texts(frame, own):
                frame = _read(spark, name, texts)
        else:
            frame = spark.table(name)
        frame.schema  # noqa: B018 (looks the table up)
        return _checked(session, frame, f"{name!r}")
    except BadSource:
        raise
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        failed = str(condition or type(error).__name__)
    raise BadSource(
        f"Spark cannot open {name!r} ({failed}). Nothing was read. Write spark:catalog.schema.table for a "
        "table, or spark: and the path of Parquet files."
    )


def _read(spark: Any, path: str, schema: Any = None, **options: bool) -> Any:
    """Parquet files, without the calendar of old."""
    reader = spark.read.options(datetimeRebaseMode="CORRECTED", int96RebaseMode="CORRECTED")
    reader = reader.options(**options)
    return (reader if schema is None else reader.schema(schema)).parquet(path)


def _folders_as_texts(frame: Any, own: Any) -> Any:
    """The types of a frame, but texts for what folders are named, such as `code=01`; none where they are texts already.

    Spark makes 01 a 1 if all folders are named by numbers, so that one row in another folder would change all.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [
        one if one.name in own.columns else StructField(one.name, StringType())
        for one in frame.schema.fields
    ]
    return StructType(fields) if fields != frame.schema.fields else None


def _is_renamed_by_folders(frame: Any, own: Any) -> bool:
    """Whether a folder, such as `who=3`, is named as a column that the files hold: Spark would give all their rows one value."""
    parts = {part for file in frame.inputFiles() for part in file.split("/")[:-1] if "=" in part}
    # A file is named as an address is, and Spark reads the names of folders as such too.
    folders = {folded(unquote(unquote(part).split("=")[0])) for part in parts}
    return bool(folders & {folded(column) for column in own.columns})


def _checked(session: Session, frame: Any, name: str) -> Frame:
    for setting in _REBASING:
        if str(session.spark.conf.get(setting, "CORRECTED")).upper() == "EXCEPTION":
            raise BadSource(
                f"The session's {setting} is EXCEPTION, so a date of long ago may stop Spark. No row was read. "
                "Set it to CORRECTED."
            )
    if frame.isStreaming:
        raise BadSource(f"{name} is a stream. No row was read. Write it to a table first.")
    origins = None if session.is_remote else Origins(frame._jdf.queryExecution().analyzed())
    odd = next(_odd(session, frame, origins) if origins else _odd_remote(session, frame), None)
    if odd is not None:
        raise BadSource(
            f"{name} does more than choose columns and rows of a table ({odd}), so it may fail on some row, or "
            "mix people. No row was read. Write it to a table or a Parquet file first, and name that."
        )
    refuse_counting_twice(session, frame, name)
    if skips_what_it_cannot_read(session, frame):
        raise BadSource(
            f"{name} is read with ignoreCorruptFiles, so that one value which cannot be read would take all rows "
            "after it from the table. No row was read. Set it to false."
        )
    columns = [
        SourceColumn(place, field.name, field.dataType.simpleString())
        for place, field in enumerate(frame.schema.fields)
    ]
    return Frame(frame, columns, origins)


def _odd(session: Session, frame: Any, origins: Origins) -> Iterator[str]:
    """The classes of a plan's parts that may fail on some row."""
    casts = session.spark._jvm.org.apache.spark.sql.catalyst.expressions.Cast

    def plan(node: Any) -> Iterator[str]:
        kind = node.getClass().getSimpleName()
        if kind not in _PLANS:
            yield kind
            return
        if (odd := odd_source(node)) is not None:
            yield odd
        for one in parts(node.expressions()) if kind in ("Project", "Filter") else ():
            yield from expression(one)
        for child in parts(node.children()):
            yield from plan(child)

    def expression(node: Any) -> Iterator[str]:
        kind = node.getClass().getSimpleName()
        if kind == "Cast":
            mode, types = node.evalMode().toString(), (node.child().dataType(), node.dataType())
            widens = mode != "ANSI" or casts.canUpCast(*types)
            if mode != "TRY" and not (widens and _is_total(*(one.simpleString() for one in types))):
                yield "a cast"
        elif kind not in _EXPRESSIONS:
            yield kind
            return
        elif kind in _COMPARISONS and _PASSED_OVER & origins.types(node):
            yield "a comparison of a column of type float, double, tinyint or smallint"
        for child in parts(node.children()):
            yield from expression(child)

    yield from plan(frame._jdf.queryExecution().analyzed())


def _is_total(source: str, wanted: str) -> bool:
    """Whether a cast that loses nothing, or may give null, has a value for all: a far day is no timestamp."""
    between_moments = source in _MOMENTS and wanted in _MOMENTS[1:]
    are_plain = all(_PLAIN_TYPES.fullmatch(one) for one in (source, wanted))
    return source == wanted or (are_plain and not between_moments)


def _odd_remote(session: Session, frame: Any) -> Iterator[str]:
    """What is odd in a plan that only the server knows, judged by what the client wrote: one table that is no view, or files."""
    plan = frame._plan
    kind = type(plan).__name__
    if kind == "Read":
        table = session.spark.catalog.getTable(plan.table_name)
        if table.tableType not in ("MANAGED", "EXTERNAL"):
            yield "a view, which cannot be looked into through Spark Connect"
    elif kind != "DataSource":
        yield kind
        return
    if (odd := odd_remote_source(session, plan)) is not None:
        yield odd


def found_table(
    session: Session, source: Source, schema: Schema
) -> tuple[Sql, Sequence[tuple[str, str]]]:
    """A table, and the fields of the declared columns, then the identifier's."""
    frame = opened(session, source)
    found = locate(schema, frame.columns, names_are_public=True)
    fields = frame.fields(session, found)
    return frame.given(session), fields


def found_view(
    session: Session, source: Source, schema: Schema
) -> tuple[Sql, Sequence[tuple[str, str]]]:
    """The join of a declared view. Its tables are those of a schema of the catalog that have its files' names."""
    view = schema.view
    assert view is not None
    if source.table is None or is_path(source.table):
        raise BadSource(
            "The schema declares a view, so the source must name the schema of the catalog that holds its "
            "tables. Nothing was read. Write spark:catalog.schema."
        )
    place = source.table
    frames = {
        table: _table(session, f"{place}.`{PurePath(file).stem.replace('`', '``')}`")
        for table, file in view.tables
    }
    tables = {table: frame.given(session) for table, frame in frames.items()}

    def fields_of(table: str, columns: tuple[str, ...]) -> list[tuple[str, str]]:
        found = []
        for column in columns:
            alike = [one for one in frames[table].columns if folded(one.name) == folded(column)]
            if len(alike) != 1:
                what = "no column" if not alike else "more than one column"
                raise BadSource(
                    f"Table {table!r} of the view has {what} {column!r}. No row was read."
                )
            found += alike
        return frames[table].fields(session, found)

    return joined(schema, fields_of, lambda table: tables[table].copy(), DIALECT)
