"""The guess for halfspaces without data, and whether a release is better.

The no-data prior spreads the rows evenly over the box of the columns' public bounds. Its answer is
a volume. A release that is not expected to come closer to the truth than that is of no use for
halfspaces, and should say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.arrays import Floats
from discreet.families.shared.estimate.public_random import generator
from discreet.schema import OrderedColumn, Schema

MOST_EXACT = 3
"""Columns up to which volumes are computed exactly; beyond, on POINTS public points."""
POINTS = 4096
FLATTEST = 1e-3
"""A coefficient below this part of the largest is raised to it: the volume moves by less."""
REFERENCE_BLOCKS = 16
"""A population for plans: its mass in each of so many equal blocks is a draw from the flat
Dirichlet law. The prior's answer is then off by sqrt(v (1 - v) / (blocks + 1)), v the volume."""


def public_bounds(schema: Schema, columns: Sequence[str]) -> tuple[Floats, Floats]:
    """The least and greatest value of each column."""
    known = [schema.column(name) for name in columns]
    ends = [
        (each.extent(0)[0], each.extent(each.value_cells - 1)[1])
        for each in known
        if isinstance(each, OrderedColumn)
    ]
    low, high = np.array(ends, dtype=np.float64).T
    return low, high


def random_halfspaces(low: Floats, high: Floats, many: int, *, seed: int) -> tuple[Floats, Floats]:
    """Halfspaces `normals . x >= bounds` through evenly drawn points of the box, in all directions.

    Directions are even in the scaled box, where each column runs from 0 to 1.
    """
    draw = generator(seed)
    width = np.where(high > low, high - low, 1.0)
    directions = draw.standard_normal((many, len(low)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = draw.random((many, len(low)))
    normals = directions / width
    return normals, (directions * points).sum(axis=1) + normals @ low


def uniform_share(normals: Floats, bounds: Floats, low: Floats, high: Floats) -> Floats:
    """The part of the box from `low` to `high` that lies in each halfspace `normals . x >= bounds`.

    Up to 3 columns by inclusion and exclusion over the corners of the unit cube.
    """
    scaled = normals * (high - low)
    goal = bounds - normals @ low
    if normals.shape[1] > MOST_EXACT:
        points = generator(0).random((POINTS, normals.shape[1]))
        found = np.empty(len(normals))
        for at in range(0, len(normals), 256):
            inside = scaled[at : at + 256] @ points.T >= goal[at : at + 256, None]
            found[at : at + 256] = inside.mean(axis=1)
        return found
    # Reflected so that every coefficient is positive: the complement of {w . u < t}.
    goal = goal - np.minimum(scaled, 0).sum(axis=1)
    size = np.abs(scaled)
    largest = size.max(axis=1, keepdims=True)
    size = np.maximum(size, FLATTEST * largest)
    columns = size.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        unit, reach = size / largest, goal / largest[:, 0]
        below = np.zeros(len(goal))
        for corner in product((0, 1), repeat=columns):
            sign = -1 if sum(corner) % 2 else 1
            below += sign * np.maximum(reach - unit @ np.array(corner, dtype=float), 0) ** columns
        share = 1 - below / (math.factorial(columns) * unit.prod(axis=1))
    total = unit.sum(axis=1)
    share = np.where(reach <= 0, 1.0, np.where(reach >= total, 0.0, share))
    return np.clip(np.where(largest[:, 0] > 0, share, goal <= 0), 0.0, 1.0)


def prior_error(shares: Floats) -> float:
    """The prior's mean absolute error, as a part of the rows, on the reference population."""
    spread = np.sqrt(shares * (1 - shares) / (REFERENCE_BLOCKS + 1))
    return float(math.sqrt(2 / math.pi) * spread.mean())


@dataclass(frozen=True, slots=True)
class Comparison:
    """Root mean square errors over random halfspaces, in rows: the release's own, and the prior's.

    Thread safe: it never changes.
    """

    release: float
    prior: float

    @property
    def beats_prior(self) -> bool:
        return self.release < self.prior

    @property
    def warning(self) -> str:
        if self.beats_prior:
            return ""
        return (
            f"This release is not expected to be better than a guess without data: its error is about "
            f"{self.release:,.0f} rows, and that of rows spread evenly about {self.prior:,.0f}."
        )


def compared(estimates: Floats, priors: Floats, variances: Floats) -> Comparison:
    """From noisy estimates alone: (estimate - prior)^2 is on average the prior's squared error plus the noise's."""
    noise = float(np.mean(variances))
    excess = float(np.mean((estimates - priors) ** 2)) - noise
    return Comparison(release=math.sqrt(noise), prior=math.sqrt(max(0.0, excess)))
