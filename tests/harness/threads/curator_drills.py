"""Drills of the curator and its alerts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from discreet.curator import Curator
from discreet.errors import (
    BadInput,
)
from tests.harness.threads.drill_questions import (
    UNIT,
    WITH_DELTA,
    bands,
    count_in,
    question,
)
from tests.harness.threads.drills import Drill, only
from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.shared_world import (
    BANDS,
    CHARGED_WELL,
    World,
)


def _sql(curator: Curator, number: int) -> str:
    return question(number).format(f'"{curator.schema.dataset}"')


def _curator(form: int) -> Callable[[World], Any]:
    return lambda world: (world, world.curator(form))


def _ask(shared: Any, number: int) -> Any:
    _, curator = shared
    return curator.ask(_sql(curator, number), budget=UNIT).only.estimate


def _asked_once(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Right answers, and one charge for each different question."""
    curator = shared[1]
    for each in outcomes:
        if each.is_well:
            world.pay(curator.schema.dataset, str(bands(each.thread)), UNIT)
            right = count_in(*bands(each.thread))
            if each.result != right:
                yield f"thread {each.thread} was told {each.result}, and {right} is right"
    yield from only(outcomes)


def _choose(shared: Any, number: int) -> Any:
    _, curator = shared
    candidates = {
        f"band {band}": f'SELECT count(*) FROM "{curator.schema.dataset}" WHERE band = {band}'
        for band in range(number % 4 + 2)
    }
    return curator.choose(candidates, budget=UNIT).name


