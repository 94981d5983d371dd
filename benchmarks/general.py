"""The general mechanism and the theory that is run: one JSON object a line.

    python benchmarks/general.py

Limits of listing and of dynamic programming, the exactness of the law, the general mechanism beside multiplicative
weights and plain noise, and the figures that docs/theorems.md states. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pandas

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from discreet.answering.population import share_interval
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.multisets import listed, multisets, numbered
from discreet.reference.general.promise import walk_plan
from discreet.reference.general.scores import ListedDatabases, OrderedDatabases
from discreet.releases import release
from discreet.samplers import select_exponential
from discreet.samplers.walks import WalkTable, drawn_walk, level_chances
from discreet.schema import Schema
from discreet.theory import vc_dimension
from discreet.theory.distributional import mirrored_mod_loss
from discreet.theory.incidence import direct_std, infer_conditional
from discreet.theory.parity import parity_gap
from discreet.theory.sample_sizes import QueryShape, error_reached, rows_needed
from discreet.theory.textbook import analytic_gaussian_sigma

SEED = 19
MINUTE = 60.0
MOST_LISTED = 1 << 22
"""Databases in an entry of the table of limits: twice as many as a release lists."""


def conjunctions(columns: int) -> np.ndarray:
    points = np.array(list(product((0, 1), repeat=columns)))
    wanted = product((0, 1, 2), repeat=columns)
    return np.array([np.all((np.array(w) == 2) | (points == w), axis=1) for w in wanted])


def limits() -> bool:
    """The largest m whose databases can be listed, by the number of kinds of points; and walks that are counted."""
    met = True
    source = generator(SEED)
    for columns in (1, 2, 3, 4, 5, 6):
        kinds, workload = 1 << columns, conjunctions(columns)
        size = 1
        while (
            multisets(kinds, size + 1) <= MOST_LISTED
            and multisets(kinds, size + 1) * len(workload) <= 1 << 29
            and size < 1000
        ):
            size += 1
        table = source.multinomial(10_000, source.dirichlet(np.ones(kinds)))
        start = time.perf_counter()
        scores = ListedDatabases((), np.arange(kinds), workload, size, 10_000).scores(
            workload @ table
        )
        select_exponential(scores, unit=Fraction(1, 2 * size))
        taken = time.perf_counter() - start
        many = multisets(kinds, size)
        met &= bar(f"listed: {kinds} kinds, m {size}, {many:,} databases, seconds", taken, MINUTE)
    for values, rows in ((64, 1000), (256, 5000), (1024, 20_000), (4096, 20_000)):
        table = np.bincount(
            np.clip(source.normal(values / 2, values / 8, rows).astype(int), 0, values - 1),
            minlength=values,
        )
        for alpha in (1.0, 0.1):
            plan = walk_plan(kinds=values, rows=rows, alpha=alpha, delta=0.05)
            walks = OrderedDatabases(
                "x", values, False, plan.size, rows, plan.levels, plan.of_intervals
            )
            start = time.perf_counter()
            drawn_walk(table, walks, Fraction(alpha).limit_denominator(100) / 2)
            taken = time.perf_counter() - start
            judged = "intervals" if plan.of_intervals else "prefixes"
            name = f"walks: {values} values, n {rows}, alpha {alpha:g}, m {plan.size}, {judged}, seconds"
            met &= bar(name, taken, MINUTE)
            bar(f"promised there, part of n at 0.95 ({values}, {alpha:g})", plan.error / rows, None)
    table = np.bincount(
        np.clip(source.normal(512, 128, 20_000).astype(int), 0, 1023), minlength=1024
    )
    walks = OrderedDatabases("x", 1024, False, 200, 20_000, 1142, False)
    start = time.process_time()
    chosen = drawn_walk(table, walks, Fraction(1, 2))
    met &= bar(
        "prefixes, 1,024 values, m 200, n 20,000: seconds of CPU", time.process_time() - start, 3.0
    )
    walk = np.cumsum(numbered(chosen, 1024, 200))
    bar(
        "largest prefix error there, rows", float(np.abs(100 * walk - np.cumsum(table)).max()), None
    )
    return met


def exactness() -> bool:
    """The law by dynamic programming against the list of all databases."""
    source, worst = generator(SEED), 0.0
    for _ in range(200):
        kinds, size = int(source.integers(2, 7)), int(source.integers(1, 6))
        counts = source.multinomial(int(source.integers(1, 40)), source.dirichlet(np.ones(kinds)))
        rows, unit = int(counts.sum()), Fraction(int(source.integers(1, 40)), 20)
        for of_intervals in (False, True):
            walks = OrderedDatabases("x", kinds, False, size, rows, 30, of_intervals)
            gaps = rows * np.cumsum(listed(kinds, size), axis=1) // size - np.cumsum(counts)
            gaps = np.hstack([np.zeros((len(gaps), 1), dtype=np.int64), gaps[:, :-1]])
            level = (
                gaps.max(axis=1) - gaps.min(axis=1) if of_intervals else np.abs(gaps).max(axis=1)
            )
            level = np.minimum(level, 30)
            weights = np.exp(-float(unit) * (level - level.min()))
            table = WalkTable(counts.astype(np.int64), walks)
            within = table.within_levels()
            first = next((place for place, many in enumerate(within) if many), len(within))
            up_to = level_chances(within[first:], table.all, unit, 200) if first < 30 else []
            sums = [0, *(low for low, _ in up_to), 1 << 200]
            shares = [
                Fraction(after - before, 1 << 200) / many
                for (before, after), many in zip(
                    pairwise(sums), [*within[first:], table.all], strict=True
                )
            ]
            found = np.array([float(sum(shares[place:])) for place in range(len(shares))])
            gap = np.abs(found[level - first] - weights / weights.sum()).max()
            worst = max(worst, float(gap))
    return bar("law by dynamic programming against all databases, 1e-12", worst * 1e12, 1.0)


def promises() -> bool:
    """Theorem 3.1 at its own n: the exact chance of a database that is worse than promised."""
    source, met = generator(SEED), True
    for columns in (1, 2, 3):
        workload = conjunctions(columns)
        distinct = np.unique(workload, axis=0)
        kinds = 1 << columns
        shape = QueryShape(
            kinds=kinds, queries=len(distinct), dimension=vc_dimension.searched(distinct)
        )
        for size in (8, 20):
            error = 1.5 * shape.cover_error(size)
            if error >= 1 or multisets(kinds, size) > 1_000_000:
                continue
            rows = rows_needed(shape, error=error, alpha=1.0, delta=0.05, size=size)
            bound = error_reached(shape, rows=rows, alpha=1.0, delta=0.05, size=size)
            worst = 0.0
            for _ in range(20):
                table = source.multinomial(rows, source.dirichlet(np.full(kinds, 0.5)))
                scores = ListedDatabases((), np.arange(kinds), workload, size, rows).scores(
                    workload @ table
                )
                weights = np.exp((scores - scores.max()) / (2 * size))
                off = -scores / size > bound * rows + 1e-9
                worst = max(worst, float(weights[off].sum() / weights.sum()))
            name = f"conjunctions of {columns} columns, m {size}, n {rows}: chance of more than promised"
            met &= bar(name, worst, 0.05)
    rows, misses = 2000, 0
    plan = walk_plan(kinds=32, rows=rows, alpha=1.0, delta=0.05)
    walks = OrderedDatabases("x", 32, False, plan.size, rows, plan.levels, plan.of_intervals)
    for _ in range(20):
        table = source.multinomial(rows, source.dirichlet(np.full(32, 0.3)))
        chosen = numbered(drawn_walk(table, walks, Fraction(1, 2)), 32, plan.size)
        gaps = np.append(0, rows * np.cumsum(chosen) // plan.size - np.cumsum(table))
        misses += gaps.max() - gaps.min() > plan.error
    return met & bar("intervals of 32 values: releases off by more than promised, of 20", misses, 3)


def beside() -> None:
    """The largest error of all conjunctions of three columns, in parts of n: three algorithms on one table."""
    names = ("a", "b", "c")
    conditions = [
        " AND ".join(chosen) for size in (1, 2, 3) for chosen in combinations(names, size)
    ]
    asked = "predicates(" + ", ".join(f'"{each}"' for each in conditions) + ")"
    schema = Schema.loads(
        'dataset = "t"\nadjacency = "change-one"\n'
        + "".join(f'[columns.{name}]\nkind = "boolean"\n' for name in names)
    )
    source = generator(SEED)
    for rows in (100, 1000, 10_000):
        table = pandas.DataFrame(
            {name: source.random(rows) < 0.2 + 0.2 * place for place, name in enumerate(names)}
        )
        true = [int(table.eval(each.replace("AND", "and")).sum()) for each in conditions]
        for algorithm in ("general", "mwem", "strategy"):
            worst = []
            for run in range(3):
                with tempfile.TemporaryDirectory() as folder:
                    reader = release(
                        table, schema, budget=Budget(epsilon=1), workload=[asked],
                        algorithms={asked: algorithm}, ledger=Path(folder) / f"{run}.db",
                    )  # fmt: skip
                found = [
                    each.only.estimate
                    for each in reader.ask_many(
                        [f"SELECT count(*) FROM t WHERE {each}" for each in conditions]
                    )
                ]
                worst.append(
                    max(abs(one - two) for one, two in zip(found, true, strict=True)) / rows
                )
            bar(
                f"{algorithm}: largest error of {len(conditions)} conjunctions, n {rows}",
                float(np.mean(worst)),
                None,
            )


def parities() -> bool:
    """1,000 pairs of sets that share half of their rows."""
    source, least = generator(SEED), math.inf
    for _ in range(1000):
        columns = int(source.integers(5, 13))
        rows = 2 * int(source.integers(1, 2**columns // 4))
        points = source.permutation(2**columns)[: 3 * rows // 2]
        one, other = np.zeros(2**columns), np.zeros(2**columns)
        one[points[:rows]] = other[points[rows // 2 :]] = 1
        least = min(least, parity_gap(one, other) * math.sqrt(rows))
    return bar("parity gap times sqrt n, least of 1,000 pairs", least, 0.5, at_least=True)


def incidence() -> bool:
    """P(b | a) = .7 at n 10^6, by Gaussian noise at (1, 10^-6) over 2 t counts; 400 runs."""
    source = generator(SEED)
    both, first, second = 280_000, 120_000, 180_000
    met, errors = True, {}
    for subsets in (300, 1000, 3000):
        variance = analytic_gaussian_sigma(math.sqrt(2 * subsets), epsilon=1, delta=1e-6) ** 2
        squares, raw = [], []
        for _ in range(400):
            shared = source.binomial(both, 0.5, subsets)
            noise = source.normal(0, math.sqrt(variance), (2, subsets))
            found = infer_conditional(
                shared + source.binomial(first, 0.5, subsets) + noise[0],
                shared + source.binomial(second, 0.5, subsets) + noise[1],
                first_total=both + first,
                second_total=both + second,
                noise_variance=variance,
            )
            squares.append((found.estimate - 0.7) ** 2)
            raw.append((found.uncorrected - 0.7) ** 2)
        errors[subsets] = math.sqrt(np.mean(squares))
        bar(
            f"heavy sets, {subsets} subsets: RMSE without the correction",
            math.sqrt(np.mean(raw)),
            None,
        )
        bar(f"heavy sets, {subsets} subsets: RMSE", errors[subsets], None)
    met &= bar("heavy sets at n 10^6: RMSE, the best number of subsets", min(errors.values()), 0.07)
    bar(
        "the same measured directly, epsilon 1: standard error",
        direct_std(400_000, 0.7, noise_variance=8),
        None,
    )
    return met


def population() -> bool:
    """Intervals of a population's share at 95%: 24,000 draws over six cases."""
    source, met = generator(SEED), True
    covered = draws = 0
    for share, rows, scale in product((0.01, 0.3), (100, 1000, 10_000), (2,)):
        law = DiscreteLaplaceLaw(scale=Fraction(scale))
        width, ratio = law.half_width(1 - 0.025), 1 - math.exp(-1 / scale)
        counts = source.binomial(rows, share, 4000)
        noisy = counts + source.geometric(ratio, 4000) - source.geometric(ratio, 4000)
        for value in noisy.tolist():
            low, high = max(0, value - width), min(rows, max(0, value + width))
            ends = share_interval(low, high, fewest=rows, most=rows, delta=0.025)
            covered += ends[0] <= share <= ends[1]
        draws += 4000
    met &= bar("intervals of the population: draws", draws, 20_000, at_least=True)
    return met & bar("intervals of the population: covered", covered / draws, 0.945, at_least=True)


def main() -> int:
    met = limits()
    met &= exactness()
    met &= promises()
    beside()
    gap = abs(mirrored_mod_loss(0.1, 10_000) - 0.275)
    met &= bar("mirrored mod, alpha .1, n 10^4: |P(loss >= 1) - .275|", gap, 1e-3)
    met &= parities()
    met &= incidence()
    met &= population()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
