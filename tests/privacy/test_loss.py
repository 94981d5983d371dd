"""The privacy loss as a random variable: never below the truth, and close to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.privacy.conversion import discrete_gaussian_delta_one_coordinate, gaussian_delta
from discreet.privacy.loss import PrivacyLoss, compose_all, split_atoms
from discreet.privacy.loss_mechanisms import (
    discrete_gaussian_loss,
    discrete_laplace_loss,
    exponential_mechanism_loss,
    gaussian_loss,
    pure_loss,
    randomised_response_loss,
)

PURE: dict[str, Callable[[], PrivacyLoss]] = {
    "laplace": lambda: discrete_laplace_loss(scale=2),
    "laplace, shift 3": lambda: discrete_laplace_loss(scale=6, shift=3),
    "laplace, wide": lambda: discrete_laplace_loss(scale=200_000, shift=100_000),
    "binary response": lambda: randomised_response_loss(epsilon="0.5"),
    "5-ary response": lambda: randomised_response_loss(epsilon="0.5", answers=5),
    "exponential": lambda: exponential_mechanism_loss(epsilon="0.5"),
}


@pytest.mark.parametrize(("square", "distance"), [(100, 1), (1, 1), ("0.25", 2), (10**4, 3)])
def test_the_mean_loss_of_a_gaussian_is_half_the_squared_ratio(square: Any, distance: int) -> None:
    wanted = distance / (2 * float(Fraction(square)))
    found = gaussian_loss(sigma_squared=square, l2_squared=distance).mean
    assert wanted <= found * (1 + 1e-12) <= wanted * (1 + 2e-6)
    lattice = discrete_gaussian_loss(sigma_squared=square, shift=1).mean
    assert lattice == pytest.approx(1 / (2 * float(Fraction(square))), rel=1e-5)


@pytest.mark.parametrize("name", list(PURE))
def test_a_pure_mechanism_never_loses_more_than_epsilon(name: str) -> None:
    loss = PURE[name]()
    assert loss.largest == pytest.approx(0.5, rel=1e-12)
    assert loss.tail(0.5 * (1 + 1e-12)) == 0
    assert loss.epsilon(0.0) == pytest.approx(0.5, rel=1e-12)
    many = loss.self_compose(20)
    assert many.largest <= 10 * (1 + 1e-9)
    assert many.epsilon(0.0) <= 10 * (1 + 1e-9)
    assert many.epsilon(1e-6) < 10


@pytest.mark.parametrize("name", list(PURE))
def test_no_pure_mechanism_loses_more_than_binary_randomised_response(name: str) -> None:
    worst, loss = pure_loss(epsilon="0.5"), PURE[name]()
    levels = np.linspace(0, 0.6, 13)
    assert np.all(loss.delta(levels) <= worst.delta(levels) * (1 + 1e-9) + 1e-15)
    assert np.all(loss.self_compose(8).delta(levels) <= worst.self_compose(8).delta(levels) + 1e-12)


@settings(deadline=None, max_examples=40)
@given(sigma=st.floats(0.3, 50), epsilon=st.floats(0, 8))
def test_a_gaussian_loss_gives_the_analytic_delta_and_never_less(
    sigma: float, epsilon: float
) -> None:
    square = Fraction(repr(sigma)) ** 2
    truth = float(gaussian_delta(sigma_squared=square, l2_squared=1, epsilon=epsilon))
    found = gaussian_loss(sigma_squared=square).delta(epsilon)
    assert truth * (1 - 1e-10) <= found <= truth * 1.001 + 2e-20
    truth = float(
        discrete_gaussian_delta_one_coordinate(sigma_squared=square, shift=1, epsilon=epsilon)
    )
    found = discrete_gaussian_loss(sigma_squared=square).delta(epsilon)
    assert truth * (1 - 2e-9) <= found <= truth * (1 + 1e-9) + 2e-20


def test_a_wide_discrete_gaussian_is_cut_into_pieces_that_never_lose_less() -> None:
    loss = discrete_gaussian_loss(sigma_squared=10**10, shift=100_000)
    assert len(loss.points) <= 1 << 15
    for epsilon in (0.5, 2.0, 5.0):
        truth = discrete_gaussian_delta_one_coordinate(
            sigma_squared=10**10, shift=100_000, epsilon=epsilon
        )
        assert float(truth) * (1 - 2e-9) <= loss.delta(epsilon) <= float(truth) * 1.001


REFERENCES: dict[str, tuple[Callable[[], PrivacyLoss], Callable[..., Any]]] = {
    "gaussian": (
        lambda: gaussian_loss(sigma_squared=100),
        lambda **how: pld.from_gaussian_mechanism(10.0, **how),
    ),
    "discrete gaussian": (
        lambda: discrete_gaussian_loss(sigma_squared=25, shift=2),
        lambda **how: pld.from_discrete_gaussian_mechanism(5.0, sensitivity=2, **how),
    ),
    "discrete laplace": (
        lambda: discrete_laplace_loss(scale=10, shift=3),
        lambda **how: pld.from_discrete_laplace_mechanism(0.1, sensitivity=3, **how),
    ),
    "5-ary response": (
        lambda: randomised_response_loss(epsilon="0.3", answers=5),
        lambda **how: pld.from_randomized_response(5 / (math.exp(0.3) + 4), 5, **how),
    ),
}


@pytest.mark.parametrize("times", [1, 10, 100])
@pytest.mark.parametrize("name", list(REFERENCES))
def test_composition_lies_between_the_independent_lower_and_upper_estimates(
    name: str, times: int
) -> None:
    ours, theirs = REFERENCES[name]
    loss = ours().self_compose(times)
    fine = {"value_discretization_interval": 1e-4}
    lower = theirs(pessimistic_estimate=False, **fine).self_compose(times)
    upper = theirs(pessimistic_estimate=True, **fine).self_compose(times)
    for delta in (1e-2, 1e-5, 1e-8):
        epsilon = loss.epsilon(delta)
        assert epsilon >= lower.get_epsilon_for_delta(delta) - 1e-9
        assert epsilon <= upper.get_epsilon_for_delta(delta) * 1.001 + times * 1e-4


def test_composing_two_gaussians_is_one_gaussian_with_the_summed_loss() -> None:
    both = gaussian_loss(sigma_squared=4).compose(gaussian_loss(sigma_squared=9))
    square = 1 / (Fraction(1, 4) + Fraction(1, 9))
    for epsilon in (0.1, 1.0, 2.5):
        truth = float(gaussian_delta(sigma_squared=square, l2_squared=1, epsilon=epsilon))
        assert truth * (1 - 1e-10) <= both.delta(epsilon) <= truth * 1.001 + 1e-13


def test_composing_k_gaussians_is_never_below_the_truth() -> None:
    for times in (3, 30, 300):
        many = gaussian_loss(sigma_squared=400).self_compose(times)
        for epsilon in (0.5, 1.0, 4.0):
            truth = float(
                gaussian_delta(sigma_squared=Fraction(400, times), l2_squared=1, epsilon=epsilon)
            )
            assert truth * (1 - 1e-10) <= many.delta(epsilon) <= truth * 1.001 + 1e-11


def test_compositions_on_the_grid_bound_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = discrete_laplace_loss(scale=4, shift=3), randomised_response_loss(epsilon="0.37")
    exact = one.compose(two).compose(one)
    monkeypatch.setattr("discreet.privacy.loss.EXACT_ATOMS", 1)
    gridded = one.compose(two).compose(one)
    levels = np.linspace(0, 1.9, 39)
    assert np.all(gridded.delta(levels) >= exact.delta(levels) * (1 - 1e-10))
    assert np.allclose(gridded.delta(levels), exact.delta(levels), rtol=1e-4, atol=1e-12)


def test_many_losses_composed_at_once_stay_within_their_largest() -> None:
    """In pairs the grid doubled with each loss; at once it is as wide as the losses, and never below them."""
    parts = [(discrete_laplace_loss(scale=20 + place), 1 + place % 2) for place in range(30)]
    largest = sum(times / (20 + place) for place, (_, times) in enumerate(parts))
    total = compose_all(parts)
    assert total.largest == pytest.approx(largest, rel=1e-12)
    assert total.tail(total.largest) == 0 and total.delta(total.largest) == 0
    assert total.points[-2] < 4 * largest
    assert total.mean == pytest.approx(sum(times * part.mean for part, times in parts), rel=1e-3)
    alone = discrete_laplace_loss(scale=20)
    levels = np.linspace(0, 1 / 20, 9)
    assert np.all(total.delta(levels) >= alone.delta(levels))
    assert compose_all([(alone, 1)]) is alone
    with pytest.raises(BadInput, match="Nothing to compose"):
        compose_all([])


@settings(deadline=None)
@given(
    atoms=st.lists(st.tuples(st.floats(-3, 3), st.floats(0.01, 1)), min_size=1, max_size=8),
    step=st.floats(0.01, 0.5),
)
def test_splitting_keeps_both_masses_and_never_lowers_delta(
    atoms: list[tuple[float, float]], step: float
) -> None:
    points = np.array([point for point, _ in atoms])
    masses = np.array([mass for _, mass in atoms]) / sum(mass for _, mass in atoms)
    loss = PrivacyLoss.of_atoms(points, masses)
    first, grid = split_atoms(loss.points, loss.probabilities, step)
    places = np.arange(first, first + len(grid), dtype=np.float64)
    moved = PrivacyLoss.of_atoms(places * step, grid)
    assert moved.probabilities.sum() == pytest.approx(1, abs=1e-12)
    under_q = [float(x.probabilities @ np.exp(-x.points)) for x in (loss, moved)]
    assert under_q[0] == pytest.approx(under_q[1], rel=1e-8)
    levels = np.linspace(-4, 4, 81)
    assert np.all(moved.delta(levels) >= loss.delta(levels) - 1e-8)


@pytest.mark.parametrize("name", [*PURE, "gaussian"])
def test_epsilon_inverts_delta(name: str) -> None:
    loss = gaussian_loss(sigma_squared=9) if name == "gaussian" else PURE[name]()
    for delta in (0.05, 1e-3, 1e-6, 1e-9):
        epsilon = loss.epsilon(delta)
        assert loss.delta(epsilon) <= delta
        if epsilon > 0:
            assert loss.delta(epsilon * (1 - 1e-6)) > delta


def test_the_tail_and_the_curve_fall_as_they_should() -> None:
    loss = gaussian_loss(sigma_squared=4)
    losses = np.linspace(-2, 4, 50)
    assert np.all(np.diff(loss.tail(losses)) <= 0) and np.all(np.diff(loss.delta(losses)) <= 0)
    # The loss is normal with mean 1/8 and standard deviation 1/2.
    assert loss.tail(0.125 + 0.5 * 1.959964) == pytest.approx(0.025, rel=2e-3)
    assert loss.largest == math.inf
    assert loss.epsilon(1e-30) == math.inf


@pytest.mark.parametrize(
    "broken",
    [
        lambda: PrivacyLoss(np.array([]), np.array([])),
        lambda: PrivacyLoss(np.array([1.0, 0.0]), np.array([0.5, 0.5])),
        lambda: PrivacyLoss(np.array([0.0, 1.0]), np.array([0.5, 0.6])),
        lambda: PrivacyLoss(np.array([0.0, math.inf]), np.array([0.5, 0.5])),
        lambda: PrivacyLoss(np.array([0.0, 1.0]), np.array([1.5, -0.5])),
        lambda: pure_loss(epsilon=0),
        lambda: pure_loss(epsilon=1).self_compose(0),
        lambda: pure_loss(epsilon=1).epsilon(1.0),
        lambda: discrete_laplace_loss(scale=1, shift=0),
        lambda: randomised_response_loss(epsilon=1, answers=1),
    ],
)
def test_a_loss_without_a_meaning_is_refused(broken: Callable[[], Any]) -> None:
    with pytest.raises(BadInput):
        broken()
