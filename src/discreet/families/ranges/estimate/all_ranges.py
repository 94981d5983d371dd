"""A bound on the errors of the least squares counts of all ranges, where the measured numbers were fixed in advance.

Each leaf's count is then a known combination of independent draws, and so is each range's. Two bounds
hold, and the smaller one is given:

Simulated: the noise is drawn many times from its public law, and of each draw the range that is off
furthest is found: the highest less the lowest running sum. Of the furthest errors the one is taken that so
few exceed that, were it too small, this would happen with a probability below `UNLUCKY` (exact binomial
tail). The draws are public and always the same, so a plan and a release say the same number.

Chernoff: the tail of each range, and the union bound over all of them. It serves where the probability to
miss is too small, or the column too long, to simulate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.families.ranges.estimate.tree_layers import LEAST_VARIANCE
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.laws import NoiseLaw

UNLUCKY = 1e-9
"""The probability that a simulated bound is too small."""
MOST_DRAWS, FEWEST_DRAWS = 20_000, 2_000
MOST_WORK = 1 << 31
"""Draws times numbers times leaves of one simulation."""
MOST_LEAVES = 1 << 9
SEED = 20_260_101
ROUNDING = 0.5
"""Rounding an estimate to a whole number moves it by at most this."""
UP = 1 + 1e-6
"""More than what the order of additions can change."""
THEOREM = (
    "the furthest error of all ranges, simulated from the noise laws so often that it is too small with a "
    "probability below 1e-9, or Chernoff and union bounds where they are smaller"
)


@dataclass(frozen=True, slots=True, eq=False)
class LinearLeaves:
    """The counts of leaves, in order, as combinations of numbers with independent noise."""

    weights: Floats
    """One row a leaf, one column a number."""
    laws: tuple[NoiseLaw, ...]
    """The law of each run of numbers, in their order."""
    sizes: tuple[int, ...]
    """How many numbers each law has."""

    @property
    def key(self) -> tuple[object, ...]:
        return (self.weights.tobytes(), self.weights.shape, self.laws, self.sizes)


def strategy_leaves(matrix: npt.NDArray[np.generic], law: NoiseLaw) -> LinearLeaves:
    """The cells of a strategy."""
    weights = np.linalg.pinv(np.asarray(matrix, dtype=np.float64))
    return LinearLeaves(weights, (law,), (matrix.shape[0],))


def level_leaves(leaves: int, levels: Sequence[tuple[int, NoiseLaw]]) -> LinearLeaves | None:
    """The leaves of a tree of whole levels, each 2^shift leaves to a node; None where there are too many."""
    if leaves > MOST_LEAVES:
        return None
    rows, precisions, sizes = [], [], []
    for shift, law in levels:
        nodes = ((leaves - 1) >> shift) + 1
        belongs = np.zeros((nodes, leaves))
        belongs[np.arange(leaves) >> shift, np.arange(leaves)] = 1.0
        rows.append(belongs)
        precisions.append(np.full(nodes, 1 / max(law.variance, LEAST_VARIANCE)))
        sizes.append(nodes)
    design, precision = np.concatenate(rows), np.concatenate(precisions)
    normal = design.T @ (precision[:, np.newaxis] * design)
    weights = np.linalg.solve(normal, design.T * precision)
    return LinearLeaves(weights, tuple(law for _, law in levels), tuple(sizes))


def all_ranges_bound(leaves: LinearLeaves, delta: float, *, copies: int = 1) -> float:
    """A bound on the errors of all ranges with probability 1 - delta, in `copies` groups that are measured alike."""
    each = -math.expm1(math.log1p(-delta) / copies)  # groups are independent
    found = _bound(_Keyed(leaves), each)
    return found * UP


class _Keyed:
    """Leaves by what they say, so that equal ones are simulated once."""

    __slots__ = ("_hash", "leaves")

    def __init__(self, leaves: LinearLeaves) -> None:
        self.leaves, self._hash = leaves, hash(leaves.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.leaves.key == other.leaves.key


@lru_cache(maxsize=64)
def _bound(keyed: _Keyed, delta: float) -> float:
    furthest = _furthest(keyed)
    simulated = math.inf
    if len(furthest):
        above = exceeding(len(furthest), delta)
        if above is not None:
            simulated = float(furthest[len(furthest) - 1 - above])
    return min(simulated, _chernoff(keyed.leaves, delta))


def exceeding(draws: int, delta: float) -> int | None:
    """The most draws that may lie above a bound that is exceeded with probability delta at most.

    Were it exceeded more often, so few above it would have a probability below `UNLUCKY`. None
    where not even a bound above all draws would do.
    """
    from scipy.stats import binom  # takes long to load, and most questions need no bound

    above = int(binom.ppf(UNLUCKY, draws, delta)) - 1
    return above if above >= 0 else None


@lru_cache(maxsize=64)
def _furthest(keyed: _Keyed) -> Floats:
    """The furthest errors of simulated noise, in order."""
    leaves = keyed.leaves
    work = leaves.weights.size
    draws = min(MOST_DRAWS, MOST_WORK // max(1, work))
    if draws < FEWEST_DRAWS:
        return np.zeros(0)
    public = generator(SEED)
    found = []
    for at in range(0, draws, 2000):
        many = min(2000, draws - at)
        noise = np.concatenate(
            [
                drawn(law, (many, size), public)
                for law, size in zip(leaves.laws, leaves.sizes, strict=True)
            ],
            axis=1,
        )
        running = np.cumsum(noise @ leaves.weights.T, axis=1)
        highest = np.maximum(running.max(axis=1), 0.0)
        found.append(highest - np.minimum(running.min(axis=1), 0.0))
    return np.sort(np.concatenate(found))


def drawn(law: NoiseLaw, shape: tuple[int, ...], public: np.random.Generator) -> Floats:  # noqa: TID251 - the type only; the generator is public
    """Public draws of a noise law, by its own places and probabilities; a wide law's places are apart,
    and a draw is spread evenly between them."""
    places, masses = law.points()
    found = places[np.searchsorted(np.cumsum(masses)[:-1], public.random(shape), side="right")]
    step = float(places[1] - places[0])
    return found if step <= 1 else found + step * (public.random(shape) - 0.5)


def _chernoff(leaves: LinearLeaves, delta: float) -> float:
    """Over all ranges, two sides each."""
    many = len(leaves.weights)
    risk = math.log(many * (many + 1) / delta)
    before = np.concatenate([np.zeros((1, leaves.weights.shape[1])), leaves.weights.cumsum(axis=0)])
    around = [law.envelope() for law in leaves.laws]
    variance, scale, slack = (
        np.repeat([getattr(each, name) for each in around], leaves.sizes)
        for name in ("variance", "scale", "slack")
    )
    farthest = 0.0
    for start in range(many):
        rows = np.abs(before[start + 1 :] - before[start])
        far = reach(rows**2 @ variance, risk, (rows * scale).max(axis=1))
        farthest = max(farthest, float((far + rows @ slack).max()))
    return farthest


STEEPNESS = np.linspace(0.02, 0.5, 25)
"""Chernoff's bound is taken at so many places, of 1 / scale: any of them is valid."""


def reach(variance: Floats, log_risk: float, scale: Floats) -> Floats:
    """How far a sum of noise goes, but for a chance of exp(-log_risk) a side.

    `variance` is that of continuous noise of the same scales (twice their squares), or a Gaussian's;
    `scale` the largest Laplace scale in the sum, 0 where there is none. With b the largest scale and u
    = s b, the logarithm of the sum's moment generating function at s is at most variance / (2 b^2) times
    -ln(1 - u^2), because -ln(1 - x) / x grows with x.
    """
    normal = np.sqrt(2 * log_risk * variance)
    safe = np.where(scale > 0, scale, 1.0)
    draws = (variance / (2 * safe**2))[..., np.newaxis]
    far = safe * ((log_risk - draws * np.log1p(-(STEEPNESS**2))) / STEEPNESS).min(axis=-1)
    return np.where(variance > 0, np.where(scale > 0, far, normal), 0.0)
