"""Bounds for whole classes of tables and parities.

The queries of `marginals(...)` are the single cells of each of its tables; those of `parities(...)` are the
rows with an even number of ones less the others. Each gets delta divided by how many there are (union
bound), and its own exact noise law says how far it can then be off.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.answering.asking import Asking
from discreet.answering.usefulness import MOVED, UNION
from discreet.arrays import Floats
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.linear_tables import Agreed
from discreet.families.tables.answer.parities import parity_half_width
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities
from discreet.families.tables.queries.residuals import subsets
from discreet.queries.measurable import Marginal


def marginals_bound(
    library: Library, asking: Asking, query_class: Marginals, delta: Fraction
) -> tuple[float, str]:
    sets = query_class.sets(library.schema)
    cells = sum(Marginal(columns).size(library.schema) for columns in sets)
    level = 1 - delta / max(1, cells)
    held = library.made(TableLibrary)
    tables = [held.table(columns) for columns in sets]
    widths = [float(table.first_cells(1, level)[0][1]) for table in tables]
    most, theorem = max(widths, default=0.0), UNION
    moved = [
        farthest_from_whole(table.counts, width, table.whole)
        for table, width in zip(tables, widths, strict=True)
        if table.whole is not None
    ]
    if moved:
        most, theorem = max(moved), UNION + MOVED
    # Estimates are rounded to whole counts, which moves the error to a whole number nearby.
    return float(math.ceil(most - 1e-9)), theorem


def farthest_from_whole(measured: Floats, width: float, whole: Agreed) -> float:
    """How far a true cell can be from its whole count, if it is within `width` of the measured one.

    It is no less than 0 and no more than a public number of rows, so it lies in what is left of the interval.
    """
    top = np.inf if whole.most is None else float(whole.most)
    low = np.clip(measured - width, 0.0, top)
    high = np.clip(measured + width, 0.0, top)
    return float(np.maximum(whole.counts - low, high - whole.counts).max())


def parities_bound(
    library: Library, asking: Asking, query_class: Parities, delta: Fraction
) -> tuple[float, str]:
    """Every parity up to the degree, the number of rows (that of nothing) included."""
    if query_class.splits is not None:
        many = 1 + len(query_class.split_sets())
    else:
        sets = query_class.sets(library.schema)
        many = len({each for columns in sets for each in subsets(columns)})
    return parity_half_width(library.made(TableLibrary), query_class, 1 - delta / many), UNION
