"""Which Spark session is used: that of a data frame, else the active one, else a new one.

A session that is started here is left running until the process ends: other tables may be read through it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from discreet.engines.sources import Source
from discreet.errors import BadSource


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
