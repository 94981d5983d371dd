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
    shape: Sequence[int],
    tables: Sequence[PublishedTable],
    *,
    exact: bool = True,
    objective: Counts | None = None,
) -> npt.NDArray[np.int64]:
    """How many people have each combination of values, shaped like the domain.

    `exact` tables must be met; others are met as nearly as possible, in the sum of absolute differences. Among
    several exact solutions `objective` says which: the one of least cost.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    cells = int(np.prod(list(shape)))
    if cells > MOST_CELLS:
        raise BadInput(f"{cells:,} combinations are more than the {MOST_CELLS:,} that are rebuilt.")
    matrix, wanted = _equations(shape, tables)
    cost = np.zeros(cells) if objective is None else objective.reshape(-1)
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


def farthest(
    shape: Sequence[int], tables: Sequence[PublishedTable], found: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The rows that agree with the tables too, and hold as few of the combinations of `found` as possible.

    Where even these are the same, the tables leave no choice: the adversary knows that the rows are right.
    """
    return rebuilt(shape, tables, objective=(found > 0).astype(np.float64))


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
