"""k-anonymity, l-diversity and t-closeness of a table: baselines that protect nobody by themselves. NOT PRIVATE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.attacks.generalised import classes_of
from discreet.errors import BadInput

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
