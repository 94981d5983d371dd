"""What a release, and the same cells counted by hand, cost in Spark and in PostgreSQL: time, memory, bytes.

Each run is a process of its own, with a Spark of its own, or against the benchmark's own server. Both engines do the work in other
processes than Python's: seconds of CPU are those of all of them together. `peak` is Python's memory, which is all that the
driver's side of the product takes; `server` is what the Java process or the server's processes took beside it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int, *, ended_children: bool = False) -> float:
    """Seconds of CPU of a process, or of those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = (13, 14) if ended_children else (11, 12)
    return (int(fields[user]) + int(fields[system])) / TICK


def memory_of(pid: int, line: str) -> float:
    """A line of what the system says of a process's memory, in MB; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(one.split()[1]) / 1e3 for one in text.splitlines() if one.startswith(line)), 0)


def children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def draws(made: Any) -> int:
    """How many noisy numbers a release holds."""
    return sum(len(one.values.reshape(-1)) for part in made.release.parts for one in part.noisy)


def by_hand(source: str, schema: Any, sets: list[tuple[str, ...]]) -> None:
    """The engine's own cell expressions, one GROUP BY a marginal; it reaches into the engine for them."""
    from sqlglot import exp

    from discreet.engines import open_engine

    engine: Any = open_engine(source, schema)
    with engine:
        for names in sets:
            columns = [schema.column(name) for name in names]
            codes = [engine._layers.code(column) for column in columns]
            rows = engine._rows.encoded(columns)
            query = exp.select(*codes, "count(*)").from_(rows).group_by(*codes)
            is_text = type(engine).__name__ == "DuckDBEngine"
            dialect = engine._layers.dialect
            engine._session.arrays(dialect.render(query) if is_text else query)


@contextmanager
def _in_spark(found: dict[str, float], folder: Path, files: str) -> Iterator[None]:
    """Spark's own count of what it read and shuffled. Of columns read by their offsets it counts the rows right and the bytes not,
    so the bytes are those of the files, as often as their rows were read."""
    from pyarrow import dataset

    from benchmarks.spark import started
    from benchmarks.support.spark_events import ended_tasks

    spark = started(str(folder))
    spark.sql(
        "SELECT sum(id) FROM range(1000)"
    ).collect()  # once, so that its start is not measured
    java = spark._jvm.java.lang.ProcessHandle.current().pid()
    found["tasks"] = spark.read.parquet(files).rdd.getNumPartitions()
    since, cpu = time.time(), cpu_of(java)
    yield
    found["other cpu"] = cpu_of(java) - cpu
    found["server"] = memory_of(java, "VmHWM")
    spark.stop()
    tasks = ended_tasks(str(folder), since=since)
    table = dataset.dataset(files, format="parquet")
    scans = sum(each["Input Metrics"]["Records Read"] for each in tasks) / table.count_rows()
    found["read"] = scans * sum(Path(file).stat().st_size for file in table.files) / 1e6
    written = sum(each["Shuffle Write Metrics"]["Shuffle Bytes Written"] for each in tasks)
    found["shuffled"] = written / 1e6


@contextmanager
def _in_postgres(found: dict[str, float], admin: str, postmaster: int) -> Iterator[None]:
    """The server's count of the table's blocks; the memory of its processes is looked at again and again."""
    import psycopg

    def scanned() -> float:
        with psycopg.connect(admin, autocommit=True) as connection:
            query = "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'scale'"
            (blocks,) = connection.execute(query).fetchone() or (0,)
            return float(blocks) * 8192 / 1e6

    done, most = threading.Event(), [0.0]

    def watch() -> None:
        while not done.wait(0.05):
            both = sum(memory_of(pid, "RssAnon") for pid in children_of(postmaster))
            most[0] = max(most[0], both)

    read, cpu = scanned(), cpu_of(postmaster, ended_children=True)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    time.sleep(1)  # for its processes to end, and to say what they read
    found["other cpu"] = cpu_of(postmaster, ended_children=True) - cpu
    found["read"], found["server"] = scanned() - read, most[0]


def child(words: list[str]) -> dict[str, float]:
    """One run: `engine`, `release` or `by hand`, the source, a folder, the schema, the workload, what the engine needs."""
    from discreet import Budget, Schema
    from discreet.releases import release_to_file

    engine, how, source, place, toml, workload, admin, postmaster = words
    schema, folder = Schema.loads(toml), Path(place)
    classes: list[str] = json.loads(workload)
    sets = [tuple(one[10:-1].split(", ")) for one in classes]

    def release() -> int:
        made = release_to_file(
            source,
            schema,
            folder / "scale.release",
            overwrite=True,
            budget=Budget(epsilon=1),
            workload=classes,
            ledger=folder / "ledger.db",
        )
        return draws(made)

    work: dict[str, Callable[[], int | None]] = {
        "release": release,
        "by hand": lambda: by_hand(source, schema, sets),
    }
    found: dict[str, float] = {}
    around = (
        _in_spark(found, folder, source.removeprefix("spark:"))
        if engine == "spark"
        else _in_postgres(found, admin, int(postmaster))
    )
    with around:
        wall, cpu = time.perf_counter(), time.process_time()
        drawn = work[how]()
        found["wall"], own = time.perf_counter() - wall, time.process_time() - cpu
    found["draws"] = drawn or 0
    found["cpu"] = own + found.pop("other cpu")
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    print(json.dumps(child(sys.argv[1:])))
