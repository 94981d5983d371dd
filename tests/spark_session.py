"""A Spark of the tests' own: local, two threads, no page, in a temporary directory; started once in a process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "America/St_Johns",  # an odd one, which no result may depend on
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than counting a few rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # quick to start
}


def expect_a_long_run() -> None:
    """Before the session starts: Java compiles what runs often in full, which pays off after some minutes."""
    _SETTINGS["spark.driver.extraJavaOptions"] = "-XX:+UseSerialGC"


@cache
def session() -> Any:
    """The session of this process."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.pop("SPARK_REMOTE", None)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("tests")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    made = builder.config("spark.local.dir", str(folder)).getOrCreate()
    atexit.register(made.stop)
    # The `python3` of a machine may be another than ours, and then Spark's own Python fails: no engine may need it.
    made.sparkContext.pythonExec = "/there/is/no/python"
    return made


@contextmanager
def setting(name: str, value: str) -> Iterator[None]:
    """A setting of the session, for a while."""
    before = session().conf.get(name)
    session().conf.set(name, value)
    try:
        yield
    finally:
        session().conf.set(name, before)


@contextmanager
def compiled() -> Iterator[None]:
    """Queries are compiled to Java code for a while, as Spark does by default."""
    with (
        setting("spark.sql.codegen.wholeStage", "true"),
        setting("spark.sql.codegen.factoryMode", "CODEGEN_ONLY"),
    ):
        yield


def spark_frame(table: pa.Table | dict[str, Iterable[Any]]) -> Any:
    """A table of Arrow, or of columns of Python values, as a data frame of Spark."""
    if not isinstance(table, pa.Table):
        table = pa.table({name: pa.array(values) for name, values in table.items()})
    return session().createDataFrame(table)


def cast_frame(names: Iterable[str], texts: Iterable[str | None], type_: str) -> Any:
    """A data frame whose columns all hold the same texts, cast to a type; null where they are none of it."""
    one = pa.table({"t": pa.array(list(texts), pa.string())})
    frame = session().createDataFrame(one)
    return frame.selectExpr(*(f"try_cast(t AS {type_}) AS {name}" for name in names))
