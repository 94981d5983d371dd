"""Widths of weighted sums from their waves, against laws that are convolved exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw
from discreet.privacy.laws.fourier import fourier_half_widths
from discreet.privacy.laws.sums import weighted_half_widths

Group = tuple[int, NoiseLaw, int]


def laplace(scale: int | Fraction) -> DiscreteLaplaceLaw:
    return DiscreteLaplaceLaw(Fraction(scale))


SUMS: dict[str, list[Group]] = {
    "one coarse, many fine": [(100, laplace(100), 1), (1, laplace(500), 100)],
    "many of two weights": [(7, laplace(40), 30), (3, laplace(40), 70)],
    "coarse lattices": [(13, laplace(2), 3), (5, laplace(1), 4)],
    "almost no noise": [(5, laplace(Fraction(1, 4)), 2), (3, laplace(Fraction(1, 3)), 2)],
    "one draw above all": [(50, laplace(300), 1), (1, laplace(2), 20)],
    "two laws": [(3, laplace(6), 2), (2, DiscreteGaussianLaw(Fraction(9)), 5)],
    "narrow Gaussians": [
        (4, DiscreteGaussianLaw(Fraction(1, 2)), 3),
        (9, DiscreteGaussianLaw(Fraction(2)), 2),
    ],
}


def exact_half_width(groups: list[Group], miss: float) -> int:
    """The smallest h, from the law of the sum on whole numbers: a circle of at least 60 deviations."""
    variance = sum(weight**2 * law.variance * count for weight, law, count in groups)
    size = 1 << int(60 * variance**0.5 + 1000).bit_length()
    wave = np.ones(size // 2 + 1, dtype=np.complex128)
    for weight, law, count in groups:
        mass = np.zeros(size)
        reach = size // (2 * weight) - 1
        numbers = np.arange(-reach, reach + 1)
        mass[weight * numbers % size] = law.pmf(numbers.astype(np.float64))
        wave *= np.fft.rfft(mass) ** count
    mass = np.fft.irfft(wave, size)
    inside = mass[0] + 2 * np.cumsum(mass[1 : size // 2])
    return 0 if mass[0] >= 1 - miss else 1 + int(np.argmax(inside >= 1 - miss))


@pytest.mark.parametrize("miss", [0.5, 0.1, 0.05, 0.01, 0.001])
@pytest.mark.parametrize("name", list(SUMS))
def test_a_width_is_never_short_and_at_most_a_hundredth_of_a_deviation_long(
    name: str, miss: float
) -> None:
    groups = SUMS[name]
    wanted = exact_half_width(groups, miss)
    laws = [law for _, law, _ in groups]
    weights = np.array([[float(weight) for weight, _, _ in groups]])
    counts = np.array([[count for _, _, count in groups]])
    found = float(fourier_half_widths(laws, weights, counts, miss)[0])
    std = float(np.sum(weights**2 * counts * [law.variance for law in laws])) ** 0.5
    assert wanted * (1 - 1e-9) <= found <= wanted + 0.01 * std


def test_a_row_has_the_same_width_alone_and_among_others() -> None:
    laws = [laplace(275), laplace(8560)]
    many = np.arange(1, 1000)
    weights = np.stack([many / 1000, 0.001 + 0 * many], axis=1)
    counts = np.stack([np.ones_like(many), many], axis=1)
    together = fourier_half_widths(laws, weights, counts, 0.05)
    for place in (0, 1, 77, 998):
        row = slice(place, place + 1)
        alone = fourier_half_widths(laws, weights[row], counts[row], 0.05)
        assert together[place] == pytest.approx(alone[0], rel=1e-9)
    assert (np.diff(together) > -1e-3 * together[1:]).all()


def test_no_draws_have_no_width_and_rare_misses_are_not_for_arrays() -> None:
    nothing = fourier_half_widths([laplace(3)], np.array([[2.0]]), np.array([[0]]), 0.05)
    assert nothing.tolist() == [0.0]
    with pytest.raises(BadInput):
        weighted_half_widths([laplace(3)], np.array([[2.0]]), np.array([[1]]), 1e-4)


def test_noise_that_is_hardly_ever_there_has_no_width_and_takes_no_time() -> None:
    """Large budgets: once the number of terms overflowed, and a width was 0 by luck or took minutes."""
    for scale in (Fraction(1, 15), Fraction(1, 50), Fraction(1, 250), Fraction(1, 700)):
        laws = [laplace(scale), laplace(scale / 2)]
        found = fourier_half_widths(laws, np.array([[1.0, 0.03]]), np.array([[6, 2]]), 0.05)
        assert found.tolist() == [0.0]
    # A draw that is not 0 more often than may be missed counts.
    seldom = laplace(Fraction(3, 10))
    assert 1 - float(seldom.pmf(np.zeros(1))[0]) > 0.05
    assert fourier_half_widths([seldom], np.array([[4.0]]), np.array([[1]]), 0.05)[0] >= 4
