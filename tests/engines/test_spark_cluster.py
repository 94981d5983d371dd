"""Spark in processes of its own: a cluster that loses an executor, Spark Connect, and a disk that takes no more.

Each program has a Spark of its own, and so runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
START = """
import json, os, signal, sys, threading, time
import pyspark
from pathlib import Path

os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
from pyspark.sql import SparkSession

from discreet.engines import open_engine
from discreet.errors import BadSource, EngineFailed
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import CategoryColumn, IntegerColumn, Schema


def started(builder, **more):
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4", "spark.sql.session.timeZone": "America/St_Johns",
        "spark.local.dir": os.getcwd(), "spark.sql.warehouse.dir": os.getcwd() + "/warehouse",
    }
    for name, value in {**settings, **more}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def said(**words):
    print(json.dumps(words), flush=True)
"""


def ran(program: str, *words: object, folder: Path, seconds: int = 600) -> dict[str, Any]:
    """What a program says last."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START + program, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


# -- A killed executor ---------------------------------------------------------------------------

ROWS = 60_000_000
KILL = """
import numpy as np
from discreet.core.noise import DrawnNoise
from discreet.core.test_door import observed_vaults
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.releases import release_to_file

spark = started(SparkSession.builder.master("local-cluster[2,1,1024]"), **{"spark.executor.memory": "512m"})
rows = int(sys.argv[1])
frame = spark.range(0, rows, 1, 40)
schema = Schema(dataset="ids", columns=(IntegerColumn("id", 0, rows - 1, width=rows // 50),))


def executors():
    found = spark._jvm.java.lang.ProcessHandle.current().descendants().toArray()
    listed = [(one.pid(), one.info().commandLine().orElse("")) for one in found]
    return [pid for pid, line in listed if "CoarseGrainedExecutorBackend" in line]


killed, exact, noise = [], [], []


def kill():
    tracker = spark.sparkContext.statusTracker()
    while not killed:
        stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
        if any(one and one.numCompletedTasks >= 2 for one in stages):
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)
        time.sleep(0.05)


class Watched(DrawnNoise):
    def add(self, counts, law, *, step):
        exact.append(counts.tolist())
        return super().add(counts, law, step=step)

    def draw(self, law, count):
        noise.append(super().draw(law, count))
        return noise[-1]


threading.Thread(target=kill, daemon=True).start()
with observed_vaults(lambda engine: (engine, Watched())):
    made = release_to_file(frame, schema, "ids.release", budget=Budget(epsilon=1), workload=["histogram(id)"], ledger="ledger.db")
(noisy,) = [one.values for part in made.release.parts for one in part.noisy]
with Ledger.open("ledger.db") as ledger:
    charged = [str(entry.cost.epsilon) for entry in ledger.entries()]
said(
    counts=exact, draws=[len(one) for one in noise], is_sum=bool(np.array_equal(noisy, np.array(exact[0]) + noise[0])),
    killed=len(killed), is_gone=killed[0] not in executors(), charged=charged,
)
spark.stop()
"""


