"""What every program of a peer shares: the cells that it counts, and how it says what it found. Needs no package."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from itertools import product

SEXES = ("F", "M")
REGIONS = ("north", "east", "south", "west", "centre", "coast", "hills", "islands")
CELLS = list(product(SEXES, REGIONS))
EPSILON = 1.0
RUNS = 3


def source() -> str:
    """Where the rows are: the first word of the command."""
    return sys.argv[1]


def say(count: Callable[[], Iterable[tuple[str, str, float]]]) -> None:
    """Run it a few times; print the seconds of the fastest run, and the counts of the last one."""
    seconds, found = [], {}
    for _ in range(RUNS):
        start = time.perf_counter()
        found = {f"{sex} {region}": float(number) for sex, region, number in count()}
        seconds.append(time.perf_counter() - start)
    counts = [found.get(f"{sex} {region}", 0.0) for sex, region in CELLS]
    print(json.dumps({"seconds": min(seconds), "counts": counts}), flush=True)


def spark() -> object:
    """A Spark of the program's own, local[2]."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("peer")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
    }.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made
