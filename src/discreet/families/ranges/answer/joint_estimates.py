"""Estimates of ranges that several sources share, and how they are added up and bounded.

Where a range cuts leaves there are two intervals for it: that of all sources together, which is noise
alone, and a tree's own bracket, which spans what the cut leaves may hold. Both hold at once if their
probabilities to miss add up to the whole; the interval is what lies in both. The one with less
noise gets nearly all of the risk, which is decided by variances, so a heavy leaf or a noisy
table costs little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.privacy.laws.sums import spread_factor

LESSER_RISK = 0.1
"""The part of the probability to miss that the noisier of two intervals gets, where both hold."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedEstimates(RangeEstimates):
    """Estimates of ranges from several sources, each with noise of its own."""

    kurtosis: Floats
    """Excess kurtosis of the noise."""
    sources: Integers
    """How many sources were combined."""
    bracket: RangeEstimates | None = None
    """What a tree alone says; `None` where no range cuts a leaf."""


def noise_of(found: RangeEstimates) -> Floats:
    return np.maximum(found.inner_std, found.outer_std)


def ends_of(found: RangeEstimates, factor: float | Floats) -> tuple[Floats, Floats]:
    """From inside and from outside, `factor` standard deviations away."""
    lower = found.inner - factor * found.inner_std
    upper = found.outer + factor * found.outer_std
    return np.minimum(lower, upper), np.maximum(lower, upper)


def joint_ends(
    found: JoinedEstimates, risk: float, kurtosis: float
) -> tuple[Floats, Floats, Floats, Floats, Bools]:
    """Estimate, both ends, deviation, and whether the interval is noise alone. `kurtosis`: of a tree."""
    alone = found.bracket
    if alone is None:
        lower, upper = ends_of(
            found, spread_factor(np.full(len(found.inner), risk), found.kurtosis)
        )
        return found.estimate, lower, upper, noise_of(found), found.inner == found.outer
    known, cut = np.isfinite(found.outer_std), alone.inner != alone.outer
    share = np.where(noise_of(found) <= noise_of(alone), 1 - LESSER_RISK, LESSER_RISK)
    share = np.where(cut, np.where(known, share, 0.0), 1.0)
    lower, upper = np.full(len(share), -np.inf), np.full(len(share), np.inf)
    widths = []
    for each, own, tail in ((found, share, found.kurtosis), (alone, 1 - share, kurtosis)):
        used = own > 0
        # Without a risk of its own it has no say, and may have no finite deviation either.
        factor = np.where(used, spread_factor(np.where(used, own, 1.0) * risk, tail), 0.0)
        with np.errstate(invalid="ignore"):
            low, high = ends_of(each, factor)
        lower = np.where(used, np.maximum(lower, low), lower)
        upper = np.where(used, np.minimum(upper, high), upper)
        widths.append(np.where(used, high - low, np.inf))
    # Two that miss each other: one of them has missed the rows, and nobody knows which.
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    tree = widths[1] < widths[0]
    return (
        np.where(tree, alone.estimate, found.estimate),
        lower,
        upper,
        np.where(tree, noise_of(alone), noise_of(found)),
        np.where(known, found.inner == found.outer, ~cut),
    )


class Sums:
    """Estimates of the same questions added up, box by box. Deviations add: they may be correlated."""

    def __init__(self, many: int) -> None:
        self._joint, self._alone = np.zeros((5, many)), np.zeros((5, many))
        self._kurtosis, self._sources = np.zeros(many), np.zeros(many, dtype=np.int64)
        self._is_joined = self._is_cut = False

    def add(self, found: RangeEstimates, where: Bools | Integers) -> None:
        self._joint[:, where] += np.stack(found.numbers)
        alone = found
        if isinstance(found, JoinedEstimates):
            self._is_joined = True
            self._kurtosis[where] = np.maximum(self._kurtosis[where], found.kurtosis)
            self._sources[where] = np.maximum(self._sources[where], found.sources)
            self._is_cut |= found.bracket is not None
            alone = found.bracket or found
        self._alone[:, where] += np.stack(alone.numbers)

    def estimates(self) -> RangeEstimates:
        joint = RangeEstimates(*self._joint)
        if not self._is_joined:
            return joint
        alone = RangeEstimates(*self._alone) if self._is_cut else None
        return JoinedEstimates(*joint.numbers, self._kurtosis, self._sources, alone)


def in_and_outside(inner: RangeEstimates, outer: RangeEstimates) -> RangeEstimates:
    """Estimates of ranges in which some cells are surely taken, and some more may be."""
    both = RangeEstimates(
        estimate=(inner.estimate + outer.estimate) / 2,
        inner=inner.inner,
        outer=outer.outer,
        inner_std=inner.inner_std,
        outer_std=outer.outer_std,
    )
    tails = [each.kurtosis for each in (inner, outer) if isinstance(each, JoinedEstimates)]
    sources = [each.sources for each in (inner, outer) if isinstance(each, JoinedEstimates)]
    if not tails:
        return both
    brackets = [_alone(each) for each in (inner, outer)]
    alone = None
    if any(bracket is not None for bracket in brackets):
        alone = in_and_outside(brackets[0] or inner, brackets[1] or outer)
        alone = RangeEstimates(*alone.numbers)
    return JoinedEstimates(
        *both.numbers, np.maximum.reduce(tails), np.maximum.reduce(sources), alone
    )


def _alone(found: RangeEstimates) -> RangeEstimates | None:
    return found.bracket if isinstance(found, JoinedEstimates) else None
