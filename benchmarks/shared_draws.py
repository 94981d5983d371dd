"""Numbers of a release that share draws: their intervals by the joint law, and by a bound for each alone.

    python benchmarks/shared_draws.py

A table of 3,000 rows with a column of two values, one of four, and ten ages. The same questions are asked of the same release
twice: as they are answered, and with what is known of shared draws left out, so that the union bound has to do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import polars

from benchmarks.support.bars import bar
from discreet import Budget, Schema, release
from discreet.families.tables.answer import table_source

ROWS = 3_000
SCHEMA = f"""
dataset = "d"
people = {ROWS}
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.town]
kind = "category"
values = ["a", "b", "c", "d"]
[columns.age]
kind = "integer"
range = [0, 9]
"""
RELEASES = {
    "marginals(2) by residuals, delta 1e-6": (
        "marginals(2)", {"marginals(2)": "residuals"}, Budget(epsilon=1, delta="1e-6"),
    ),
    "one table, no delta": ("marginals(sex, town)", {}, Budget(epsilon=1)),
}  # fmt: skip
QUESTIONS = {
    "difference of two counts": "SELECT count(*) FILTER (WHERE sex = 'f') - count(*) FILTER (WHERE sex = 'm') AS x FROM d",
    "sum over groups": "SELECT sum(n) AS x FROM (SELECT town, count(*) AS n FROM d GROUP BY town) t",
    "share of the total": "SELECT town, count(*) * 1.0 / sum(count(*)) OVER () AS x FROM d GROUP BY town",
    "share of a part, in percent": "SELECT 100.0 * count(*) FILTER (WHERE sex = 'f') / count(*) AS x FROM d",
}


def main() -> int:
    source = np.random.default_rng(1)
    rows = polars.DataFrame(
        {
            "sex": source.choice(["f", "m"], ROWS),
            "town": source.choice(list("abcd"), ROWS),
            "age": source.integers(0, 10, ROWS),
        }
    )
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for place, (name, (workload, algorithms, budget)) in enumerate(RELEASES.items()):
            reader = release(
                rows,
                Schema.loads(SCHEMA),
                budget=budget,
                workload=workload,
                algorithms=algorithms,
                ledger=Path(folder) / f"{place}.db",
            )
            for what, sql in QUESTIONS.items():
                joint = reader.ask(sql).columns[0]
                with patch.object(table_source, "cell_draws", lambda *_: None):
                    alone = reader.ask(sql).columns[0]
                widths = [float(each.upper[0] - each.lower[0]) / 2 for each in (alone, joint)]
                ratios.append(widths[1] / widths[0])
                print(
                    f"{name}: {what}: {widths[0]:.4g} alone, {widths[1]:.4g} together", flush=True
                )
    return int(
        not bar("half-width by the joint law / each number alone, largest", max(ratios), 0.8)
    )


if __name__ == "__main__":
    sys.exit(main())
