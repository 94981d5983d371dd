"""Our totals against Google's `dp_accounting`, an implementation that shares nothing with ours.

A composition is a list of mechanisms. Ours is what the ledger would add up, turned into an epsilon
at a delta; theirs is the privacy loss distribution of the same noise. Rounded optimistically theirs is a
lower bound on the truth, and nothing sound can lie below it. And each total must be within a
percent of its own notion's formula as they compute it, or it would be sound and wasteful.

`dp_accounting` is an optional extra, imported only when a check runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.mechanisms import (
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    RoundedGaussian,
)
from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.composition import basic
from discreet.privacy.cost import Accounting
from discreet.privacy.guidance import epsilon_at
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.loss_mechanisms import noise_loss, pure_loss

if TYPE_CHECKING:
    from numpy.random import Generator

Noise = DiscreteLaplace | DiscreteGaussian | RoundedGaussian | AnalyticGaussian
Used = Noise | Exponential
THEIRS: dict[str, tuple[str, Callable[[NoiseLaw], float]]] = {
    "discrete-laplace": ("from_discrete_laplace_mechanism", lambda law: 1 / law.spread),
    "discrete-gaussian": ("from_discrete_gaussian_mechanism", lambda law: law.spread),
    "rounded-gaussian": ("from_gaussian_mechanism", lambda law: law.spread),
}
"""Their name for the mechanism of each law, and how they are told its size."""
STEP = 1e-3
"""The grid of their distributions; smaller is slower and sharper."""
CLOSE = 0.01
PURE = 1e-12
"""Their distributions lose a little mass to rounding, so that at delta 0 they may know no epsilon."""
ROUNDING = 1e-9
"""Their arithmetic is in floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """Mechanisms on one table, the shift that a neighbour causes in each, and how they are added up."""

    uses: tuple[tuple[Used, int], ...]
    accounting: Accounting
    delta: Fraction
    """At which a total in rho or mu is turned into an epsilon; a total in epsilon brings its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One composition, by us and by them."""

    delta: float
    ours: float
    lower: float
    """Theirs, rounded down: nothing sound lies below."""
    formula: float
    """Our notion's own formula, as they compute it."""
    distribution: float | None = None
    """Our own distribution of the privacy loss, composed; where it was asked for."""
    upper: float | None = None
    """Theirs for the same, rounded up."""

    @property
    def is_sound(self) -> bool:
        least = self.lower * (1 - ROUNDING)
        return self.ours >= least and (self.distribution is None or self.distribution >= least)

    @property
    def is_close(self) -> bool:
        if self.distribution is not None and self.upper is not None:
            return _near(self.ours, self.formula) and _near(self.distribution, self.upper)
        return _near(self.ours, self.formula)


def _near(one: float, other: float) -> bool:
    return math.isfinite(other) and abs(one - other) <= CLOSE * max(abs(other), CLOSE)


def random_composition(generator: Generator, accounting: Accounting | None = None) -> Composition:
    """One to eight random mechanisms that an accounting can add; a random one unless it is given."""
    accounting = accounting or list(Accounting)[int(generator.integers(len(Accounting)))]
    count = int(generator.integers(1, 9))
    uses = tuple(_random_use(generator, accounting) for _ in range(count))
    delta = Fraction(1, 10 ** int(generator.integers(4, 10)))
    return Composition(uses=uses, accounting=accounting, delta=delta)


def _random_use(generator: Generator, accounting: Accounting) -> tuple[Used, int]:
    epsilon = Fraction(int(generator.integers(5, 80)), 100)
    shift = int(generator.integers(1, 4))
    match int(generator.integers(3)):
        case 0:
            return DiscreteLaplace(epsilon=epsilon), shift
        case 1 if accounting is Accounting.CONCENTRATED:
            return DiscreteGaussian(rho=epsilon * epsilon / 4), shift
        case 1 if accounting is Accounting.GAUSSIAN:
            return RoundedGaussian(mu_squared=epsilon * epsilon / 2), shift
        case 1:
            delta = Fraction(1, 10 ** int(generator.integers(5, 9)))
            return AnalyticGaussian(epsilon=epsilon, delta=delta), shift
        case _:
            return Exponential(epsilon=epsilon), shift


def compared(composition: Composition, *, distribution: bool = False) -> Compared:
    """Both totals of one composition; our own distribution too, which takes longer, if asked for."""
    delta, ours, formula = _total(composition)
    lower = _their_loss(composition, pessimistic=False)
    found = Compared(
        delta=delta,
        ours=ours,
        lower=float(lower.get_epsilon_for_delta(delta)),
        formula=formula,
    )
    if not distribution:
        return found
    upper = _their_loss(composition, pessimistic=True)
    return replace(
        found,
        distribution=_our_loss(composition, delta),
        upper=float(upper.get_epsilon_for_delta(max(delta, PURE))),
    )


def _total(composition: Composition) -> tuple[float, float, float]:
    """delta, our epsilon, and the same by their formula."""
    accounting = composition.accounting
    total = basic(use.cost().under(accounting) for use, _ in composition.uses)
    if accounting is Accounting.GAUSSIAN:
        delta = composition.delta
        ours = float(epsilon_at(total, delta=delta))
        return float(delta), ours, _their_gaussian(composition)
    if accounting is Accounting.CONCENTRATED:
        delta = composition.delta
        ours = float(epsilon_at(total, delta=delta))
        return float(delta), ours, _their_concentrated(composition)
    return float(total.delta), float(total.epsilon), _their_basic(composition)


