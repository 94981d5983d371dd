"""What several mechanisms cost together.

Every rule names its theorem. All of them hold when the mechanisms are chosen adaptively.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.privacy.protection import for_a_group


def basic(costs: Iterable[Budget]) -> Budget:
    """The cost of all the mechanisms on the same table: the sum.

    Theorem: Dwork and Roth 2014, thm 3.16 (epsilon, delta); Bun and Steinke 2016,
    lemmas 2.3 and 8.2 (rho, delta). Valid under adaptive choice.
    """
    total: Budget | None = None
    for cost in costs:
        total = cost if total is None else total + cost
    if total is None:
        raise BadInput("Nothing to compose: give at least one cost.")
    return total


@dataclass(frozen=True, slots=True)
class Partition:
    """Parts of one domain, by name; each part is a set of ranges of cell codes.

    Declared from public facts, before any row is read. Overlapping parts are refused:
    a row in two parts would pay in both.
    """

    parts: Mapping[str, Sequence[range]]

    def __post_init__(self) -> None:
        if not self.parts:
            raise BadInput("A partition needs at least one part.")
        spans: list[tuple[int, int, str]] = []
        for name, ranges in self.parts.items():
            if not ranges:
                raise BadInput(f"Part {name!r} has no cells.")
            for cells in ranges:
                if cells.step != 1 or cells.stop <= cells.start:
                    raise BadInput(f"Part {name!r} has {cells}, which is empty or has a step.")
                spans.append((cells.start, cells.stop, name))
        spans.sort()
        for (_, stop, one), (start, _, other) in pairwise(spans):
            if start < stop:
                raise BadInput(
                    f"Parts {one!r} and {other!r} overlap at cell {start}. Parallel composition "
                    "needs disjoint parts; compose overlapping ones with `basic`."
                )


def parallel(
    partition: Partition,
    costs: Mapping[str, Budget],
    *,
    adjacency: Adjacency,
    unit: PrivacyUnit,
) -> Budget:
    """The cost of mechanisms that each see only the rows of their own part.

    `costs[name]` is what the part's mechanism costs when ONE row is added to or removed
    from that part.

    Theorem: McSherry 2009, thm 4: a row lies in one part, so one row costs the maximum.
    A unit of m rows is m such steps, and under change-one 2m (a row leaves one part and
    another enters the same or another part), which `for_a_group` prices.
    """
    unknown, missing = set(costs) - set(partition.parts), set(partition.parts) - set(costs)
    if unknown or missing:
        raise BadInput(
            "Costs and parts do not match: "
            f"without a part {sorted(unknown)}, without a cost {sorted(missing)}."
        )
    worst: Budget | None = None
    for cost in costs.values():
        worst = cost if worst is None else _componentwise_maximum(worst, cost)
    assert worst is not None  # a partition has parts
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return for_a_group(worst, unit.max_rows)
        case Adjacency.CHANGE_ONE:
            return for_a_group(worst, 2 * unit.max_rows)
    assert_never(adjacency)


def _componentwise_maximum(one: Budget, other: Budget) -> Budget:
    if one.covers(other):
        return one
    if other.covers(one):
        return other
    amount, delta = max(one.amount, other.amount), max(one.delta, other.delta)
    return Budget.from_dict({one.notion.value: str(amount), "delta": str(delta)})
