"""The replay oracle on curators: the same outputs on a neighbour, and everything else alike.

Recorded on one messy table, replayed on neighbours of it: the exact numbers may differ by what the
charges pay for, and nothing else may differ at all: questions to the engine, answers, charges, errors.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audits.guessing.tables import GeneratedTable
from discreet.audits.losses import step_losses
from discreet.audits.observing import Divergence, Tape, recording, replaying
from discreet.curator.planning import plan_question
from discreet.ledger import Ledger
from discreet.privacy.budget import Notion
from discreet.privacy.cost import Accounting
from discreet.queries import tallies
from discreet.questions.dialects.curator_sql import parse_curator_question
from tests.harness.material.tables import random_table, written
from tests.harness.random_neighbours import neighbours
from tests.harness.replay import check_charged

CONDITIONS = {
    "category": "category = 'a' OR length(category) > 1",
    "category_other": "lower(category_other) <> 'x'",
    "boolean": "boolean IS NOT TRUE",
    "integer": "integer * integer % 3 = 1",
    "integer_wide": "integer_wide / (integer_wide - 7) > 1",
    "number": "number * number > 0.5",
    "date": "extract(month FROM date) < 3",
}
NUMERIC = ("integer", "integer_wide", "number")
MOMENTS = ("date",)


def random_unit(table: GeneratedTable, generator: Any) -> GeneratedTable:
    """Sometimes with a bound on the groups of a person."""
    unit = table.schema.unit
    if unit.identifier is None or not generator.integers(2):
        return table
    bounded = replace(unit, max_groups=int(generator.integers(1, 4)))
    return replace(table, schema=replace(table.schema, unit=bounded))


def random_unlisted(schema: dc.Schema, budget: dc.Budget, generator: Any) -> list[str]:
    """Sometimes the categories' groups are those that are found."""
    if budget.notion is Notion.RHO or not budget.delta or not generator.integers(4):
        return []
    return [column.name for column in schema.columns if column.kind == "category"]


def random_question(schema: dc.Schema, generator: Any) -> str:
    names = [column.name for column in schema.columns]
    numeric = [name for name in names if name in NUMERIC]
    options = ["count(*)", *(f"count({name})" for name in names)]
    if schema.unit.identifier is not None:
        options.append("count(DISTINCT unit)")
    for name in numeric:
        options += [f"{f}({name})" for f in ("sum", "avg", "stddev", "median")]
        options += [
            f"{f}({random_summand(names, numeric, generator)})" for f in ("sum", "avg", "count")
        ]
    options += [f"median({name})" for name in names if name in MOMENTS]
    options += [f"count(DISTINCT {name})" for name in names if name in ("category", "boolean")]
    if numeric:
        x, y = (random_summand(names, numeric, generator) for _ in range(2))
        options += [f"{f}({y}, {x})" for f in ("corr", "covar_samp", "regr_slope")]
    name = names[generator.integers(len(names))]
    where = f" WHERE {CONDITIONS[name]}" if generator.integers(2) else ""
    kind = generator.integers(4)
    if kind == 0:
        alone = ("histogram", "mode")[generator.integers(2)]
        declared = [each for each in names if not each.startswith("category")]
        by = f" GROUP BY {declared[0]}" if declared and generator.integers(2) else ""
        return f"SELECT {alone}({name}) FROM audit{where}{by}"
    count = min(len(options), int(generator.integers(1, 4)))
    chosen = ", ".join(generator.permutation(options)[:count])
    group = f" GROUP BY {name}" if kind > 1 else ""
    return f"SELECT {chosen} FROM audit{where}{group}"


def random_summand(names: list[str], numeric: list[str], generator: Any) -> str:
    """An expression over some columns, with bounds."""
    left, right = (numeric[generator.integers(len(numeric))] for _ in range(2))
    where = CONDITIONS[names[generator.integers(len(names))]]
    return [
        f"{left} * {right}", f"{left} - 2 * {right}", f"least({left}, 3) / 7", f"abs({left}) % 5",
        f"CASE WHEN {where} THEN {left} ELSE 1 END", f"coalesce({left}, {right}, 2)",
        f"round({left} / 3)",
    ][generator.integers(7)]  # fmt: skip


def random_budget(generator: Any) -> tuple[dc.Budget, dc.Budget]:
    """A budget, and a cap that covers it many times."""
    options = [dc.Budget(epsilon=1), dc.Budget(epsilon="1/3", delta="1e-6"), dc.Budget(rho="1/5")]
    chosen = options[generator.integers(3)]
    return chosen, chosen.times(20)


