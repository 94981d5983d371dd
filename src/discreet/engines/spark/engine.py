"""The Spark engine: counts are made on the executors, and only counts reach the driver.

One scan for each verb. An identifier's rows are numbered by a window in each verb, which shuffles them.

A session that is started here is left running until the process ends: other tables may be read through it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.protocol import Progress
from discreet.engines.scanned_rows import ScannedRows
from discreet.engines.sources import Source
from discreet.engines.sql import syntax as s
from discreet.engines.sql.engine import SqlEngine
from discreet.engines.sql.layers import Layers
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadSource
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema

if TYPE_CHECKING:
    from discreet.engines.spark.session import Session


def open_source(
    source: Source,
    schema: Schema,
    *,
    memory_limit: str,
    threads: int | None,
    progress: Progress | None,
) -> SparkEngine:
    """The engine of a table, once every declared column is found in it.

    `memory_limit` and `threads` are the cluster's matter.
    """
    session = _opened(source, progress)
    try:
        from discreet.engines.spark.dialect import DIALECT
        from discreet.engines.spark.frames import found_table, found_view

        found = found_table if schema.view is None else found_view
        table, fields = found(session, source, schema)
        layers = _Layers(schema, fields, DIALECT)
        layers.prefix = session.prefix
        for column in schema.columns:
            if DIALECT.is_joined(column, layers.unit_type(column)):
                assert isinstance(column, CategoryColumn)
                session.listed(layers.declared(column), column.values)
        rows = _Rows(session, schema, table, layers)
        rows.rehearse()
        return SparkEngine(session, schema, rows)
    except BaseException:
        session.close()
        raise


def describe_source(source: Source, csv: CsvOptions | None) -> list[tuple[str, str]]:
    """Names and types, from the catalog or the files' metadata alone."""
    session = _opened(source, None)
    try:
        from discreet.engines.spark.frames import opened

        columns = opened(session, source).columns
        return [(column.name, column.type_name.upper()) for column in columns]
    finally:
        session.close()


def _opened(source: Source, progress: Progress | None) -> Session:
    spark = session_of(source)
    from discreet.engines.spark.session import Session

    return Session(spark, progress)


class _Layers(Layers):
    """Names that differ from engine to engine, for several may share a session."""

    prefix = ""

    def declared(self, column: Column) -> str:
        return f"{self.prefix}_{super().declared(column)}"


class _Rows(ScannedRows):
    """Bounded rows have a name: Spark then resolves their long expression once, and not for each query."""

    _session: Session

    def __init__(self, session: Session, schema: Schema, table: Sql, layers: Layers) -> None:
        super().__init__(session, schema, table, layers)
        self._named: dict[bool, Sql] = {}

    def _bounded(self, *, with_units: bool) -> Sql:
        if with_units not in self._named:
            rows = super()._bounded(with_units=with_units)
            self._named[with_units] = self._session.named(exp.select(exp.Star()).from_(rows))
        return self._layer(exp.select(exp.Star()).from_(self._named[with_units].copy()), "bounded")


class SparkEngine(SqlEngine):
    """Counts with Spark. See `protocol.Engine` for what the verbs promise.

    Thread safe: verbs called at the same time run side by side, and each sees its own results.
    """

    def __init__(self, session: Session, schema: Schema, rows: ScannedRows) -> None:
        super().__init__(session, schema, rows)
        self._spark = session

    def _by_cell(self, keyed: Sql, number: int) -> exp.Select:
        """By rows of one key each: Spark groups those twice as fast as GROUPING SETS over several columns."""
        keys = s.call("array", *(s.name(f"k{place}") for place in range(number)))
        cells = exp.select(exp.alias_(s.call("explode", keys), "cell")).from_(keyed)
        counted = exp.select(s.name("cell"), exp.alias_(exp.Count(this=exp.Star()), "n"))
        return counted.from_(cells.subquery("cells", copy=False)).group_by(s.name("cell"))

    def close(self) -> None:
        self._spark.close()


def session_of(source: Source) -> Any:
    """The session of a data frame, else the active one, else a new one."""
    try:
        sql = import_module("pyspark.sql")
        import_module("pyarrow")
    except ImportError:
        raise BadSource(
            "Tables of Spark are read through pyspark and pyarrow, which are not installed. No row was read. "
            "Install discreet[spark]."
        ) from None
    if source.value is not None:
        return source.value.sparkSession
    failed = ""
    try:
        found = sql.SparkSession.getActiveSession()
        if found is None:
            builder = sql.SparkSession.builder.appName("discreet")
            for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
                builder = builder.config(name, "false")
            found = builder.config("spark.log.level", "OFF").getOrCreate()
        return found
    except Exception as error:
        failed = type(error).__name__
    raise BadSource(
        f"No Spark session could be started ({failed}). Nothing was read. Install Java 17 or later, or set "
        "SPARK_REMOTE to the address of a Spark server."
    )
