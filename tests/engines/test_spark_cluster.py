"""A cluster that loses an executor: the numbers are the same. In a process of its own, for it has its own Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 60_000_000
PROGRAM = """
import json, os, signal, sys, threading, time
import pyspark

os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
from pyspark.sql import SparkSession

from discreet.engines import open_engine
from discreet.schema import IntegerColumn, Schema

builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("lost")
for name, value in {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "4",
    "spark.local.dir": os.getcwd(), "spark.sql.warehouse.dir": os.getcwd() + "/warehouse",
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
rows = int(sys.argv[1])
frame = spark.range(0, rows, 1, 40)
schema = Schema(dataset="ids", columns=(IntegerColumn("id", 0, rows - 1, width=rows // 50),))


def executors():
    found = spark._jvm.java.lang.ProcessHandle.current().descendants().toArray()
    listed = [(one.pid(), one.info().commandLine().orElse("")) for one in found]
    return [pid for pid, line in listed if "CoarseGrainedExecutorBackend" in line]


killed = []


def kill():
    tracker = spark.sparkContext.statusTracker()
    while not killed:
        stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
        if any(one and one.numCompletedTasks >= 2 for one in stages):
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)
        time.sleep(0.05)


with open_engine(frame, schema) as engine:
    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    (counts,) = engine.marginals([("id",)])
    after = killed[:] and killed[0] not in executors()
    print(json.dumps({"counts": counts.tolist(), "killed": len(killed), "is_gone": bool(after)}))
spark.stop()
"""


@pytest.mark.trust
def test_a_killed_executor_changes_no_number(tmp_path: Path) -> None:
    """Noise is drawn by the core alone, which the engine cannot import: a task that is run again draws none."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(ROWS)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}"},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.strip().splitlines()[-1])
    assert said == {"counts": [*[ROWS // 50] * 50, 0], "killed": 1, "is_gone": True}
