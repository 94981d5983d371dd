"""Bounds for all halfspaces over some columns at once: definitions 2.6 and 5.3 of Blum, Ligett and Roth (2008).

**Of the halfspace itself** (epsilon, delta). Where every cell is a single value, no plane cuts a cell, and the estimate of a
halfspace is a sum of noisy cells. N points in d dimensions are divided by planes in at most 2 (C(N-1, 0) + ... + C(N-1, d)) ways (Cover 1965), so a
union bound over these holds for infinitely many halfspaces. Where planes cut cells, how many rows they cut depends on the
rows: no bound for all of them is stated.

**Of some close halfspace** (epsilon, delta, gamma). The literal net answers with a canonical halfspace within gamma; the
union bound over the canonical ones holds for every halfspace. That says nothing of how many rows lie between the two. ("Rows within gamma of the
plane may be counted or not" would be weaker still: at gamma .3 almost any constant passes that.)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.answering.asking import Asking
from discreet.answering.library import Library
from discreet.artifacts.measurement import Measurement
from discreet.errors import NotAnswerable
from discreet.families.halfspaces.answer.cells import Grid
from discreet.families.halfspaces.answer.halfspaces import HalfspaceSource
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.shared.estimate.combination import half_width
from discreet.questions.cells.pieces import extents
from discreet.schema import OrderedColumn

ITSELF = "noise law of sums of cells, and the union bound over all divisions of the cells by planes (Cover 1965)"
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
    """What no halfspace is off by; with `gamma`, what some gamma-close one is not."""
    if gamma is not None:
        found = _of_the_net(library, query_class, delta, gamma)
        if found is not None:
            return found, CLOSE
    cells = HalfspaceSource(library).cells(query_class.named(library.schema))
    if not isinstance(cells, Grid) or not _is_single(cells):
        raise NotAnswerable(
            f"No simultaneous bound is known for {query_class.text}: a plane may cut cells, and how many rows it cuts "
            "depends on them. Each answer has an interval of its own. A bound exists where every cell is a single "
            "value; and with gamma=, of some close halfspace, where the algorithm net made the release."
        )
    many = divisions(math.prod(cells.boxes.shape), len(cells.columns))
    terms = [(weight, law, draws * cells.cells) for weight, law, draws in cells.noise]
    return half_width(terms, float(1 - delta / many)) + ROUNDING, ITSELF


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
