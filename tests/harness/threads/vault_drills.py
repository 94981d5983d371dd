"""Drills of the vault and its grants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.mechanisms import (
    AboveThreshold,
    DiscreteLaplace,
    Exponential,
    PartitionSelection,
)
from discreet.core.refining import Schedule
from discreet.core.test_door import observed_vaults
from discreet.core.vault import ChoiceRequest, Grant, Request, TallyRequest, Vault
from discreet.errors import (
    BudgetExceeded,
)
from discreet.privacy.budget import Budget
from discreet.queries.group_choices import CellScores
from discreet.queries.measurable import Marginal
from discreet.queries.tallies import Cells, Rows, Tally, WeightedCounts
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.questions.expressions import TRUE
from tests.harness.material.most_frequent import MostFrequent
from tests.harness.threads.curator_drills import one_above
from tests.harness.threads.drill_questions import (
    ONE,
    TREE,
    UNIT,
    count_in,
)
from tests.harness.threads.drills import Drill, exactly, only
from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.shared_world import (
    BANDS,
    CHARGED_WELL,
    World,
    rows_in,
    schema_of,
    without_noise,
)


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


def rows_by_band(*_: int) -> list[int]:
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
        "measure": (measured, rows_by_band),
        "tally": (tallied, rows_by_band),
        "refine": (refined, rows_by_band),
        "select": (
            lambda grant, _: grant.select(MostFrequent(("band",)), choosing).chosen,
            lambda _: BANDS - 1,
        ),
        "choose": (
            lambda grant, _: grant.choose(WeightedCounts((by_band,), (1,)), choosing).chosen,
            lambda _: BANDS - 1,
        ),
        "tally_and_choose": (
            lambda grant, _: grant.tally_and_choose(
                (), [ChoiceRequest(CellScores(by_band), choosing)]
            )[1][0].tolist(),
            lambda _: [[BANDS - 1]],
        ),
        "find_keys": (
            lambda grant, _: grant.find_keys(("town",), TRUE, keeping),
            lambda _: (("town 0",), ("town 1",), ("town 2",)),
        ),
        "above_threshold": (watched, lambda _: False),
    }


def vault_drills() -> Iterator[Drill]:
    def prepare(world: World) -> Any:
        return _vault(world, Budget(epsilon=CHARGED_WELL))

    def charge(vault: Vault, number: int) -> Any:
        return vault.charge(UNIT, purpose="drill", request=f"drill {number}")._entry.id

    def charged(world: World, vault: Vault, outcomes: Sequence[Outcome]) -> Iterator[str]:
        world.pay(vault.schema.dataset, "all of it", Budget(epsilon=CHARGED_WELL))
        yield from exactly(outcomes, CHARGED_WELL, BudgetExceeded)
        if len({each.result for each in outcomes if each.is_well}) != CHARGED_WELL:
            yield "two charges are one entry of the ledger"

    yield Drill("Vault", "charge", prepare, charge, charged, across=True)
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

    yield Drill("Alert", "is_above", watched, is_above, one_above)


def _nobody() -> Tally:
    asked = parse_curator_question(
        "SELECT count(*) FROM nobody WHERE band < 0", schema_of("nobody")
    )
    return Tally(Rows(), (), asked.condition)
