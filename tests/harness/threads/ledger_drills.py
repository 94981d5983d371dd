"""Drills of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from discreet.errors import (
    AlreadyAsked,
    BadInput,
    BudgetExceeded,
    EntryTaken,
    LedgerError,
)
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from tests.harness.threads.drill_questions import (
    UNIT,
)
from tests.harness.threads.drills import Drill, exactly, only
from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.shared_world import (
    CHARGED_WELL,
    World,
)


def _dataset(world: World) -> Any:
    dataset = f"ledger {world.next_number()}"
    world.ledger.declare(dataset, Budget(epsilon=CHARGED_WELL))
    return world, world.ledger, dataset


def _entries(world: World) -> Any:
    """One charge for each thread, and one for all of them; all but that have been read."""
    dataset = f"ledger {world.next_number()}"
    world.ledger.declare(dataset, Budget(epsilon=100))
    entries = [
        world.ledger.charge(
            dataset, UNIT, protects=Protected(), purpose="drill", request=str(n), reading=n < 8
        )
        for n in range(9)
    ]
    world.pay(dataset, "nine charges", Budget(epsilon=9))
    return world.ledger, dataset, entries


def ledger_drills() -> Iterator[Drill]:
    def charge(shared: Any, number: int) -> Any:
        return (
            shared[1]
            .charge(shared[2], UNIT, protects=Protected(), purpose="drill", request=str(number))
            .id
        )

    def charged(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        world.pay(shared[2], "all of it", Budget(epsilon=CHARGED_WELL))
        yield from exactly(outcomes, CHARGED_WELL, BudgetExceeded)
        if len({each.result for each in outcomes if each.is_well}) != CHARGED_WELL:
            yield "two charges are one entry of the ledger"

    yield Drill("Ledger", "charge", _dataset, charge, charged, across=True)

    def once(shared: Any, number: int) -> Any:
        return (
            shared[1]
            .charge(
                shared[2],
                UNIT,
                protects=Protected(),
                purpose="drill",
                request="same",
                once=True,
                reading=True,
            )
            .id
        )

    def charged_once(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        world.pay(shared[2], "once", UNIT)
        yield from exactly(outcomes, 1, AlreadyAsked)

    yield Drill("Ledger", "charge", _dataset, once, charged_once, "once", across=True)

    yield Drill(
        "Ledger", "begin_reading", _entries, lambda shared, _: shared[0].begin_reading(shared[2][8]),
        lambda world, shared, outcomes: exactly(outcomes, 1, EntryTaken),
    )  # fmt: skip

    def record(shared: Any, number: int) -> Any:
        ledger, dataset, entries = shared
        ledger.record_answer(entries[number], f"answer {number}".encode())
        return ledger.recorded_answer(dataset, str(number))

    def own_answer(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        for each in outcomes:
            if each.is_well and each.result != f"answer {each.thread}".encode():
                yield f"thread {each.thread} was given {each.result!r}"
        yield from only(outcomes)

    for member in ("record_answer", "recorded_answer"):
        yield Drill("Ledger", member, _entries, record, own_answer)
    yield Drill(
        "Ledger", "publish", _entries, lambda shared, n: shared[0].publish(shared[2][n], str(n)),
        lambda world, shared, outcomes: only(outcomes),
    )  # fmt: skip

    def declare(shared: Any, number: int) -> Any:
        _, ledger, dataset = shared
        ledger.declare(f"{dataset} declared", Budget(epsilon=3))
        return ledger.cap(f"{dataset} declared")

    def of_analysts(shared: Any, number: int) -> Any:
        _, ledger, dataset = shared
        ledger.declare_analyst_cap(dataset, f"analyst {number}", Budget(epsilon=number + 1))
        return ledger.cap(dataset, analyst=f"analyst {number}")

    def raised(shared: Any, number: int) -> Any:
        shared[1].raise_cap(shared[2], Budget(epsilon=10 + number), reason="drill")

    def highest(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        most = max(10 + each.thread for each in outcomes)
        if shared[1].cap(shared[2]) != Budget(epsilon=most):
            yield f"the cap is {shared[1].cap(shared[2])}, and {most} was the highest"
        yield from only(outcomes, BadInput)

    yield Drill("Ledger", "declare", _dataset, declare, across=True)
    yield Drill("Ledger", "declare_analyst_cap", _dataset, of_analysts, across=True)
    yield Drill("Ledger", "raise_cap", _dataset, raised, highest, across=True)
    looks: dict[str, Callable[[Any, int], Any]] = {
        "spent": lambda shared, _: shared[0].spent(shared[1]),
        "cap": lambda shared, _: shared[0].cap(shared[1]),
        "known_cap": lambda shared, _: shared[0].known_cap(shared[1]),
        "standing": lambda shared, _: shared[0].standing(shared[1]).left,
        "entries": lambda shared, _: len(shared[0].entries(shared[1])),
        "changes": lambda shared, _: len(shared[0].changes(shared[1])),
        "protects": lambda shared, _: shared[0].protects(shared[1]),
        "declare_unit": lambda shared, _: shared[0].declare_unit(
            shared[1], Protected(), reason="drill"
        ),
        "datasets": lambda shared, _: shared[1] in shared[0].datasets(),
        "path": lambda shared, _: shared[0].path.name,
        "verify": lambda shared, _: shared[0].verify(),
    }
    for member, call in looks.items():
        yield Drill("Ledger", member, _entries, call)
    yield Drill("Standing", "left", _entries, looks["standing"])

    def own_file(world: World) -> Any:
        path = world.folder / f"ledger-{world.next_number()}.db"
        ledger = Ledger.open(path)
        ledger.declare("drill", Budget(epsilon=100))
        return path, ledger

    def open_and_charge(shared: Any, number: int) -> Any:
        with Ledger.open(shared[0]) as ledger:
            return ledger.charge(
                "drill", UNIT, protects=Protected(), purpose="drill", request=str(number)
            ).id

    def charge_or_close(shared: Any, number: int) -> Any:
        if number == 5:
            return shared[1].close()
        return (
            shared[1]
            .charge("drill", UNIT, protects=Protected(), purpose="drill", request=str(number))
            .id
        )

    def all_there(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        """What succeeded is in the file, and what did not succeed is not."""
        shared[1].close()
        well = sum(each.is_well and each.result is not None for each in outcomes)
        with Ledger.open(shared[0]) as ledger:
            if ledger.spent("drill").epsilon != well:
                yield f"{well} charges succeeded, and the ledger says {ledger.spent('drill')}"
        yield from only(outcomes, LedgerError)

    yield Drill("Ledger", "close", own_file, charge_or_close, all_there, across=True)

    def all_open(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        yield from only(outcomes)
        yield from all_there(world, shared, outcomes)

    yield Drill("Ledger", "open", own_file, open_and_charge, all_open, across=True)
