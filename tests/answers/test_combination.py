"""Weighted noise: intervals are wide enough, hardly wider, and weights are inverse to variances."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.families.shared.estimate import combination
from discreet.families.shared.estimate.combination import (
    half_width,
    half_widths,
    halved,
    inverse_variance_weights,
)
from discreet.families.shared.estimate.public_random import generator
from discreet.families.shared.estimate.rounding import plausible_counts
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw
from discreet.privacy.laws.exact_sums import grid_half_width
from discreet.privacy.laws.sums import sum_half_width

LAPLACE, GAUSS = DiscreteLaplaceLaw(Fraction(4)), DiscreteGaussianLaw(Fraction(9))


def test_weights_are_inverse_to_variances_and_a_number_without_noise_stands_alone() -> None:
    assert inverse_variance_weights([1.0, 3.0]) == [0.75, 0.25]
    assert inverse_variance_weights([1.0, 0.0, 2.0]) == [0, 1, 0]
    weights = inverse_variance_weights([1.0, 10**6, 2.0])
    assert weights[1] == 0 and sum(weights) == pytest.approx(1)
    with pytest.raises(BadInput):
        inverse_variance_weights([])


def test_equal_weights_give_the_exact_width_of_a_sum() -> None:
    assert half_width([(1.0, LAPLACE, 3), (-1.0, LAPLACE, 2)], 0.9) == sum_half_width(
        LAPLACE, 5, 0.9
    )
    assert half_width([(0.0, LAPLACE, 3), (1.0, LAPLACE, 0)], 0.9) == 0


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.975, 0.999])
@pytest.mark.parametrize("many", [8, 16, 24])
def test_the_expansion_for_many_weights_is_never_short_and_hardly_long(
    many: int, confidence: float
) -> None:
    """Against the convolved law of the same weights."""
    law = DiscreteLaplaceLaw(Fraction(50))
    merged: dict[tuple[float, NoiseLaw], int] = {(k + 0.5, law): 2 for k in range(many)}
    groups = combination._ordered(merged)
    miss = float(1 - Fraction(str(confidence)))
    quick = combination._series_width(groups, miss)
    std = math.sqrt(combination.variance_of(groups))
    exact = grid_half_width(groups, (), std, miss)
    if quick is None:
        assert many == 8
        return
    step = many - 0.5
    assert exact * 0.998 <= quick <= exact * 1.012 + step / 2


def test_rounding_weights_up_only_widens_by_little() -> None:
    merged: dict[tuple[float, NoiseLaw], int] = {(1 + k / 7, LAPLACE): 1 for k in range(60)}
    coarse = combination._coarser(merged, 24)
    assert len({weight for weight, _ in coarse}) <= 24
    before = combination.variance_of(combination._ordered(merged))
    after = combination.variance_of(combination._ordered(coarse))
    assert before <= after <= before * 1.15


def test_arrays_of_widths_are_the_single_ones() -> None:
    cells = np.array([0, 1, 5, 1, 200])
    for noise in (((1.0, LAPLACE, 2),), ((0.25, LAPLACE, 3), (0.75, GAUSS, 1))):
        found = half_widths(noise, cells, 0.95)
        single = [half_width([(w, law, n * int(k)) for w, law, n in noise], 0.95) for k in cells]
        assert found.tolist() == pytest.approx(single)


def test_a_mixture_of_laws_is_covered() -> None:
    """200,000 draws by inversion of public randomness; false alarm below 1e-9 (6 sigma)."""
    numbers = generator(7)
    laplace = numbers.geometric(-math.expm1(-1 / 4), (2, 200_000))
    noise = 0.4 * (laplace[0] - laplace[1]) + 0.6 * np.rint(numbers.normal(0, 3, 200_000))
    width = half_width([(0.4, LAPLACE, 1), (0.6, GAUSS, 1)], 0.95)
    covered = float((np.abs(noise) <= width).mean())
    assert 0.95 - 0.003 <= covered <= 0.965


def test_two_intervals_share_what_may_fail() -> None:
    assert halved(0.95) == Fraction(975, 1000)


def test_plausible_counts_stay_inside_their_interval() -> None:
    estimate, lower, upper = plausible_counts(
        np.array([-4.0, 2.6, 99.0, -3.0, 130.0]),
        np.array([-9.0, 0.2, 80.0, -5.0, 115.0]),
        np.array([1.5, 5.9, 118.0, -1.0, 145.0]),
        rows=100,
    )
    assert estimate.tolist() == [0, 3, 99, 0, 100]
    assert lower.tolist() == [0, 1, 80, 0, 85]
    assert upper.tolist() == [5, 5, 100, 2, 100]  # [-5, -1] has missed: not [0, 0], as if certain


@given(
    estimate=st.floats(-200, 300),
    below=st.floats(0, 100),
    above=st.floats(0, 100),
    rows=st.sampled_from([None, 100]),
)
def test_no_count_has_an_interval_narrower_than_the_noise_on_one_side(
    estimate, below, above, rows
) -> None:
    ends = (np.array([each]) for each in (estimate, estimate - below, estimate + above))
    _, (lower,), (upper,) = plausible_counts(*ends, rows=rows)
    least = min(below, above, rows or np.inf)
    assert upper - lower >= np.floor(least) - 1  # each end is rounded to a whole count
    if rows is None and estimate < 0:
        assert upper >= np.floor(above)


def test_public_randomness_repeats_with_its_seed() -> None:
    assert generator(3).integers(0, 99, 5).tolist() == generator(3).integers(0, 99, 5).tolist()
    with pytest.raises(BadInput):
        generator(-1)
