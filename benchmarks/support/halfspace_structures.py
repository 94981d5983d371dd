"""Opponents and tables for benchmarks/halfspaces.py: other cells, and skewed tables that anyone can draw.

The opponents are simulated with float noise on public tables, and get their size in hindsight: the
best of several. They are here to be measured against and release nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet.families.shared.estimate.public_random import generator

ROWS = 50_000
CENTRES = (64, 256, 1024, 2048)
SIDES = (4, 8, 16, 32, 64)


def skewed_tables() -> Iterator[tuple[str, Any, int]]:
    """Name, rows of two whole numbers, and how many values each column has."""
    draw = generator(2026)
    centres, sizes = draw.random((6, 2)) * 0.6 + 0.2, 0.01 + 0.06 * draw.random(6)
    kind = draw.choice(6, ROWS, p=draw.dirichlet(np.ones(6)))
    clusters = centres[kind] + draw.standard_normal((ROWS, 2)) * sizes[kind][:, None]
    yield "clusters", _coded(clusters, 64), 64
    yield "clusters, fine", _coded(clusters, 512), 512
    mixed = draw.standard_normal((ROWS, 2)) @ np.array([[1, 0.5], [0, 0.8]])
    yield "lognormal", _coded(np.exp(mixed) * 0.03, 512), 512
    along = draw.random(ROWS)
    beside = along + 0.02 * draw.standard_normal(ROWS)
    yield "a diagonal", _coded(np.stack([along, beside], axis=1), 256), 256
    heavy = np.stack([draw.pareto(1.2, ROWS) * 0.01, draw.beta(0.4, 3, ROWS)], axis=1)
    yield "heavy tails", _coded(heavy, 128), 128


def _coded(points: Any, cells: int) -> Any:
    return np.clip((points * cells).astype(np.int64), 0, cells - 1)


def inside(points: Any, normals: Any, bounds: Any, weights: Any) -> Any:
    """Weights of the points in each halfspace."""
    found = [
        weights @ (points @ normals[at : at + 50].T >= bounds[at : at + 50])
        for at in range(0, len(bounds), 50)
    ]
    return np.concatenate(found)


def independent_columns(rows: Any, normals: Any, bounds: Any) -> Any:
    """What all single columns would say, exactly, if columns were independent."""
    many, columns = rows.shape
    draw = generator(1)
    mixed = np.stack([rows[draw.permutation(many), axis] for axis in range(columns)], axis=1)
    return inside(mixed.astype(float), normals, bounds, np.ones(many))


def cell_answers(
    cells: Any, centres: Any, normals: Any, bounds: Any, *, epsilon: float, seed: int
) -> Any:
    """Noisy counts of the cells that each row lies in (change-one), a cell counting by its centre."""
    counts = np.bincount(cells, minlength=len(centres)).astype(float)
    counts += generator(seed).laplace(0, 2 / epsilon, len(counts))
    return inside(centres, normals, bounds, counts)


def voronoi(rows: Any, high: Any, epsilon: float, answer: Callable[[Any, Any], float]) -> float:
    """The best error over numbers of cells around public random points."""
    scaled = rows / high
    errors = []
    for many in CENTRES:
        centres = generator(many).random((many, rows.shape[1]))
        cells = np.concatenate(
            [
                ((centres**2).sum(1) - 2 * scaled[at : at + 2000] @ centres.T).argmin(axis=1)
                for at in range(0, len(scaled), 2000)
            ]
        )
        errors.append(answer(cells, centres * high))
    return min(errors)


def cubed_sphere(
    rows: Any, high: Any, lift: float, answer: Callable[[Any, Any], float]
) -> dict[int, float]:
    """Errors of cells on the cube around the lifted rows (2 columns), by cells along an edge.

    A row (x, y) scaled to [-1, 1] lies in the direction (x, y, lift). With a lift above 1 all of them pass
    through one face, whose cells are a square grid over the columns. Cells that no row can lie in are
    left out; a cell counts by the middle of the places that lie in it.
    """
    along = np.linspace(-1, 1, 401)
    places = np.stack([each.reshape(-1) for each in np.meshgrid(along, along)], axis=1)
    errors = {}
    for side in SIDES:
        every = _sphere_cells(places, lift, side)
        used, place, many = np.unique(every, return_inverse=True, return_counts=True)
        centres = np.stack([np.bincount(place, places[:, axis]) / many for axis in (0, 1)], axis=1)
        own = np.searchsorted(used, _sphere_cells(2 * rows / high - 1, lift, side))
        own = np.minimum(own, len(used) - 1)
        errors[side] = answer(own, (centres + 1) / 2 * high)
    return errors


def _sphere_cells(points: Any, lift: float, side: int) -> Any:
    up = np.hstack([points, np.full((len(points), 1), lift)])
    face = np.abs(up).argmax(axis=1)
    on_face = up / np.abs(up).max(axis=1)[:, None]
    others = np.array([[1, 2], [0, 2], [0, 1]])[face]
    both = np.take_along_axis(on_face, others, axis=1)
    place = np.clip(((both + 1) / 2 * side).astype(np.int64), 0, side - 1)
    positive = np.take_along_axis(up, face[:, None], axis=1)[:, 0] > 0
    return ((face * 2 + positive) * side + place[:, 0]) * side + place[:, 1]
