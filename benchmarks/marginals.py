"""Synthetic rows against AIM's: the error of all tables of two and of three columns, and what it costs.

    python benchmarks/marginals.py [--data FOLDER] [--tables NAME ...] [--draws N] [--quick]
    python benchmarks/marginals.py --generated N [--seed N]

Without `--tables` all tables of the folder (`tables/NAME.csv` with `tables/NAME-domain.json`). `--generated` takes N generated tables
instead, of many kinds (`support/table_families.py`), each at a budget of its own. Total variation between a table of the true rows and of the synthetic ones, averaged over all tables
of at most 10,000 cells, at delta 1e-9; both sides from synthetic rows, in one process. Also: CPU and
memory of a release with its rows, coverage of the intervals of single cells, and what a classifier learns
from the rows.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.baselines.aim import aim, marginal  # noqa: E402
from benchmarks.choice import released as released_generated  # noqa: E402
from benchmarks.support.bars import bar  # noqa: E402
from benchmarks.support.data import add_option, data_folder, tables_in  # noqa: E402
from benchmarks.support.learning import area, targets  # noqa: E402
from benchmarks.support.table_families import Generated, generated  # noqa: E402
from discreet.answering import ReleaseReader  # noqa: E402
from discreet.privacy.budget import Budget  # noqa: E402
from discreet.privacy.conversion import rho_from_budget  # noqa: E402
from discreet.releases import release  # noqa: E402
from discreet.schema import Schema  # noqa: E402

MOST_ROWS, MOST_COLUMNS, MOST_VALUES = 100_000, 16, 100
"""The largest generated tables: AIM takes longer with more."""
EPSILONS = ("0.1", "1", "10")
DELTA = "1e-9"
LARGEST = 10_000
WORKLOAD = "marginals(2)"


class Table:
    """A table of codes, and its schema: the columns' sizes are the only facts it declares."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.path = name, folder / "tables" / f"{name}.csv"
        domain = json.loads((folder / "tables" / f"{name}-domain.json").read_text())
        self.names, self.sizes = list(domain), list(domain.values())
        with self.path.open() as file:
            many = sum(1 for _ in file) - 1
        people = round(many, 1 - len(str(many)))  # one digit: a public fact is rough
        columns = "".join(
            f'[columns."{each}"]\nkind = "integer"\nrange = [0, {size - 1}]\nnulls = "exclude"\n'
            for each, size in domain.items()
        )
        self.schema = Schema.loads(f'dataset = "{name}"\npeople = {people}\n{columns}')

    @cached_property
    def codes(self) -> np.ndarray:
        with self.path.open() as file:
            header = file.readline().rstrip("\n").split(",")
        rows = np.loadtxt(self.path, delimiter=",", skiprows=1, dtype=np.int64)
        return rows[:, [header.index(each) for each in self.names]]

    def sets(self, degree: int, most: int = LARGEST) -> list[tuple[int, ...]]:
        every = combinations(range(len(self.sizes)), degree)
        return [c for c in every if math.prod(self.sizes[i] for i in c) <= most]

    def distance(self, rows: np.ndarray, degree: int, most: int = LARGEST) -> float:
        """Mean total variation."""
        found = []
        for columns in self.sets(degree, most):
            true, made = (marginal(each, self.sizes, columns) for each in (self.codes, rows))
            found.append(np.abs(true / true.sum() - made / max(made.sum(), 1)).sum() / 2)
        return float(np.mean(found))


def released(
    table: Table, budget: str | Budget, algorithm: str = "automatic-even"
) -> ReleaseReader:
    """A release for this epsilon and the usual delta, or for a whole budget."""
    own = budget if isinstance(budget, Budget) else Budget(epsilon=budget, delta=DELTA)
    with tempfile.TemporaryDirectory() as folder:
        return release(
            table.path,
            table.schema,
            budget=own,
            workload=WORKLOAD,
            algorithms={WORKLOAD: algorithm},
            ledger=Path(folder) / "ledger.db",
            threads=1,
        )


