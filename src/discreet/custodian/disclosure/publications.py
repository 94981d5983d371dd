"""Ways to publish counts that protect nobody, each as a function from exact answers to published ones.

Baselines for the attacks: exact, rounded, bounded noise that sticks to the question, small counts suppressed, a
part of the answers arbitrary. Of rows: data swapping and minimisation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

Publication = Callable[[Floats], Floats]
"""Suppressed answers are not-a-number."""


def exact(answers: Floats) -> Floats:
    """The truth."""
    return answers.astype(np.float64)


def rounded(base: float) -> Publication:
    """To the nearest multiple of `base`."""
    return lambda answers: np.rint(answers / base) * base


def bounded_noise(error: float, *, seed: int | None = None) -> Publication:
    """Uniform noise within +-`error`, one draw a question: asked again, the answer is the same."""

    def published(answers: Floats) -> Floats:
        return answers + generator(seed).uniform(-error, error, len(answers))

    return published


def suppressed_below(limit: int) -> Publication:
    """Counts below `limit` are not shown."""
    return lambda answers: np.where(answers < limit, np.nan, answers.astype(np.float64))


def partly_arbitrary(share: float, error: float, *, seed: int | None = None) -> Publication:
    """Bounded noise, and a `share` of the answers anything between 0 and the largest."""

    def published(answers: Floats) -> Floats:
        draws = generator(seed)
        found = answers + draws.uniform(-error, error, len(answers))
        wrong = draws.random(len(answers)) < share
        top = float(answers.max(initial=1.0)) * 2
        return np.where(wrong, draws.uniform(0, top, len(answers)), found)

    return published


Table = Mapping[str, Sequence[str]]


def swapped(
    table: Table, columns: Sequence[str], *, share: float, seed: int | None = None
) -> dict[str, list[str]]:
    """A `share` of the rows exchange their values of `columns` in pairs: all counts of those columns stay."""
    if not 0 <= share <= 1:
        raise BadInput(f"The share of rows to swap is {share}; it lies between 0 and 1.")
    made = {name: list(values) for name, values in table.items()}
    rows = len(next(iter(table.values()), []))
    order = generator(seed).permutation(rows)[: int(rows * share) // 2 * 2]
    for one, other in zip(order[::2], order[1::2], strict=True):
        for name in columns:
            made[name][one], made[name][other] = made[name][other], made[name][one]
    return made


def minimised(table: Table, needed: Sequence[str]) -> dict[str, list[str]]:
    """Only the columns that are needed."""
    missing = [name for name in needed if name not in table]
    if missing:
        raise BadInput(f"There is no column {missing[0]!r}; there are {', '.join(table)}.")
    return {name: list(table[name]) for name in needed}
