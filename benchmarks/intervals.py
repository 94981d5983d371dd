"""Intervals of cells that a model fills in: how wide they are beside the errors, and how often they hold.

    python benchmarks/intervals.py [--data FOLDER] [--draws N] [--tables N] [--seed N] [--quick]

Adaptive releases of published tables and of generated ones (3 to 20 columns of 2 to about 100 cells, 1,000 to
200,000 rows, with dependence from none to strong). Every cell of every pair that the release answers by its
model is asked. Width over error is the mean width over the mean absolute error; normal noise alone would have 4.9.
The plan's half-width is compared with half the mean width.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from benchmarks.choice import Generated, generated
from benchmarks.choice import released as release_generated
from benchmarks.marginals import WORKLOAD, Table, marginal
from benchmarks.marginals import released as release_table
from benchmarks.support.bars import bar
from benchmarks.support.data import add_option, data_folder
from discreet import Budget, Schema, plan
from discreet.answering.reader import ReleaseReader

KNOWN = (("adult", "1"), ("adult", "10"), ("titanic", "1"), ("titanic", "10"), ("nltcs", "0.1"))
DELTA = "1e-9"
MOST_RATIO, LEAST_COVERAGE = 5.0, 0.945


@dataclass
class Cells:
    """Answers to cells that a model filled in, beside the truth."""

    truth: np.ndarray
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def ratio(self) -> float:
        return float((self.upper - self.lower).mean() / np.abs(self.estimate - self.truth).mean())

    @property
    def held(self) -> np.ndarray:
        return (self.lower <= self.truth) & (self.truth <= self.upper)

    @property
    def held_of_largest(self) -> np.ndarray:
        """Of the fifth of the cells with the largest estimates, and at least one row."""
        return self.held[self.estimate >= max(np.quantile(self.estimate, 0.8), 1)]


def filled_in(
    reader: ReleaseReader, truths: Iterator[tuple[tuple[str, str], np.ndarray]]
) -> Cells | None:
    """Every cell of every pair that the model answers."""
    parts: list[tuple[np.ndarray, ...]] = []
    for (one, other), truth in truths:
        asked = f'SELECT "{one}", "{other}", count(*) FROM release GROUP BY "{one}", "{other}"'
        found = reader.ask(asked).columns[0]
        if "model" in found.covers.value:
            parts.append((truth.ravel(), found.estimate, found.lower, found.upper))
    if not parts:
        return None
    return Cells(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def of_table(table: Table) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    for one, other in table.sets(2):
        names = table.names[one], table.names[other]
        yield names, marginal(table.codes, table.sizes, (one, other))


def of_generated(table: Generated) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    for pair in table.pairs():
        yield (f"c{pair[0]}", f"c{pair[1]}"), table.table(table.codes, pair)


def planned(schema: Schema, epsilon: str, algorithm: str) -> float | None:
    found = plan(
        schema,
        workload=WORKLOAD,
        budget=Budget(epsilon=epsilon, delta=DELTA),
        algorithms={WORKLOAD: algorithm},
    )
    return found.classes[0].error.half_width


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_option(parser)
    parser.add_argument("--draws", type=int, default=3, help="releases of each table")
    parser.add_argument("--tables", type=int, default=12, help="generated tables")
    parser.add_argument("--seed", type=int, default=20_261_117)
    parser.add_argument("--quick", action="store_true", help="one draw, few tables")
    asked = parser.parse_args()
    draws, many = (1, min(3, asked.tables)) if asked.quick else (asked.draws, asked.tables)
    ratios: dict[str, float] = {}
    held: list[np.ndarray] = []
    foreseen: list[float] = []

    def measured(name: str, readers: Iterator[Cells | None], half_width: float | None) -> None:
        own = [each for each in readers if each is not None]
        if not own:
            print(f"  {name}: every pair was measured", flush=True)
            return
        ratios[name] = float(np.mean([each.ratio for each in own]))
        held.extend(each.held for each in own)
        width = float(np.mean([(each.upper - each.lower).mean() for each in own])) / 2
        error = float(np.mean([np.abs(each.estimate - each.truth).mean() for each in own]))
        covered = float(np.concatenate([each.held for each in own]).mean())
        large = float(np.concatenate([each.held_of_largest for each in own]).mean())
        plans = "" if half_width is None else f", planned {half_width:.1f}"
        if half_width is not None:
            foreseen.append(half_width / width)
        print(
            f"  {name}: {len(own[0].truth):,} cells, mean error {error:.2f}, half the width {width:.1f}{plans}, "
            f"width over error {ratios[name]:.2f}, coverage {covered:.4f}, of the largest fifth {large:.3f}",
            flush=True,
        )

    with tempfile.TemporaryDirectory() as scratch:
        folder = data_folder(asked.data, Path(scratch))
        for name, epsilon in KNOWN:
            table = Table(name, folder)
            measured(
                f"{name}, epsilon {epsilon}",
                (
                    filled_in(release_table(table, epsilon, "adaptive-even"), of_table(table))
                    for _ in range(draws)
                ),
                planned(table.schema, epsilon, "adaptive-even"),
            )
        source = np.random.default_rng(asked.seed)
        for _ in range(many):
            drawn = generated(source, 200_000, 20)
            measured(
                drawn.described,
                (
                    filled_in(release_generated(drawn, "adaptive"), of_generated(drawn))
                    for _ in range(draws)
                ),
                planned(drawn.schema, drawn.epsilon, "adaptive"),
            )
    known = [
        ratio for name, ratio in ratios.items() if name.startswith(("adult", "titanic", "nltcs"))
    ]
    others = [
        ratio
        for name, ratio in ratios.items()
        if not name.startswith(("adult", "titanic", "nltcs"))
    ]
    good = True
    for what, own in (("published tables", known), ("generated tables", others)):
        if own:
            name = f"width over error of filled-in cells, {what}"
            mean = float(np.exp(np.mean(np.log(own))))
            good &= bar(f"{name}, geometric mean", mean, MOST_RATIO)
            bar(f"{name}, median", float(np.median(own)), None)
            bar(f"{name}, worst", max(own), None)
    share = float(np.concatenate(held).mean())
    good &= bar(
        "coverage of 95% intervals of filled-in cells", share, LEAST_COVERAGE, at_least=True
    )
    if foreseen:
        off = float(np.exp(np.mean(np.abs(np.log(foreseen)))))
        bar("planned over measured half-width, typical factor", off, None)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