def _chosen_well(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        world.pay(shared[1].schema.dataset, f"choose {each.thread % 4}", UNIT)
        right = f"band {each.thread % 4 + 1}"  # later bands have more rows
        if each.is_well and each.result != right:
            yield f"thread {each.thread} chose {each.result}, and {right} has most rows"
    yield from only(outcomes)


def _discovered(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    world.pay(shared[1].schema.dataset, "discover", WITH_DELTA)
    for each in outcomes:
        if each.is_well and each.result != ("town 0", "town 1", "town 2"):
            yield f"thread {each.thread} was given {each.result}"
    yield from only(outcomes)


def _groups(shared: Any, number: int) -> Any:
    """Groups that nobody listed: a type is made in the database for the length of the question."""
    _, curator = shared
    first, last = bands(number)
    asked = curator.ask(
        f'SELECT town, count(*) FROM "{curator.schema.dataset}" '
        f"WHERE band BETWEEN {first} AND {last} GROUP BY town",
        budget=WITH_DELTA,
        undeclared=("town",),
    )
    return [row.answer.estimate for row in asked]


def _grouped_well(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        world.pay(shared[1].schema.dataset, f"groups {bands(each.thread)}", WITH_DELTA)
        if each.is_well and sum(each.result) != count_in(*bands(each.thread)):
            yield f"thread {each.thread} was given {each.result}"
    yield from only(outcomes)


def _alerts_paid(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Every alert is a charge of its own."""
    for each in outcomes:
        world.pay(shared[1].schema.dataset, f"alert {each.thread}", UNIT)
    yield from only(outcomes)


def _within_cap(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    curator = shared[1]
    for each in outcomes:
        if each.is_well and not curator.cap.covers(each.result):
            yield f"thread {each.thread} was told {each.result} of a cap of {curator.cap}"
    yield from only(outcomes)


def _ask_or_close(shared: Any, number: int) -> Any:
    return shared[1].close() if number == 5 else _ask(shared, number)


def _closed_well(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A question is answered and paid for, or refused and free; none is paid for and lost."""
    curator = shared[1]
    asked = [each for each in outcomes if each.thread != 5]
    for each in asked:
        if each.is_well:
            world.pay(curator.schema.dataset, str(bands(each.thread)), UNIT)
            if each.result != count_in(*bands(each.thread)):
                yield f"thread {each.thread} was told {each.result}"
    yield from only(outcomes, BadInput)


def _watch(form: int) -> Callable[[World], Any]:
    def prepare(world: World) -> Any:
        curator = world.curator(form)
        world.pay(curator.schema.dataset, "alert", UNIT)
        return curator, curator.alert(count_in(0, BANDS - 1), budget=UNIT, questions=100)

    return prepare


def _is_above(shared: Any, number: int) -> Any:
    """Odd threads ask for a count far below; even ones for all rows, which reach the threshold."""
    curator, alert = shared
    condition = " WHERE band < 0" if number % 2 else ""
    return alert.is_above(f'SELECT count(*) FROM "{curator.schema.dataset}"{condition}')


def one_above(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One `above` for one charge, to a thread that asked for a count that reaches the threshold."""
    above = [each.thread for each in outcomes if each.is_well and each.result]
    if len(above) != 1:
        yield f"one charge was answered `above` {len(above)} times"
    if any(thread % 2 for thread in above):
        yield "a count far below the threshold was answered `above`"
    for each in outcomes:
        if each.is_well and not each.result and each.thread % 2 == 0:
            yield "a count at the threshold was answered `below`"
    yield from only(outcomes, BadInput)


def _last_question(world: World) -> Any:
    curator = world.curator(0)
    world.pay(curator.schema.dataset, "alert", UNIT)
    return curator, curator.alert(10**6, budget=UNIT, questions=4 * CHARGED_WELL)


def _ask_four_times(shared: Any, number: int) -> int:
    """How many of four questions to an alert were answered."""
    answered = 0
    for _ in range(4):
        with suppress(BadInput):
            _is_above(shared, number)
            answered += 1
    return answered


def _as_many_as_promised(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    answered = sum(each.result for each in outcomes if each.is_well)
    if answered != 4 * CHARGED_WELL:
        yield f"an alert for {4 * CHARGED_WELL} questions answered {answered}"
    yield from only(outcomes)


def curator_drills() -> Iterator[Drill]:
    for form in range(3):
        what = ("Parquet", "CSV", "in memory")[form]
        in_file = form != 2  # a table in memory is another version of the data in each process
        yield Drill("Curator", "ask", _curator(form), _ask, _asked_once, what, across=in_file)
        yield Drill(
            "Curator", "ask", _curator(form), _groups, _grouped_well, f"groups, {what}",
            across=in_file,
        )  # fmt: skip
        yield Drill("CuratorAlert", "is_above", _watch(form), _is_above, one_above, what)
        yield Drill("Curator", "ask", _everything(form), _anything, _all_right, f"mixed, {what}")
    yield Drill("Curator", "choose", _curator(0), _choose, _chosen_well, across=True)
    yield Drill(
        "Curator", "discover", _curator(1),
        lambda shared, _: shared[1].discover("town", budget=WITH_DELTA).values, _discovered,
        across=True,
    )  # fmt: skip
    yield Drill(
        "Curator", "alert", _curator(0),
        lambda shared, n: shared[1].alert(n, budget=UNIT).threshold, _alerts_paid, across=True,
    )  # fmt: skip
    yield Drill("Curator", "close", _curator(0), _ask_or_close, _closed_well, across=True)
    for member in ("cap", "left", "spent"):
        yield Drill(
            "Curator", member, _curator(0), _looking_at(member), _spending(_within_cap), across=True
        )
    shared_curator = _curator(0)
    yield Drill(
        "Curator", "cost", shared_curator,
        lambda shared, n: shared[1].cost(_sql(shared[1], n), accuracy=10 + n),
    )  # fmt: skip
    yield Drill(
        "Curator", "preview", shared_curator,
        lambda shared, n: shared[1].preview(_sql(shared[1], n), accuracy=10 + n).cost,
    )  # fmt: skip
    yield Drill(
        "Curator", "for_analyst", shared_curator,
        lambda shared, n: shared[1].for_analyst(f"analyst {n}").preview(
            _sql(shared[1], n), accuracy=10 + n
        ),
    )  # fmt: skip
    yield Drill("Curator", "data_version", shared_curator, lambda shared, n: shared[1].data_version)
    yield Drill(
        "Curator", "check_count", shared_curator,
        lambda shared, n: shared[1].check_count(_sql(shared[1], n)),
    )  # fmt: skip
    yield Drill(
        "CuratorAlert", "is_above", _last_question, _ask_four_times, _as_many_as_promised,
        "as many questions as were promised", times=4,
    )  # fmt: skip
    yield Drill("CuratorAlert", "over", _watch(0), _over, lambda world, shared, o: only(o))


def _looking_at(member: str) -> Callable[[Any, int], Any]:
    """Every other thread asks a question while its neighbour looks."""

    def looked(shared: Any, number: int) -> Any:
        if number % 2:
            _ask(shared, number)
        return getattr(shared[1], member)

    return looked


def _everything(form: int) -> Callable[[World], Any]:
    """A curator, and an alert of its own for each thread that asks whether nobody is many."""

    def prepare(world: World) -> Any:
        curator = world.curator(form)
        alerts = [curator.alert(10, budget=UNIT) for _ in range(8)]
        for number in range(8):
            world.pay(curator.schema.dataset, f"alert {number}", UNIT)
        return world, curator, alerts

    return prepare


def _anything(shared: Any, number: int) -> Any:
    """Each thread asks in every way, each in an order of its own."""
    world, curator, alerts = shared
    nobody = f'SELECT count(*) FROM "{curator.schema.dataset}" WHERE band < 0'
    ways: list[Callable[[], Any]] = [
        lambda: _ask((world, curator), number) == count_in(*bands(number)),
        lambda: sum(_groups((world, curator), number)) == count_in(*bands(number)),
        lambda: _choose((world, curator), number) == f"band {number % 4 + 1}",
        lambda: len(curator.discover("town", budget=WITH_DELTA).values) == 3,
        lambda: not alerts[number].is_above(nobody),
        lambda: curator.cap.covers(curator.left),
    ]
    turned = [ways[(place + number) % len(ways)] for place in range(len(ways))]
    return [way() for way in turned]


def _all_right(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        dataset, place = shared[1].schema.dataset, str(bands(each.thread))
        world.pay(dataset, place, UNIT)
        world.pay(dataset, f"groups {place}", WITH_DELTA)
        world.pay(dataset, f"choose {each.thread % 4}", UNIT)
        world.pay(dataset, "discover", WITH_DELTA)
        if each.is_well and not all(each.result):
            yield f"thread {each.thread} was given another call's number: {each.result}"
    yield from only(outcomes)


def _over(shared: Any, number: int) -> Any:
    return shared[1].over


def _spending(judge: Any) -> Any:
    def also(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        for each in outcomes:
            if each.thread % 2:
                world.pay(shared[1].schema.dataset, str(bands(each.thread)), UNIT)
        yield from judge(world, shared, outcomes)

    return also
