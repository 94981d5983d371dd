"""What a class that is measured by one refined tree says of its cost and its noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.refining import Schedule, path_epsilon
from discreet.errors import BadInput
from discreet.families.shared.release.noise_choice import check_drawable
from discreet.families.shared.release.protocol import PreparedClass
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.privacy.shares import pure_epsilon
from discreet.queries.tree import Tree
from discreet.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredByRefining(PreparedClass):
    """A `Prepared` that uses the core's `refine`, once, with all of its epsilon."""

    tree: Tree
    epsilon: Fraction
    schedule: Schedule

    def costs(self) -> tuple[Cost, ...]:
        return (Cost.pure(self.epsilon),)

    @property
    def path(self) -> Fraction:
        return path_epsilon(self.epsilon, self.schema)

    def noise(self) -> list[dict[str, Any]]:
        return [
            {
                "query": {"kind": "tree-level", "depth": list(depth)},
                "numbers": None,
                "law": law.to_dict(),
                "std": law.std,
                "l1_sensitivity": heaviest * int(self.epsilon / self.path),
            }
            for depth, heaviest, law in level_laws(self.tree, self.schedule, self.path)
        ]


def level_laws(
    tree: Tree, schedule: Schedule, path: Fraction
) -> Iterator[tuple[tuple[int, ...], int, DiscreteLaplaceLaw]]:
    """The depth of each measured level, how far a row moves its numbers at most, and their largest noise."""
    for depth, share in zip(tree.depths, schedule.shares, strict=True):
        if share:
            heaviest = 1 if any(depth) else max(schedule.weights, default=1)
            yield depth, heaviest, DiscreteLaplaceLaw(scale=heaviest / (path * share))


def scheduled(
    shares: Sequence[Fraction],
    schema: Schema,
    *,
    share: Budget,
    accounting: Accounting,
    what: str,
    weights: tuple[int, ...] = (),
) -> tuple[Fraction, Schedule]:
    """The epsilon of a tree and its schedule, whose noise can be drawn."""
    epsilon = pure_epsilon(share)
    if epsilon <= 0:
        raise BadInput(f"{what} is left with no budget. Nothing was read or charged.")
    schedule = Schedule(shares=tuple(shares), deciding=Fraction(1), weights=weights)
    path = path_epsilon(epsilon, schema)
    for level, each in enumerate(schedule.shares):
        if each:
            heaviest = 1 if level else max(weights, default=1)
            check_drawable(DiscreteLaplaceLaw(scale=heaviest / (path * each)), what=what)
    return epsilon, schedule
