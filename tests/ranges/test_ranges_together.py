"""Several ranges of one column at once, as an hour of the day over many days: each leaf counts once, and variances add."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.answering import ReleaseReader
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_intervals import IntervalIndex

SCHEMA = dc.Schema.loads("""
dataset = "hours"
people = 2000
[columns.t]
kind = "datetime"
range = ["2024-01-01T00:00:00", "2024-02-28T23:00:00"]
granularity = "hour"
nulls = "exclude"
""")
HOURS = 24 * 59
BY_HOUR = "SELECT hour(t) AS h, count(*) AS n FROM hours GROUP BY h"


def released(
    tmp_path: Path, *, seed: int = 1, rows: int = 2000, algorithm: str = "adaptive-tree"
) -> tuple[ReleaseReader, np.ndarray]:
    """A release of rows that are more at noon, and how many there are in each hour of all days."""
    public = np.random.default_rng(seed)
    hour = np.clip(public.normal(12, 4, rows), 0, 23).astype(int)
    cells = public.integers(0, 59, rows) * 24 + hour
    moments = np.datetime64("2024-01-01T00:00:00") + 3600 * cells.astype("timedelta64[s]")
    path = tmp_path / f"{seed}.csv"
    path.write_text("t\n" + "\n".join(map(str, moments)) + "\n")
    reader = dc.release(
        path,
        SCHEMA,
        budget=dc.Budget(epsilon=2),
        workload=["intervals(t)"],
        ledger=tmp_path / f"{seed}.db",
        algorithms={"intervals(t)": algorithm},
    )
    return reader, np.bincount(hour, minlength=24)


def index_of(reader: ReleaseReader) -> IntervalIndex:
    return RangeSource(reader.release.parts[0], SCHEMA).intervals


def test_no_two_sets_of_leaves_that_are_apart_have_a_positive_covariance(tmp_path: Path) -> None:
    """What lets variances add: of neighbouring runs of leaves, and of runs with a gap between them."""
    index = index_of(released(tmp_path)[0])
    many = len(index.leaves)
    public = np.random.default_rng(5)
    cuts = np.sort(public.integers(0, many + 1, (4000, 4)), axis=1)
    a, b, c, d = cuts[(np.diff(cuts, axis=1) > 0).all(axis=1)].T

    def variance(start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        return index.deviation(start, stop) ** 2

    near = variance(a, c) - variance(a, b) - variance(b, c)
    apart = variance(a, d) - variance(a, c) - variance(b, d) + variance(b, c)
    assert len(a) > 1000
    assert near.max() <= 1e-9 and apart.max() <= 1e-9


def test_every_leaf_counts_once(tmp_path: Path) -> None:
    index = index_of(released(tmp_path)[0])
    cells = np.arange(0, HOURS, 2, dtype=np.uint64)
    even, odd = (index.together(each, each) for each in (cells, cells + 1))
    everything = index.together(*(np.array([each], np.uint64) for each in (0, HOURS - 1)))
    whole = everything.outer[0]
    assert even.outer[0] <= whole + 1e-6  # one by one they would be counted twice over
    assert np.isclose(even.estimate[0] + odd.estimate[0], whole)
    all_cells = np.arange(HOURS, dtype=np.uint64)
    joined = index.together(all_cells, all_cells)
    for one, other in zip(joined.numbers, everything.numbers, strict=True):
        assert np.allclose(one, other)


def test_an_hour_of_the_day_has_an_interval_within_the_table(tmp_path: Path) -> None:
    reader, _ = released(tmp_path)
    (hours,) = reader.ask(BY_HOUR).columns
    widest = reader.ask("SELECT count(*) FROM hours", confidence=1 - 0.05 / 16).only.upper
    assert (hours.lower >= 0).all() and (hours.upper <= widest).all()
    night = reader.ask("SELECT count(*) FROM hours WHERE hour(t) NOT BETWEEN 6 AND 18").only
    assert night.upper <= widest


@pytest.mark.trust
@pytest.mark.parametrize("algorithm", ["adaptive-tree", "two-stage-tree"])
def test_intervals_of_hours_hold(algorithm: str, tmp_path: Path) -> None:
    """One hour of each of 200 releases, so draws are independent: false alarm 1e-6; .80 is caught almost surely."""
    missed = 0
    for seed in range(200):
        reader, truth = released(tmp_path, seed=seed, rows=20_000, algorithm=algorithm)
        place = seed % 24
        hour = reader.ask(f"SELECT count(*) FROM hours WHERE hour(t) = {place}").only
        missed += not hour.lower <= truth[place] <= hour.upper
    sys.stderr.write(f"{algorithm}: coverage {1 - missed / 200:.3f}\n")
    assert missed <= binom.isf(1e-6, 200, 0.05)


def test_several_ranges_of_a_short_column_have_their_exact_variance(tmp_path: Path) -> None:
    schema = dc.Schema.loads(
        'dataset = "ages"\npeople = 500\n[columns.age]\nkind = "integer"\nrange = [0, 39]\nnulls = "exclude"\n'
    )
    path = tmp_path / "ages.csv"
    path.write_text("age\n" + "\n".join(str(each % 40) for each in range(500)) + "\n")
    budget, ledger = dc.Budget(epsilon=1), tmp_path / "ages.db"
    reader = dc.release(
        path, schema, budget=budget, workload=["intervals(age)"], ledger=ledger,
        algorithms={"intervals(age)": "strategy"},
    )  # fmt: skip
    even = reader.ask("SELECT count(*) FROM ages WHERE age % 2 = 0").only
    odd = reader.ask("SELECT count(*) FROM ages WHERE age % 2 = 1").only
    total = reader.ask("SELECT count(*) FROM ages").only
    assert abs(even.estimate + odd.estimate - total.estimate) <= 2
    assert max(even.std, odd.std) < 20 * total.std  # one by one, the deviations of 20 ranges
    assert even.std**2 + odd.std**2 >= total.std**2 / 2 - 1e-9
