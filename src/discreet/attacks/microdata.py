"""Rows rebuilt from published tables, as was done with the tables of a census.

The unknowns are the numbers of people in every combination of values. Every published count is an equation. An
integer program finds rows that agree with all of them; with noisy tables it finds those that agree best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput

MOST_CELLS = 5_000
PATIENCE = 30.0
"""Seconds for one program."""

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Counts by some of the columns."""

    columns: tuple[int, ...]
    counts: Counts


def rebuilt(
    shape: Sequence[int], tables: Sequence[PublishedTable], *, exact: bool = True
) -> npt.NDArray[np.int64]:
    """How many people have each combination of values, shaped like the domain.

    `exact` tables must be met; others are met as nearly as possible, in the sum of absolute differences.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    cells = int(np.prod(list(shape)))
    if cells > MOST_CELLS:
        raise BadInput(f"{cells:,} combinations are more than the {MOST_CELLS:,} that are rebuilt.")
    matrix, wanted = _equations(shape, tables)
    cost = np.zeros(cells)
    options = {"time_limit": PATIENCE}
    if exact:
        solved = milp(
            cost,
            constraints=LinearConstraint(matrix, wanted, wanted),
            integrality=np.ones(cells),
            bounds=Bounds(0, np.inf),
            options=options,
        )
    else:
        rows = matrix.shape[0]
        slack = sparse.hstack([sparse.eye(rows), -sparse.eye(rows)])
        solved = milp(
            np.concatenate([cost, np.ones(2 * rows)]),
            constraints=LinearConstraint(sparse.hstack([matrix, slack]), wanted, wanted),
            integrality=np.concatenate([np.ones(cells), np.zeros(2 * rows)]),
            bounds=Bounds(0, np.inf),
            options=options,
        )
    if solved.x is None:
        raise BadInput("No rows agree with the published tables.")
    found = np.rint(solved.x[:cells]).astype(np.int64)
    return np.asarray(found.reshape(tuple(shape)))


def certain(
    shape: Sequence[int], tables: Sequence[PublishedTable], found: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """How many people of each combination every solution has: there the adversary knows to be right.

    One linear program for each combination of `found`: the fewest people that the tables allow it. Fractions of people only make
    that fewer, so what remains is certain.
    """
    from scipy.optimize import linprog

    matrix, wanted = _equations(shape, tables)
    least = np.zeros(found.size, dtype=np.int64)
    for cell in np.flatnonzero(found.reshape(-1)):
        cost = np.zeros(found.size)
        cost[cell] = 1.0
        solved = linprog(cost, A_eq=matrix, b_eq=wanted, bounds=(0, None), method="highs")
        if solved.x is not None:
            least[cell] = int(np.ceil(solved.fun - 1e-6))
    return least.reshape(found.shape)


def _equations(shape: Sequence[int], tables: Sequence[PublishedTable]) -> tuple[Any, Counts]:
    from scipy import sparse

    cells = np.array(list(product(*(range(size) for size in shape))))
    blocks, wanted = [], []
    for table in tables:
        sizes = [shape[at] for at in table.columns]
        places = np.ravel_multi_index(tuple(cells[:, at] for at in table.columns), sizes)
        ones = np.ones(len(cells))
        blocks.append(
            sparse.csr_matrix(
                (ones, (places, np.arange(len(cells)))), shape=(int(np.prod(sizes)), len(cells))
            )
        )
        wanted.append(np.asarray(table.counts, dtype=np.float64).reshape(-1))
    return sparse.vstack(blocks, format="csr"), np.concatenate(wanted)
