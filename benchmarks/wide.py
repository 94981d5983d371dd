"""Counting all pairs of 100 columns over a million rows, and a category of 10,000 values.

    python benchmarks/wide.py [--rows N]

Of a release only what the engine does: cells, and exact counts. Each run is a process of its own, and
its times are those of counting, without imports and opening. The long category is compared with a plain GROUP BY of
its texts and another column; the best of several runs, alternating.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from benchmarks.support.children import executed, measured

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, VALUES, RUNS = 100, 10_000, 3
SECONDS_LIMIT, MEMORY_LIMIT, FACTOR_LIMIT = 90.0, 1000.0, 1.3

CHILD = """
import json, resource, sys, time
from itertools import combinations
import duckdb, numpy
from discreet import Schema
from discreet.engines import open_engine
how, path, schema = sys.argv[1], sys.argv[2], Schema.loads(open(sys.argv[3]).read())
engine, connection = open_engine(path, schema), duckdb.connect()
connection.execute("PRAGMA disable_progress_bar")
def pairs():
    engine.marginals(list(combinations(schema.names, 2)))
def plain():
    connection.execute(f"SELECT item, c0, count(*) FROM '{path}' GROUP BY ALL").fetchnumpy()
work = {"pairs": pairs, "plain": plain}[how]
cpu = time.process_time()
work()
print(json.dumps({
    "cpu": time.process_time() - cpu,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
}))
"""


def written(select: str, rows: int, path: Path) -> None:
    executed(f"COPY (SELECT {select} FROM (SELECT range AS r FROM range({rows}))) TO '{path}'")


def number(name: str) -> str:
    return f'[columns.{name}]\nkind = "integer"\nrange = [0, 9]\n'


def category(name: str, values: list[str]) -> str:
    return f'[columns.{name}]\nkind = "category"\nvalues = {json.dumps(values)}\n'


def wide(rows: int, folder: Path) -> bool:
    """Half of the columns are integers and half texts, of ten values each."""
    path, schema = folder / "wide.parquet", folder / "wide.toml"
    cells = [f"hash(r + {n}) % 10" for n in range(COLUMNS)]
    texts = [f"'v' || ({cell})" if n % 2 else f"({cell})::BIGINT" for n, cell in enumerate(cells)]
    written(", ".join(f"{text} AS c{n}" for n, text in enumerate(texts)), rows, path)
    values = [f"v{n}" for n in range(10)]
    declared = [category(f"c{n}", values) if n % 2 else number(f"c{n}") for n in range(COLUMNS)]
    schema.write_text('dataset = "wide"\n' + "".join(declared))
    found = measured(CHILD, "pairs", path, schema)
    met = bar(f"all pairs of {COLUMNS} columns, CPU seconds", found["cpu"], SECONDS_LIMIT)
    return bar(f"all pairs of {COLUMNS} columns, peak MB", found["peak"], MEMORY_LIMIT) and met


def long_category(rows: int, folder: Path) -> bool:
    path, schema = folder / "long.parquet", folder / "long.toml"
    item = f"'item-' || (hash(r) % {VALUES + 50})"
    written(f"{item} AS item, (hash(r + 1) % 10)::BIGINT AS c0", rows, path)
    declared = category("item", [f"item-{n}" for n in range(VALUES)])
    schema.write_text('dataset = "long"\n' + declared + number("c0"))
    ours, plain = [], []
    for _ in range(RUNS):
        ours.append(measured(CHILD, "pairs", path, schema)["cpu"])
        plain.append(measured(CHILD, "plain", path, schema)["cpu"])
    return bar(
        f"category of {VALUES:,} values / plain GROUP BY", min(ours) / min(plain), FACTOR_LIMIT
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as place:
        met = wide(rows, Path(place))
        met &= long_category(10 * rows, Path(place))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
