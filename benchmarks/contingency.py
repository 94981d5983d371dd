"""The linear program for a true table, and whether smaller tables agree: one JSON object a line.

    python benchmarks/contingency.py

CPU time of one process; exit code 1 if a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from discreet.answering import ReleaseReader
from discreet.artifacts.release import TOGETHER
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.linear_programs import _signs, nearest_table, walsh_hadamard
from discreet.privacy.budget import Budget
from discreet.releases import release
from discreet.schema import BooleanColumn, IntegerColumn, Schema
from discreet.schema.columns.column import Nulls

if TYPE_CHECKING:
    from numpy.random import Generator

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
        ("direct", "all-cells", "fourier", "residuals"), get_args(Nulls), (400, 5000)
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


KINDS = ("independent", "along the diagonal", "few full cells")


def drawn_rows(kind: str, rows: int, sizes: tuple[int, ...], source: Generator) -> np.ndarray:  # fmt: skip
    """Cells of rows: one column a column."""
    if kind == "few full cells":
        shares = source.dirichlet(np.full(int(np.prod(sizes)), 0.02))
        return np.stack(np.unravel_index(source.choice(len(shares), rows, p=shares), sizes), axis=1)
    first = source.beta(2, 4, rows)
    moved = [
        source.beta(2, 4, rows) if kind == "independent" else first + source.normal(0, 0.05, rows)
        for _ in sizes
    ]
    return np.stack(
        [np.clip((m * d).astype(int), 0, d - 1) for m, d in zip(moved, sizes, strict=True)], 1
    )


def agreeing_at_any_size(folder: Path) -> bool:
    """Whole counts found from the top down, over columns of many values: sums, errors, intervals."""
    sizes = (60, 20, 5, 2)
    names = [f"c{place}" for place in range(len(sizes))]
    columns = tuple(IntegerColumn(n, 0, d - 1) for n, d in zip(names, sizes, strict=True))
    schema, source = Schema(dataset="bench", columns=columns), generator(SEED)
    met, held, shown = True, 0, 0
    for algorithm, kind, rows in product(("direct", "residuals"), KINDS, (400, 10_000)):
        off, apart = np.zeros((2, 2)), 0.0
        for draw in range(3):
            cells = drawn_rows(kind, rows, sizes, source)
            path = folder / "cells.csv"
            np.savetxt(path, cells, fmt="%d", delimiter=",", header=",".join(names), comments="")
            reader = release(
                path, schema, budget=Budget(epsilon=1), workload="marginals(2)",
                algorithms={"marginals(2)": algorithm},
                ledger=folder / f"{algorithm}{kind}{rows}{draw}.db",
            )  # fmt: skip
            alone = {
                name: reader.ask(f"SELECT {name}, count(*) FROM bench GROUP BY {name}").columns[0].estimate
                for name in names
            }  # fmt: skip
            for one, other in combinations(names, 2):
                told = reader.ask(
                    f"SELECT {one}, {other}, count(*) FROM bench GROUP BY {one}, {other}"
                ).columns[0]
                noisy = reader.noisy_table([one, other])[0]
                true, found = np.zeros(noisy.shape), told.estimate.reshape(noisy.shape)
                np.add.at(true, tuple(cells[:, [names.index(n) for n in (one, other)]].T), 1)
                for axis, name in ((1, one), (0, other)):
                    apart = max(apart, float(np.abs(found.sum(axis=axis) - alone[name]).max()))
                cut = np.maximum(np.rint(noisy), 0)
                off[0] += [np.abs(found - true).mean(), np.abs(cut - true).mean()]
                for _ in range(20):
                    ends = [np.sort(source.integers(0, d + 1, 2)) for d in noisy.shape]
                    box = tuple(slice(*each) for each in ends)
                    whole = max(0.0, float(np.rint(noisy[box].sum())))
                    off[1] += [abs(found[box].sum() - true[box].sum()), abs(whole - true[box].sum())]  # fmt: skip
                flat = true.reshape(-1)
                held += int(((told.lower <= flat) & (flat <= told.upper)).sum())
                shown += flat.size
        what = f"{algorithm}, {kind}, {rows} rows"
        met &= bar(f"{what}: two ways of summing differ by", apart, 0.0)
        bar(f"{what}: cells, times the error of cutting off one by one", off[0, 0] / off[0, 1], None)  # fmt: skip
        bar(f"{what}: rectangles, times that of a noisy sum that is cut off", off[1, 0] / off[1, 1], None)  # fmt: skip
    return met & bar(
        "95% intervals of counts from the top down that hold the truth",
        held / shown,
        0.945,
        at_least=True,
    )


def crosswise(folder: Path) -> bool:
    """All tables of three of eight columns of four values: cells off by, read from a whole table and cut off one by one."""
    source, names = generator(SEED), [f"c{place}" for place in range(8)]
    schema = Schema(
        dataset="t",
        columns=tuple(IntegerColumn(name=name, low=0, high=3, nulls="exclude") for name in names),
    )
    rows = drawn_rows("along the diagonal", 5000, (4,) * 8, source)
    table = pandas.DataFrame(rows, columns=names)
    start = time.process_time()
    reader = release(
        table, schema, budget=Budget(epsilon=1), workload=["marginals(3)"],
        algorithms={"marginals(3)": "residuals-even"}, ledger=folder / "crosswise.db",
    )  # fmt: skip
    bar("marginals(3), 8 columns of 4 values: CPU seconds of a release", time.process_time() - start, None)  # fmt: skip
    off, apart = np.zeros(2), 0.0
    sums: dict[Any, Any] = {}
    for columns in combinations(names, 3):
        by = ", ".join(columns)
        told = [
            reader.ask(f"SELECT {by}, count(*) FROM t GROUP BY {by}", additive=how).columns[0].estimate
            for how in (False, True)
        ]  # fmt: skip
        true = np.zeros((4, 4, 4))
        np.add.at(true, tuple(table[name] for name in columns), 1)
        off += [np.abs(each - true.reshape(-1)).mean() for each in (told[0], np.maximum(told[1], 0))]  # fmt: skip
        own = told[0].reshape(16, 4).sum(axis=1)
        apart = max(apart, float(np.abs(sums.setdefault(columns[:2], own) - own).max()), float(-told[0].min()))  # fmt: skip
    bar("marginals(3): mean error of a cell, whole table", off[0] / 56, None)
    bar("marginals(3): mean error of a cell, cut off one by one", off[1] / 56, None)
    return bar("marginals(3): two ways of summing differ by, or a count lies below 0 by", apart, 0.0)  # fmt: skip


def side_by_side(folder: Path) -> bool:
    """Ranges of 100 values beside all pairs with two other columns: answers that add up, times the errors of each answer for itself."""
    source, met = generator(SEED), True
    sizes = (100, 4, 2)
    names = ["x", "b", "a"]
    schema = Schema(
        dataset="t",
        columns=tuple(
            IntegerColumn(name=name, low=0, high=size - 1)
            for name, size in zip(names, sizes, strict=True)
        ),
    )
    ends = np.array([(low, high) for low in range(0, 100, 3) for high in range(low, 100, 4)]).T
    for kind, rows in product(KINDS, (500, 5000)):
        off, apart = np.zeros((2, 2)), 0.0
        for turn in range(4):
            table = pandas.DataFrame(drawn_rows(kind, rows, sizes, source), columns=names)
            reader = release(
                table, schema, budget=Budget(epsilon=1), workload=["intervals(x)", "marginals(2)"],
                ledger=folder / f"beside {kind} {rows} {turn}.db",
            )  # fmt: skip
            parts = [
                replace(part, facts={key: said for key, said in part.facts.items() if key != TOGETHER})
                for part in reader.release.parts
            ]  # fmt: skip
            before = ReleaseReader(replace(reader.release, parts=tuple(parts)))
            up_to = np.append(0, np.cumsum(np.bincount(table.x, minlength=100)))
            ranges, cells = up_to[ends[1] + 1] - up_to[ends[0]], np.zeros((101, 3))
            np.add.at(cells, (table.x, table.a), 1)
            for place, each in enumerate((reader, before)):
                found = each.count_many("x", *ends).estimate
                both = each.ask("SELECT x, a, count(*) FROM t GROUP BY x, a").columns[0].estimate
                off[0, place] += np.abs(found - ranges).mean()
                off[1, place] += np.abs(both - cells.reshape(-1)).mean()
                if each is reader:
                    sums = np.append(0, np.cumsum(both.reshape(101, 3).sum(axis=1)))
                    apart = max(apart, float(np.abs(sums[ends[1] + 1] - sums[ends[0]] - found).max()))  # fmt: skip
        what = f"ranges beside tables, {kind}, {rows} rows"
        met &= bar(f"{what}: ranges and sums of cells differ by", apart, 0.0)
        bar(f"{what}: ranges, times the error before", off[0, 0] / off[0, 1], None)
        bar(f"{what}: cells of two columns, times the error before", off[1, 0] / off[1, 1], None)
    return met


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
        good &= agreeing_at_any_size(Path(folder))
        good &= crosswise(Path(folder))
        good &= side_by_side(Path(folder))
    good &= bar("two ways of computing a smaller table differ by, in rows", apart, 1e-9)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
