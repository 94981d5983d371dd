"""Canonical halfspaces through the origin, and the space in which they live.

A row with values x in d columns becomes the point (u, 1) in d + 1 dimensions, u each value scaled by
its public bounds to [-1, 1]: an inequality with an offset is then a halfspace through the origin,
and two are as close as the sine of the angle between their normals. The last coordinate is never 0, so
no row lies at the origin; a row on the plane counts as inside. A projection multiplies points and
normals by a public random matrix of +1 and -1: z . (x M) = (M z) . x, so each canonical halfspace of
a projection is a halfspace of the rows themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.questions.inequality import Inequality
from discreet.schema import Schema

FINENESS = 1000
"""Normals are whole multiples of 1/FINENESS, so that every comparison is exact."""
MOST_NET = 50_000


@lru_cache(maxsize=32)
def net(dimensions: int, reach: Fraction) -> tuple[tuple[int, ...], ...]:
    """Normals such that every direction is within `reach` (the sine of an angle) of one of them.

    The middles of equiangular cells on the faces of a cube, seen from its centre. A cell is a convex
    cone, so its corners are its furthest points: the radius is checked at every one of them.
    """
    if dimensions == 1:
        return ((FINENESS,), (-FINENESS,))
    side = 1
    least = -log10_cap(dimensions, math.asin(float(reach)))
    while True:
        cells = 2 * dimensions * side ** (dimensions - 1)
        if least > math.log10(MOST_NET) or max(cells, cells << dimensions >> 6) > MOST_NET:
            raise BadInput(
                f"A net of reach {float(reach):.3g} in {dimensions} dimensions has more than "
                f"{MOST_NET:,} halfspaces. Nothing was read or charged. Give a larger gamma, fewer columns, "
                "or fewer dimensions."
            )
        normals, radius = _cube_net(dimensions, side)
        if radius < math.pi / 2 and math.sin(radius) <= float(reach):
            return tuple(tuple(int(each) for each in row) for row in normals)
        side += 1


def _cube_net(dimensions: int, side: int) -> tuple[Integers, float]:
    """The middles of the cells, rounded, and the largest angle from one to a corner of its cell."""
    edges = np.tan(np.linspace(-math.pi / 4, math.pi / 4, side + 1))
    middles = np.tan((np.arange(side) + 0.5) / side * math.pi / 2 - math.pi / 4)
    cells = np.array(list(product(range(side), repeat=dimensions - 1)), dtype=np.int64)
    normals: list[Integers] = []
    cosine = 1.0
    for axis, sign in product(range(dimensions), (1, -1)):
        others = [each for each in range(dimensions) if each != axis]
        centre = np.zeros((len(cells), dimensions))
        centre[:, axis] = sign
        centre[:, others] = middles[cells]
        centre /= np.linalg.norm(centre, axis=1, keepdims=True)
        rounded = np.rint(centre * FINENESS)
        unit = rounded / np.linalg.norm(rounded, axis=1, keepdims=True)
        for corner in product((0, 1), repeat=dimensions - 1):
            vertex = np.zeros_like(centre)
            vertex[:, axis] = sign
            vertex[:, others] = edges[cells + np.array(corner)]
            vertex /= np.linalg.norm(vertex, axis=1, keepdims=True)
            cosine = min(cosine, float((unit * vertex).sum(axis=1).min()))
        normals.append(rounded.astype(np.int64))
    return np.concatenate(normals), math.acos(max(-1.0, min(1.0, cosine)))


def log10_cap(dimensions: int, angle: float) -> float:
    """log10 of the share of the sphere within `angle` of a point: no net can have fewer elements than its inverse.

    Half the regularised incomplete beta function at sin^2, by its leading term where it underflows.
    """
    from scipy.special import betainc, gammaln

    if dimensions < 2:
        return math.log10(0.5)
    half, sine = (dimensions - 1) / 2, math.sin(angle)
    share = float(betainc(half, 0.5, sine * sine))
    if share > 1e-290:
        return math.log10(share / 2)
    beta = float(gammaln(half) + gammaln(0.5) - gammaln(half + 0.5))
    leading = half * math.log(sine * sine) - math.log(half) - beta
    return (math.log(0.5) + leading - 0.5 * math.log(1 - sine * sine)) / math.log(10)


def projection(dimensions: int, to: int, *, number: int) -> Integers:
    """The public random matrix of the projection of that number: +1 and -1, evenly."""
    drawn = generator(number).integers(0, 2, size=(dimensions, to))
    return np.asarray(2 * drawn - 1, dtype=np.int64)


def projections(dimensions: int, asked: tuple[int, int] | None) -> list[Integers]:
    """The matrices of (m, k) random projections, or the identity."""
    if asked is None:
        return [np.eye(dimensions, dtype=np.int64)]
    many, to = asked
    return [projection(dimensions, to, number=number) for number in range(many)]


def canonical(
    schema: Schema, columns: Sequence[str], gamma: Fraction, asked: tuple[int, int] | None
) -> list[Inequality]:
    """Every canonical halfspace of every projection, as an inequality over the columns themselves."""
    matrices = projections(len(columns) + 1, asked)
    own = net(matrices[0].shape[1], gamma * Fraction(3, 4))
    found: list[Inequality] = []
    for matrix in matrices:
        for normal in np.array(own, dtype=np.int64) @ matrix.T:
            found.append(unlifted(schema, columns, [int(each) for each in normal]))
    return found


def unlifted(schema: Schema, columns: Sequence[str], normal: Sequence[int]) -> Inequality:
    """The inequality over columns that a normal in the lifted space stands for."""
    coefficients: list[Fraction] = []
    bound = Fraction(-normal[-1])
    for name, weight in zip(columns, normal[:-1], strict=True):
        bounds = schema.column(name).value_bounds
        if bounds is None:
            raise BadInput(f"Column {name} has no numeric bounds.")
        low, high = Fraction(bounds[0]), Fraction(bounds[1])
        width = high - low if high > low else Fraction(1)
        coefficients.append(Fraction(2 * weight) / width)
        bound += weight * (low + high) / width
    return Inequality(tuple(columns), tuple(coefficients), ">=", bound)


def lifted(schema: Schema, columns: Sequence[str], normals: Floats, bounds: Floats) -> Floats:
    """Unit normals in the lifted space of the halfspaces `normals . x >= bounds`."""
    ends = [schema.column(name).value_bounds for name in columns]
    low = np.array([float(end[0]) for end in ends if end is not None])
    high = np.array([float(end[1]) for end in ends if end is not None])
    half = np.where(high > low, (high - low) / 2, 0.5)
    slopes = normals * half
    offset = normals @ ((low + high) / 2) - bounds
    found = np.concatenate([slopes, offset[:, None]], axis=1)
    size = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.where(size > 0, size, 1.0))


def nearest_median(
    normals: Floats, values: Floats, gamma: Fraction, asked: tuple[int, int] | None
) -> Floats:
    """For each lifted normal, the median over projections of the nearest canonical halfspace's value."""
    matrices = projections(normals.shape[1], asked)
    own = np.array(net(matrices[0].shape[1], gamma * Fraction(3, 4)), dtype=np.float64)
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    tables = values.reshape(len(matrices), len(own))
    found = np.empty((len(matrices), len(normals)))
    for place, (matrix, table) in enumerate(zip(matrices, tables, strict=True)):
        for at in range(0, len(normals), 512):
            near = (normals[at : at + 512] @ matrix) @ own.T
            found[place, at : at + 512] = table[near.argmax(axis=1)]
    return np.asarray(np.median(found, axis=0))
