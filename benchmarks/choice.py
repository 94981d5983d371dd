"""Whether the release of marginals that is chosen from public facts is the best one, on generated tables.

    python benchmarks/choice.py [--tables N] [--draws N] [--seed N] [--most-rows N] [--most-columns N] [--delta D]

Each table is drawn anew: 3 to 30 columns of 2 to 1,000 cells, 200 to 1,000,000 rows, with dependence
from none to strong, an epsilon from 0.1 to 10, and a delta of 0 or 1e-9. Every algorithm releases it, and the error is the mean
total variation of synthetic rows over all pairs of columns. The chosen algorithm should be within 1.1
of the best one in 95% of the tables, and the rows within 1.2 of the error of the measurements they come from
(where all pairs were measured).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import polars

from benchmarks.support.bars import bar
from discreet import Budget, Schema, plan, release
from discreet.answering import ReleaseReader
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.answer.together.library import TableLibrary

ALGORITHMS = ("direct", "residuals", "adaptive")
WORKLOAD = "marginals(2)"
MOST_CELLS = 1 << 19
NEAR, OFTEN, ROWS_FACTOR = 1.1, 0.95, 1.2


@dataclass(frozen=True)
class Generated:
    """A table drawn from a random tree of columns, and the budget that it is released for."""

    codes: np.ndarray
    sizes: tuple[int, ...]
    strength: float
    epsilon: str
    delta: str

    @property
    def described(self) -> str:
        sizes = f"{len(self.sizes)} columns of {min(self.sizes)} to {max(self.sizes)}"
        return f"{len(self.codes):,} rows, {sizes}, strength {self.strength:.1f}, epsilon {self.epsilon}, delta {self.delta}"

    @property
    def schema(self) -> Schema:
        rows = len(self.codes)
        columns = "".join(
            f'[columns.c{place}]\nkind = "integer"\nrange = [0, {size - 1}]\n'
            for place, size in enumerate(self.sizes)
        )
        return Schema.loads(f'dataset = "t"\npeople = {round(rows, 1 - len(str(rows)))}\n{columns}')

    @property
    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta)

    def frame(self) -> polars.DataFrame:
        return polars.DataFrame(
            {f"c{place}": self.codes[:, place] for place in range(len(self.sizes))}
        )

    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.sizes)), 2))

    def table(self, codes: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
        one, other = pair
        keys = codes[:, one] * (self.sizes[other] + 1) + codes[:, other]
        shape = (self.sizes[one] + 1, self.sizes[other] + 1)  # a cell for nulls
        return np.bincount(keys, minlength=math.prod(shape)).reshape(shape)


def generated(
    draw: np.random.Generator, most_rows: int, most_columns: int, delta: str
) -> Generated:
    rows = round(10 ** draw.uniform(2.3, math.log10(most_rows)))
    widest = 10 ** draw.uniform(0.5, 3)
    many = int(draw.integers(3, most_columns + 1))
    sizes: list[int] = []
    for _ in range(many):
        size = max(2, round(2 * (widest / 2) ** draw.random()))
        if sum(each * other for each, other in combinations([*sizes, size], 2)) <= MOST_CELLS:
            sizes.append(size)
    strength = float(draw.choice([0.0, 0.2, 0.5, 0.9]))
    codes = np.zeros((rows, len(sizes)), dtype=np.int64)
    for place, size in enumerate(sizes):
        base = draw.dirichlet(np.full(size, 0.7))
        codes[:, place] = draw.choice(size, rows, p=base)
        if place == 0 or strength == 0:
            continue
        parent = int(draw.integers(place))
        follows = draw.random(rows) < strength
        given = draw.dirichlet(np.full(size, 0.3), size=sizes[parent]).cumsum(axis=1)
        above = codes[follows, parent] + np.minimum(draw.random(int(follows.sum())), 1 - 1e-9)
        flat = (given / given[:, -1:] + np.arange(sizes[parent])[:, None]).ravel()
        found = np.searchsorted(flat, above, side="right") - codes[follows, parent] * size
        codes[follows, place] = np.clip(found, 0, size - 1)
    epsilon = str(draw.choice(["0.1", "1", "10"]))
    return Generated(codes, tuple(sizes), strength, epsilon, delta)


def released(table: Generated, algorithm: str) -> ReleaseReader:
    with tempfile.TemporaryDirectory() as folder:
        return release(
            table.frame(),
            table.schema,
            budget=table.budget,
            workload=WORKLOAD,
            algorithms={WORKLOAD: algorithm},
            ledger=Path(folder) / "ledger.db",
            threads=1,
        )


def distance(made: np.ndarray, true: np.ndarray) -> float:
    if made.sum() <= 0:  # no rows tell nothing
        return 1.0
    return float(np.abs(made / made.sum() - true / true.sum()).sum() / 2)


def errors(table: Generated, reader: ReleaseReader) -> tuple[float, float | None]:
    """The error of synthetic rows; and of the measured tables, made plausible, where there are any."""
    rows = reader.synthesize(seed=1).codes
    measured = Library(reader.release).made(TableLibrary).all_tables
    drawn, known = [], []
    for pair in table.pairs():
        true = table.table(table.codes, pair)
        drawn.append(distance(table.table(rows, pair), true))
        names = tuple(f"c{place}" for place in pair)
        if measured.determines(names):
            known.append(distance(nearest_counts(measured.table(names)), true))
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
    draw = np.random.default_rng(asked.seed)
    ratios, above = [], []
    for number in range(asked.tables):
        delta = asked.delta or ("0", "1e-9")[number % 2]
        table = generated(draw, asked.most_rows, asked.most_columns, delta)
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