def _their_concentrated(composition: Composition) -> float:
    """Renyi differential privacy, order by order, from each mechanism's own noise."""
    from dp_accounting.rdp import rdp_privacy_accountant

    orders = 1 + np.geomspace(0.01, 3000, 500)
    rhos = []
    for use, shift in composition.uses:
        match use:
            case DiscreteGaussian() | RoundedGaussian():
                rhos.append(shift * shift / (2 * _law(use, shift).spread ** 2))
            case DiscreteLaplace(epsilon=epsilon):
                rhos.append(float(epsilon) ** 2 / 2)
            case Exponential(epsilon=epsilon):
                rhos.append(float(epsilon) ** 2 / 8)
            case _:
                raise BadInput(f"{use!r} has no rho.")
    found, _ = rdp_privacy_accountant.compute_epsilon(
        orders, orders * math.fsum(rhos), float(composition.delta)
    )
    return float(found)


def _their_gaussian(composition: Composition) -> float:
    """The loss of one Gaussian draw, whose mu is the root of the summed squares."""
    from dp_accounting.pld import privacy_loss_distribution as theirs

    squares = []
    for use, shift in composition.uses:
        match use:
            case RoundedGaussian():
                squares.append((shift / _law(use, shift).spread) ** 2)
            case DiscreteLaplace(epsilon=epsilon):
                squares.append(_mu_of_logits(float(epsilon)) ** 2)
            case Exponential(epsilon=epsilon):
                squares.append(_mu_of_logits(float(epsilon) / 2) ** 2)
            case _:
                raise BadInput(f"{use!r} has no mu.")
    single = theirs.from_gaussian_mechanism(
        1 / math.sqrt(math.fsum(squares)), value_discretization_interval=STEP
    )
    return float(single.get_epsilon_for_delta(float(composition.delta)))


def _mu_of_logits(half_range: float) -> float:
    """How far apart two normal variables are if their tails have the logits -half_range and half_range."""
    return 2 * NormalDist().inv_cdf(1 / (1 + math.exp(-half_range)))


def _their_basic(composition: Composition) -> float:
    """The sum of each mechanism's own epsilon at its own delta, from its noise alone."""
    total = 0.0
    for use, shift in composition.uses:
        if isinstance(use, Exponential):
            total += float(use.epsilon)  # the supremum over all scores: no single pair attains it
            continue
        delta = max(float(use.cost().delta), PURE)
        single = _their_single(use, shift, pessimistic=True)
        total += float(single.get_epsilon_for_delta(delta))
    return total


def _their_loss(composition: Composition, *, pessimistic: bool) -> Any:
    first, *others = (
        _their_single(use, shift, pessimistic=pessimistic) for use, shift in composition.uses
    )
    for each in others:
        first = first.compose(each)
    return first


def _their_single(use: Used, shift: int, *, pessimistic: bool) -> Any:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as theirs

    named = {
        "pessimistic_estimate": pessimistic,
        "value_discretization_interval": STEP,
        "use_connect_dots": pessimistic,
    }
    if isinstance(use, Exponential):
        epsilon = float(use.epsilon)
        if pessimistic:  # the worst of all epsilon-DP mechanisms, as ours takes it
            promised = common.DifferentialPrivacyParameters(epsilon, 0.0)
            return theirs.from_privacy_parameters(promised, value_discretization_interval=STEP)
        likelier = math.exp(epsilon / 2)  # two candidates whose scores change places: a real pair
        share = likelier / (1 + likelier)
        return theirs.from_two_probability_mass_functions(
            {0: math.log(share), 1: math.log1p(-share)},
            {0: math.log1p(-share), 1: math.log(share)},
            pessimistic_estimate=False,
            value_discretization_interval=STEP,
        )
    law = _law(use, shift)
    if law.kind not in THEIRS:
        raise BadInput(f"Nothing of theirs is known for the law {law!r}.")
    name, parameter = THEIRS[law.kind]
    return getattr(theirs, name)(parameter(law), sensitivity=shift, **named)


def _our_loss(composition: Composition, delta: float) -> float:
    first, *others = (_our_single(use, shift) for use, shift in composition.uses)
    for each in others:
        first = first.compose(each)
    return float(first.epsilon(delta))


def _our_single(use: Used, shift: int) -> Any:
    if isinstance(use, Exponential):
        return pure_loss(epsilon=use.epsilon)
    return noise_loss(_law(use, shift), shift)


@lru_cache(maxsize=64)
def _law(use: Noise, shift: int) -> NoiseLaw:
    return use.law(Sensitivity(l1=shift, l2_squared=shift * shift), size=1)


def worst_of(found: Sequence[Compared]) -> dict[str, float]:
    """For the record: how near the lower bound, and how far from the formula, any of them came."""
    large = [each for each in found if each.lower > CLOSE and each.formula > CLOSE]
    return {
        "least ours/lower": min(each.ours / each.lower for each in large),
        "most ours/formula": max(each.ours / each.formula for each in large),
        "least ours/formula": min(each.ours / each.formula for each in large),
    }
