"""Intervals for sums and weighted sums of noise: exact where few terms, close where many."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from discreet.errors import BadInput
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)
from discreet.privacy.laws.exact_sums import Term, inverted_half_width
from discreet.privacy.laws.sums import (
    series_applies,
    series_half_width,
    sum_half_width,
    sum_half_widths,
)

LAWS: list[NoiseLaw] = [
    *(DiscreteLaplaceLaw(Fraction(s)) for s in ("1/5", "1/2", "1", "3", "20")),
    *(DiscreteGaussianLaw(Fraction(s)) for s in ("1/10", "1/2", "3", "100")),
    *(RoundedGaussianLaw(Fraction(s)) for s in ("1/10", "1/2", "3", "100")),
]


def law_of_sum(law: NoiseLaw, terms: int) -> NDArray[np.float64]:
    """P(S = k) for k = -reach..reach, by convolving the masses directly."""
    reach = math.ceil(45 * law.std) + 6
    mass = law.pmf(np.arange(-reach, reach + 1))
    total = mass
    for _ in range(terms - 1):
        total = np.convolve(total, mass)
    return total


def smallest_half_width(total: NDArray[np.float64], miss: float) -> int:
    middle = len(total) // 2
    inside = total[middle] + np.concatenate(
        [[0.0], np.cumsum(total[middle + 1 :] + total[:middle][::-1])]
    )
    return int(np.searchsorted(inside, 1 - miss))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("terms", [1, 2, 3, 7])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_few_terms_get_the_exact_half_width(law: NoiseLaw, terms: int, confidence: float) -> None:
    wanted = smallest_half_width(law_of_sum(law, terms), 1 - confidence)
    found = sum_half_width(law, terms, confidence)
    assert wanted <= found <= wanted + max(0, math.ceil(wanted * 2e-4))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_many_terms_are_right_to_a_part_in_a_thousand(law: NoiseLaw) -> None:
    # Doubling: the law of 64 terms from six self-convolutions.
    reach = math.ceil(45 * law.std) + 6
    total = law.pmf(np.arange(-reach, reach + 1))
    for _ in range(6):
        total = fftconvolve(total, total)
        middle, keep = len(total) // 2, math.ceil(12 * 8 * law.std) + 60
        total = np.maximum(total[max(0, middle - keep) : middle + keep + 1], 0)
    for confidence in (0.9, 0.95, 0.99):
        wanted = smallest_half_width(total, 1 - confidence)
        found = sum_half_width(law, 64, confidence)
        assert wanted <= found <= wanted + math.ceil(wanted * 1e-3)


def test_the_expansion_agrees_with_the_exact_law_where_it_takes_over() -> None:
    for scale, terms in itertools.product((2, 10, 1000), (55, 75, 200)):
        law = DiscreteLaplaceLaw(Fraction(scale))
        for miss in (0.1, 0.05, 0.01, 1e-3):
            assert bool(series_applies(law, np.array(float(terms)), miss))
            series = int(series_half_width(law, np.array(float(terms)), miss))
            exact = inverted_half_width(law, terms, miss)
            assert exact <= series <= exact + math.ceil(exact * 3e-4)


@pytest.mark.parametrize("scale", [10**3, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("terms", [2, 3, 10, 40])
def test_wide_noise_has_the_half_width_of_the_continuous_law(scale: int, terms: int) -> None:
    # The sum's density is a polynomial times e^-x; two terms: P(|S| > x) = (1 + x/2) e^-x.
    found = sum_half_width(DiscreteLaplaceLaw(Fraction(scale)), terms, 0.95) / scale
    reference = sum_half_width(DiscreteLaplaceLaw(Fraction(20_000)), terms, 0.95) / 20_000
    assert math.isclose(found, reference, rel_tol=2e-3)
    if terms == 2:
        assert (1 + found / 2) * math.exp(-found) == pytest.approx(0.05, rel=2e-3)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_table_of_half_widths_is_the_half_widths_one_by_one(law: NoiseLaw) -> None:
    terms = np.array([[0, 1, 2], [5, 60, 61], [100, 1000, 10**6]])
    table = sum_half_widths(law, terms, 0.95)
    assert table.shape == terms.shape
    assert [sum_half_width(law, int(n), 0.95) for n in terms.ravel()] == table.ravel().tolist()
    assert np.all(np.diff(table.ravel()) >= 0)


def test_a_table_of_a_million_term_counts_is_quick() -> None:
    widths = sum_half_widths(DiscreteLaplaceLaw(Fraction(2)), np.arange(1_000_000), 0.95)
    assert widths[0] == 0
    assert np.all(np.diff(widths) >= 0)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_extreme_confidence_still_covers(law: NoiseLaw) -> None:
    found = sum_half_width(law, 3, "0.9999999999")
    assert found >= smallest_half_width(law_of_sum(law, 3), 1e-10 * (1 + 1e-4))


def test_a_negative_or_broken_number_of_terms_is_refused() -> None:
    law = DiscreteLaplaceLaw(Fraction(2))
    for terms in (-1, True, 1.5):
        with pytest.raises(BadInput):
            sum_half_width(law, terms, 0.95)  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        sum_half_widths(law, np.array([-1]), 0.95)


COMBINATIONS: dict[str, list[Term]] = {
    "two halves": [
        (0.5, DiscreteLaplaceLaw(Fraction(2)), 1),
        (0.5, DiscreteLaplaceLaw(Fraction(4)), 1),
    ],
    "spiky": [
        (1, DiscreteLaplaceLaw(Fraction(1, 2)), 1),
        (0.3, DiscreteLaplaceLaw(Fraction(1, 3)), 1),
    ],
    "inverse variance": [
        (0.7, DiscreteLaplaceLaw(Fraction(3)), 1),
        (0.2, DiscreteGaussianLaw(Fraction(9)), 1),
        (-0.1, RoundedGaussianLaw(Fraction(40)), 1),
    ],
    "irrational": [
        (math.sqrt(2), DiscreteLaplaceLaw(Fraction(1)), 1),
        (math.pi, DiscreteLaplaceLaw(Fraction(5)), 1),
    ],
}


def smallest_combination(terms: list[Term], miss: float) -> float:
    """By enumerating every combination of draws that matters."""
    values, masses = np.zeros(1), np.ones(1)
    for weight, law, _ in terms:
        k = np.arange(-math.ceil(14 * law.std) - 8, math.ceil(14 * law.std) + 9)
        values = np.add.outer(values, weight * k).ravel()
        masses = np.multiply.outer(masses, law.pmf(k)).ravel()
    order = np.argsort(np.abs(values))
    inside = np.cumsum(masses[order])
    return float(np.abs(values)[order][np.searchsorted(inside, 1 - miss)])


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("name", list(COMBINATIONS))
def test_a_combination_of_few_terms_is_covered_and_hardly_wider(
    name: str, confidence: float
) -> None:
    wanted = smallest_combination(COMBINATIONS[name], 1 - confidence)
    found = half_width(COMBINATIONS[name], confidence)
    assert wanted * (1 - 1e-12) <= found <= wanted * 1.003


def draws(rng: np.random.Generator, law: NoiseLaw, shape: tuple[int, int]) -> NDArray[Any]:
    if isinstance(law, DiscreteLaplaceLaw):
        success = -math.expm1(-float(1 / law.scale))
        return rng.geometric(success, shape) - rng.geometric(success, shape)
    assert isinstance(law, RoundedGaussianLaw)
    return np.rint(rng.normal(0, law.std, shape))


@pytest.mark.parametrize(
    "groups",
    [
        [(0.7, DiscreteLaplaceLaw(Fraction(1)), 1), (0.02, DiscreteLaplaceLaw(Fraction(1)), 256)],
        [(0.1 + 0.05 * i, DiscreteLaplaceLaw(Fraction(1 + i)), 1) for i in range(20)],
        [(0.01 + 1e-4 * i, DiscreteLaplaceLaw(Fraction(30 + i)), 1) for i in range(100)],
        [
            (1.0, DiscreteLaplaceLaw(Fraction(10**9)), 1),
            (0.5, RoundedGaussianLaw(Fraction(10**18)), 1),
        ],
    ],
    ids=["one heavy, many light", "twenty unlike", "a hundred alike", "wide"],
)
def test_a_combination_of_many_terms_is_covered_as_often_as_it_says(groups: list[Any]) -> None:
    """40,000 draws; false alarm below 1e-6 (5 standard errors, .0055); catches a width wrong by 5%."""
    rng = np.random.default_rng()
    found = half_width(groups, 0.95)
    total = np.zeros(40_000)
    for weight, law, count in groups:
        for _ in range(count):
            total += weight * draws(rng, law, (40_000, 1))[:, 0]
    covered = float(np.mean(np.abs(total) <= found))
    assert 0.95 - 0.0055 <= covered <= 0.957 + 0.0055


def test_equal_weights_are_a_plain_sum_and_zero_weights_nothing() -> None:
    law = DiscreteLaplaceLaw(Fraction(2))
    assert half_width([], 0.95) == 0
    assert half_width([(0, law, 1)], 0.95) == 0
    assert half_width([(1, law, 1)] * 5 + [(0.0, law, 1)], 0.95) == pytest.approx(
        sum_half_width(law, 5, 0.95)
    )
    assert half_width([(-0.5, law, 1)], 0.95) == pytest.approx(3.0)


def test_the_order_of_the_terms_does_not_matter() -> None:
    terms = COMBINATIONS["inverse variance"]
    widths = {half_width(p, 0.95) for p in itertools.permutations(terms)}
    assert len(widths) == 1


def test_a_weight_that_is_not_finite_is_refused() -> None:
    law = DiscreteLaplaceLaw(Fraction(2))
    for weight in (math.inf, math.nan):
        with pytest.raises(BadInput):
            half_width([(weight, law, 1), (1.0, law, 1)], 0.95)