@pytest.mark.trust
def test_a_killed_executor_changes_no_number_and_draws_no_noise_twice(tmp_path: Path) -> None:
    """A release of 50 cells and the null cell: what is published is the exact counts and one draw for each."""
    found = ran(KILL, ROWS, folder=tmp_path)
    assert found == {
        "counts": [[*[ROWS // 50] * 50, 0]],
        "draws": [51],
        "is_sum": True,
        "killed": 1,
        "is_gone": True,
        "charged": ["1"],
    }


# -- Spark Connect -------------------------------------------------------------------------------

CONNECT = """
import pyarrow as pa
from pyspark.sql.connect.client.retries import DefaultPolicy
from tests import spark_session
from tests.harness import battery

quick = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode", "spark.driver.extraJavaOptions")
settings = {name: spark_session._SETTINGS[name] for name in quick}
spark = started(SparkSession.builder.remote("local[2]"), **settings)
assert type(spark).__module__ == "pyspark.sql.connect.session"
spark_session.session = lambda: spark
server = pyspark.SparkContext._active_spark_context
words = sys.argv[1:]
spark.conf.set("spark.sql.ansi.enabled", words[0])
spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")


def in_files(values):
    name = f"{os.getcwd()}/{abs(hash((values.duckdb_type, values.texts)))}.parquet"
    battery.in_spark(values).write.mode("overwrite").parquet(name)
    return f"spark:{name}"


battery.OTHERS["Spark"] = in_files
listed = [values for values in battery.LISTED if values.name in words[1:]]
outcome = battery.compared(listed, ["plain people"], ["Spark"], battery.CONDITIONS[::5])


def refused(source):
    try:
        open_engine(source, schema).close()
    except BadSource as error:
        return str(error)


def counted(source):
    with open_engine(source, schema) as engine:
        return [one.tolist() for one in engine.marginals([("age",), ("sex",)])]


schema = Schema(dataset="people", columns=(IntegerColumn("age", 0, 9), CategoryColumn("sex", ("F", "M"))))
frame = spark.createDataFrame(pa.table({"age": [1, 2, None, 40], "sex": ["F", "M", None, "CANARY"]}))
frame.write.saveAsTable("people")
spark.sql("CREATE VIEW shown AS SELECT 1 / age AS age, sex FROM people")
alike = [counted("spark:people"), counted(spark.table("people")), counted(spark.read.parquet("warehouse/people"))]
views = [refused("spark:shown"), refused(frame), refused(spark.table("people").where("1 / age > 0"))]

spark.range(0, 40_000_000, 1, 4).selectExpr("id % 100 AS age", "'F' AS sex").write.saveAsTable("many")
busy = lambda: len(server.statusTracker().getActiveJobsIds())


def interrupt():
    while not busy():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


signal.signal(signal.SIGINT, signal.default_int_handler)
interrupted, closed, left = False, "", -1
with open_engine("spark:many", schema) as engine:
    threading.Thread(target=interrupt).start()
    try:
        engine.marginals([("age",)])
    except KeyboardInterrupt:
        interrupted = True
    try:
        engine.row_count()
    except EngineFailed as error:
        closed = str(error)
for _ in range(300):
    left = busy()
    if not left:
        break
    time.sleep(0.1)
views_left = [one.name for one in spark.catalog.listTables() if one.name.startswith("discreet_")]

lost = ""
with open_engine("spark:people", schema) as engine:
    assert engine.row_count() == 4
    spark.client.set_retry_policies([DefaultPolicy(max_retries=2, initial_backoff=50)])  # else it tries for minutes
    server.stop()
    try:
        engine.row_count()
    except EngineFailed as error:
        lost = f"{error} {error.__context__}"
said(
    cells=outcome.cells, differences=outcome.differences, alike=alike, refused=views, interrupted=interrupted, closed=closed,
    jobs_left=left, views_left=views_left, lost=lost,
)
os._exit(0)
"""


@pytest.mark.trust
@pytest.mark.parametrize(
    ("ansi", "names"),
    [("true", ("doubles",)), ("false", ("zoned moments",))],
)
def test_spark_connect_counts_what_duckdb_does_and_ends_as_clearly(
    ansi: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    """A server of the test's own; the values are in Parquet files, for a client's own frames are refused."""
    found = ran(CONNECT, ansi, *names, folder=tmp_path, seconds=1200)
    assert found["differences"] == []
    assert found["cells"] > 1_000
    ages, sexes = [0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 1]
    assert found["alike"] == [[ages, sexes]] * 3
    for sentence in found["refused"]:
        assert "more than choose columns and rows" in sentence and "CANARY" not in sentence
    assert found["interrupted"] and "closed" in found["closed"]
    assert found["jobs_left"] == 0 and found["views_left"] == []
    assert "connection to it was lost. What was charged stays charged." in found["lost"]
    assert found["lost"].endswith(" None")


# -- A disk that takes no more -------------------------------------------------------------------

FULL = """
import resource
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.releases import release_to_file

spark = started(SparkSession.builder.master("local[2]"))
schema = Schema(dataset="ids", unit=PrivacyUnit("id", 1), columns=(IntegerColumn("age", 0, 9),))
spark.range(0, 2_000_000, 1, 4).selectExpr("id", "id % 10 AS age").write.parquet("ids.parquet")
java = spark._jvm.java.lang.ProcessHandle.current().pid()
resource.prlimit(java, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
error = None
try:
    release_to_file("spark:ids.parquet", schema, "ids.release", budget=Budget(epsilon=1), workload=["histogram(age)"], ledger="ledger.db")
except EngineFailed as caught:
    error = caught
with Ledger.open("ledger.db") as ledger:
    charged = str(ledger.spent("ids").epsilon)
said(error=str(error), behind=str(error.__cause__ or error.__context__), charged=charged, files=sorted(one.name for one in Path().glob("*.release*")))
os._exit(0)
"""


@pytest.mark.trust
def test_a_full_disk_of_spark_ends_in_one_sentence_and_the_charge_stays(tmp_path: Path) -> None:
    """The limit of a file's size stands for the disk: rows are shuffled by person, through files of Spark."""
    found = ran(FULL, folder=tmp_path)
    assert found["error"].startswith("Spark stopped (")
    assert found["error"].endswith("What was charged stays charged.") and "\n" not in found["error"]
    assert found["behind"] == "None"
    assert found["charged"] == "1" and found["files"] == []
