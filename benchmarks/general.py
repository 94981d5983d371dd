"""The general mechanism and the theory that is run: one JSON object a line.

    python benchmarks/general.py
    python benchmarks/general.py --only usefulness
    python benchmarks/general.py --only populations --shares 20000

Limits of listing and of dynamic programming, the exactness of the law, the general mechanism beside multiplicative
weights and plain noise, and the figures that docs/theorems.md states. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pandas

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from benchmarks.support.usefulness_statements import (
    STATED,
    Statement,
    invented_rows,
    largest_error,
    not_stated,
)
from discreet.answering import ReleaseReader
from discreet.answering.population import PopulationShare, share_interval
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.multisets import listed, multisets, numbered
from discreet.reference.general.promise import walk_plan
from discreet.reference.general.scores import ListedDatabases, OrderedDatabases
from discreet.reference.halfspaces.theorem import theorem_parameters
from discreet.reference.intervals.theorem import Promise
from discreet.releases import release
from discreet.samplers import select_exponential
from discreet.samplers.walks import WalkTable, drawn_walk, level_chances
from discreet.schema import Schema
from discreet.theory import vc_dimension
from discreet.theory.distributional import mirrored_mod_loss
from discreet.theory.incidence import direct_std, infer_conditional, infer_incidence
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


def beside() -> bool:
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
    return True


def incidence_of_releases() -> bool:
    """P(sick | smoker) = .7 from releases that count each alone by a lot of 256 parts, 200,000 rows, epsilon 1; 20 tables."""
    source = generator(SEED)
    schema = Schema.loads(
        'dataset = "people"\n[columns.smoker]\nkind = "boolean"\n[columns.sick]\nkind = "boolean"\n'
        '[columns.lot]\nkind = "integer"\nrange = [0, 255]\n'
    )
    asked, rows = "marginals(smoker, lot; sick, lot)", 200_000
    squares, stated, worse = [], [], []
    for run in range(20):
        smoker = source.random(rows) < 0.4
        table = pandas.DataFrame(
            {
                "smoker": smoker,
                "sick": source.random(rows) < np.where(smoker, 0.7, 0.3),
                "lot": source.integers(0, 256, rows),
            }
        )
        with tempfile.TemporaryDirectory() as folder:
            reader = release(
                table, schema, budget=Budget(epsilon=1), workload=[asked],
                algorithms={asked: "direct"}, ledger=Path(folder) / f"{run}.db",
            )  # fmt: skip
        found = infer_incidence(reader, "smoker", "sick", by="lot")
        squares.append((found.conditional.estimate - 0.7) ** 2)
        stated.append(found.std)
        worse.append(found.times_worse)
    error = math.sqrt(np.mean(squares))
    bar("incidence from releases, n 200,000, 256 parts: RMSE of a share", error, None)
    bar(
        "incidence from releases: times the error of measuring directly",
        float(np.mean(worse)),
        None,
    )
    return bar(
        "incidence from releases: RMSE over the standard error stated",
        error / float(np.mean(stated)),
        1.8,
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


DELTA, RELEASES = Fraction(1, 10), 20


def usefulness() -> bool:
    """Every statement about a whole class, against fresh noise: releases in which some query is off by more than stated.

    With delta 1/10, more than 8 of 20 would fail with a chance below 1e-4 where the statement holds.
    """
    table, met = invented_rows(), True
    met &= bar("classes and algorithms that no statement is about", len(list(not_stated())), 0)
    for name, statement in STATED.items():
        missed, stated, worst = 0, [], []
        for _ in range(RELEASES):
            reader = statement.made(table)
            claim = statement.stated(reader, DELTA)
            error = largest_error(reader, statement, table)
            missed += error > claim.bound + 1e-9
            stated.append(claim.bound)
            worst.append(error)
        met &= bar(f"useful, {name}: releases off by more than stated, of {RELEASES}", missed, 8)
        bar(f"useful, {name}: stated, in rows, mean", float(np.mean(stated)), None)
        bar(f"useful, {name}: largest error, mean", float(np.mean(worst)), None)
    return met


def literal_at_its_rows() -> bool:
    """Theorem 4.2 and its unions at the n that it asks for: releases off by more than the error it was solved for."""
    source, met = generator(SEED), True
    for asked, pieces, error in (("intervals(x)", 1, 0.25), ("unions(x, 2)", 2, 0.5)):
        promise = Promise(cells=(16,), alpha=Fraction(1), delta=float(DELTA), pieces=pieces)
        rows = math.ceil(promise.rows_needed(error))
        table = invented_rows(rows)
        statement = Statement(asked, "noisy-search", adjacency="change-one")
        missed = sum(
            largest_error(statement.made(table), statement, table) > error * rows
            for _ in range(RELEASES)
        )
        name = f"theorem 4.2, {asked}, n {rows:,}, error {error:g}: releases off by more, of 20"
        met &= bar(name, missed, 8)
    # Johnson and Lindenstrauss at the k of theorem 6.4: pairs of a point and a halfspace whose distance is moved by gamma/4.
    gamma, moved = 0.5, 0
    k = theorem_parameters(
        epsilon=0.5, delta=float(DELTA), gamma=gamma, alpha=1, bits=8, columns=40
    ).dimensions
    for _ in range(200):
        point, plane = source.normal(size=(2, 40))
        point, plane = point / np.linalg.norm(point), plane / np.linalg.norm(plane)
        signs = source.choice([-1.0, 1.0], (40, k)) / math.sqrt(k)
        one, other = point @ signs, plane @ signs
        after = abs(one @ other) / (np.linalg.norm(one) * np.linalg.norm(other))
        moved += abs(after - abs(point @ plane)) >= gamma / 4
    return met & bar(f"theorem 6.4, k {k:,}: part of 200 distances moved by gamma/4", moved / 200, 0.25 / 4)  # fmt: skip


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


POPULATIONS = {  # class, algorithm, what is counted
    "a table, noise on each cell": ("marginals(x, a)", "direct", "x, a"),
    "tables, residuals": ("marginals(x, a; x, b)", "residuals", "x, a"),
    "tables, a model": ("marginals(x, a; x, b; a, b)", "adaptive", "x, a"),
    "booleans, a whole table": ("marginals(2)", "fourier", "a, b"),
    "intervals": ("intervals(x)", None, "x"),
    "intervals by group": ("intervals(x by a)", None, "a, x"),
}
POPULATION = """
dataset = "t"
people = {rows}
adjacency = "{adjacency}"
"""


def population_of_releases(least: int) -> bool:
    """Shares of a population, by `reader.population`, from releases of each kind: at `least` so many of each."""
    source, met = generator(SEED), True
    columns = {"x": 'kind = "integer"\nrange = [0, 31]\n', "a": 'kind = "boolean"\n', "b": 'kind = "boolean"\n'}  # fmt: skip
    for name, (asked, algorithm, by) in POPULATIONS.items():
        covered = draws = turn = 0
        kept = [each for each in columns if each != "x" or algorithm != "fourier"]
        while draws < least:
            rows, adjacency = (300, 3000)[turn % 2], ("change-one", "add-remove")[turn // 2 % 2]
            schema = Schema.loads(
                POPULATION.format(rows=rows, adjacency=adjacency)
                + "".join(f"[columns.{each}]\n{columns[each]}" for each in kept)
            )
            shares = source.dirichlet(np.full(128, 0.3))
            cells = source.choice(128, rows, p=shares)
            table = pandas.DataFrame({"x": cells // 4, "a": cells % 4 > 1, "b": cells % 2 > 0})
            with tempfile.TemporaryDirectory() as folder:
                reader = release(
                    table[kept], schema, budget=Budget(epsilon=1), workload=[asked],
                    algorithms={} if algorithm is None else {asked: algorithm},
                    ledger=Path(folder) / "l.db",
                )  # fmt: skip
            share = shares.reshape(32, 2, 2)
            true = {
                "x, a": share.sum(axis=2), "a, b": share.sum(axis=0), "x": share.sum(axis=(1, 2)),
                "a, x": share.sum(axis=2).T,
            }[by]  # fmt: skip
            for each in _population(reader, by, rows):
                place = tuple(
                    int(text) if text.isdecimal() else ("false", "true").index(text)
                    for text in each.group[:-1]
                    if text.isdecimal() or text in ("false", "true")
                )
                expected = float(true[place]) if len(place) == true.ndim else 0.0
                covered += each.lower <= expected <= each.upper
                draws += 1
            turn += 1
        met &= bar(f"population, {name}: covered, of {draws:,}", covered / draws, 0.945, at_least=True)  # fmt: skip
    return met


def _population(reader: ReleaseReader, by: str, rows: int) -> Iterator[PopulationShare]:
    """Every group. Ranges have no total of their own where n is a secret: there the size of the sample is given."""
    if by not in ("x", "a, x"):
        yield from reader.population(f"SELECT {by}, count(*) FROM t GROUP BY {by}", rows=None)
        return
    for value in range(32):
        group = "a, " if by == "a, x" else ""
        grouped = " GROUP BY a" if group else ""
        for each in reader.population(
            f"SELECT {group}count(*) FROM t WHERE x = {value}{grouped}", rows=rows
        ):
            yield replace(each, group=(*each.group[:-1], str(value), each.group[-1]))


def separation() -> bool:
    gap = abs(mirrored_mod_loss(0.1, 10_000) - 0.275)
    return bar("mirrored mod, alpha .1, n 10^4: |P(loss >= 1) - .275|", gap, 1e-3)


PARTS: dict[str, Callable[..., bool]] = {
    "limits": limits,
    "exactness": exactness,
    "promises": promises,
    "beside": beside,
    "separation": separation,
    "parities": parities,
    "incidence": incidence,
    "releases": incidence_of_releases,
    "population": population,
    "populations": population_of_releases,
    "literal": literal_at_its_rows,
    "usefulness": usefulness,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--shares", type=int, default=2000, help="of each kind of population")
    asked = parser.parse_args()
    met = [
        PARTS[name](asked.shares) if name == "populations" else PARTS[name]()
        for name in asked.only or PARTS
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
