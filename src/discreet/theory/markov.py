"""NOT PRIVATE BY ITSELF: a Markov chain that approaches the law of the general mechanism.

Section 8 of Blum, Ligett and Roth (2008) asks for a way to sample the exponential mechanism of theorem 3.1 that does not
list all databases, by a Markov chain that mixes quickly. This is such a chain (Metropolis: one row of the small database is replaced
at a time). After any finite number of steps its law still differs from the one that is epsilon-DP, by an amount that nobody can compute for
a real table. So no release is made with it. It is here to show the gap: `distance_after` is the exact distance for small cases.

It takes counts that the caller made up, and public randomness.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.errors import BadInput
from discreet.queries.multisets import listed, number_of

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

WARNING = (
    "NOT PRIVATE: after finitely many steps the law of a Markov chain is not that of the mechanism."
)
MOST_STATES = 2000


def chain_sample(
    counts: Integers, workload: Bools, *, size: int, alpha: float, steps: int, public: Generator
) -> Integers:
    """NOT PRIVATE. A database of `size` rows after so many steps from a random start."""
    kinds, rows = workload.shape[1], int(counts.sum())
    if counts.shape != (kinds,) or size < 1 or rows < 1:
        raise BadInput("The chain needs a count for each kind of point, and at least one row.")
    database = np.bincount(public.integers(0, kinds, size), minlength=kinds).astype(np.int64)
    exact = workload @ counts
    error = _error(database, workload, exact, rows)
    for _ in range(steps):
        taken, put = int(public.integers(kinds)), int(public.integers(kinds))
        if not database[taken]:
            continue
        moved = database.copy()
        moved[taken] -= 1
        moved[put] += 1
        next_error = _error(moved, workload, exact, rows)
        if math.log(max(public.random(), 1e-300)) < alpha / 2 * (error - next_error):
            database, error = moved, next_error
    return database


def _error(database: Integers, workload: Bools, exact: Integers, rows: int) -> float:
    """The largest error of a predicate, in rows."""
    size = int(database.sum())
    return float(np.abs(exact - rows * (workload @ database) / size).max())


def transition_matrix(counts: Integers, workload: Bools, *, size: int, alpha: float) -> Floats:
    """The chance of each step between all databases, in the order of their numbers.

    Kinds to take from and to put to are drawn uniformly, so every move is as likely as its reverse, and the chain's limit
    is the law of the mechanism over multisets.
    """
    kinds, rows = workload.shape[1], int(counts.sum())
    states = listed(kinds, size)
    if len(states) > MOST_STATES:
        raise BadInput(
            f"There are {len(states):,} databases, and at most {MOST_STATES:,} fit a matrix."
        )
    exact = workload @ counts
    errors = np.array([_error(each, workload, exact, rows) for each in states])
    found = np.zeros((len(states), len(states)))
    for place, state in enumerate(states):
        for taken in range(kinds):
            for put in range(kinds):
                to = place
                if state[taken] and taken != put:
                    moved = state.copy()
                    moved[taken] -= 1
                    moved[put] += 1
                    to = number_of(moved.tolist())
                accepted = min(1.0, math.exp(-alpha / 2 * (errors[to] - errors[place])))
                found[place, to] += accepted / kinds**2
                found[place, place] += (1 - accepted) / kinds**2
    return found


def mechanism_law(counts: Integers, workload: Bools, *, size: int, alpha: float) -> Floats:
    """The law of the mechanism itself, by listing all databases."""
    exact, rows = workload @ counts, int(counts.sum())
    states = listed(workload.shape[1], size)
    errors = np.array([_error(each, workload, exact, rows) for each in states])
    weights = np.exp(-alpha / 2 * (errors - errors.min()))
    return np.asarray(weights / weights.sum())


def distance_after(
    counts: Integers, workload: Bools, *, size: int, alpha: float, steps: int
) -> float:
    """The total variation distance of the chain's law from the mechanism's, after so many steps from a uniform start."""
    matrix = transition_matrix(counts, workload, size=size, alpha=alpha)
    law = np.full(len(matrix), 1 / len(matrix))
    law = law @ np.linalg.matrix_power(matrix, steps)
    return float(0.5 * np.abs(law - mechanism_law(counts, workload, size=size, alpha=alpha)).sum())


def excess_loss(
    counts: Integers, neighbour: Integers, workload: Bools, *, size: int, alpha: float, steps: int
) -> float:
    """The largest loss of the chain between two neighbouring tables, less alpha: above 0 it breaks the promise."""
    laws = []
    for table in (counts, neighbour):
        matrix = transition_matrix(table, workload, size=size, alpha=alpha)
        start = np.zeros(len(matrix))
        start[0] = 1.0
        laws.append(start @ np.linalg.matrix_power(matrix, steps))
    one, two = laws
    if ((one > 0) != (two > 0)).any():
        return math.inf
    possible = one > 0
    return float(np.abs(np.log(one[possible] / two[possible])).max()) - alpha
