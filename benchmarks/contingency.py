"""The linear program for a true table, and whether smaller tables agree: one JSON object a line.

    python benchmarks/contingency.py

CPU time of one process; exit code 1 if a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.linear_programs import _signs, nearest_table, walsh_hadamard
from discreet.privacy.budget import Budget
from discreet.releases import release
from discreet.schema import IntegerColumn, Schema

SEED = 1


def coefficients(columns: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Noisy parities of up to two of so many binary columns, of a skewed table of 20,000 rows."""
    source = generator(SEED)
    shares = source.dirichlet(np.full(1 << columns, 0.02))
    table = source.multinomial(20_000, shares).astype(np.float64)
    chosen = [c for size in range(3) for c in combinations(range(columns), size)]
    sets = np.array(sorted(sum(1 << place for place in each) for each in chosen))
    return sets, walsh_hadamard(table)[sets] + source.laplace(0, noise, len(sets))


def full_optimum(sets: np.ndarray, values: np.ndarray, columns: int) -> float:
    signs, ones = _signs(sets, np.arange(1 << columns)), np.ones((len(sets), 1))
    solved = linprog(
        np.r_[np.zeros(1 << columns), 1.0],
        A_ub=np.vstack([np.hstack([signs, -ones]), np.hstack([-signs, -ones])]),
        b_ub=np.r_[values, -values],
        bounds=(0, None),
        method="highs",
    )
    return float(solved.x[-1])


def disagreement(folder: Path) -> float:
    """The largest difference between two ways of computing a table of one column."""
    sizes = (12, 7, 5, 3)
    names = [f"c{place}" for place in range(len(sizes))]
    columns = tuple(IntegerColumn(n, 0, d - 1) for n, d in zip(names, sizes, strict=True))
    path = folder / "table.csv"
    rows = generator(SEED).integers(0, sizes, (5000, len(sizes)))
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(names), comments="")
    worst = 0.0
    for place, budget in enumerate((Budget(epsilon=1), Budget(epsilon=1, delta="1e-9"))):
        reader = release(
            path,
            Schema(dataset="bench", columns=columns),
            budget=budget,
            workload="marginals(2)",
            ledger=folder / f"{place}.db",
        )
        for name in names:
            alone = reader.noisy_table([name])[0]
            for other in names:
                if other != name:
                    summed = reader.noisy_table([name, other])[0].sum(axis=1)
                    worst = max(worst, float(np.abs(summed - alone).max()))
    return worst


def main() -> int:
    sets, values = coefficients(10, 100.0)
    found = nearest_table(sets, values, columns=10)
    gap = abs(found.distance - full_optimum(sets, values, 10)) / max(1.0, found.distance)
    good = bar("linear program, 2^10 cells: relative distance from the full optimum", gap, 1e-6)
    sets, values = coefficients(16, 100.0)
    start = time.process_time()
    found = nearest_table(sets, values, columns=16)
    seconds = time.process_time() - start
    good &= bar("linear program, 2^16 cells: CPU seconds", seconds, 10.0)
    good &= bar("linear program, 2^16 cells: optimal", float(found.is_optimal), 1.0, at_least=True)
    with tempfile.TemporaryDirectory() as folder:
        apart = disagreement(Path(folder))
    good &= bar("two ways of computing a smaller table differ by, in rows", apart, 1e-9)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
