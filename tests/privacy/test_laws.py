"""The noise laws, against high-precision sums and against each other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
    law_from_dict,
)

CONFIDENCES = (0.5, 0.9, 0.95, 0.99, 0.999999, "0.999999999999")
SMALL: list[NoiseLaw] = [
    *(DiscreteLaplaceLaw(Fraction(s)) for s in ("1/100", "1/3", "1", "2", "7/2", "30")),
    *(DiscreteGaussianLaw(Fraction(s)) for s in ("1/100", "1/5", "1", "2", "9/2", "400")),
    *(RoundedGaussianLaw(Fraction(s)) for s in ("1/100", "1/5", "1", "2", "9/2", "400")),
]
LARGE: list[NoiseLaw] = [
    *(DiscreteLaplaceLaw(Fraction(s)) for s in (10**4, 10**9, 10**15)),
    *(DiscreteGaussianLaw(Fraction(s) ** 2) for s in (999, 1001, 10**6, 10**9, 10**15)),
    *(RoundedGaussianLaw(Fraction(s) ** 2) for s in (999, 1001, 10**6, 10**9, 10**15)),
]


def precise_tail(law: NoiseLaw, h: int) -> Any:
    """P(X > h) with 60 digits, by formulas that share nothing with the code under test."""
    with mpmath.workdps(60):
        if isinstance(law, DiscreteLaplaceLaw):
            q = mpmath.exp(-mpmath.mpf(law.scale.denominator) / law.scale.numerator)
            return q ** (h + 1) / (1 + q)
        assert isinstance(law, (DiscreteGaussianLaw, RoundedGaussianLaw))
        square = mpmath.mpf(law.sigma_squared.numerator) / law.sigma_squared.denominator
        if isinstance(law, RoundedGaussianLaw):
            return mpmath.erfc((h + mpmath.mpf(1) / 2) / mpmath.sqrt(2 * square)) / 2
        if square <= 10**4:
            reach = h + int(mpmath.sqrt(square) * 20) + 3
            above = mpmath.fsum(mpmath.exp(-(k * k) / (2 * square)) for k in range(h + 1, reach))
            return above / mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * square)))
        # Above that, a smooth sum: Euler-Maclaurin from the Bernoulli numbers at the end h + 1.
        a = mpmath.mpf(h + 1)
        series = mpmath.sqrt(mpmath.pi * square / 2) * mpmath.erfc(a / mpmath.sqrt(2 * square))
        derivatives = mpmath.taylor(lambda x: mpmath.exp(-(x * x) / (2 * square)), a, 9, chop=False)
        series += derivatives[0] / 2
        for n in (1, 3, 5, 7, 9):
            series -= mpmath.bernoulli(n + 1) / (n + 1) * derivatives[n]
        return series / mpmath.sqrt(2 * mpmath.pi * square)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_masses_sum_to_one_and_are_symmetric(law: NoiseLaw) -> None:
    reach = math.ceil(40 * law.std) + 40
    k = np.arange(-reach, reach + 1)
    mass = law.pmf(k)
    assert math.isclose(math.fsum(mass), 1, rel_tol=1e-13)
    assert np.array_equal(mass, mass[::-1])
    assert math.isclose(float(mass @ k.astype(float) ** 2), law.variance, rel_tol=1e-11, abs_tol=0)
    assert law.std == math.sqrt(law.variance)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_fourth_and_sixth_cumulants_are_those_of_the_masses(law: NoiseLaw) -> None:
    reach = math.ceil(40 * law.std) + 40
    k = np.arange(-reach, reach + 1).astype(float)
    mass = law.pmf(k)
    m2, m4, m6 = (math.fsum(mass * k**p) for p in (2, 4, 6))
    second, fourth, sixth = law.cumulants()
    assert math.isclose(fourth, m4 - 3 * m2**2, rel_tol=1e-9, abs_tol=1e-11 * m4)
    assert math.isclose(sixth, m6 - 15 * m4 * m2 + 30 * m2**3, rel_tol=1e-9, abs_tol=1e-10 * m6)
    if m2 > 1e-30:
        assert math.isclose(law.excess_kurtosis, fourth / second**2, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_distribution_function_adds_up_the_masses(law: NoiseLaw) -> None:
    k = np.arange(-60, 61)
    rises = np.diff(law.cdf(k))
    assert np.allclose(rises, law.pmf(k[1:]), rtol=1e-9, atol=1e-15)
    assert np.allclose(law.cdf(k) + law.cdf(-k - 1), 1, rtol=0, atol=1e-15)
    assert law.cdf(3) == law.cdf(np.array([3]))[0]
    assert law.pmf(3) == law.pmf(np.array([3]))[0]


@pytest.mark.parametrize("law", SMALL + LARGE, ids=str)
def test_tails_are_right_to_a_part_in_a_trillion_however_small(law: NoiseLaw) -> None:
    for multiple in (0, 0.5, 2, 5, 9, 18):
        h = math.floor(multiple * law.std)
        wanted = precise_tail(law, h)
        if wanted > 1e-290:
            assert abs(float(law.tail(np.array(float(h)))) / wanted - 1) < 1e-12


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("law", SMALL, ids=str)
def test_a_half_width_is_the_smallest_that_covers(law: NoiseLaw, confidence: Any) -> None:
    h = law.half_width(confidence)
    miss = 1 - Fraction(str(confidence))
    allowed = mpmath.mpf(miss.numerator) / miss.denominator
    assert 2 * precise_tail(law, h) <= allowed
    assert h == 0 or 2 * precise_tail(law, h - 1) > allowed


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("law", LARGE, ids=str)
def test_a_half_width_of_wide_noise_covers_and_is_not_wider_than_needed(
    law: NoiseLaw, confidence: Any
) -> None:
    h = law.half_width(confidence)
    miss = 1 - Fraction(str(confidence))
    allowed = mpmath.mpf(miss.numerator) / miss.denominator
    assert 2 * precise_tail(law, h) <= allowed
    shorter = h - max(1, h // 10**10)
    assert 2 * precise_tail(law, shorter) > allowed


@settings(deadline=None, max_examples=60)
@given(
    scale=st.fractions(min_value=Fraction(1, 100), max_value=10**12),
    miss=st.floats(min_value=1e-12, max_value=0.9),
)
def test_a_laplace_half_width_is_never_too_short(scale: Fraction, miss: float) -> None:
    law = DiscreteLaplaceLaw(scale)
    level = 1 - Fraction(miss)
    h = law.half_width(level)
    assert 2 * precise_tail(law, h) <= mpmath.mpf(miss)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_characteristic_function_is_that_of_the_masses(law: NoiseLaw) -> None:
    reach = math.ceil(40 * law.std) + 10
    k = np.arange(-reach, reach + 1)
    t = np.linspace(0, math.pi, 41)
    wanted = np.cos(np.outer(t, k)) @ law.pmf(k)
    assert np.allclose(law.characteristic(t), wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_moment_generating_function_is_never_understated(law: NoiseLaw) -> None:
    for part in (0.05, 0.3, 0.8):
        t = part * min(law.mgf_limit, 10 / max(law.std, 0.1))
        k = np.arange(-1000, 1001).astype(float)
        with np.errstate(divide="ignore"):
            true = float(np.logaddexp.reduce(np.log(law.pmf(k)) + t * k))
        assert float(law.log_mgf(np.array([t]))[0]) >= true - 1e-12


@pytest.mark.parametrize("law", SMALL + LARGE, ids=str)
def test_a_stored_law_reads_back_exactly(law: NoiseLaw) -> None:
    stored = law.to_dict()
    assert law_from_dict(stored) == law
    assert "/" in (stored.get("scale") or stored["sigma_squared"])
    assert isinstance(law, NoiseLaw)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "cauchy", "scale": "1/1"},
        {"kind": "discrete-laplace"},
        {"kind": "discrete-laplace", "scale": "1e9"},
        {"kind": "discrete-laplace", "scale": "1/0"},
        {"kind": "discrete-laplace", "scale": "0/1"},
        {"kind": "discrete-laplace", "scale": "-1/1"},
        {"kind": "discrete-laplace", "scale": 2},
        {"kind": "discrete-laplace", "scale": "1/1", "more": "1"},
        {"kind": "discrete-gaussian", "scale": "1/1"},
    ],
)
def test_a_damaged_stored_law_is_refused(stored: Any) -> None:
    with pytest.raises(BadInput):
        law_from_dict(stored)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), 0.5, "1", True, Fraction(10) ** 60])
def test_a_scale_that_is_not_exact_and_positive_is_refused(scale: Any) -> None:
    for law in (DiscreteLaplaceLaw, DiscreteGaussianLaw, RoundedGaussianLaw):
        with pytest.raises(BadInput):
            law(scale)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, "x", True])
def test_a_confidence_outside_the_open_unit_interval_is_refused(confidence: Any) -> None:
    with pytest.raises(BadInput):
        DiscreteLaplaceLaw(Fraction(2)).half_width(confidence)
