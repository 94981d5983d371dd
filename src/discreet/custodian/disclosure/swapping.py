"""Data swapping and minimisation: two more baselines that are attacked here, not protections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

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
