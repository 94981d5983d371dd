"""How well a model fits each table, from its noisy distance and from the other tables of the model.

The distance of each table was measured, with noise that may hide it. Tables of one model are alike: so the logarithms of
their misfits are taken to be normally distributed, around a mean that grows with the rows of an average cell (a dependence
that is missed shows where counts are large). One table in four may be far worse than the others. No misfit is much larger than
that of columns that determine each other, where the model takes them to be independent. Neither the mean, nor how it
grows, nor the spread is known. All are given even weights beforehand, and the measured distances of all tables weigh them
(Bayes' rule). The result is a distribution of the misfit of each table:

- Where noise is small, the misfit is the one that the table's own distance shows, whatever other tables show.
- Where noise hides the distance, it is spread as those of the other tables are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.arrays import Floats, Integers

APART, LUCKY, POINTS = 0.135, 19, 92
"""Logarithms of misfits are so far apart. Sampling cannot be avoided: a table is lucky whose misfit is one of the first `LUCKY`."""
LOGARITHMS = APART * (np.arange(POINTS) - 22)
MISFITS: Floats = np.exp(LOGARITHMS)
EXPECTED = LOGARITHMS[LUCKY:]
"""Those that are expected of a table, before it is known how its rows fell."""
CERTAIN: Floats = np.eye(POINTS)[LUCKY:]
"""For each expected misfit, how likely each of `MISFITS` is: where many errors are free, it is what is expected."""
_TIMES = np.exp(LOGARITHMS[:-1] + APART / 2 - EXPECTED[:, None])
CHANCES: Floats = np.diff(np.vectorize(math.erf)(_TIMES / math.sqrt(2)), prepend=0.0, append=1.0)
"""Where one is, it is as many times as large as a normal number."""
KNOTS: Floats = np.exp(
    np.concatenate([LOGARITHMS[[0, 9]], np.linspace(LOGARITHMS[LUCKY], LOGARITHMS[-1], 23)])
)
"""Misfits at which distances are computed; between them they are interpolated."""
SPREADS = (0.4, 0.7, 1.1)
SLOPES = (0.0, 0.15, 0.3)
"""The power of the rows of an average cell with which misfits grow."""
CENTRES = np.arange(math.log(0.9), math.log(1000.0), 0.15)
OUTLIERS, FURTHER, WIDER = 0.25, math.log(2.0), 1.0
"""One table in four: its misfit is twice as large, with this spread."""
SLACK = 0.05
"""The expected distance is itself a little wrong: this part of it counts as noise."""
STEEP = 4
"""The power with which misfits become unlikely that are larger than any dependence makes them."""
STEP = 0.05
"""The centres of a table's own prior are rounded to this."""


def misfits_of(
    distances: Sequence[float],
    noise: Sequence[float],
    expected: Sequence[Floats],
    columns: Sequence[tuple[float, float]],
    sizes: Floats,
    farthest: Sequence[float],
    one_is_free: Sequence[bool],
) -> Floats:
    """For each table, the weight of each of `MISFITS`.

    `distances` were measured with the standard deviations `noise`; `expected` are those at `KNOTS`; `columns` is what noise
    of single columns causes of them, with its standard deviation; `sizes` are the rows of an average cell; `farthest` are misfits
    that no dependence leads beyond; where `one_is_free`, a distance shows one error only.
    """
    shown = [_likelihood(*each) for each in zip(distances, noise, expected, columns, strict=True)]
    chances = [CHANCES if each else CERTAIN for each in one_is_free]
    likelihood = np.stack([own @ seen for own, seen in zip(chances, shown, strict=True)])
    possible = 1 / (1 + (np.exp(EXPECTED) / np.asarray(farthest)[:, None]) ** STEEP)
    logs = np.log(np.maximum(sizes, 1e-9))
    shifts = np.outer(logs - logs.mean(), SLOPES)
    low = math.floor((CENTRES[0] + shifts.min()) / STEP)
    high = math.ceil((CENTRES[-1] + shifts.max()) / STEP)
    priors = _priors(STEP * np.arange(low, high + 1))  # centre, spread, misfit
    # A prior that reaches beyond what is possible is cut off there. It is no less likely for that, so what is left counts as the whole.
    kept = np.maximum(np.einsum("csk,tk->tcs", priors, possible), 1e-300)
    fits = np.einsum("csk,tk->tcs", priors, possible * likelihood) / kept
    places: Integers = (
        np.rint((CENTRES[None, :, None] + shifts[:, None, :]) / STEP).astype(int) - low
    )
    table = np.arange(len(likelihood))[:, None, None]
    fit = fits[table, places]  # table, centre, slope, spread
    together = np.log(np.maximum(fit, 1e-300)).sum(axis=0)
    # Nor is the mean of all beyond what is possible.
    together -= np.log1p((np.exp(CENTRES) / np.median(farthest)) ** STEEP)[:, None, None]
    weights = np.exp(together - together.max())
    weights /= weights.sum()
    own = np.zeros(fits.shape)
    np.add.at(own, (table, places), weights / np.maximum(fit, 1e-300))
    prior = np.einsum("tcs,csk->tk", own / kept, priors) * possible
    parts = zip(prior, chances, shown, strict=True)
    found = np.stack([(own @ chance) * seen for own, chance, seen in parts])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _likelihood(
    distance: float, noise: float, expected: Floats, columns: tuple[float, float]
) -> Floats:
    means = at_misfits(expected)
    # Squares add up, so a part of a distance moves it by as much as its share of it.
    moved = columns[1] * columns[0] / np.maximum(means, 1.0)
    variances = noise**2 + (SLACK * means) ** 2 + moved**2 + 1.0  # a distance is a whole number
    logarithms = -0.5 * ((distance - means) ** 2 / variances + np.log(variances))
    return np.asarray(np.exp(logarithms - logarithms.max()))


def at_misfits(expected: Floats) -> Floats:
    """Distances at `KNOTS`, interpolated at all of `MISFITS`."""
    logarithms = np.log(np.maximum(expected, 1e-9))
    return np.asarray(np.exp(np.interp(LOGARITHMS, np.log(KNOTS), logarithms)))


def _priors(centres: Floats) -> Floats:
    """By centre and spread, the weight of each misfit before anything is measured."""
    away = EXPECTED - centres[:, None]
    further = _normalised(-0.5 * ((away - FURTHER) / WIDER) ** 2)
    near = [_normalised(-0.5 * (away / spread) ** 2) for spread in SPREADS]
    return np.stack([(1 - OUTLIERS) * each + OUTLIERS * further for each in near], axis=1)


def _normalised(logarithms: Floats) -> Floats:
    found = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))
