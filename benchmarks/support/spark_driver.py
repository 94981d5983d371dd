"""What Spark's driver holds while a table is counted: on a small cluster, whose executors are other processes.

    python -m benchmarks.support.spark_driver FILES FOLDER

Prints the peak of Python's memory, what the driver's Java holds after a collection, both in MB, and the kilobytes that tasks sent to it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from benchmarks.support.spark_events import ended_tasks, logged_to


def started(folder: str) -> Any:
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("driver")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": folder,
        **logged_to(folder),
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def held(files: str, folder: str) -> dict[str, float]:
    from benchmarks.spark import PAIRS, SCHEMA
    from discreet.engines import open_engine

    spark = started(folder)
    with open_engine(f"spark:{files}", SCHEMA) as engine:
        engine.marginals(PAIRS)
        java = spark._jvm.java.lang
        java.System.gc()
        heap = java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    spark.stop()
    sent = sum(each["Result Size"] for each in ended_tasks(folder))
    return {"python": peak / 1e6, "heap": heap / 1e6, "sent": sent / 1e3}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    print(json.dumps(held(sys.argv[1], sys.argv[2])))
