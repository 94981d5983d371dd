"""The non-negative table nearest to noisy Fourier coefficients: a linear program by column generation.

minimise b over tables w >= 0 with |F w - y| <= b for every measured coefficient (Barak, Chaudhuri,
Dwork, Kale, McSherry, Talwar 2007). It has a variable for each of 2^k cells; only those that can
lower b are added: a cell's reduced cost is one entry of the Walsh-Hadamard transform of the duals,
so all 2^k are priced by one fast transform. When none is negative the optimum of the whole program
has been found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput

MOST_COLUMNS = 18
ADDED = 100
"""Cells that enter the program at a time."""
START = 4
"""Cells to begin with, for each coefficient."""
MOST_LISTED = 8000
MOST_ROUNDS = 400
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class NearestTable:
    """A table over 2^k cells, and how far its coefficients are from those measured, at most."""

    cells: Integers
    """The cells that are not 0, bit i for column i."""
    counts: Floats
    distance: float
    is_optimal: bool

    def rounded(self, columns: int) -> Integers:
        """Whole counts: a change of less than 1 in each of the few cells that are not 0."""
        table = np.zeros(1 << columns, dtype=np.int64)
        table[self.cells] = np.rint(self.counts).astype(np.int64)
        return table


def walsh_hadamard(table: Floats) -> Floats:
    """sum over cells of table * (-1)^(bits in common), for every set of bits; k 2^k additions."""
    found = np.asarray(table, dtype=np.float64).reshape(-1).copy()
    half = 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        half *= 2
    return found


def nearest_table(sets: Integers, coefficients: Floats, *, columns: int) -> NearestTable:
    """The optimum; `sets` are the measured sets of columns as bits."""
    from scipy.optimize import linprog  # slow to import, and few need it

    if columns > MOST_COLUMNS:
        raise BadInput(f"A table of 2^{columns} cells is too large; at most 2^{MOST_COLUMNS}.")
    total, many = 1 << columns, len(sets)
    # Any start will do, for what is missing is found by price; the cells that look full are a good one.
    spread = np.zeros(total)
    spread[sets] = coefficients
    cells = np.sort(np.argsort(-walsh_hadamard(spread))[: min(total, START * many)])
    for _ in range(MOST_ROUNDS):
        signs = _signs(sets, cells)
        slack = np.ones((many, 1))
        bounds = np.vstack([np.hstack([signs, -slack]), np.hstack([-signs, -slack])])
        solved = linprog(
            np.r_[np.zeros(len(cells)), 1.0],
            A_ub=bounds,
            b_ub=np.r_[coefficients, -coefficients],
            bounds=(0, None),
            method="highs",
        )
        if solved.x is None:
            raise BadInput("The linear program for a non-negative table could not be solved.")
        duals = solved.ineqlin.marginals[:many] - solved.ineqlin.marginals[many:]
        spread = np.zeros(total)
        spread[sets] = duals
        price = -walsh_hadamard(spread)
        counts = solved.x[:-1]
        best = np.argsort(price)[:ADDED]
        best = best[price[best] < -TOLERANCE]
        if not len(best):
            kept = counts > 0
            return NearestTable(cells[kept], counts[kept], float(solved.x[-1]), True)
        found = NearestTable(cells[counts > 0], counts[counts > 0], float(solved.x[-1]), False)
        if len(cells) > MOST_LISTED:
            cells = cells[(counts > 0) | (price[cells] < 0)]
        cells = np.unique(np.concatenate([cells, best]))
    return found


def _signs(sets: Integers, cells: Integers) -> Floats:
    common = np.bitwise_and(sets[:, None], cells[None, :])
    odd = np.zeros(common.shape, dtype=bool)
    while common.any():
        odd ^= (common & 1).astype(bool)
        common >>= 1
    return np.where(odd, -1.0, 1.0)
