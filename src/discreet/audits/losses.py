"""The exact privacy loss between two neighbouring tables, step by step, from a tape and its replay.

For each step the difference of the exact numbers, put through the noise law that was really
used, bounds how much more likely one table makes any output than the other. Over the whole
run these must not exceed what was charged. Nothing declared is believed: neither the
sensitivities nor the costs in the release enter here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import TreeLevel, TreeMeasurement
from discreet.artifacts.release import Release
from discreet.audits.observing import Divergence, Step
from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion import mu_squared_from_range
from discreet.privacy.laws import NoiseLaw
from discreet.samplers.exact import exp_minus

PRECISION = 512
"""Bits of e^epsilon: more than any table of chances has."""
MOST_KEYS_MOVED = 10


@dataclass(frozen=True, slots=True)
class Use:
    """Draws of a law on `size` numbers that a neighbour moves by `sensitivity`."""

    law: NoiseLaw
    sensitivity: Sensitivity
    size: int


@dataclass(frozen=True, slots=True)
class StepLoss:
    """What one step can tell apart: an epsilon, and the rho that goes with it; None where no such bound exists."""

    epsilon: Fraction | None
    rho: Fraction
    use: Use | None = None
    """For noise without an epsilon of its own: what was moved, from which a delta follows."""
    delta: Fraction = Fraction(0)
    """For named keys, beside the epsilon."""
    gaussian: Fraction | None = None
    """For Gaussian noise, the square of mu."""
    half_range: Fraction | None = None
    """For anything pure, half the length of the interval that its losses lie in."""

    @property
    def mu_squared(self) -> Fraction | None:
        if self.gaussian is not None or self.half_range is None:
            return self.gaussian
        return mu_squared_from_range(self.half_range)


def tree_levels(release: Release) -> Iterator[TreeLevel]:
    """The levels of all refined trees, in the order in which they were measured."""
    for part in release.parts:
        for tree in part.trees:
            yield from drawn_levels(tree)


def drawn_levels(measured: TreeMeasurement) -> Iterator[TreeLevel]:
    """The nodes of each level that were drawn together: of a tree with a weighted root, those of paths of one weight."""
    for level in measured.levels:
        if not measured.weights or level.level == 0:
            yield level
            continue
        depths = measured.tree.depths
        places = level.nodes[:, 0] >> np.uint64(depths[level.level][0] - depths[1][0])
        weights = np.array(measured.weights)[places.astype(np.int64)]
        for weight in np.unique(weights):
            here = weights == weight
            kept = {
                name: getattr(level, name)[here] for name in ("nodes", "first", "values", "stopped")
            }
            yield replace(level, **kept)


def step_losses(
    recorded: Sequence[Step], replayed: Sequence[Step], levels: Iterator[TreeLevel]
) -> list[StepLoss]:
    """The loss of each step of a replay against the recorded run."""
    if len(recorded) != len(replayed):
        raise Divergence(f"{len(recorded)} steps were recorded and {len(replayed)} replayed")
    furthest = max(
        (
            int(np.abs(one.exact - other.exact).max(initial=0))
            for one, other in zip(recorded, replayed, strict=True)
            if one.name.endswith("above")
        ),
        default=0,
    )
    losses = []
    for one, other in zip(recorded, replayed, strict=True):
        if one.keeping is not None:
            losses.append(_naming_loss(one.keeping, one, other))
            continue
        moved = np.abs(one.exact - other.exact)
        if one.unit is not None:
            # Every weight moves by at most unit * |moved|, and so does their sum.
            losses.append(_pure(2 * one.unit * int(moved.max(initial=0)), bounded_range=True))
        elif len(one.laws) > 1 or one.name.endswith("refine"):
            losses.append(_tree_loss(one, moved, next(levels)))
        elif one.name.endswith(("threshold", "above")):
            losses.append(_alert_loss(one, moved, furthest))
        else:
            losses.append(_noise_loss(one.laws[0], moved))
    return losses


def _noise_loss(law: NoiseLaw, moved: npt.NDArray[np.int64]) -> StepLoss:
    steps = [int(each) for each in moved[moved != 0]]
    if not steps:
        return _pure(0)
    use = Use(law, Sensitivity(sum(steps), sum(each**2 for each in steps)), len(steps))
    cost = law.cost(use.sensitivity, size=use.size)
    if cost.rho is None or cost.delta:
        raise Divergence(f"no rho is known for the law {law!r}")
    return StepLoss(
        epsilon=cost.epsilon,
        rho=cost.rho,
        use=use,
        gaussian=cost.gaussian,
        half_range=cost.half_range,
    )


def _naming_loss(law: NamingLaw, one: Step, other: Step) -> StepLoss:
    """The epsilon of every key whose number of units moved, and the exact delta that goes with it.

    The coins are independent, so what both tables can name is a product over the keys that moved:
    every outcome is listed, with its probability on either table.
    """
    here = dict(zip(one.keys, one.exact.tolist(), strict=True))
    there = dict(zip(other.keys, other.exact.tolist(), strict=True))
    moved = [
        (here.get(key, 0), there.get(key, 0))
        for key in sorted(here.keys() | there.keys())
        if here.get(key, 0) != there.get(key, 0)
    ]
    if len(moved) > MOST_KEYS_MOVED:
        raise Divergence(f"a unit moves the numbers of {len(moved)} keys")
    epsilon = law.epsilon_of(sum(abs(left - right) for left, right in moved))
    _, shrink = exp_minus(epsilon, PRECISION)
    growth = Fraction(1 << PRECISION, shrink)  # at most e^epsilon, which only makes delta larger
    outcomes = [(Fraction(1), Fraction(1))]
    for left, right in moved:
        p, q = law.chance(left), law.chance(right)
        outcomes = [(a * x, b * y) for a, b in outcomes for x, y in ((p, q), (1 - p, 1 - q))]
    ahead = sum((max(a - growth * b, Fraction(0)) for a, b in outcomes), Fraction(0))
    behind = sum((max(b - growth * a, Fraction(0)) for a, b in outcomes), Fraction(0))
    return StepLoss(epsilon=epsilon, rho=epsilon * epsilon / 2, delta=max(ahead, behind))


def _tree_loss(step: Step, moved: npt.NDArray[np.int64], level: TreeLevel) -> StepLoss:
    """A node costs the epsilon of the finest number of it that was published."""
    fine = np.where(level.stopped, 0, min(1, len(step.laws) - 1))
    losses = (
        _epsilon_of(step.laws[int(fine[index])], int(moved[index]))
        for index in np.flatnonzero(moved)
    )
    return _pure(sum(losses, Fraction(0)))


def _alert_loss(step: Step, moved: npt.NDArray[np.int64], furthest: int) -> StepLoss:
    """The threshold's noise hides any `below`, the count's noise the one `above` (both shifted by the move).

    The proof of the sparse vector charges the threshold once (s / its scale) and the last
    count once (2s / its scale); a `below` by itself is free, so it counts for nothing here.
    """
    law = step.laws[0]
    if step.name.endswith("threshold"):
        return _pure(_epsilon_of(law, furthest))
    fired = int(step.output[0])
    return _pure(_epsilon_of(law, 2 * int(moved.max(initial=0)) * fired))


def _epsilon_of(law: NoiseLaw, distance: int) -> Fraction:
    """What a law of pure noise loses when one number moves by `distance`."""
    if not distance:
        return Fraction(0)
    epsilon = law.cost(Sensitivity(distance, distance**2), size=1).epsilon
    if epsilon is None:
        raise Divergence(f"no epsilon is known for the law {law!r}")
    return epsilon


def _pure(epsilon: Fraction | int, *, bounded_range: bool = False) -> StepLoss:
    exact = Fraction(epsilon)
    half = exact / 2 if bounded_range else exact
    return StepLoss(epsilon=exact, rho=half * half / 2, half_range=half)
