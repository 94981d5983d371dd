"""k-anonymity, l-diversity and t-closeness of a table: baselines that protect nobody by themselves. NOT PRIVATE.

Also which columns single people out, as the share of rows that are alone in their values on each set of columns (exact
statistics of the rows), and techniques against the four things that a definition of privacy should do.

| | asks |
|---|---|
| composition | does it degrade slowly when it is applied again? |
| post-processing | can nothing that is done afterwards undo it? |
| groups | does it say what happens to several people together? |
| trade-off | can privacy and accuracy be computed against each other? |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.attacks.generalised import classes_of
from discreet.attacks.outcome import Progress, quiet
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

Table = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Anonymity:
    """What a table satisfies."""

    rows: int
    classes: int
    k: int
    """The size of the smallest class."""
    l: int | None  # noqa: E741 - the field's own name for it
    """The fewest different sensitive values in a class."""
    t: float | None
    """The largest distance between a class's sensitive values and the table's (total variation, or the
    distance that earth is moved along the order of numbers)."""
    homogeneous: float | None
    """The share of rows whose class has one sensitive value only."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "l": self.l,
            "t": self.t,
            "homogeneous_share": self.homogeneous,
            "private": False,
        }


def anonymity(table: Table, columns: Sequence[str], sensitive: str | None = None) -> Anonymity:
    """Check a table by its quasi-identifiers, and by a sensitive column if there is one."""
    for name in (*columns, *([] if sensitive is None else [sensitive])):
        if name not in table:
            raise BadInput(f"There is no column {name!r}; there are {', '.join(table)}.")
    if not columns:
        raise BadInput("Name at least one quasi-identifier.")
    classes = classes_of(table, columns)
    rows = sum(map(len, classes))
    smallest = min(map(len, classes), default=0)
    if sensitive is None or not classes:
        return Anonymity(rows, len(classes), smallest, None, None, None)
    values = table[sensitive]
    told = [[values[row] for row in each] for each in classes]
    alone = sum(len(each) for each in told if len(set(each)) == 1)
    return Anonymity(
        rows,
        len(classes),
        smallest,
        min(len(set(each)) for each in told),
        furthest(told, values),
        alone / rows,
    )


def furthest(told: Sequence[Sequence[str]], all_: Sequence[str]) -> float:
    """How far the values of a class are from all of them, at most: along the order of numbers, else in total variation."""
    whole = Counter(all_)
    numbers = _numbers(whole)
    order = None if numbers is None else sorted(numbers, key=lambda value: numbers[value])
    return max(_distance(Counter(each), whole, order) for each in told)


def _distance(some: Counter[str], whole: Counter[str], order: Sequence[str] | None) -> float:
    few, all_ = some.total(), whole.total()
    if order is None:
        return sum(abs(some[v] / few - whole[v] / all_) for v in whole) / 2
    moved, total = 0.0, 0.0
    for value in order[:-1]:
        moved += some[value] / few - whole[value] / all_
        total += abs(moved)
    return total / max(len(order) - 1, 1)


def _numbers(values: Counter[str]) -> dict[str, float] | None:
    try:
        return {value: float(value) for value in values}
    except ValueError:
        return None


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


WANTED = ("composition", "post-processing", "groups", "trade-off")


@dataclass(frozen=True, slots=True)
class Technique:
    """One technique: which of the four it does, and the attack that shows what it does not."""

    name: str
    composition: bool
    post_processing: bool
    groups: bool
    trade_off: bool
    shown_by: str

    def marks(self) -> tuple[bool, bool, bool, bool]:
        return self.composition, self.post_processing, self.groups, self.trade_off

    def to_dict(self) -> dict[str, Any]:
        return {
            "technique": self.name,
            **dict(zip(WANTED, self.marks(), strict=True)),
            "shown_by": self.shown_by,
        }


TECHNIQUES = (
    Technique("names removed", False, False, False, False, "attack link, attack unique"),
    Technique("k-anonymity", False, False, False, False, "attack intersect"),
    Technique("l-diversity, t-closeness", False, False, False, False, "attack intersect"),
    Technique("data swapping", False, False, False, False, "attack microdata"),
    Technique("data minimisation", False, False, False, False, "attack link"),
    Technique("small counts suppressed", False, False, False, False, "attack reconstruct"),
    Technique("rounding", False, False, False, False, "attack reconstruct"),
    Technique("bounded noise that sticks", False, False, False, False, "attack reconstruct"),
    Technique("query auditing", False, False, False, False, "attack audit-refusal"),
    Technique("exact aggregates", False, False, False, False, "attack difference"),
    Technique(
        "differential privacy", True, True, True, True, "attack all: it stays within its bound"
    ),
)
"""A technique without a stated guarantee has none that could compose, survive or be computed."""