def asked(
    table: GeneratedTable,
    question: str,
    prices: tuple[dc.Budget, dc.Budget],
    tape: Tape | None,
    unlisted: list[str],
) -> tuple[Tape, str]:
    """What a run did, and all that an onlooker could see of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(table, Path(folder))
        watch = recording() if tape is None else replaying(tape)
        with watch as done, Ledger.open(Path(folder) / "ledger.db") as ledger:
            with dc.Curator(
                path, table.schema, ledger=ledger, cap=prices[1], data_version="1"
            ) as curator:
                answers = curator.ask(question, budget=prices[0], undeclared=unlisted)
                seen = f"{answers.to_dict()} {curator.left}"
            charges = [(e.cost, e.state, e.request, e.digest) for e in ledger.entries()]
    return done, f"{seen} {charges}"


def check_pairs(pairs: int, generator: Any) -> Counter[str]:
    kinds: Counter[str] = Counter()
    largest = Fraction(0)
    checked = 0
    while checked < pairs:
        table = random_unit(random_table(generator), generator)
        question, prices = random_question(table.schema, generator), random_budget(generator)
        unlisted = random_unlisted(table.schema, prices[0], generator)
        tape, seen = asked(table, question, prices, None, unlisted)
        parsed = parse_curator_question(question, table.schema, unlisted=unlisted)
        planned = plan_question(parsed, table.schema, budget=prices[0], notion=prices[1].notion)
        for neighbour in neighbours(table, generator, most=3):
            replayed, seen_there = asked(neighbour, question, prices, tape, unlisted)
            if seen != seen_there:
                raise Divergence("two neighbouring tables look different with the same noise")
            if tape.questions != replayed.questions:
                raise Divergence("the engine was asked other questions on a neighbouring table")
            losses = step_losses(tape.steps, replayed.steps, iter(()))
            check_charged(losses, planned.charge, planned.accounting)
            largest = max(largest, *(loss.rho for loss in losses))
            checked += 1
        kinds.update(one.kind for one in parsed.aggregates)
        kinds.update(["found keys"] if parsed.unlisted else [])
    assert largest > 0, "no neighbour moved anything: the audit looked at nothing"
    return kinds


def test_no_neighbour_is_told_apart_by_more_than_a_question_costs() -> None:
    check_pairs(45, np.random.default_rng())


@pytest.mark.trust
def test_no_neighbour_is_told_apart_by_any_kind_of_question() -> None:
    kinds = check_pairs(1500, np.random.default_rng())
    assert {
        "count",
        "present",
        "persons",
        "sum",
        "avg",
        "stddev",
        "quantile",
        "histogram",
        "top",
        "distinct",
        "corr",
        "regr_slope",
        "found keys",
    } <= set(kinds)


def check_found_keys(pairs: int, generator: Any) -> int:
    """How many keys were named: a delta of a twentieth names some even in tables of a few rows."""
    prices = (dc.Budget(epsilon=4, delta="1/20"), dc.Budget(epsilon=4, delta="1/20"))
    checked = named = 0
    while checked < pairs:
        table = random_unit(random_table(generator, rows=int(generator.integers(0, 25))), generator)
        unlisted = [one.name for one in table.schema.columns if one.kind == "category"]
        if not unlisted:
            continue
        what = "count(DISTINCT unit), count(*)" if table.schema.unit.identifier else "count(*)"
        question = f"SELECT {what} FROM audit GROUP BY {', '.join(unlisted)}"
        tape, seen = asked(table, question, prices, None, unlisted)
        named += sum(len(step.named) for step in tape.steps)
        for neighbour in neighbours(table, generator, most=3):
            replayed, seen_there = asked(neighbour, question, prices, tape, unlisted)
            assert seen == seen_there
            assert tape.questions == replayed.questions
            losses = step_losses(tape.steps, replayed.steps, iter(()))
            check_charged(losses, prices[0], Accounting.BASIC)
            checked += 1
    return named


def test_found_keys_tell_no_neighbour_apart_by_more_than_they_cost() -> None:
    check_found_keys(24, np.random.default_rng())


@pytest.mark.trust
def test_found_keys_tell_none_of_many_neighbours_apart() -> None:
    assert check_found_keys(900, np.random.default_rng()) > 0


def watched(
    table: GeneratedTable, questions: list[str], tape: Tape | None
) -> tuple[Tape, list[bool]]:
    """An alert's run over some counts."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(table, Path(folder))
        watch = recording() if tape is None else replaying(tape)
        with (
            watch as done,
            Ledger.open(Path(folder) / "ledger.db") as ledger,
            dc.Curator(path, table.schema, ledger=ledger, cap=dc.Budget(epsilon=1)) as curator,
        ):
            alert = curator.alert(3, budget=dc.Budget(epsilon=1))
            seen: list[bool] = []
            while questions and len(seen) < 6 and not alert.over:
                seen.append(alert.is_above(questions[len(seen) % len(questions)]))
    return done, seen


def test_an_alert_tells_no_neighbour_apart_by_more_than_its_epsilon() -> None:
    generator = np.random.default_rng()
    for _ in range(6):
        table = random_table(generator)
        questions = [
            f"SELECT count(*) FROM audit WHERE {CONDITIONS[column.name]}"
            for column in table.schema.columns
        ]
        tape, seen = watched(table, questions, None)
        for neighbour in neighbours(table, generator, most=2):
            replayed, seen_there = watched(neighbour, questions, tape)
            assert seen == seen_there
            assert tape.questions == replayed.questions
            losses = step_losses(tape.steps, replayed.steps, iter(()))
            check_charged(losses, dc.Budget(epsilon=1), Accounting.BASIC)


def test_the_oracle_sees_a_sensitivity_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the bound of add-remove used under change-one, where a row leaves one group for another."""
    correct = tallies.Tally.sensitivity

    def halved(self: tallies.Tally, schema: dc.Schema) -> Any:
        found = correct(self, schema)
        return type(found)(l1=max(1, found.l1 // 4), l2_squared=max(1, found.l2_squared // 16))

    monkeypatch.setattr(tallies.Tally, "sensitivity", halved)
    with pytest.raises(Divergence, match="told apart"):
        check_pairs(400, np.random.default_rng())
