"""A public number of rows: some cells are counted as that number less the other cells, where those are fewer.

Fewer cells are fewer draws of noise; for all cells together there is none. The only place that does so.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
