"""Which pairs of columns to measure, how coarsely and how loudly: decided on noisy numbers alone.

For each pair and each coarseness there is a noisy count of the rows that the present model gets
wrong. What counts is the error in the table's own cells: a measurement by bins leaves what differs inside them (`part_mended`).
Measuring the pair with noise sigma replaces the error by the noise: about 0.8 sigma for each
cell that is larger than the noise, and the cell itself for those that are not. For a price lambda of
budget each pair takes the coarseness and sigma that gain most; the pairs of the best gain per cost
are taken while the budget lasts, and lambda is the one whose total gain is largest. A pair's gain
counts as often as its declared weight says. The weights are public and the errors already noisy, so
choosing by them costs nothing and changes no sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats, Singles
from discreet.families.tables.release.predicted_variation import drawing_error

MEAN_ABSOLUTE = 0.8
"""The mean absolute value of a standard normal number, about."""
LOST_BELOW = 0.4
"""A cell below so many sigmas is lost in the noise."""
CAUTION = 1.5
"""Standard deviations taken off a noisy error before it is believed."""
PRICES = 60
MOST_PAIR_CELLS = 1 << 20
ONE_WAY = Fraction(40, 100)
"""The share for one-way tables, where nobody knows how much noise there will be."""
LEAST_ONE_WAY, MOST_ONE_WAY = Fraction(20, 100), Fraction(60, 100)
LEAST_LOOKING, MOST_LOOKING = Fraction(6, 100), Fraction(10, 100)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pair at one coarseness."""

    pair: int
    level: int
    error: float
    """Rows that the model gets wrong in the table's own cells and this could mend, a cautious estimate."""
    cells: Singles
    """The model's expected counts, in increasing order."""
    shrink: float
    """The share of a cell's noise that centring leaves: prod of (1 - 1/d), square rooted."""
    price: float
    """What noise of sigma 1 costs."""
    power: int
    """Noise of sigma costs price / sigma^power: 2 in rho, 1 in epsilon."""
    weight: float = 1.0
    """How much a row that is wrong in this pair matters; 1 on average."""
    known: float = 0.0
    """1 / sigma^2 of what was measured before of the same cells: a further measurement is combined with it."""

    def at(self, units: Floats) -> tuple[Floats, Floats]:
        """For each price of a unit of gain: what the best noise for it gains and costs."""
        sigma = _balanced(self, units)
        noise = lost_to_noise(self.cells, self.left(sigma), self.shrink)
        return self.weight * (self.error - noise), self.price / sigma**self.power

    def left(self, sigma: Floats) -> Floats:
        """The noise of a measurement with `sigma` together with what is known already."""
        return np.asarray(1 / np.sqrt(1 / sigma**2 + self.known))


def lost_to_noise(cells: Floats | Singles, std: Floats, shrink: float = 1.0) -> Floats:
    """The rows that noise leaves wrong in a table of these cells, which are in increasing order."""
    lost = np.searchsorted(cells, LOST_BELOW * std)
    below = np.concatenate([[0.0], np.cumsum(cells, dtype=np.float64)])[lost]
    return np.asarray(2 * below + MEAN_ABSOLUTE * std * (len(cells) - lost) * shrink)


def beyond_chance(error: float, cells: Floats | Singles) -> float:
    """The part of an error that is a missed dependence: the chance of drawing adds to it in squares."""
    chance = float(drawing_error(cells).sum())
    return math.sqrt(max(max(error, 0.0) ** 2 - chance**2, 0.0))


def part_mended(seen: float, whole: float, std: float) -> float:
    """The part of the dependence `seen` by bins that measuring these mends in the table's own cells, where `whole` is seen.

    What differs inside the bins is left. Both parts of a dependence are orthogonal, so their squares are taken to add up
    to that of the whole. If bins see all of it, all is mended; if they see little of it, next to nothing. Both numbers have noise
    of `std`, and only what is beyond it is believed to be inside the bins.
    """
    doubt = CAUTION * 2 * std * math.hypot(seen, whole)
    left = math.sqrt(max(whole**2 - seen**2 - doubt, 0.0))
    if left <= 0:
        return 1.0
    return min((whole - left) / seen, 1.0) if seen > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """What to measure, and what part of the budget to spend on it."""

    pair: int
    level: int
    cost: float
    gain: float = 0.0
    """Rows that are no longer wrong, as it is foreseen."""


def choose(candidates: Sequence[Candidate], budget: float) -> list[Choice]:
    """The pairs to measure within `budget`; costs are relative, to be scaled to the whole of it."""
    if not candidates:
        return []
    units = np.geomspace(3000.0, 0.3, PRICES)
    gains, costs = np.stack([each.at(units) for each in candidates], axis=2)
    best: tuple[float, list[Choice]] = (0.0, [])
    for gained, spending in zip(gains.tolist(), costs.tolist(), strict=True):
        offers: dict[int, Choice] = {}
        for each, gain, cost in zip(candidates, gained, spending, strict=True):
            held = offers.get(each.pair)
            if gain > 0 and (held is None or gain > held.gain):
                offers[each.pair] = Choice(each.pair, each.level, cost, gain)
        ranked = sorted(offers.values(), key=lambda offer: -offer.gain / offer.cost)
        spent, total, taken = 0.0, 0.0, []
        for choice in ranked:
            if spent + choice.cost <= budget:
                spent, total = spent + choice.cost, total + choice.gain
                taken.append(choice)
        if total > best[0]:
            best = total, taken
    return best[1] or [_loudest(candidates)]


def _balanced(candidate: Candidate, units: Floats) -> Floats:
    """The sigma at which one more unit of budget gains alike everywhere: noise error is linear in sigma,
    in the cells above it and in the pair's weight, cost is quadratic, so sigma goes as
    (cost / (weight cells))^(1/3)."""
    sigma = units
    for _ in range(2):
        above = len(candidate.cells) - np.searchsorted(candidate.cells, LOST_BELOW * sigma)
        matters = candidate.weight * np.maximum(above, 1)
        sigma = 4 * units * (candidate.shrink**2 / matters) ** (1 / 3)
    return sigma


def _loudest(candidates: Sequence[Candidate]) -> Choice:
    """Nothing seems worth it: the pair whose error matters most, as coarse as can be."""
    worst = max(candidates, key=lambda each: (_mattering(each), -len(each.cells)))
    coarse = min(
        (each for each in candidates if each.pair == worst.pair), key=lambda each: len(each.cells)
    )
    return Choice(coarse.pair, coarse.level, math.inf)


def _mattering(candidate: Candidate) -> float:
    """An error below 0 is none: more weight must not make it less."""
    error = candidate.error
    return candidate.weight * error if error > 0 else error


def one_way_share(drowning: float | None) -> Fraction:
    """The share of the budget for one-way tables: the more noise drowns pairs, the more.

    A sixth more for each factor of ten in the total variation that noise on everything would have: where
    that is small all pairs are worth measuring, and single columns need little beside them.
    """
    if drowning is None:
        return ONE_WAY
    percent = round(54 + 17 * math.log10(max(drowning, 1e-9)))
    return min(max(Fraction(percent, 100), LEAST_ONE_WAY), MOST_ONE_WAY)


def looking_share(drowning: float | None) -> Fraction:
    """The share for finding pairs: where noise is small, a glance tells which are worth measuring."""
    if drowning is None:
        return MOST_LOOKING
    percent = round(14 + 4 * math.log10(max(drowning, 1e-9)))
    return min(max(Fraction(percent, 100), LEAST_LOOKING), MOST_LOOKING)
