"""Intervals hold as often as they say, over fresh noise; simultaneous bounds hold all at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet import samplers
from discreet.answering import ReleaseReader
from discreet.artifacts.release import Release
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Marginal
from discreet.schema import IntegerColumn, Schema
from tests.releases_by_hand import measured, part_of, release_of_tables

CELLS = 999


def line(**more: object) -> Schema:
    return Schema(dataset="line", columns=(IntegerColumn("x", 0, CELLS - 1),), **more)  # type: ignore[arg-type]


def noise(law: NoiseLaw, count: int) -> np.ndarray:
    if isinstance(law, DiscreteLaplaceLaw):
        return samplers.discrete_laplace(law.scale, count)
    assert isinstance(law, DiscreteGaussianLaw)
    return samplers.discrete_gaussian(law.sigma_squared, count)


def drawn(schema: Schema, laws: list[NoiseLaw], truth: np.ndarray) -> ReleaseReader:
    base = release_of_tables(schema, [], [])
    parts = tuple(
        part_of(
            Marginals("x"),
            measured(schema, Marginal(("x",)), truth + noise(law, truth.size), law),
        )
        for law in laws
    )
    return ReleaseReader(
        Release(
            schema=schema,
            budget=base.budget,
            accounting=base.accounting,
            parts=parts,
            public_rows=None,
            claims=(),
            software="test",
        )
    )


@pytest.mark.parametrize(
    "laws",
    [
        [DiscreteLaplaceLaw(Fraction(2))],
        [DiscreteLaplaceLaw(Fraction(10))],
        [DiscreteGaussianLaw(Fraction(20))],
        [DiscreteLaplaceLaw(Fraction(4)), DiscreteLaplaceLaw(Fraction(4))],
        [DiscreteLaplaceLaw(Fraction(3)), DiscreteGaussianLaw(Fraction(30))],
    ],
    ids=["epsilon 0.5", "epsilon 0.1", "gaussian", "two equal", "two unequal"],
)
def test_single_cells_are_covered_95_percent_of_the_time(laws: list[NoiseLaw]) -> None:
    """200,000 (draw, cell) pairs. True coverage is in [.95, .964], so a pass range of [.947, .97] has a
    false alarm rate below 1e-8 (6 standard deviations of .0005); it catches a coverage below .945."""
    schema = line()
    truth = np.full(CELLS + 1, 1000, dtype=np.int64)
    codes = np.arange(CELLS + 1).reshape(-1, 1)
    hits = pairs = 0
    for _ in range(200):
        found = drawn(schema, laws, truth).count_cells(["x"], codes)
        hits += int(((found.lower <= 1000) & (found.upper >= 1000)).sum())
        pairs += len(found)
    assert pairs >= 100_000
    assert 0.947 <= hits / pairs <= 0.97


@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_sums_of_cells_are_covered_as_often_as_asked(confidence: float) -> None:
    """Disjoint stretches of 7 cells: 60 draws of 142 are independent. Pass if the shortfall is not
    significant at 1e-7 (exact binomial); catches 2 points less at .8 with probability .99 or so."""
    schema, law = line(), DiscreteLaplaceLaw(Fraction(5))
    truth = np.arange(CELLS + 1, dtype=np.int64)
    low = np.arange(0, 990, 7)
    by_hand = np.array([truth[a : a + 7].sum() for a in low])
    hits = pairs = 0
    for _ in range(60):
        found = drawn(schema, [law], truth).count_many("x", low, low + 6, confidence=confidence)
        hits += int(((found.lower <= by_hand) & (by_hand <= found.upper)).sum())
        pairs += len(found)
    assert binom.cdf(hits, pairs, confidence) > 1e-7
    assert hits / pairs <= confidence + 0.035


def test_zero_counts_are_covered_although_their_lower_end_is_clamped() -> None:
    """1,000 cells of count 0, 40 draws; false alarm below 1e-7 (exact binomial)."""
    schema, law = line(), DiscreteLaplaceLaw(Fraction(2))
    truth = np.zeros(CELLS + 1, dtype=np.int64)
    hits = 0
    for _ in range(40):
        found = drawn(schema, [law], truth).count_cells(["x"], np.arange(CELLS + 1).reshape(-1, 1))
        assert (found.lower >= 0).all() and (found.estimate >= 0).all()
        assert (found.upper >= found.estimate).all() and (found.estimate >= found.lower).all()
        hits += int((found.lower <= 0).sum())
    assert binom.cdf(hits, 40 * (CELLS + 1), 0.95) > 1e-7


def test_the_simultaneous_bound_holds_for_every_cell_at_once() -> None:
    """400 draws, failure probability at most .2 each: false alarm below 1e-7 (exact binomial); catches a
    bound that ignores the union (it would fail in nearly every draw)."""
    schema, law = line(), DiscreteLaplaceLaw(Fraction(3))
    truth = np.full(CELLS + 1, 500, dtype=np.int64)
    failed, bound = 0, None
    for _ in range(400):
        reader = drawn(schema, [law], truth)
        claim = reader.usefulness("marginals(x)", delta="0.2")
        bound = claim.bound
        assert claim.simultaneous and claim.confidence == 0.8
        estimates = reader.count_cells(["x"], np.arange(CELLS + 1).reshape(-1, 1)).estimate
        failed += bool(np.abs(estimates - truth).max() > bound)
    assert bound is not None and bound == law.half_width(1 - Fraction(1, 5) / (CELLS + 1))
    assert binom.sf(failed - 1, 400, 0.2) > 1e-7
    assert failed > 0, "a bound that never fails in 400 draws at .2 is far too wide"


def test_weighted_sums_and_means_are_covered_at_least_as_often_as_asked() -> None:
    """sum(x) and avg(x) from 40 cells of 100 people: 150 draws; false alarm below 1e-7 (exact binomial)."""
    schema = Schema(dataset="line", columns=(IntegerColumn("x", 0, 39),))
    law = DiscreteLaplaceLaw(Fraction(4))
    truth = np.array([100] * 40 + [7], dtype=np.int64)
    total, mean = sum(100 * k for k in range(40)), 19.5
    sums = means = 0
    for _ in range(150):
        row = drawn(schema, [law], truth).ask("SELECT sum(x) s, avg(x) a FROM line")[0]
        sums += row["s"].lower <= total <= row["s"].upper
        means += row["a"].lower <= mean <= row["a"].upper
    assert binom.cdf(sums, 150, 0.95) > 1e-7
    assert binom.cdf(means, 150, 0.95) > 1e-7
