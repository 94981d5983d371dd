"""Drills of what charges, reads and records: the curator, its alerts, the vault, its grants, engines, ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audits.material.most_frequent import MostFrequent
from discreet.audits.threads.drills import Drill, exactly, only
from discreet.audits.threads.interleaving import Outcome
from discreet.audits.threads.shared_world import (
    BANDS,
    CHARGED_WELL,
    World,
    rows_in,
    schema_of,
    without_noise,
)
from discreet.core.mechanisms import (
    AboveThreshold,
    DiscreteLaplace,
    Exponential,
    PartitionSelection,
)
from discreet.core.refining import Schedule
from discreet.core.test_door import observed_vaults
from discreet.core.vault import Grant, Request, TallyRequest, Vault
from discreet.curator import Curator
from discreet.engines.protocol import SumRequest
from discreet.errors import (
    AlreadyAsked,
    BadInput,
    BudgetExceeded,
    EngineFailed,
    EntryTaken,
    LedgerError,
)
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from discreet.queries.measurable import Marginal
from discreet.queries.tallies import Cells, Rows, Tally, WeightedCounts
from discreet.queries.tree import Tree
from discreet.questions.curator_sql import parse_curator_question
from discreet.questions.expressions import TRUE

ONE = Fraction(1)
UNIT = Budget(epsilon=1)
WITH_DELTA = Budget(epsilon=1, delta="1e-6")
TREE = Tree(("band",), ((0,), (1,), (3,)))


def bands(number: int) -> tuple[int, int]:
    """A range of bands for a thread: four different ones, so that two threads ask each."""
    first = number % 4
    return first, first + 2


def count_in(first: int, last: int) -> int:
    """The exact number of rows in some bands: the model's."""
    return sum(rows_in(band) for band in range(first, min(last, BANDS - 1) + 1))


def question(number: int) -> str:
    first, last = bands(number)
    return f"SELECT count(*) FROM {{}} WHERE band BETWEEN {first} AND {last}"


def _sql(curator: Curator, number: int) -> str:
    return question(number).format(f'"{curator.schema.dataset}"')


# --- the curator --------------------------------------------------------------------------


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
        if each.is_well and each.result.values != ("town 0", "town 1", "town 2"):
            yield f"thread {each.thread} was given {each.result.values}"
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