@dataclass(frozen=True)
class Case:
    """A table and an epsilon, at which both sides release it."""

    name: str
    table: Table | Generated
    epsilon: str

    def ours(self) -> ReleaseReader:
        if isinstance(self.table, Generated):
            return released_generated(self.table, "automatic-even")
        return released(self.table, self.epsilon)

    def theirs(self, generator: np.random.Generator) -> np.ndarray:
        table, sizes = self.table, self.table.sizes
        rho = rho_of(self.epsilon)
        return aim(table.codes, sizes, table.sets(2), rho=rho, generator=generator)


def published(folder: Path, names: Sequence[str]) -> Iterator[Case]:
    for name in names:
        table = Table(name, folder)
        yield from (Case(f"{name}, epsilon {epsilon}", table, epsilon) for epsilon in EPSILONS)


def all_generated(many: int, seed: int) -> Iterator[Case]:
    tables = generated(
        many,
        seed,
        most_rows=MOST_ROWS,
        most_columns=MOST_COLUMNS,
        most_values=MOST_VALUES,
        delta=DELTA,
        nulls="exclude",  # AIM knows no cell for nulls either
    )
    yield from (Case(table.described, table, table.epsilon) for table in tables)


def rho_of(epsilon: str) -> float:
    budget = Budget(epsilon=epsilon, delta=DELTA)
    return float(rho_from_budget(epsilon=budget.epsilon, delta=budget.delta))


def compare(cases: Iterator[Case], draws: int, generator: np.random.Generator) -> bool:
    ratios: dict[int, list[float]] = {2: [], 3: []}
    good = True
    for case in cases:
        errors: dict[tuple[str, int], list[float]] = {}
        cpu = {"ours": 0.0, "aim": 0.0}
        for _ in range(draws):
            start = time.process_time()
            reader = case.ours()
            ours = reader.synthesize().codes
            middle = time.process_time()
            theirs = case.theirs(generator)
            cpu["ours"] += middle - start
            cpu["aim"] += time.process_time() - middle
            for degree in (2, 3):
                for side, rows in (("ours", ours), ("aim", theirs)):
                    errors.setdefault((side, degree), []).append(
                        case.table.distance(rows, degree, LARGEST)
                    )
        mean = {key: float(np.mean(each)) for key, each in errors.items()}
        ratio = {degree: mean["ours", degree] / mean["aim", degree] for degree in (2, 3)}
        for degree in (2, 3):
            if not math.isnan(ratio[degree]):  # tables of three columns may all be too large
                ratios[degree].append(ratio[degree])
        print(
            f"{case.name}: 2-way {mean['ours', 2]:.5f} / AIM {mean['aim', 2]:.5f} = "
            f"{ratio[2]:.2f}; 3-way {mean['ours', 3]:.5f} / {mean['aim', 3]:.5f} = {ratio[3]:.2f}; "
            f"CPU {cpu['ours'] / draws:.1f} / {cpu['aim'] / draws:.1f} s; {reader.release.parts[0].algorithm}",
            flush=True,
        )
    mean_of = {degree: float(np.exp(np.mean(np.log(each)))) for degree, each in ratios.items()}
    good &= bar("2-way error of synthetic rows / AIM's, geometric mean", mean_of[2], 0.85)
    good &= bar("2-way error / AIM's, worst table and epsilon", max(ratios[2]), 1.05)
    good &= bar("3-way error / AIM's, geometric mean", mean_of[3], 1.0)
    return good & bar("3-way error / AIM's, worst table and epsilon", max(ratios[3]), 1.1)


def learning(
    folder: Path, draws: int, names: Sequence[str], epsilon: str, generator: np.random.Generator
) -> bool:
    """The area under the curve of a classifier that learns from synthetic rows, ours and AIM's.

    It is tested on the second half of the true rows; the one that learns from true rows has the first half.
    """
    lost = []
    for name in names:
        table = Table(name, folder)
        half = len(table.codes) // 2
        shuffled = table.codes[np.random.default_rng(0).permutation(len(table.codes))]
        asked = targets(table.codes, table.sizes)
        areas = np.zeros((draws, 2, len(asked)))
        for draw in range(draws):
            made = (
                released(table, epsilon).synthesize().codes,
                aim(
                    table.codes,
                    table.sizes,
                    table.sets(2),
                    rho=rho_of(epsilon),
                    generator=generator,
                ),
            )
            for side, rows in enumerate(made):
                areas[draw, side] = [area(rows, shuffled[half:], table.sizes, *t) for t in asked]
        ours, theirs = areas.mean(axis=0)
        lost += list(theirs - ours)
        for place, target in enumerate(asked):
            real = area(shuffled[:half], shuffled[half:], table.sizes, *target)
            print(
                f"{name:8} epsilon {epsilon}, {table.names[target[0]]:16}: area from true rows {real:.3f}, "
                f"ours {ours[place]:.3f}, AIM {theirs[place]:.3f}",
                flush=True,
            )
    return bar(
        "area lost against AIM's rows, mean over tables and targets", float(np.mean(lost)), 0.0
    )


