"""A drill: one public method called by several threads at once on one object, and what must be true then.

Most methods must give every thread what it would have been given alone. Those that spend or end
something have a judge of their own: so many calls succeed and no more, whoever is first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.shared_world import World, plain

Call = Callable[[Any, int], Any]
Judge = Callable[[World, Any, Sequence[Outcome]], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Drill:
    """`prepare` makes what the threads share; thread n makes the call `call(shared, n)`."""

    owner: str
    member: str
    prepare: Callable[[World], Any]
    call: Call
    judge: Judge | None = None
    """What must be true of the outcomes; `None`: each is what a single thread is given."""
    variant: str = ""
    twin: Callable[[World], Any] | None = None
    """What the lone call is made on; `None`: something else that `prepare` makes."""
    times: int = 1
    """How often it is repeated in a round: more where a race is met in some of the tries only."""
    across: bool = False
    """Whether threads of several processes make the calls together: what they share lies in a file, `prepare` charges
    nothing, and what a call returns can be sent to another process."""

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.member}" + (f" ({self.variant})" if self.variant else "")


def mixtures(drills: Sequence[Drill]) -> list[Drill]:
    """Methods without a judge of their own, those of one object together: each thread calls all of them.

    Each thread begins with another one, so that different methods of the object run at once.
    """
    alike: dict[tuple[str, str, object], list[Drill]] = {}
    for each in drills:
        if each.judge is None:
            alike.setdefault((each.owner, each.variant, each.prepare), []).append(each)
    return [_mixture(group) for group in alike.values()]


def _mixture(group: list[Drill]) -> Drill:
    def call(shared: Any, number: int) -> Any:
        found: dict[str, Any] = {}
        for place in range(len(group)):
            each = group[(place + number) % len(group)]
            try:
                found[each.member] = plain(each.call(shared, number))
            except Exception as error:
                found[each.member] = plain(error)
        return [found[each.member] for each in group]

    first = group[0]
    return Drill(
        first.owner, "everything", first.prepare, call, variant=first.variant, twin=first.twin
    )


def compared(drill: Drill, alone: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Outcomes that are not what the same call came to when nobody else was there."""
    for each in outcomes:
        found, right = plain(each), alone[each.thread]
        if found != right:
            yield f"thread {each.thread} was given {_short(found)}, and {_short(right)} is right"


def exactly(outcomes: Sequence[Outcome], well: int, *refusals: type[Exception]) -> Iterator[str]:
    """So many calls succeed, and every other one is refused in one of the ways named."""
    succeeded = sum(each.is_well for each in outcomes)
    if succeeded != well:
        yield f"{succeeded} of {len(outcomes)} calls succeeded, and {well} may"
    yield from only(outcomes, *refusals)


def only(outcomes: Sequence[Outcome], *refusals: type[Exception]) -> Iterator[str]:
    """No call fails in a way that is not named."""
    for each in outcomes:
        if each.error is not None and not isinstance(each.error, refusals):
            yield f"thread {each.thread} failed: {type(each.error).__name__}: {each.error}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:160]}..."