def _one_above(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
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


def _curator_drills() -> Iterator[Drill]:
    for form in range(3):
        what = ("Parquet", "CSV", "in memory")[form]
        yield Drill("Curator", "ask", _curator(form), _ask, _asked_once, what)
        yield Drill("Curator", "ask", _curator(form), _groups, _grouped_well, f"groups, {what}")
        yield Drill("CuratorAlert", "is_above", _watch(form), _is_above, _one_above, what)
        yield Drill("Curator", "ask", _everything(form), _anything, _all_right, f"mixed, {what}")
    yield Drill("Curator", "choose", _curator(0), _choose, _chosen_well)
    yield Drill(
        "Curator", "discover", _curator(1),
        lambda shared, _: shared[1].discover("town", budget=WITH_DELTA), _discovered,
    )  # fmt: skip
    yield Drill(
        "Curator", "alert", _curator(0),
        lambda shared, n: shared[1].alert(n, budget=UNIT).threshold, _alerts_paid,
    )  # fmt: skip
    yield Drill("Curator", "close", _curator(0), _ask_or_close, _closed_well)
    for member in ("cap", "left", "spent"):
        yield Drill("Curator", member, _curator(0), _looking_at(member), _spending(_within_cap))
    shared_curator = _curator(0)
    yield Drill(
        "Curator", "cost", shared_curator,
        lambda shared, n: shared[1].cost(_sql(shared[1], n), accuracy=10 + n),
    )  # fmt: skip
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


# --- the vault and its grants -------------------------------------------------------------


def _vault(world: World, cap: Budget) -> Vault:
    dataset = f"vault {world.next_number()}"
    world.ledger.declare(dataset, cap)
    with observed_vaults(without_noise):
        return Vault(world.engine(0), world.schema(0, dataset), world.ledger)


def _grant(world: World) -> Any:
    """A charge that pays for five verbs."""
    vault = _vault(world, Budget(epsilon=CHARGED_WELL, delta="1e-3"))
    charge = Budget(epsilon=CHARGED_WELL, delta="1e-4")
    world.pay(vault.schema.dataset, "grant", charge)
    return vault.charge(charge, purpose="drill", request="drill")


def _grant_spent(right: Callable[[int], Any]) -> Any:
    def judge(world: World, grant: Grant, outcomes: Sequence[Outcome]) -> Iterator[str]:
        yield from exactly(outcomes, CHARGED_WELL, BudgetExceeded)
        if grant.spent.epsilon != CHARGED_WELL:
            yield f"the grant says that {grant.spent} was spent"
        for each in outcomes:
            if each.is_well and each.result != right(each.thread):
                yield f"thread {each.thread} read {each.result}, {right(each.thread)} is right"

    return judge


def _rows_by_band(*_: int) -> list[int]:
    return [rows_in(band) for band in range(BANDS)]


def _verbs() -> dict[str, tuple[Callable[[Grant, int], Any], Callable[[int], Any]]]:
    """Each verb of a grant, and the exact numbers that it must give."""
    laplace, choosing = DiscreteLaplace(epsilon=ONE), Exponential(epsilon=ONE)
    by_band = Tally(Cells("band"), ())
    schedule = Schedule(shares=(Fraction(0), Fraction(1, 2), Fraction(1, 2)), deciding=ONE)
    keeping = PartitionSelection(epsilon=ONE, delta=Fraction(1, 10**6))

    def measured(grant: Grant, _: int) -> Any:
        (one,) = grant.measure([Request(Marginal(("band",)), laplace)])
        return one.values.tolist()[:BANDS]

    def tallied(grant: Grant, _: int) -> Any:
        (one,) = grant.tally([TallyRequest(by_band, laplace)])
        return one.values.tolist()[:BANDS]

    def refined(grant: Grant, _: int) -> Any:
        made = grant.refine(
            TREE, epsilon=ONE, schedule=schedule, stop=lambda view: np.zeros(len(view.nodes), bool)
        )
        return made.levels[-1].values.tolist()

    def watched(grant: Grant, _: int) -> Any:
        alert = grant.above_threshold(10**6, AboveThreshold(epsilon=ONE), sensitivity=1)
        return alert.is_above(Tally(Rows(), ()))

    return {
        "measure": (measured, _rows_by_band),
        "tally": (tallied, _rows_by_band),
        "refine": (refined, _rows_by_band),
        "select": (
            lambda grant, _: grant.select(MostFrequent(("band",)), choosing).chosen,
            lambda _: BANDS - 1,
        ),
        "choose": (
            lambda grant, _: grant.choose(WeightedCounts((by_band,), (1,)), choosing)[0].chosen,
            lambda _: BANDS - 1,
        ),
        "find_keys": (
            lambda grant, _: grant.find_keys(("town",), TRUE, keeping),
            lambda _: (("town 0",), ("town 1",), ("town 2",)),
        ),
        "above_threshold": (watched, lambda _: False),
    }


def _vault_drills() -> Iterator[Drill]:
    def prepare(world: World) -> Any:
        return _vault(world, Budget(epsilon=CHARGED_WELL))

    def charge(vault: Vault, number: int) -> Any:
        return vault.charge(UNIT, purpose="drill", request=f"drill {number}")._entry.id

    def charged(world: World, vault: Vault, outcomes: Sequence[Outcome]) -> Iterator[str]:
        world.pay(vault.schema.dataset, "all of it", Budget(epsilon=CHARGED_WELL))
        yield from exactly(outcomes, CHARGED_WELL, BudgetExceeded)
        if len({each.result for each in outcomes if each.is_well}) != CHARGED_WELL:
            yield "two charges are one entry of the ledger"

    yield Drill("Vault", "charge", prepare, charge, charged)
    yield Drill("Vault", "schema", prepare, lambda vault, _: vault.schema.names)
    for verb, (call, right) in _verbs().items():
        yield Drill("Grant", verb, _grant, call, _grant_spent(right))
    yield Drill("Grant", "public_rows", _grant, lambda grant, _: grant.public_rows())

    def left(grant: Grant, number: int) -> Any:
        if number % 2:
            grant.tally([TallyRequest(Tally(Rows(), ()), DiscreteLaplace(epsilon=ONE))])
        return grant.left

    def left_well(world: World, grant: Grant, outcomes: Sequence[Outcome]) -> Iterator[str]:
        for each in outcomes:
            if each.is_well and not 1 <= each.result.epsilon <= CHARGED_WELL:
                yield f"thread {each.thread} was told that {each.result} is left"
        yield from only(outcomes)

    yield Drill("Grant", "left", _grant, left, left_well)

    def read(world: World) -> Any:
        grant = _grant(world)
        grant.tally([TallyRequest(Tally(Rows(), ()), DiscreteLaplace(epsilon=ONE))])
        return grant

    yield Drill(
        "Grant", "publish", read, lambda grant, n: grant.publish(f"digest {n}"),
        lambda world, grant, outcomes: exactly(outcomes, 1, Exception),
    )  # fmt: skip
    yield Drill(
        "Grant", "record", read, lambda grant, n: grant.record(f"answer {n}".encode()),
        lambda world, grant, outcomes: exactly(outcomes, 1, Exception),
    )  # fmt: skip

    def watched(world: World) -> Any:
        grant = _grant(world)
        return grant.above_threshold(
            count_in(0, BANDS - 1), AboveThreshold(epsilon=ONE), sensitivity=1
        )

    def is_above(alert: Any, number: int) -> Any:
        everything = Marginal(()) if number % 4 else Tally(Rows(), ())
        return alert.is_above(everything) if number % 2 == 0 else alert.is_above(_nobody())

    yield Drill("Alert", "is_above", watched, is_above, _one_above)


def _nobody() -> Tally:
    asked = parse_curator_question(
        "SELECT count(*) FROM nobody WHERE band < 0", schema_of("nobody")
    )
    return Tally(Rows(), (), asked.condition)


# --- engines ------------------------------------------------------------------------------


def _engine(form: int) -> Callable[[World], Any]:
    return lambda world: world.engine(form)


def _engine_drills() -> Iterator[Drill]:
    nodes = np.arange(BANDS, dtype=np.uint64).reshape(-1, 1)
    calls: dict[str, Callable[[Any, int], Any]] = {
        "marginals": lambda engine, n: engine.marginals([("band", "kind"), ("kind",)][: n % 2 + 1]),
        "node_counts": lambda engine, n: (
            engine.node_counts(("band",), (0,), nodes[: n + 1]).tolist(),
            engine.node_counts(("band", "score"), (0, 9), np.array([[n, 1]], np.uint64)).tolist(),
        ),
        "sums": lambda engine, n: engine.sums(
            [SumRequest("band", n + 1, Fraction(0), Fraction(BANDS))]
        ),
        "tally": lambda engine, n: engine.tally([Tally(Cells(("band", "kind")[n % 2]), ())]),
        "held_keys": lambda engine, _: engine.held_keys(("town",), TRUE),
        "row_count": lambda engine, _: engine.row_count(),
    }
    for form in range(3):
        what, opened = ("Parquet", "CSV", "in memory")[form], _engine(form)
        for member, call in calls.items():
            yield Drill("DuckDBEngine", member, opened, call, variant=what, twin=World.model_engine)

    def count_or_close(engine: Any, number: int) -> Any:
        return engine.close() if number == 5 else engine.marginals([("band",)])[0].tolist()

    def closed(world: World, engine: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        for each in outcomes:
            if each.is_well and each.thread != 5 and each.result[:BANDS] != _rows_by_band():
                yield f"thread {each.thread} counted {each.result}"
        yield from only(outcomes, EngineFailed)

    yield Drill("DuckDBEngine", "close", lambda world: world.engine(0), count_or_close, closed)


# --- the ledger ---------------------------------------------------------------------------


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


def _ledger_drills() -> Iterator[Drill]:
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

    yield Drill("Ledger", "charge", _dataset, charge, charged)

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

    yield Drill("Ledger", "charge", _dataset, once, charged_once, "once")

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

    yield Drill("Ledger", "declare", _dataset, declare)
    yield Drill("Ledger", "declare_analyst_cap", _dataset, of_analysts)
    yield Drill("Ledger", "raise_cap", _dataset, raised, highest)
    looks: dict[str, Callable[[Any, int], Any]] = {
        "spent": lambda shared, _: shared[0].spent(shared[1]),
        "cap": lambda shared, _: shared[0].cap(shared[1]),
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

    yield Drill("Ledger", "close", own_file, charge_or_close, all_there)

    def all_open(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        yield from only(outcomes)
        yield from all_there(world, shared, outcomes)

    yield Drill("Ledger", "open", own_file, open_and_charge, all_open)


def kernel_drills() -> list[Drill]:
    """All of them."""
    return [*_curator_drills(), *_vault_drills(), *_engine_drills(), *_ledger_drills()]
