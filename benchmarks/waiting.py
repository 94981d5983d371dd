"""How long people wait: processor time of the commands on a table like a year of flights.

    python benchmarks/waiting.py [--rows N] [--lines N] [--only reading|ranges|commands|large]

Each command is a process of its own, imports included. A CSV file of `--lines` rows is compared with
DuckDB's own reading of it into a table, in the same run, and a curator answers two questions about it in one
process: the second one must not read it again. A million people with 20 columns are released and synthesised.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support import people_table
from benchmarks.support.bars import bar
from benchmarks.support.children import SOURCE, measured
from benchmarks.support.flights import ROWS, written

SECONDS, MEGABYTES = 5.0, 1000.0
CSV_FACTOR = 1.5
AGAIN_SECONDS = 1.0
"""For a further question of the same process."""
LARGE_SECONDS = 20.0
MAIN = "from discreet.cli import main; main()"
READING = """
import json, resource, sys, time
how, path, text = sys.argv[1:]
import duckdb
from discreet import Schema
from discreet.engines import open_engine
duckdb.execute("SET enable_progress_bar = false")
start = time.process_time()
if how == "duckdb":
    duckdb.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{path}')")
else:
    with open_engine(path, Schema.load(text)) as engine:
        engine.marginals([("month", "carrier"), ("hour",)])
print(json.dumps({"cpu": time.process_time() - start}))
"""
LIVE = """
import json, sys, tempfile, time
path, text = sys.argv[1:]
import discreet
spent = []
with tempfile.TemporaryDirectory() as place:
    whole = discreet.Budget(epsilon=1)
    with discreet.Curator(path, discreet.Schema.load(text), ledger=f"{place}/l.db", cap=whole) as curator:
        for where in ("hour >= 12", "hour < 6"):
            curator.ask(f"SELECT month, count(*) FROM flights WHERE {where} GROUP BY month",
                budget=discreet.Budget(epsilon="0.1"))
            spent.append(time.process_time())
print(json.dumps({"first": spent[0], "again": spent[1] - spent[0]}))
"""
MANY = """
import json, sys, tempfile, time
import numpy, polars, discreet
from discreet import Budget, Schema
draw = numpy.random.default_rng(1)
schema = Schema.loads('dataset = "t"\\n[columns.a]\\nkind = "integer"\\nrange = [0, 999]\\n'
    '[columns.b]\\nkind = "integer"\\nrange = [0, 2]\\n')
frame = polars.DataFrame({"a": draw.integers(0, 1000, 50_000), "b": draw.integers(0, 3, 50_000)})
with tempfile.TemporaryDirectory() as place:
    opened = discreet.release(frame, schema, budget=Budget(epsilon=1), workload=["marginals(2)"],
        algorithms={"marginals(2)": "residuals"}, ledger=f"{place}/ledger.db")
low = draw.integers(0, 700, 1000)
start = time.process_time()
opened.count_many("a", low, low + draw.integers(0, 300, 1000))
print(json.dumps({"cpu": time.process_time() - start}))
"""


def waited(*words: object) -> tuple[float, float]:
    """Processor seconds of a command, and the most memory of any so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, words)],
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, after.ru_maxrss * 1024 / 1e6


def commands(folder: Path, rows: int) -> bool:
    """Release, synthesize, report and compare, for each algorithm."""
    met = True
    _, table, schema = written(folder, rows)
    for name, words in (
        ("automatic", ("--epsilon", "1", "--delta", "1e-9")),
        ("direct", ("--epsilon", "1", "--algorithm", "marginals(2)=direct")),
        (
            "residuals",
            ("--epsilon", "10", "--delta", "1e-9", "--algorithm", "marginals(2)=residuals"),
        ),
    ):
        made = folder / f"{name}.release"
        public = ("--schema", schema, "--for", "marginals(2)", *words)
        places = ("--ledger", folder / f"{name}.db", "-o", made)
        for what, asked in (
            ("release marginals(2)", ("release", table, *public, *places)),
            ("synthesize", ("synthesize", made, "-o", folder / f"{name}.parquet", "--seed", "1")),
            ("report", ("report", made)),
            ("compare", ("compare", made, table)),
        ):
            spent, memory = waited(*asked)
            met &= bar(f"{name}: {what}, CPU seconds", spent, SECONDS)
    return bar("most memory of a command, MB", memory, MEGABYTES) and met


def reading(folder: Path, lines: int) -> bool:
    comma, parquet, schema = written(folder, lines)
    own = measured(READING, "duckdb", comma, schema)["cpu"]
    ours = measured(READING, "discreet", comma, schema)["cpu"]
    stored = measured(READING, "discreet", parquet, schema)["cpu"]
    bar(f"two tables of {lines:,} rows of Parquet, CPU seconds", stored, None)
    live = measured(LIVE, comma, schema)
    return all(
        [
            bar(f"two tables of {lines:,} lines of CSV, CPU seconds", ours, SECONDS),
            bar("the same / DuckDB's own reading of the file", ours / own, CSV_FACTOR),
            bar("a curator's question about the file, CPU seconds", live["first"], SECONDS),
            bar("a further question, CPU seconds", live["again"], AGAIN_SECONDS),
        ]
    )


def large(folder: Path) -> bool:
    """A million people with 20 columns: all pairs released, and as many rows drawn."""
    table, schema = people_table.written(folder)
    made = folder / "people.release"
    public = ("--schema", schema, "--for", "marginals(2)", "--epsilon", "1", "--delta", "1e-9")
    released, _ = waited("release", table, *public, "--ledger", folder / "people.db", "-o", made)
    drawn, memory = waited("synthesize", made, "-o", folder / "people.out.parquet", "--seed", "1")
    bar("1,000,000 rows of 20 columns: release, CPU seconds", released, None)
    bar("1,000,000 rows of 20 columns: synthesize, CPU seconds", drawn, None)
    name = "1,000,000 rows of 20 columns: both, CPU seconds"
    enough = bar("the same, most memory, MB", memory, MEGABYTES)
    return bar(name, released + drawn, LARGE_SECONDS) and enough


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--only", choices=("reading", "ranges", "commands", "large"))
    asked = parser.parse_args()
    met = True
    with tempfile.TemporaryDirectory() as place:
        if asked.only in (None, "large"):
            met &= large(Path(place))
        if asked.only in (None, "reading"):
            met &= reading(Path(place), asked.lines)
        if asked.only in (None, "ranges"):
            name = "1,000 ranges of 1,000 cells from residuals, CPU seconds"
            met &= bar(name, measured(MANY)["cpu"], SECONDS)
        if asked.only in (None, "commands"):
            met &= commands(Path(place), asked.rows)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
