"""The privacy loss as a random variable: ln(P(output) / Q(output)), the output drawn from P.

Where a guarantee is one number, the loss shows how it is reached: its mean, its tail,
the whole curve delta(epsilon), and what composition does to all of them.

For charts, audits and second opinions. Caps are enforced by `Budget` addition and by
`conversion`, never by these float64 numbers; yet they too err upwards only: where a
distribution is put on a grid, each piece of mass moves to the two grid points around it
such that its probability under P and under Q stay the same. The original pair is a
post-processing of the new one (one forgets which neighbour was taken), so by
Blackwell's theorem delta(epsilon) can only grow, also under composition. (This is the
"connect the dots" of Doroshenko et al. 2022, never below the truth.)

`loss_mechanisms` has the losses of the mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput

EXACT_ATOMS = 4096
"""Compositions with at most so many atoms are exact; others go through a grid."""
GRID_POINTS = 1 << 16
LOST = 1e-18
"""Mass that may fall outside the grid on either side; it is counted at the largest loss."""
FLOAT_SLACK = 1e-12
UNIT_ROUNDOFF = 2.0**-52


@dataclass(frozen=True, slots=True, eq=False)
class PrivacyLoss:
    """A distribution of the privacy loss: atoms in increasing order, and mass at infinity.

    `ceiling` is the largest finite loss of the mechanism itself. A grid may put mass above it
    (and must keep it there, or the distribution would no longer dominate); delta is then
    known to be 0, but for the mass at infinity, from the ceiling on.
    """

    points: Floats
    probabilities: Floats
    infinite: float = 0.0
    ceiling: float = math.inf

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=np.float64)
        masses = np.array(self.probabilities, dtype=np.float64)
        total = float(masses.sum()) + self.infinite
        if points.ndim != 1 or points.shape != masses.shape or not points.size:
            raise BadInput("A privacy loss needs as many probabilities as points, at least one.")
        if not np.all(np.isfinite(points)) or np.any(np.diff(points) <= 0):
            raise BadInput("The points of a privacy loss must be finite and increasing.")
        if np.any(masses < 0) or self.infinite < 0 or not abs(total - 1) < 1e-6:
            raise BadInput("The probabilities of a privacy loss must be positive and sum to 1.")
        points.flags.writeable = masses.flags.writeable = False
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "probabilities", masses)
        object.__setattr__(self, "ceiling", min(float(self.ceiling), float(points[-1])))

    @classmethod
    def of_atoms(
        cls, points: Floats, masses: Floats, infinite: float = 0.0, ceiling: float = math.inf
    ) -> PrivacyLoss:
        """From atoms in any order; equal points are merged, empty ones dropped."""
        distinct, where = np.unique(np.asarray(points, dtype=np.float64), return_inverse=True)
        merged = _gathered(where.ravel(), masses, len(distinct))
        kept = merged > 0
        return cls(distinct[kept], merged[kept], infinite, ceiling)

    @property
    def mean(self) -> float:
        """The expected loss, that is the Kullback-Leibler divergence from P to Q."""
        if self.infinite > 1e-15:  # less is a tail that was cut off
            return math.inf
        return float(self.points @ self.probabilities)

    @property
    def largest(self) -> float:
        """The largest possible loss: the epsilon of pure differential privacy, or infinity."""
        return math.inf if self.infinite > 0 else self.ceiling

    @overload
    def tail(self, t: float) -> float: ...
    @overload
    def tail(self, t: Floats) -> Floats: ...
    def tail(self, t: float | Floats) -> float | Floats:
        """P(loss > t), exact for the atoms held (a grid moves each by less than one step).

        From the ceiling on it is the mass at infinity: what a grid puts above lies below in truth.
        """
        above = np.append(np.cumsum(self.probabilities[::-1])[::-1], 0.0) + self.infinite
        found = np.minimum(above[np.searchsorted(self.points, t, side="right")], 1.0)
        found = np.where(np.asarray(t) >= self.ceiling, self.infinite, found)
        return found if isinstance(t, np.ndarray) else float(found)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: Floats) -> Floats: ...
    def delta(self, epsilon: float | Floats) -> float | Floats:
        """The hockey-stick divergence E max(0, 1 - e^(epsilon - loss)), rounded up."""
        wanted = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
        values = np.empty(wanted.shape)
        for place, level in enumerate(wanted.ravel()):
            start = int(np.searchsorted(self.points, level, side="right"))
            gaps = -np.expm1(level - self.points[start:])
            values.ravel()[place] = self.probabilities[start:] @ gaps
        values = np.where(wanted < self.ceiling, values * (1 + FLOAT_SLACK), 0.0)
        values = np.minimum(values + self.infinite, 1.0)
        return values if isinstance(epsilon, np.ndarray) else float(values[0])

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 with delta(epsilon) <= delta, rounded up; infinity if none."""
        if not 0 <= delta < 1:
            raise BadInput(f"delta is {delta}; it must be at least 0 and below 1.")
        if self.infinite > delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0, len(self.points) - 1  # delta at the last point is the infinite mass only
        while low < high:
            middle = (low + high) // 2
            fits = self.points[middle] > 0 and self.delta(float(self.points[middle])) <= delta
            low, high = (low, middle) if fits else (middle + 1, high)
        # Between two points delta(epsilon) = above - e^epsilon reach.
        after = slice(high, None)
        above = float(self.probabilities[after].sum()) + self.infinite
        origin = float(self.points[high])
        reach = float(self.probabilities[after] @ np.exp(origin - self.points[after]))
        solved = origin + math.log(max(above - delta, 1e-300) / reach)
        step = max(abs(solved), 1.0) * FLOAT_SLACK
        while solved < origin and self.delta(solved) > delta:
            solved, step = solved + step, 2 * step
        return max(0.0, min(solved, origin, self.ceiling))

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """The loss of both mechanisms together (independent noise, also when chosen adaptively)."""
        return compose_all([(self, 1), (other, 1)])

    def self_compose(self, times: int) -> PrivacyLoss:
        """The loss of `times` uses: an upper bound, see the module's docstring."""
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise BadInput(f"times is {times!r}; it must be a whole number of at least 1.")
        return self if times == 1 else compose_all([(self, times)])


