"""Calls of all drills in free random order: any method of any shared object beside any other.

A drill says what threads share, which calls they make, and what must be true when all have been made. Here the
calls of all drills are put into one list, shuffled by a seed, and dealt to the threads. Methods without a judge of
their own that have the same object share one, so that they meet on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.families.shared.estimate.public_random import generator
from tests.harness.threads.drills import Drill, compared
from tests.harness.threads.interleaving import Outcome, at_once
from tests.harness.threads.shared_world import World, plain


@dataclass(slots=True)
class Planned:
    """A drill with what its calls share, the calls that are to be made, and what became of them."""

    world: World
    drill: Drill
    shared: Any
    numbers: Sequence[int]
    alone: dict[int, Any] | None
    """What each call comes to when nobody else is there; `None`: the drill has a judge."""
    outcomes: list[Outcome] = field(default_factory=list)

    def complaints(self) -> Iterator[str]:
        """What was wrong, once all calls have been made."""
        if self.alone is not None:
            yield from compared(self.drill, self.alone, self.outcomes)
        else:
            assert self.drill.judge is not None
            yield from self.drill.judge(self.world, self.shared, self.outcomes)


def planned(world: World, drills: Sequence[Drill], numbers: Sequence[int]) -> list[Planned]:
    """Drills made ready, in their order: each call has one of the numbers."""
    made: list[Planned] = []
    objects: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for each in drills:
        if each.judge is not None:
            made.append(Planned(world, each, each.prepare(world), numbers, None))
            continue
        key = (each.owner, each.variant, each.prepare)
        if key not in objects:
            objects[key] = each.prepare(world), (each.twin or each.prepare)(world)
        shared, twin = objects[key]
        alone = {number: outcome_of(each, twin, number) for number in numbers}
        made.append(Planned(world, each, shared, numbers, alone))
    return made


def outcome_of(each: Drill, shared: Any, number: int) -> Any:
    """What a call comes to, as numbers and texts."""
    try:
        return plain(each.call(shared, number))
    except Exception as error:
        return plain(error)


def run_in_free_order(
    everything: Sequence[Planned], *, threads: int, seed: int, chance: float
) -> int:
    """Make all calls, and say how many they were."""
    jobs = [(each, number) for each in everything for number in each.numbers]
    order = generator(seed).permutation(len(jobs)).tolist()

    def work(thread: int) -> list[tuple[int, Outcome]]:
        found: list[tuple[int, Outcome]] = []
        for place in order[thread::threads]:
            each, number = jobs[place]
            try:
                result = each.drill.call(each.shared, number)
                # a judge looks at what was returned; others compare, and need not keep it
                kept = result if each.alone is None else plain(result)
                found.append((place, Outcome(number, result=kept)))
            except Exception as error:
                found.append((place, Outcome(number, error=error)))
        return found

    for each in at_once([work] * threads, chance=chance, seed=seed):
        if each.error is not None:
            raise each.error
        for place, outcome in each.result:
            jobs[place][0].outcomes.append(outcome)
    return len(jobs)
