"""Intervals over a column of 64-bit timestamps in a large Parquet file, against one plain scan of it.

    python benchmarks/timestamps.py [--rows N]

The plain scan is `SELECT ts >> 44, count(*) ... GROUP BY 1`. The release is the default one, an adaptive
tree over all 2^64 cells, from the file to the release file. Each run is a process of its own, which first
does the same with a file of a thousand rows, for modules are imported when they are needed; times are the
best of several runs, alternating. Bars: at most 3 times the scan's CPU time, and at most 3 times its wall time, although the
scan keeps every core busy. The rows are made up: nanoseconds on the days of six years, most of them
by day, a quarter in bursts, some to the full minute.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from benchmarks.support.children import executed, measured

ROOT = Path(__file__).resolve().parent.parent
FACTOR_LIMIT, MEMORY_LIMIT = 3.0, 1000.0
RUNS = 9

TABLE = """
COPY (
    SELECT CASE WHEN h % 97 = 0 THEN NULL
                WHEN h % 4 = 0 THEN moment // burst * burst + h // 64 % 2000000000
                WHEN h % 5 = 0 THEN moment // minute * minute
                ELSE moment END AS ts
    FROM (
        SELECT h, 60000000000 AS minute, 800000000000000 AS burst,
               1500000000000000000 + h // 8 % 2190 * 86400000000000
               + (hash(h) % 30000000000000)::BIGINT + (hash(h // 3) % 30000000000000)::BIGINT
               + 14400000000000 AS moment
        FROM (SELECT (hash(range) // 2)::BIGINT AS h FROM range({rows}))
    )
) TO '{path}' (FORMAT parquet)
"""
SCHEMA = """
dataset = "timestamps"
[columns.ts]
kind = "integer"
range = [-9223372036854775808, 9223372036854775807]
"""
CHILD = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import duckdb, numpy, timestamps
from discreet import Budget, Schema
from discreet.releases import release_to_file
how, path, small, folder = sys.argv[2], sys.argv[3], sys.argv[4], Path(sys.argv[5])
schema = Schema.loads(timestamps.SCHEMA)
def release(path, name):
    release_to_file(path, schema, folder / f"{name}.release", overwrite=True,
        budget=Budget(epsilon=1), workload=["intervals(ts)"], ledger=folder / f"{name}.ledger.db")
def scan(path, name):
    with duckdb.connect() as connection:
        connection.execute("PRAGMA disable_progress_bar")
        connection.execute(f"SELECT ts >> 44, count(*) FROM '{path}' GROUP BY 1").fetchnumpy()
work = {"release": release, "scan": scan}[how]
work(small, "small")
wall, cpu = time.perf_counter(), time.process_time()
work(path, "large")
print(json.dumps({
    "wall": time.perf_counter() - wall,
    "cpu": time.process_time() - cpu,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
}))
"""


def run(how: str, path: Path, small: Path, folder: Path) -> dict[str, float]:
    """One run in a process of its own, with a ledger that starts afresh: the data is generated."""
    for old in folder.glob("*.ledger.db*"):
        old.unlink()
    return measured(CHILD, Path(__file__).parent, how, path, small, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path, small = folder / "timestamps.parquet", folder / "small.parquet"
        for many, file in ((rows, path), (1000, small)):
            executed(TABLE.format(rows=many, path=file))
        run("scan", path, small, folder)  # once unmeasured: bytecode, and the disk's cache
        releases, scans = [], []
        for _ in range(RUNS):
            releases.append(run("release", path, small, folder))
            scans.append(run("scan", path, small, folder))
    best = {
        (name, key): min(each[key] for each in runs)
        for name, runs in (("release", releases), ("scan", scans))
        for key in ("wall", "cpu")
    }
    for name in ("release", "scan"):
        print(
            f"  {rows:,} rows, {name}: {best[name, 'wall']:.2f} s wall, {best[name, 'cpu']:.2f} s CPU"
        )
    met = True
    for key, name in (("wall", "wall"), ("cpu", "CPU")):
        factor = best["release", key] / best["scan", key]
        met &= bar(f"release / plain scan, {name}", factor, FACTOR_LIMIT)
    met &= bar("release, peak MB", max(each["peak"] for each in releases), MEMORY_LIMIT)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