def split_atoms(points: Floats, masses: Floats, step: float) -> tuple[int, Floats]:
    """Each atom to the grid points (multiples of `step`) around it, keeping its mass under P and Q.

    Returns the first grid index and the masses. With an atom at distance r above the lower
    point, the upper one gets the share (1 - e^-r) / (1 - e^-step).
    """
    lower = np.floor(points / step)
    rest = np.clip(points - lower * step, 0.0, step)
    share = np.expm1(-rest) / math.expm1(-step)
    share = np.minimum(share * (1 + 1e-14), 1.0)  # rounding may only send mass up
    first = int(lower[0])
    places = (lower - first).astype(np.int64)
    size = int(places[-1]) + 2
    grid = _gathered(places, masses * (1 - share), size)
    return first, grid + _gathered(places + 1, masses * share, size)


def _gathered(places: Integers, masses: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(places, weights=masses, minlength=size), dtype=np.float64)


def compose_all(parts: Sequence[tuple[PrivacyLoss, int]]) -> PrivacyLoss:
    """The loss of many mechanisms together, each used so many times.

    All at once, on one grid: composed in pairs, each step would put a grid on the grid before it.
    """
    if not parts:
        raise BadInput("Nothing to compose: give at least one privacy loss.")
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    survival = sum(n * math.log1p(-min(p.infinite, 1 - 1e-16)) for p, n in parts)
    infinite = max(0.0, -math.expm1(survival))
    if sum(n * math.log(len(part.points)) for part, n in parts) <= math.log(EXACT_ATOMS):
        return _compose_exactly(parts, infinite)
    if len(parts) == 1 and len(parts[0][0].points) == 2:
        return _compose_binary(parts[0][0], parts[0][1], infinite)
    low, high = (_extent(parts, sign) for sign in (-1, 1))
    step = (high - low) / GRID_POINTS
    for part, _ in parts[:1]:
        # A step that divides the largest loss keeps that atom, and its multiples, on the grid.
        largest = abs(float(part.points[-1]))
        if largest > step:
            step = largest / math.floor(largest / step)
    size = 2 * GRID_POINTS
    waves = np.ones(size // 2 + 1, dtype=np.complex128)
    origin, draws = 0, 0
    for part, times in parts:
        first, grid = split_atoms(part.points, part.probabilities, step)
        # Circular: what wraps around is bounded by the mass outside [low, high].
        circle = _gathered(np.arange(len(grid)) % size, grid, size)
        waves *= np.fft.rfft(circle) ** times
        origin += first * times
        draws += times
    masses = np.fft.irfft(waves, size)
    start = math.floor(low / step) - GRID_POINTS // 4
    masses = np.maximum(np.roll(masses, -((start - origin) % size)), 0.0)
    # |FFT error|_1 <= sqrt(size) |error|_2, and each factor multiplies the relative error.
    noise = UNIT_ROUNDOFF * (draws + 4 * math.log2(size)) * math.sqrt(size * float(masses @ masses))
    lost = 2 * LOST + noise
    top = sum(part.ceiling * times for part, times in parts)
    points = np.arange(start, start + size, dtype=np.float64) * step
    masses *= (1 - infinite - lost) / float(masses.sum())
    worst = max(top, float(points[-1]) + step)
    return PrivacyLoss.of_atoms(
        np.append(points, worst), np.append(masses, lost), infinite, top * (1 + 1e-15)
    )


def _compose_exactly(parts: Sequence[tuple[PrivacyLoss, int]], infinite: float) -> PrivacyLoss:
    points, masses = np.zeros(1), np.ones(1)
    for part, times in parts:
        for _ in range(times):
            points = np.add.outer(points, part.points).ravel()
            masses = np.multiply.outer(masses, part.probabilities).ravel()
    return PrivacyLoss.of_atoms(points, masses, infinite)


def _compose_binary(part: PrivacyLoss, times: int, infinite: float) -> PrivacyLoss:
    """Two atoms: the number of upper ones is binomial, so no grid is needed."""
    up = np.arange(times + 1, dtype=np.float64)
    low, high = part.points
    logs = np.array(
        [math.lgamma(times + 1) - math.lgamma(k + 1) - math.lgamma(times - k + 1) for k in up]
    )
    below, above = np.log(part.probabilities)
    masses = np.exp(logs + up * above + (times - up) * below)
    return PrivacyLoss.of_atoms(up * high + (times - up) * low, masses, infinite)


def _extent(parts: Sequence[tuple[PrivacyLoss, int]], sign: int) -> float:
    """A bound b with P(sign * total > sign * b) <= LOST, by Chernoff's bound."""
    total = sum(times * float(part.points[-1 if sign > 0 else 0]) for part, times in parts)
    spread = math.sqrt(sum(times * _variance(part) for part, times in parts))
    if spread == 0:
        return total
    best = math.inf
    for t in np.geomspace(0.1 / spread, 100 / spread, 60):
        exponent = -math.log(LOST)
        for part, times in parts:
            scaled = sign * t * part.points
            peak = float(scaled.max())
            exponent += times * (peak + math.log(float(part.probabilities @ np.exp(scaled - peak))))
        best = min(best, exponent / t)
    return min(total, best) if sign > 0 else max(total, -best)


def _variance(part: PrivacyLoss) -> float:
    mean = float(part.points @ part.probabilities)
    return float((part.points - mean) ** 2 @ part.probabilities)
