"""What each noise law knows of itself: its cost, its stored form, its loss, and what bounds it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.audits.losses import Use
from discreet.audits.observing import Divergence
from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion import discrete_gaussian_delta_one_coordinate, gaussian_delta
from discreet.privacy.cost import Cost
from discreet.privacy.laws import (
    LAWS,
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
    law_from_dict,
)
from discreet.privacy.loss_mechanisms import listed_loss, noise_loss
from tests.harness.replay import joint_delta

TWO = Sensitivity(l1=4, l2_squared=8)
"""Two numbers that move by 2 each."""
EPSILON = Fraction(1, 2)
EVERY: list[NoiseLaw] = [
    *(DiscreteLaplaceLaw(Fraction(scale)) for scale in ("1/3", "2", "40")),
    *(DiscreteGaussianLaw(Fraction(square)) for square in ("1/2", "9", "1000")),
    *(RoundedGaussianLaw(Fraction(square)) for square in ("1/2", "9", "1000")),
]


def test_every_law_that_a_release_may_name_is_held_to_this() -> None:
    assert {law.kind for law in EVERY} == set(LAWS)


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_a_law_is_read_back_as_it_was_stored(law: NoiseLaw) -> None:
    assert law_from_dict(law.to_dict()) == law
    assert law.words and law.to_dict()["kind"] == law.kind
    for wrong in ({**law.to_dict(), "more": "1/1"}, {"kind": law.kind}):
        with pytest.raises(BadInput, match="has exactly the fields kind and"):
            law_from_dict(wrong)


def test_the_cost_of_each_law_is_that_of_its_theorem() -> None:
    assert DiscreteLaplaceLaw(Fraction(8)).cost(TWO, size=9) == Cost.pure(Fraction(1, 2))
    for law in (DiscreteGaussianLaw(Fraction(16)), RoundedGaussianLaw(Fraction(16))):
        assert law.cost(TWO, size=9) == Cost.concentrated(Fraction(1, 4))
    rounded = RoundedGaussianLaw(Fraction(16)).cost(TWO, size=9, epsilon=EPSILON)
    delta = gaussian_delta(sigma_squared=16, l2_squared=8, epsilon=EPSILON)
    assert rounded == Cost.approximate(epsilon=EPSILON, delta=delta)
    one = Sensitivity(l1=3, l2_squared=9)
    discrete = DiscreteGaussianLaw(Fraction(16)).cost(one, size=1, epsilon=EPSILON)
    delta = discrete_gaussian_delta_one_coordinate(sigma_squared=16, shift=3, epsilon=EPSILON)
    assert discrete == Cost.approximate(epsilon=EPSILON, delta=delta)
    with pytest.raises(BadInput, match="a single number only"):
        DiscreteGaussianLaw(Fraction(16)).cost(TWO, size=2, epsilon=EPSILON)


def test_rounded_gaussians_lose_together_what_their_squared_shifts_add_up_to() -> None:
    uses = [
        Use(RoundedGaussianLaw(Fraction(square)), Sensitivity(shift, shift**2), 1)
        for square, shift in ((16, 2), (100, 5))
    ]
    found = joint_delta(uses, epsilon=EPSILON)
    assert found == gaussian_delta(sigma_squared=2, l2_squared=1, epsilon=EPSILON)
    others = [replace(use, law=DiscreteGaussianLaw(Fraction(16))) for use in uses]
    with pytest.raises(Divergence, match="no joint delta is proved"):
        joint_delta(others, epsilon=EPSILON)


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_what_a_law_lies_below_bounds_its_exponential_moments(law: NoiseLaw) -> None:
    """The law's own, and the one that any law has; a law's own may bound it before rounding."""
    for around in (law.envelope(), NoiseLaw.envelope(law)):
        steepest = 1 / (2 * around.scale) if around.scale else 3 / law.std
        t = np.linspace(0, min(steepest, 0.999 * law.mgf_limit), 50)[1:]
        bound = around.variance * t**2 / 2
        if around.scale and around == law.envelope():
            bound = -np.log1p(-((around.scale * t) ** 2))  # Laplace noise of the same scale
        k = np.arange(-int(60 * law.std) - 20, int(60 * law.std) + 21)
        exact = np.log(np.exp(np.multiply.outer(t, k)) @ law.pmf(k))
        assert (exact <= bound + around.slack * t + 1e-9).all()


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_a_law_is_scaled_in_its_own_kind(law: NoiseLaw) -> None:
    wider = law.scaled(Fraction(3))
    assert type(wider) is type(law) and wider.spread == pytest.approx(3 * law.spread)
    assert wider.scaled(Fraction(1, 3)) == law


@pytest.mark.parametrize("law", EVERY, ids=str)
@pytest.mark.parametrize("shift", [1, 3])
def test_a_laws_own_loss_is_never_below_the_listed_one_and_close_to_it(
    law: NoiseLaw, shift: int
) -> None:
    """Rounding a Gaussian number can only hide, so its continuous loss may be larger, never smaller."""
    listed = listed_loss(law, shift)
    for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0):
        own, plain = noise_loss(law, shift).delta(epsilon), listed.delta(epsilon)
        assert own >= plain * (1 - 1e-6) - 1e-12
        if not isinstance(law, RoundedGaussianLaw):
            assert own == pytest.approx(plain, rel=1e-6, abs=1e-12)
