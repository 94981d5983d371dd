"""The numbers nearest to noisy ones that never fall: isotonic least squares.

Adjacent numbers that fall belong to one block, whose mean takes their place, until none falls (Ayer and others
1955). All blocks that fall one after the other are joined at once, in all rows of a matrix at once. SciPy has
this too, in a module whose import costs more than an answer.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats


def monotone(values: Floats, weights: Floats) -> Floats:
    """For each row of `values`, the numbers that do not fall and are nearest to it in weighted least squares.

    `weights`: one for each column, above 0.
    """
    rows, many = values.shape
    weight = np.tile(weights, rows)
    mean = values.reshape(-1)
    row = np.repeat(np.arange(rows), many)
    length = np.ones(rows * many, dtype=np.int64)
    while True:
        falls = (mean[1:] < mean[:-1]) & (row[1:] == row[:-1])
        if not falls.any():
            return np.repeat(mean, length).reshape(rows, many)
        start = np.flatnonzero(np.append(True, ~falls))
        total = np.add.reduceat(weight * mean, start)
        weight = np.add.reduceat(weight, start)
        mean, row, length = total / weight, row[start], np.add.reduceat(length, start)