def coverage(folder: Path, draws: int, name: str, epsilon: str, algorithm: str) -> bool:
    """Coverage and widths of the intervals of every cell of every pair, pooled."""
    table, kept, widths, models = Table(name, folder), [], [], []
    for _ in range(draws):
        reader = released(table, epsilon, algorithm)
        for columns in table.sets(2):
            one, other = (f'"{table.names[c]}"' for c in columns)
            found = reader.ask(
                f"SELECT {one}, {other}, count(*) FROM release GROUP BY {one}, {other}"
            ).columns[0]
            truth = marginal(table.codes, table.sizes, columns).ravel()
            held = (found.lower <= truth) & (truth <= found.upper)
            models.append(np.full(len(held), "model" in found.covers.value))
            kept.append(held)
            widths.append(found.upper - found.lower)
    held, width, by_model = (np.concatenate(each) for each in (kept, widths, models))
    good = True
    for what, chosen in (("measured", ~by_model), ("filled in by the model", by_model)):
        if not chosen.any():
            continue
        share = float(held[chosen].mean())
        print(
            f"{name} epsilon {epsilon} {algorithm}: {int(chosen.sum()):,} answers {what}, median width {np.median(width[chosen]):.0f}"
        )
        # An interval also holds the count that is shown, so those of measured cells hold more often than 95%.
        top = 0.985 if what == "measured" else 1.0
        low = 0.945 if what == "measured" else 0.94
        good &= bar(
            f"coverage of 95% intervals, {name}, {what} (from {low})",
            share,
            top,
            met=low <= share <= top,
        )
    return good


def one(folder: Path, name: str) -> None:
    """Release a table and draw its rows, in this process alone; prints what it took."""
    table = Table(name, folder)
    start = time.process_time()
    released(table, "1").synthesize()
    took = time.process_time() - start
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    add_option(options)
    options.add_argument("--draws", type=int, default=5)
    options.add_argument("--tables", nargs="*", help="names; all tables of the folder if none")
    options.add_argument("--quick", action="store_true", help="one draw")
    options.add_argument("--generated", type=int, help="so many generated tables instead")
    options.add_argument("--seed", type=int, default=20_261_120, help="of generated tables")
    options.add_argument("--one", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.generated:
        cases = all_generated(chosen.generated, chosen.seed)
        draws = 1 if chosen.quick else chosen.draws
        return int(not compare(cases, draws, np.random.default_rng()))
    with tempfile.TemporaryDirectory() as scratch:
        return measured(chosen, data_folder(chosen.data, Path(scratch), "tables"))


def measured(chosen: argparse.Namespace, data: Path) -> int:
    if chosen.one:
        one(data, chosen.one)
        return 0
    names = chosen.tables or tables_in(data)
    first = "adult" if "adult" in names else names[0]
    command = [sys.executable, __file__, "--one", first, "--data", str(data)]
    cpu, memory = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    good = bar(f"{first}, epsilon 1: CPU seconds of release and synthetic rows", cpu, 6.0)
    good &= bar(f"{first}, epsilon 1: megabytes of release and synthetic rows", memory, 300.0)
    draws = 1 if chosen.quick else chosen.draws
    good &= coverage(data, 1 if chosen.quick else 3, first, "10", "residuals-even")
    good &= coverage(data, 1 if chosen.quick else 3, first, "1", "adaptive-even")
    good &= compare(published(data, names), draws, np.random.default_rng())
    good &= learning(data, draws, names, "1", np.random.default_rng())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
