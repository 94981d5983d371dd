"""How rich a class of queries is: its VC dimension, by formula or by search.

The VC dimension is the size of the largest set of points that a class shatters: for every subset of the
points some query of the class holds on just that subset. The sizes of section 3 of Blum, Ligett and Roth
(2008) grow with it.

| class | VC dimension | why |
|---|---|---|
| prefixes of one column | 1 | of two points, none holds the greater alone |
| intervals of one column | 2 | of three points, none holds the outer two alone |
| unions of t intervals | 2t | of 2t + 1 points, none holds every other one, t + 1 of them |
| rectangles of d columns | 2d | two points for each side of a column |
| halfspaces of d columns, with an offset | d + 1 | Radon's theorem |
| conjunctions of d boolean columns | d | for d >= 2; with literals of both signs |
| parities of d boolean columns | d | 2^d queries, and the unit vectors are shattered |

A domain of few cells shatters less: no set is larger than the base-2 logarithm of the number of queries.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.arrays import Bools
from discreet.errors import BadInput

MOST_SETS = 2_000_000
"""Sets of points that a search looks at."""


def prefixes(cells: int) -> int:
    """The VC dimension of the prefixes of a column with so many cells."""
    return _of_cells(1, cells)


def intervals(cells: int, *, pieces: int = 1) -> int:
    """The VC dimension of unions of at most `pieces` intervals."""
    if pieces < 1:
        raise BadInput(f"A union has at least one interval, not {pieces}.")
    return _of_cells(2 * pieces, cells)


def rectangles(cells: tuple[int, ...]) -> int:
    """The VC dimension of boxes: at most what the intervals of each column have, together.

    It is reached where each column has enough cells; very small domains shatter less.
    """
    return sum(min(2, each) for each in cells)


def halfspaces(columns: int) -> int:
    """The VC dimension of halfspaces with an offset."""
    return _positive(columns) + 1


def conjunctions(columns: int) -> int:
    """The VC dimension of conjunctions of literals over boolean columns."""
    return _positive(columns)


def parities(columns: int) -> int:
    """The VC dimension of parities over boolean columns."""
    return _positive(columns)


def searched(workload: Bools) -> int:
    """The VC dimension of a listed class: one row a query, one column a kind of point.

    It is found by looking at sets of points, larger and larger. Where there are more than
    `MOST_SETS` of them to look at, the base-2 logarithm of the number of queries is returned, which is
    never less than the dimension.
    """
    table = np.unique(np.asarray(workload, dtype=np.bool_), axis=0)
    if table.ndim != 2 or not table.size:
        raise BadInput("A class is a table with at least one query and one kind of point.")
    points = np.unique(table, axis=1).T
    highest = min(len(table).bit_length() - 1, len(points))
    shattered: set[tuple[int, ...]] = {()}
    looked_at = 0
    for size in range(1, highest + 1):
        found: set[tuple[int, ...]] = set()
        for base in shattered:
            for place in range(base[-1] + 1 if base else 0, len(points)):
                looked_at += 1
                if looked_at > MOST_SETS:
                    return highest
                chosen = (*base, place)
                if all(less in shattered for less in combinations(chosen, size - 1)) and (
                    _is_shattered(points[list(chosen)])
                ):
                    found.add(chosen)
        if not found:
            return size - 1
        shattered = found
    return highest


def _is_shattered(rows: Bools) -> bool:
    """Whether every pattern over these points is a query's."""
    weights = 1 << np.arange(len(rows))
    return len(np.unique(weights @ rows)) == 1 << len(rows)


def _of_cells(most: int, cells: int) -> int:
    return min(most, _positive(cells))


def _positive(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise BadInput(f"A class needs a whole number of cells or columns from 1 on, not {number}.")
    return number
