"""Totals against an independent implementation: never below its sound bound, and not wasteful."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.core.mechanisms import AnalyticGaussian, DiscreteLaplace, Exponential
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.cost import Accounting, Cost

pytest.importorskip("dp_accounting")

from tests.harness.crosscheck import (
    Compared,
    Composition,
    compared,
    random_composition,
    worst_of,
)

FOUR = tuple((DiscreteLaplace(epsilon=Fraction(1, 2)), 1) for _ in range(4))


def check(count: int) -> list[Compared]:
    public = generator()
    found = []
    for _ in range(count):
        composition = random_composition(public)
        both = compared(composition)
        assert both.is_sound, (both, composition)
        assert both.is_close, (both, composition)
        found.append(both)
    return found


def test_random_totals_are_sound_and_within_a_percent_of_their_formula():
    worst = worst_of(check(100))
    assert worst["least ours/lower"] < 1.5, "a lower bound far away would show nothing"


@pytest.mark.trust
def test_a_thousand_random_totals_are_sound_and_within_a_percent_of_their_formula():
    check(1000)


@pytest.mark.parametrize("accounting", list(Accounting))
def test_our_own_distributions_agree_with_theirs_within_a_percent(accounting):
    public = generator()
    for _ in range(2):
        composition = random_composition(public, accounting)
        both = compared(replace(composition, uses=composition.uses[:3]), distribution=True)
        assert both.is_sound and both.is_close, both


def test_a_forgotten_use_is_seen_as_unsound():
    """The truth of four Laplace counts at delta 1e-9 is near 2; the sum of three is 1.5."""
    composition = Composition(uses=FOUR, accounting=Accounting.BASIC, delta=Fraction(0))
    honest = compared(composition)
    assert honest.is_sound and honest.is_close
    assert not replace(honest, ours=1.5).is_sound


def test_a_wrong_rho_is_seen(monkeypatch):
    """A pure epsilon taken for epsilon^2/8 although only bounded range gives that."""
    monkeypatch.setattr(DiscreteLaplace, "cost", lambda self: Cost.bounded_range(self.epsilon))
    composition = Composition(
        uses=FOUR, accounting=Accounting.CONCENTRATED, delta=Fraction(1, 10**6)
    )
    assert not compared(composition).is_close


def test_noise_for_twice_the_epsilon_is_seen(monkeypatch):
    honest = AnalyticGaussian.law

    def cheating(self, sensitivity, *, size):
        return honest(replace(self, epsilon=2 * self.epsilon), sensitivity, size=size)

    from tests.harness import crosscheck

    crosscheck._law.cache_clear()
    monkeypatch.setattr(AnalyticGaussian, "law", cheating)
    use = AnalyticGaussian(epsilon=Fraction(1, 3), delta=Fraction(1, 10**6))
    both = compared(Composition(uses=((use, 1),), accounting=Accounting.BASIC, delta=Fraction(0)))
    crosscheck._law.cache_clear()
    assert not both.is_sound


def test_a_single_exponential_mechanism_is_compared_with_a_real_pair():
    composition = Composition(
        uses=((Exponential(epsilon=Fraction(1)), 1),),
        accounting=Accounting.BASIC,
        delta=Fraction(0),
    )
    both = compared(composition)
    assert both.lower == pytest.approx(0.5, abs=0.01)
    assert both.is_sound and both.is_close
