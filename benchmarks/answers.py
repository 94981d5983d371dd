"""Errors of the curator's answers at epsilon 1, against OpenDP's measurements of the same things.

    python benchmarks/answers.py [--people 1000] [--draws 400]

Generated people: ages normal around 42, incomes log-normal. The curator is asked
`avg(x), sum(x), count(x)` with one budget. OpenDP measures the sum and the count with half of the budget
each, and the mean is their ratio. A question that is asked again gets its recorded answer, so every budget is a little
smaller than the one before. The median is OpenDP's selection among 2,000 evenly spaced candidates, which
spends the whole budget on the estimate; the curator spends two thirds of it on the interval, so that ratio has no limit.
Every number is a mean absolute error over all draws, and a bar is ours over OpenDP's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import discreet as dc
from benchmarks.support.bars import bar

TOP = {"age": 119, "income": 200_000}
SCHEMA = """
dataset = "people"
people = {people}
[columns.age]
kind = "integer"
range = [0, 119]
[columns.income]
kind = "number"
bounds = [0, 200000]
bits = 16
"""
CANDIDATES = 2_000


def people(size: int, seed: int = 7) -> dict[str, np.ndarray]:
    """The generated table."""
    drawn = np.random.default_rng(seed)
    ages = np.clip(np.rint(drawn.normal(42, 16, size)), 0, TOP["age"]).astype(np.int64)
    incomes = np.clip(np.rint(drawn.lognormal(10.2, 0.6, size)), 0, TOP["income"])
    return {"age": ages, "income": incomes.astype(np.float64)}


def theirs(values: np.ndarray, top: int) -> tuple[Callable[[], list[float]], Callable[[], float]]:
    """OpenDP: draws of (mean, sum, count), and of the median."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    number = dp.atom_domain(T="i64")
    half = 0.5
    add = dp.m.make_laplace(number, dp.absolute_distance(T="i64"), scale=top / half)
    number_of = dp.m.make_laplace(number, dp.absolute_distance(T="i64"), scale=1 / half)
    total, rows = int(values.sum()), len(values)

    def numbers() -> list[float]:
        noisy, many = float(add(total)), float(number_of(rows))
        return [noisy / max(many, 1.0), noisy, many]

    space = (
        dp.vector_domain(dp.atom_domain(T="f64", nan=False)),
        dp.symmetric_distance(),
    )
    grid = [top * k / CANDIDATES for k in range(1, CANDIDATES)]
    scores = dp.t.make_quantile_score_candidates(*space, grid, 0.5)
    scale = dp.binary_search_param(
        lambda s: scores >> dp.m.then_noisy_max(dp.max_divergence(), s, negate=True),
        d_in=1,
        d_out=1.0,
    )
    choice = scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)
    data = [float(value) for value in values]
    return numbers, lambda: grid[int(choice(data))]


def mean_errors(draw: Callable[[], list[float]], truth: list[float], draws: int) -> np.ndarray:
    """Mean absolute error of each number."""
    return np.mean([np.abs(np.subtract(draw(), truth)) for _ in range(draws)], axis=0)


def alone(median: Callable[[], float]) -> list[float]:
    return [median()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--draws", type=int, default=400)
    given = parser.parse_args()
    columns, met = people(given.people), True
    schema = dc.Schema.loads(SCHEMA.format(people=given.people))
    fresh = (dc.Budget(epsilon=1 - Fraction(k, 10**9)) for k in count())
    with tempfile.TemporaryDirectory() as folder:
        cap = dc.Budget(epsilon=10**9)
        table = pa.table(columns)
        with dc.Curator(table, schema, ledger=Path(folder) / "ledger.db", cap=cap) as curator:
            for name, values in columns.items():
                numbers, median = theirs(values, TOP[name])
                truth = [float(values.mean()), float(values.sum()), float(len(values))]
                sql = f"SELECT avg({name}), sum({name}), count({name}) FROM people"

                def asked(sql: str = sql) -> list[float]:
                    answers = curator.ask(sql, budget=next(fresh))
                    return [float(each.estimate[0]) for each in answers.columns]

                ours, peer = (mean_errors(each, truth, given.draws) for each in (asked, numbers))
                middle = [float(np.median(values))]
                sql = f"SELECT median({name}) FROM people"
                ours = np.append(ours, mean_errors(partial(asked, sql), middle, given.draws))
                peer = np.append(peer, mean_errors(partial(alone, median), middle, given.draws))
                for what, left, right, limit in zip(
                    ("avg", "sum", "count", "median"),
                    ours,
                    peer,
                    (1.0, 1.1, 1.1, None),
                    strict=True,
                ):
                    print(f"  {what}({name}): {left:,.3f}, OpenDP {right:,.3f}")
                    met &= bar(f"{what}({name}): error / OpenDP's", left / right, limit)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
