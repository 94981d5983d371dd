"""Which columns single people out: the share of rows that are alone in their values on each set of columns.

NOT PRIVATE: exact statistics of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.attacks.outcome import Progress, quiet
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

MOST_SETS = 200_000
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """How many rows are alone in their values on some columns."""

    columns: tuple[str, ...]
    unique: int
    rows: int

    @property
    def share(self) -> float:
        return self.unique / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "unique": self.unique, "share": self.share}


def uniqueness(
    columns: Mapping[str, Sequence[str]], *, largest: int = 4, progress: Progress = quiet
) -> list[ColumnSet]:
    """Every set of at most `largest` columns, in order of size, then of the share of unique rows.

    Values are replaced by random 64-bit numbers that are added up along a set, so a set costs one sort. Two
    different rows collide with probability 2^-64.
    """
    names = list(columns)
    rows = len(columns[names[0]]) if names else 0
    sets = sum(comb(len(names), size) for size in range(1, largest + 1))
    if largest < 1 or sets > MOST_SETS:
        raise BadInput(
            f"{len(names)} columns have {sets:,} sets of up to {largest}; at most {MOST_SETS:,} are examined. Name fewer columns, or a smaller size."
        )
    keys = _keys(columns)
    found: list[ColumnSet] = []
    for size in range(1, largest + 1):
        of_size = []
        for chosen in combinations(range(len(names)), size):
            total = keys[chosen[0]]
            for place in chosen[1:]:
                total = total + keys[place]
            of_size.append(ColumnSet(tuple(names[at] for at in chosen), alone(total), rows))
            progress("sets of columns", (len(found) + len(of_size)) / sets)
        found += sorted(of_size, key=lambda each: -each.unique)
    return found


def alone(keys: Keys) -> int:
    """How many of the keys occur once."""
    if not len(keys):
        return 0
    ordered = np.sort(keys)
    change = np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))
    return int((change[1:] & change[:-1]).sum())


def _keys(columns: Mapping[str, Sequence[str]]) -> list[Keys]:
    draws = generator()
    found = []
    for values in columns.values():
        _, codes = np.unique(np.asarray(values, dtype=object).astype(str), return_inverse=True)
        labels = draws.integers(0, 1 << 63, int(codes.max(initial=0)) + 1, dtype=np.uint64)
        found.append(labels[codes] * np.uint64(2) + np.uint64(1))
    return found
