"""Whether the release of marginals that is chosen from public facts is the best one, on generated tables.

    python benchmarks/choice.py [--tables N] [--draws N] [--seed N] [--most-rows N] [--most-columns N] [--delta D]

Each table is drawn anew: seven kinds of dependence in turn (`support/table_families.py`), from none to strong, 3 to 30 columns of 2 to
1,000 cells, 200 to 1,000,000 rows, an epsilon from 0.1 to 10, and a delta of 0 or 1e-9. Every algorithm releases it, and the error is the mean
total variation of synthetic rows over all pairs of columns. The chosen algorithm should be within 1.1
of the best one in 95% of the tables, and the rows within 1.2 of the error of the measurements they come from
(where all pairs were measured).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import polars

from benchmarks.support.bars import bar
from benchmarks.support.table_families import Generated, generated, variation
from discreet import plan, release
from discreet.answering import ReleaseReader
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.answer.together.library import TableLibrary

ALGORITHMS = ("direct", "residuals", "adaptive")
WORKLOAD = "marginals(2)"
NEAR, OFTEN, ROWS_FACTOR = 1.1, 0.95, 1.2


def released(table: Generated, algorithm: str) -> ReleaseReader:
    with tempfile.TemporaryDirectory() as folder:
        return release(
            polars.DataFrame({f"c{place}": each for place, each in enumerate(table.codes.T)}),
            table.schema,
            budget=table.budget,
            workload=WORKLOAD,
            algorithms={WORKLOAD: algorithm},
            ledger=Path(folder) / "ledger.db",
            threads=1,
        )


def errors(table: Generated, reader: ReleaseReader) -> tuple[float, float | None]:
    """The error of synthetic rows; and of the measured tables, made plausible, where there are any."""
    rows = reader.synthesize(seed=1).codes
    measured = Library(reader.release).made(TableLibrary).all_tables
    drawn, known = [], []
    for pair in table.sets(2):
        true = table.table(table.codes, pair)
        drawn.append(variation(table.table(rows, pair), true))
        names = tuple(f"c{place}" for place in pair)
        if measured.determines(names):
            known.append(variation(nearest_counts(measured.table(names)), true))
    whole = len(known) == len(drawn)
    return float(np.mean(drawn)), float(np.mean(known)) if whole else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--draws", type=int, default=3, help="releases of each table, averaged")
    parser.add_argument("--seed", type=int, default=20_261_116)
    parser.add_argument("--most-rows", type=int, default=1_000_000)
    parser.add_argument("--most-columns", type=int, default=30)
    parser.add_argument("--delta", help="of every budget; by turns 0 and 1e-9 if none is given")
    asked = parser.parse_args()
    tables = generated(
        asked.tables,
        asked.seed,
        most_rows=asked.most_rows,
        most_columns=asked.most_columns,
        delta=asked.delta,
    )
    ratios, above = [], []
    for table in tables:
        planned = plan(table.schema, workload=WORKLOAD, budget=table.budget)
        chosen = planned.classes[0].algorithm
        found: dict[str, float] = {}
        for algorithm in ALGORITHMS:
            drawn = [errors(table, released(table, algorithm)) for _ in range(asked.draws)]
            found[algorithm] = float(np.mean([rows for rows, _ in drawn]))
            above += [rows / max(known, 1e-9) for rows, known in drawn if known is not None]
        ratios.append(found[chosen] / min(found.values()))
        shown = ", ".join(f"{name} {error:.4f}" for name, error in found.items())
        print(f"  {table.described}: {shown}; chose {chosen}: {ratios[-1]:.2f}", flush=True)
    near = float(np.mean(np.array(ratios) <= NEAR))
    met = bar(
        f"chosen within {NEAR} of the best algorithm, share of tables", near, OFTEN, at_least=True
    )
    bar("chosen / best, mean", float(np.mean(ratios)), None)
    bar("chosen / best, worst", float(np.max(ratios)), None)
    held = float(np.mean(np.array(above) <= ROWS_FACTOR))
    return int(
        not bar(
            f"rows within {ROWS_FACTOR} of their measurements, share", held, OFTEN, at_least=True
        )
        or not met
    )


if __name__ == "__main__":
    sys.exit(main())
