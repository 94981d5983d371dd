"""What every program of a peer shares: the cells that it counts, and how it says what it found. Needs no package."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

SEXES = ("F", "M")
REGIONS = ("north", "east", "south", "west", "centre", "coast", "hills", "islands")
CELLS = list(product(SEXES, REGIONS))
EPSILON = 1.0
RUNS = 3


def source() -> str:
    """Where the rows are: the first word of the command."""
    return sys.argv[1]


def cpu_seconds() -> float:
    """Of this process and all that it started, such as Spark; a database's server is not among them."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        found[int(place.parent.name)] = int(words[1]), int(words[11]) + int(words[12])
    ours, more = set(), {os.getpid()}
    while more:
        ours |= more
        more = {process for process, (parent, _) in found.items() if parent in ours} - ours
    return sum(found[process][1] for process in ours) / os.sysconf("SC_CLK_TCK")


def say(count: Callable[[], Iterable[tuple[str, str, float]]]) -> None:
    """Run it a few times; print the least seconds, by the clock and of CPU, and the counts of the last run."""
    seconds, cpu, found = [], [], {}
    for _ in range(RUNS):
        start, used = time.perf_counter(), cpu_seconds()
        found = {f"{sex} {region}": float(number) for sex, region, number in count()}
        seconds.append(time.perf_counter() - start)
        cpu.append(cpu_seconds() - used)
    counts = [found.get(f"{sex} {region}", 0.0) for sex, region in CELLS]
    print(json.dumps({"seconds": min(seconds), "cpu": min(cpu), "counts": counts}), flush=True)


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
