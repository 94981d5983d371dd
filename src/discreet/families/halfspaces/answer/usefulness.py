"""Bounds for all halfspaces over some columns at once: definitions 2.6 and 5.3 of Blum, Ligett and Roth (2008).

**Of the halfspace itself** (epsilon, delta). Where every cell is a single value, no plane cuts a cell, and the estimate of a
halfspace is a sum of noisy cells. N points in d dimensions are divided by planes in at most 2 (C(N-1, 0) + ... + C(N-1, d)) ways (Cover 1965), so a
union bound over these holds for infinitely many halfspaces.

Where planes cut cells, the corners of the cells take the points' place: how a plane divides them decides which cells lie inside and
which it touches. With noise of at most h on each such sum, the rows of a halfspace lie between (inside - h) and (touched + h), and so does
its estimate. The two are apart by at most h and the noisy rows in the cells that the plane cuts, which are bounded for all planes at once
(`cut_rows`). So the bound is a number that the release shows, not one that was known before.

The leaves of a tree are such cells. Their noise enters by its standard deviation and kurtosis and the tree is taken as it is, so
the bound is nominal there, as the intervals are.

**Of some close halfspace** (epsilon, delta, gamma). The literal net answers with a canonical halfspace within gamma; the
union bound over the canonical ones holds for every halfspace. That says nothing of how many rows lie between the two. ("Rows within gamma of the
plane may be counted or not" would be weaker still: at gamma .3 almost any constant passes that.)

**The rows that any one plane can cut.** A plane {x: u.x = t} cuts a box with centre c and half sides r if |u.c - t| <= |u|.r (sides in absolute values). For a
direction n within a distance s of u the same plane of direction n cuts no box but those with
|u.c - t| <= |u|.r + s (||c|| + ||r||), by the triangle inequality. So for each u of a net of directions, the boxes that
any plane near that direction cuts are among those whose intervals on a line hold one common point t, and the heaviest
such set is found by sorting the ends. Columns are scaled by their public bounds first: that maps planes to planes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.answering.asking import Asking
from discreet.answering.usefulness import TRIVIAL
from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.errors import NotAnswerable
from discreet.families.halfspaces.answer.cells import Cells, Grid, Leaves
from discreet.families.halfspaces.answer.halfspaces import HalfspaceSource
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.laws.sums import spread_factor
from discreet.questions.cells.ordered_pieces import extents
from discreet.schema import OrderedColumn

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


ITSELF = "noise law of sums of cells, and the union bound over all divisions of the cells by planes (Cover 1965)"
CUT = (
    "noise law of sums of cells, the union bound over all divisions of their corners by planes (Cover 1965), and the most rows that "
    "a plane cuts"
)
NOMINAL = (
    CUT + "; nominal: the tree is taken as it is, and tails of the noise enter by its kurtosis"
)
CLOSE = "noise law of one canonical count, and the union bound over the net; of some gamma-close halfspace (definition 5.3)"
ROUNDING = 1.0
"""Estimates are rounded to whole rows, and so are the ends of their intervals."""


def divisions(points: int, columns: int) -> int:
    """In how many ways planes with an offset divide so many points of space, at most."""
    return 2 * sum(math.comb(max(0, points - 1), each) for each in range(columns + 1))


def halfspaces_bound(
    library: Library,
    asking: Asking,
    query_class: Halfspaces,
    delta: Fraction,
    *,
    gamma: Fraction | None = None,
) -> tuple[float, str]:
    """A bound on the errors of all halfspaces; with `gamma`, of some gamma-close halfspace of each."""
    if gamma is not None:
        close = _of_the_net(library, query_class, delta, gamma)
        if close is not None:
            return close, CLOSE
    cells = HalfspaceSource(library).cells(query_class.named(library.schema))
    found = _of_cells(cells, delta)
    rows = library.release.public_rows
    if found is None:
        raise NotAnswerable(f"No simultaneous bound is known for {query_class.text}.")
    return found if rows is None or found[0] <= rows else (float(rows), TRIVIAL)


def _of_cells(cells: Cells, delta: Fraction) -> tuple[float, str] | None:
    if isinstance(cells, Leaves):
        return _of_leaves(cells, delta), NOMINAL
    if not isinstance(cells, Grid):
        return None
    if not _is_single(cells):
        return _of_cut_cells(cells, delta), CUT
    many = divisions(math.prod(cells.boxes.shape), len(cells.columns))
    terms = [(weight, law, draws * cells.cells) for weight, law, draws in cells.noise]
    return half_width(terms, 1 - delta / many) + ROUNDING, ITSELF


def _of_cut_cells(cells: Grid, delta: Fraction) -> float:
    """A bound on the errors of all halfspaces over a grid of blocks."""
    columns = len(cells.columns)
    corners = math.prod(2 * size for size in cells.boxes.shape)
    terms = [(weight, law, draws * cells.cells) for weight, law, draws in cells.noise]
    noise = half_width(terms, 1 - delta / (2 * divisions(corners, columns)))
    low, high = (
        np.stack([each.reshape(-1) for each in np.meshgrid(*sides, indexing="ij")], axis=1)
        for sides in (cells.boxes.low, cells.boxes.high)
    )
    cut = most_cut(low, high, cells.values.reshape(-1))
    # Where the number of rows is public, an estimate may be that number less the rest of the blocks.
    moved = 0.0 if cells.total is None else abs(cells.total - cells.sum)
    return noise + cut + max(0.0, cells.elsewhere) + moved + ROUNDING


def _of_leaves(cells: Leaves, delta: Fraction) -> float:
    """A bound on the errors of all halfspaces over the leaves of a tree."""
    tree = cells.cells
    low, high = tree.bounds()
    counts, variances = tree.own_counts()
    many = 2 * divisions(len(low) << len(cells.columns), len(cells.columns))
    factor = spread_factor(float(delta / many), cells.source.kurtosis)
    noise = factor * math.sqrt(float(variances.sum()))
    moved = most_inside(low, high, tree.estimate - counts)
    cut = most_cut(low, high, np.maximum(counts, tree.estimate))
    return float(noise) + moved + cut + ROUNDING


def _is_single(cells: Grid) -> bool:
    """Whether every cell holds one value, so that no plane cuts it."""
    columns = [cells.schema.column(name) for name in cells.columns]
    if any(width != 1 for width in cells.widths):
        return False
    for column in columns:
        if not isinstance(column, OrderedColumn) or column.kind != "integer":
            return False
        low, high = extents(column)
        if not np.array_equal(low, high) or column.has_other:
            return False
    return True


def _of_the_net(
    library: Library, query_class: Halfspaces, delta: Fraction, gamma: Fraction
) -> float | None:
    """From a net without projections: with them, projections make mistakes of their own."""
    schema = library.schema
    for part in library.release.parts:
        asked = part.query_class
        if part.kind != "halfspace-net" or not isinstance(asked, Halfspaces):
            continue
        fits = asked.projections is None and asked.gamma <= gamma
        if not fits or asked.named(schema) != query_class.named(schema):
            continue
        (measured,) = part.measurements
        if isinstance(measured, Measurement):
            each = float(1 - delta / max(1, measured.values.size))
            return half_width([(1.0, measured.law, 1)], each)
    return None
