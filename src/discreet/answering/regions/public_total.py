"""A public number of rows: some cells are counted as that number less the other cells, where those are fewer.

Fewer cells are fewer draws of noise; for all cells together there is none. The only place that does so.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers


def counted_down(
    rows: int | None, cells: int, total: float, sums: Floats, many: Integers
) -> tuple[Floats, Integers]:
    """The sum over `many` of the cells, or `rows` less the sum over the others; and how many draws it has.

    `total` is the noisy sum over all `cells`. `rows` is `None` where the number of rows is a secret, or some
    have no cell.
    """
    if rows is None:
        return sums, many
    others = cells - many
    fewer = others < many
    rest = np.where(others == 0, float(rows), rows - (total - sums))
    return np.where(fewer, rest, sums), np.where(fewer, others, many)


def weights_counted_down(
    rows: int | None, counts: Floats, sums: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """The same with the weight of each cell, one question a row; only sums of whole cells are counted down."""
    if rows is None or not np.isin(weights, (0.0, 1.0)).all():
        return sums, weights
    many = weights.reshape(len(weights), -1).sum(axis=1)
    values, draws = counted_down(rows, counts.size, float(counts.sum()), sums, many)
    fewer = (draws < many).reshape(-1, *[1] * counts.ndim)
    return values, np.where(fewer, weights - 1.0, weights)
