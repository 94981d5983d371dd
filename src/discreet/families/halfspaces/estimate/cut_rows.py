"""The rows that any one plane can cut: a bound over all planes at once.

A plane {x: u.x = t} cuts a box with centre c and half sides r if |u.c - t| <= |u|.r (sides in absolute values). For a
direction n within a distance s of u the same plane of direction n cuts no box but those with
|u.c - t| <= |u|.r + s (||c|| + ||r||), by the triangle inequality. So for each u of a net of directions, the boxes that
any plane near that direction cuts are among those whose intervals on a line hold one common point t, and the heaviest
such set is found by sorting the ends. Columns are scaled by their public bounds first: that maps planes to planes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from discreet.arrays import Floats

WORK = 1 << 25
"""Directions times boxes that are looked at."""
FEWEST, MOST = 32, 2000
"""Directions of the net on each side of a cube, all its columns multiplied."""


def most_cut(low: Floats, high: Floats, rows: Floats) -> float:
    """The largest sum of `rows`, taken as 0 where negative, over the boxes that one plane cuts, or more than that.

    `low` and `high` are the corners of the boxes, one row a box.
    """
    weights = np.maximum(rows, 0.0)
    kept = (weights > 0) & np.any(low != high, axis=1)  # a point lies on a side, and is cut by none
    if not kept.any():
        return 0.0
    worst = 0.0
    for along, reach in _projected(low[kept], high[kept]):
        worst = max(worst, _deepest(along - reach, along + reach, weights[kept]))
    return worst


def most_inside(low: Floats, high: Floats, numbers: Floats) -> float:
    """The largest absolute sum of `numbers` over the boxes that lie inside one halfspace, or more than that.

    Of a net's direction, the boxes inside are those beyond a place on the line, but for boxes whose intervals hold that place.
    """
    if not numbers.any():
        return 0.0
    worst = 0.0
    for along, reach in _projected(low, high):
        order = np.argsort(along, kind="stable")
        sums = np.cumsum(numbers[order])
        beyond = max(float(np.abs(sums).max()), float(np.abs(sums[-1] - sums).max()))
        worst = max(worst, beyond + _deepest(along - reach, along + reach, np.abs(numbers)))
    return worst


def _projected(low: Floats, high: Floats) -> Iterator[tuple[Floats, Floats]]:
    """For each direction of a net, where the boxes lie on its line, and how far planes near it may reach from there."""
    least, most = low.min(axis=0), high.max(axis=0)
    scale = np.where(most > least, (most - least) / 2, 1.0)
    centre = ((low + high) / 2 - (most + least) / 2) / scale
    side = (high - low) / 2 / scale
    far = np.linalg.norm(centre, axis=1) + np.linalg.norm(side, axis=1)
    directions, apart = directions_of(low.shape[1], boxes=len(low))
    for each in directions:
        yield centre @ each, side @ np.abs(each) + apart * far


def directions_of(columns: int, *, boxes: int) -> tuple[Floats, float]:
    """A net of directions, one of each opposite pair, and how far any direction is from the nearest of them.

    The middles of a grid on half of the sides of a cube, drawn to the sphere. Drawing points of the cube's surface to the unit
    sphere brings no two further apart.
    """
    if columns == 1:
        return np.ones((1, 1)), 0.0
    most = int(np.clip(WORK // max(1, boxes), FEWEST, MOST))
    many = max(1, int((most / columns) ** (1 / (columns - 1))))
    ticks = (np.arange(many) + 0.5) * 2 / many - 1
    found = []
    for axis in range(columns):
        for point in product(ticks, repeat=columns - 1):
            found.append([*point[:axis], 1.0, *point[axis:]])
    listed = np.array(found)
    listed /= np.linalg.norm(listed, axis=1, keepdims=True)
    return listed, float(np.sqrt(columns - 1) / many)


def _deepest(start: Floats, end: Floats, weights: Floats) -> float:
    """The largest weight of intervals that have a point in common."""
    ends = np.concatenate([start, end])
    steps = np.concatenate([weights, -weights])
    # Where one begins at the place at which another ends, both hold that place: beginnings come first.
    order = np.lexsort((np.repeat([0, 1], len(start)), ends))
    return float(np.cumsum(steps[order]).max())
