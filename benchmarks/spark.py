"""Spark: all two-way marginals of five columns, ours against the same cells counted by hand.

    python benchmarks/spark.py             2 million rows
    python benchmarks/spark.py 20000000    so many

By hand means: the cells written as one would in Spark SQL, without a thought for values that make a cast fail,
and the marginals counted in one query by GROUPING SETS, or each by its own GROUP BY; the faster of the two
counts. The bar: at most 1.3 times its time. Spark is the benchmark's own, local[2]; the rows are in
Parquet files, which both read.

Then the driver's memory, on a cluster of two executors, for a twentieth of the rows, a quarter and all of them: what Python and the
driver's Java hold may grow by a fifth, however many rows there are.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.postgres import SCHEMA
from benchmarks.support.bars import bar
from benchmarks.support.children import executed, run_module
from benchmarks.support.spark_events import logged_to
from discreet.engines import open_engine

BAR, DRIVER_BAR = 1.3, 1.2
IN_DUCKDB = (
    "SELECT (h % 128)::INTEGER AS age, ['F', 'M'][1 + (h // 128 % 2)::INTEGER] AS sex, "
    "['north','east','south','west','centre','coast','hills','islands'][1 + (h // 256 % 8)::INTEGER] AS region, "
    "(h // 2048 % 1048576) / 1000.0 AS cost, DATE '2020-01-01' + (h // 4096 % 1461)::INTEGER AS day "
    "FROM (SELECT hash(range) AS h FROM range({rows}))"
)
"""The same kind of rows, without a Spark that would hold them."""
MAKE = (
    "CAST(hash(id) & 127 AS INT) AS age",
    "CASE hash(id + 7) & 1 WHEN 0 THEN 'F' ELSE 'M' END AS sex",
    "element_at(array('north','east','south','west','centre','coast','hills','islands'), 1 + (hash(id + 9) & 7)) "
    "AS region",
    "CAST((hash(id + 11) & 1048575) / 1000.0 AS DOUBLE) AS cost",
    "date_add(DATE '2020-01-01', (hash(id + 13) & 2047) % 1461) AS day",
)
REGIONS = " ".join(
    f"WHEN '{name}' THEN {place}"
    for place, name in enumerate(SCHEMA.column("region").values)  # type: ignore[attr-defined]
)
_DAY = "least(greatest(day, DATE '2020-01-01'), DATE '2023-12-31')"
BY_HAND = {
    "age": "CASE WHEN age IS NULL THEN 100 ELSE least(greatest(age, 0), 99) END",
    "sex": "CASE WHEN sex IS NULL THEN 3 ELSE CASE sex WHEN 'F' THEN 0 WHEN 'M' THEN 1 ELSE 2 END END",
    "region": f"CASE WHEN region IS NULL THEN 9 ELSE CASE region {REGIONS} ELSE 8 END END",
    "cost": "CASE WHEN cost IS NULL OR isnan(cost) THEN 16 "
    "ELSE CAST(least(greatest(floor(cost * 16 / 1000), 0), 15) AS INT) END",
    "day": f"CASE WHEN day IS NULL THEN 48 ELSE (year({_DAY}) - 2020) * 12 + month({_DAY}) - 1 END",
}
PAIRS = list(combinations(BY_HAND, 2))


def started(folder: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": folder,
        **logged_to(folder),
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def by_hand(spark: Any) -> dict[str, float]:
    """Seconds of each way of writing it by hand."""
    cells = ", ".join(f"{sql} AS {name}" for name, sql in BY_HAND.items())
    sets = ", ".join(f"({', '.join(pair)})" for pair in PAIRS)
    of_cells = f"(SELECT {cells} FROM visits)"
    one = [f"SELECT {', '.join(BY_HAND)}, count(*) FROM {of_cells} GROUP BY GROUPING SETS ({sets})"]
    each = [
        f"SELECT {', '.join(pair)}, count(*) FROM {of_cells} GROUP BY {', '.join(pair)}"
        for pair in PAIRS
    ]
    taken = {}
    for name, queries in (("one query", one), ("a query a pair", each)):
        start = time.perf_counter()
        for query in queries:
            spark.sql(query).toArrow()
        taken[name] = time.perf_counter() - start
    return taken


def ours(path: str) -> float:
    start = time.perf_counter()
    with open_engine(f"spark:{path}", SCHEMA) as engine:
        engine.marginals(PAIRS)
    return time.perf_counter() - start


def driver(rows: int, folder: str) -> bool:
    """What the driver holds, at three sizes; whether it stays the same."""
    sizes = []
    for part in (20, 4, 1):
        path = f"{folder}/driver-{part}.parquet"
        executed(f"COPY ({IN_DUCKDB.format(rows=rows // part)}) TO '{path}' (FORMAT parquet)")
        held = run_module("benchmarks.support.spark_driver", path, folder)
        Path(path).unlink()
        print(
            f"  {rows // part:,} rows: the driver's Python {held['python']:.0f} MB, its Java {held['heap']:.0f} MB, "
            f"{held['sent']:,.0f} kB sent to it"
        )
        sizes.append(held["python"] + held["heap"])
    name = f"Spark's driver: memory at {rows:,} rows / at a twentieth"
    return bar(name, sizes[-1] / sizes[0], DRIVER_BAR)


def main(words: list[str]) -> int:
    rows = int(words[0]) if words else 2_000_000
    with tempfile.TemporaryDirectory() as folder:
        spark = started(folder)
        path = f"{folder}/visits.parquet"
        spark.range(rows).selectExpr(*MAKE).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView("visits")
        ours(path)
        by_hand(spark)
        both = [
            (ours(path), by_hand(spark)) for _ in range(3)
        ]  # in turns, for other work to slow both
        spark.stop()
        steady = driver(rows, folder)
    best = min(one for one, _ in both)
    hand = {name: min(one[name] for _, one in both) for name in both[0][1]}
    least = min(hand.values())
    for name, seconds in {"ours": best, **hand}.items():
        print(f"{name:<16} {seconds:8.2f} s   {seconds / rows * 1e9:8.0f} ns a row")
    name = f"Spark local[2], {rows:,} rows, {len(PAIRS)} pairs: times the faster way by hand"
    met = bar(name, best / least, BAR)
    return 0 if met and steady else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
