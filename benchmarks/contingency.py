"""The linear program for a true table, and whether smaller tables agree: one JSON object a line.

    python benchmarks/contingency.py

CPU time of one process; exit code 1 if a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import combinations, product
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.linear_programs import _signs, nearest_table, walsh_hadamard
from discreet.privacy.budget import Budget
from discreet.releases import release
from discreet.schema import BooleanColumn, IntegerColumn, Schema

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


def agreeing(folder: Path) -> bool:
    """Answers from whole tables: that they agree, how near they are, and how often their intervals hold the truth."""
    names = [f"a{place}" for place in range(6)]
    pairs, met, source = list(combinations(names, 2)), True, generator(SEED)
    held = shown = 0
    for algorithm, nulls, rows in product(
        ("direct", "all-cells", "fourier", "residuals"), ("cell", "exclude"), (400, 5000)
    ):
        if (algorithm, nulls) == ("residuals", "exclude"):
            algorithm = "residuals-even"
        schema = Schema(
            dataset="bench", columns=tuple(BooleanColumn(name, nulls=nulls) for name in names)
        )
        apart, read, cut = 0.0, [], []
        for draw in range(4):
            bits = source.random((rows, 6)) < source.random((rows, 1)) * 0.3
            path = folder / "bits.csv"
            np.savetxt(path, bits, fmt="%d", delimiter=",", header=",".join(names), comments="")
            reader = release(
                path, schema, budget=Budget(epsilon="1/2"), workload="marginals(2)",
                algorithms={"marginals(2)": algorithm},
                ledger=folder / f"{algorithm}{nulls}{rows}{draw}.db",
            )  # fmt: skip
            sums: dict[str, set[float]] = {name: set() for name in names}
            for one, other in pairs:
                told = reader.ask(
                    f"SELECT {one}, {other}, count(*) FROM bench GROUP BY {one}, {other}"
                ).columns[0]
                size = round(len(told.estimate) ** 0.5)
                true = np.zeros((size, size))
                np.add.at(
                    true, tuple(bits[:, [names.index(n) for n in (one, other)]].astype(int).T), 1
                )
                found = told.estimate.reshape(size, size)
                sums[one].add(float(found[1].sum()))
                sums[other].add(float(found[:, 1].sum()))
                read.append(np.abs(found - true).mean())
                noisy = np.maximum(np.rint(reader.noisy_table([one, other])[0]), 0)
                cut.append(np.abs(noisy - true).mean())
                held += int(
                    ((told.lower <= true.reshape(-1)) & (true.reshape(-1) <= told.upper)).sum()
                )
                shown += true.size
            apart = max(apart, *(max(each) - min(each) for each in sums.values()))
        what = f"{algorithm}, nulls {nulls}, {rows} rows"
        met &= bar(f"{what}: two ways of summing differ by", apart, 0.0)
        bar(f"{what}: mean error of a cell, read from the whole table", float(np.mean(read)), None)
        bar(f"{what}: mean error of a cell, cut off one by one", float(np.mean(cut)), None)
    return met & bar(
        "95% intervals of whole counts that hold the truth", held / shown, 0.945, at_least=True
    )


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
        good &= agreeing(Path(folder))
    good &= bar("two ways of computing a smaller table differ by, in rows", apart, 1e-9)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
