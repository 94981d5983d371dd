"""The general mechanism as a release: asked, verified, forged, planned and refused like any other."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest

from discreet.answering import ReleaseReader
from discreet.artifacts.files import release_bytes
from discreet.audits.losses import step_losses
from discreet.audits.observing import recording, replaying
from discreet.errors import BadInput, NotAnswerable
from discreet.families.predicates.queries.predicates import Predicates
from discreet.privacy.budget import Budget
from discreet.releases import TargetError, plan
from discreet.releases.algorithms import algorithm_for
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.no_noise import without_noise
from tests.releasing import release, release_to_file

SCHEMA = """
dataset = "patients"
people = {people}
adjacency = "change-one"
[columns.smokes]
kind = "boolean"
[columns.coughs]
kind = "boolean"
nulls = "{nulls}"
[columns.age]
kind = "integer"
range = [0, 31]
nulls = "{nulls}"
"""
CONDITIONS = ("smokes", "coughs", "smokes AND coughs")
PREDICATES = Predicates(CONDITIONS)
INTERVALS = "intervals(age)"
ONE = Budget(epsilon=1)
SCHEMA_CODES = {"smokes": 1}
"""The cell of `true`."""


def schema(people=2000, nulls="cell"):
    return Schema.loads(SCHEMA.format(people=people, nulls=nulls))


def patients(rows=2000, seed=5):
    public = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "smokes": public.random(rows) < 0.3,
            "coughs": pandas.array(public.random(rows) < 0.4, dtype="boolean"),
            "age": pandas.array(public.integers(0, 32, rows), dtype="Int64"),
        }
    )


def general(table, facts, asked, ledger, budget=ONE, **more):
    text = asked if isinstance(asked, str) else asked.text
    return release(
        table,
        facts,
        budget=budget,
        workload=[asked],
        algorithms={text: "general"},
        ledger=ledger,
        **more,
    )


def test_predicates_are_off_by_no_more_than_the_theorem_says(tmp_path):
    """At a probability of failure of 1e-9."""
    table = patients()
    made = general(table, schema(), PREDICATES, tmp_path / "ledger", confidence=1 - 1e-9)
    (claim,) = made.claims
    reader = ReleaseReader(made)
    assert claim.simultaneous and claim.bound < 1200
    true = {
        "smokes": table.smokes,
        "coughs": table.coughs,
        "smokes AND coughs": table.smokes & table.coughs,
    }
    for condition, rows in true.items():
        answer = reader.ask(
            f"SELECT count(*) FROM patients WHERE {condition}", confidence=0.95
        ).only
        assert abs(answer.estimate - int(rows.sum())) <= claim.bound + 1
        assert answer.lower <= int(rows.sum()) <= answer.upper
    with pytest.raises(NotAnswerable):
        reader.ask("SELECT count(*) FROM patients WHERE smokes OR coughs")


def test_intervals_are_off_by_no_more_than_the_theorem_says(tmp_path):
    """At a probability of failure of 1e-9, over all 528 intervals; rows without an age are a kind of their own."""
    table = patients()
    table.loc[:1499, "age"] = pandas.NA
    for nulls in ("cell", "exclude"):
        made = general(table, schema(nulls=nulls), INTERVALS, tmp_path / nulls, confidence=1 - 1e-9)
        (claim,) = made.claims
        counts = made.parts[0].estimates["counts"]
        exact = np.array([int((table.age == age).sum()) for age in range(32)])
        walk = np.concatenate([[0], np.cumsum(counts - exact)])
        assert walk.max() - walk.min() <= claim.bound < 1000
        answer = (
            ReleaseReader(made).ask("SELECT count(*) FROM patients WHERE age BETWEEN 8 AND 15").only
        )
        assert answer.lower <= int(table.age.between(8, 15).sum()) <= answer.upper


def test_a_release_is_written_verified_and_computed_again(tmp_path):
    for place, asked in enumerate((PREDICATES, INTERVALS)):
        path = tmp_path / f"{place}.release"
        text = asked if isinstance(asked, str) else asked.text
        release_to_file(
            patients(300), schema(300), path=path, budget=Budget(epsilon=1), workload=[asked],
            algorithms={text: "general"}, ledger=tmp_path / f"{place}.db",
        )  # fmt: skip
        found = verify(path)
        assert found.ok and found.measurements == 1 and not found.unchecked
        assert found.total == Budget(epsilon=1)


@pytest.mark.parametrize("asked", [PREDICATES, INTERVALS])
def test_a_forged_choice_does_not_verify(tmp_path, asked):
    made = general(patients(200), schema(200), asked, tmp_path / "ledger")
    (part,) = made.parts
    (chosen,) = part.measurements
    assert verify(made).ok
    lies = {
        "sensitivity": replace(part, measurements=(replace(chosen, sensitivity=1 + chosen.sensitivity),)),
        "among": replace(part, measurements=(replace(chosen, candidates=2 * chosen.candidates),)),
        "estimates": replace(part, measurements=(replace(chosen, chosen=(chosen.chosen + 1) % chosen.candidates),)),
        "among ": replace(part, facts={**part.facts, "size": part.facts["size"] + 1}),
        "facts": replace(part, facts={**part.facts, "error": 0.0}),
    }  # fmt: skip
    for lie, forged in lies.items():
        found = verify(replace(made, parts=(forged,)))
        assert not found.ok, lie


def test_synthetic_rows_come_from_the_sanitised_database(tmp_path):
    made = general(patients(), schema(), PREDICATES, tmp_path / "ledger", Budget(epsilon=20))
    drawn = ReleaseReader(made).synthesize(rows=4000, seed=1)
    assert drawn.names == ("smokes", "coughs")
    true = SCHEMA_CODES["smokes"]
    assert abs((drawn.codes[:, 0] == true).mean() - 0.3) < 0.1


def test_the_best_database_is_chosen_where_there_is_no_noise(tmp_path):
    with without_noise():
        made = general(patients(), schema(), PREDICATES, tmp_path / "ledger")
    reader = ReleaseReader(made)
    size = made.parts[0].facts["size"]
    for condition in CONDITIONS:
        true = int(patients().query(condition.replace("AND", "and")).shape[0])
        answer = reader.ask(f"SELECT count(*) FROM patients WHERE {condition}").only
        assert abs(answer.estimate - true) <= 2000 / size


def test_the_plan_is_solved_for_rows_and_for_epsilon():
    facts, text = schema(), PREDICATES.text
    named = {"algorithms": {text: "general"}, "workload": [PREDICATES]}
    target = TargetError(query_class=text, relative=0.2, simultaneous=True)
    rows = plan(facts, budget=Budget(epsilon=1), target=target, **named)
    assert rows.classes[0].error.simultaneous <= 0.2 * rows.rows_assumed
    fewer = plan(facts, budget=Budget(epsilon=1), rows=rows.rows_assumed - 1, **named)
    assert fewer.classes[0].error.simultaneous > 0.2 * (rows.rows_assumed - 1)
    epsilon = plan(facts, target=target, rows=rows.rows_assumed, **named)
    assert Fraction(99, 100) <= epsilon.charge.epsilon <= Fraction(101, 100)
    assert "VC dimension 1" in rows.classes[0].error.note
    assert "without privacy" in rows.classes[0].error.note


def test_the_plan_of_intervals_is_solved_for_rows_although_very_many_rows_cannot_be_drawn():
    facts = Schema.loads(
        'dataset = "t"\nadjacency = "change-one"\n[columns.x]\nkind = "integer"\nrange = [0, 31]\n'
    )
    named = {"algorithms": {"intervals(x)": "general"}, "workload": ["intervals(x)"]}
    target = TargetError(query_class="intervals(x)", relative=0.05)
    solved = plan(facts, budget=Budget(epsilon=1), target=target, **named)
    assert solved.classes[0].error.half_width <= 0.05 * solved.rows_assumed
    fewer = plan(facts, budget=Budget(epsilon=1), rows=solved.rows_assumed // 2, **named)
    assert fewer.classes[0].error.half_width > 0.05 * (solved.rows_assumed // 2)


def test_the_promise_of_a_plan_is_the_claim_of_the_release(tmp_path):
    for asked in (PREDICATES, INTERVALS):
        text = asked if isinstance(asked, str) else asked.text
        planned = plan(
            schema(),
            budget=Budget(epsilon=1),
            workload=[asked],
            algorithms={text: "general"},
            rows=500,
        )
        made = general(patients(500), schema(), asked, tmp_path / text[:4])
        assert made.claims[0].bound == planned.classes[0].error.simultaneous


@pytest.mark.parametrize("asked", [PREDICATES, INTERVALS])
def test_a_neighbour_gives_the_same_file_and_no_more_than_epsilon_tells_them_apart(tmp_path, asked):
    """The same outputs replayed on a table with one changed row: all but the exact numbers is alike."""
    table = patients(200)
    neighbour = table.copy()
    neighbour.loc[7, ["smokes", "coughs", "age"]] = [not table.smokes[7], pandas.NA, 31]
    with recording() as first:
        one = general(table, schema(200), asked, tmp_path / "one")
    with replaying(first) as second:
        other = general(neighbour, schema(200), asked, tmp_path / "other")
    assert release_bytes(one) == release_bytes(other)
    assert first.questions == second.questions
    losses = step_losses(first.steps, second.steps, iter(()))
    assert len(losses) == 1 and 0 < losses[0].epsilon <= 1


def test_a_zcdp_share_buys_the_epsilon_whose_eighth_square_it_is(tmp_path):
    made = general(
        patients(200), schema(200), PREDICATES, tmp_path / "ledger", Budget(rho=Fraction(1, 8))
    )
    cost = made.parts[0].measurements[0].cost
    assert cost.epsilon == 1 and cost.rho == Fraction(1, 8)
    assert verify(made).ok


def test_what_it_cannot_do_is_refused_before_anything_is_read():
    with pytest.raises(BadInput, match="change-one"):
        algorithm_for(
            PREDICATES,
            Schema.loads(SCHEMA.format(people=9, nulls="cell").replace("change-one", "add-remove")),
            named="general",
        )
    wide = Schema.loads(SCHEMA.format(people=9, nulls="cell").replace("31", "9999"))
    with pytest.raises(BadInput, match="at most 4,096"):
        plan(
            wide, budget=Budget(epsilon=1), workload=[INTERVALS], algorithms={INTERVALS: "general"}
        )


def test_a_small_budget_or_table_gives_a_trivial_promise_and_no_failure(tmp_path):
    for rows in (0, 1, 3):
        for place, asked in enumerate((PREDICATES, INTERVALS)):
            made = general(
                patients(rows),
                schema(rows or 1),
                asked,
                tmp_path / f"{rows}-{place}",
                Budget(epsilon=Fraction(1, 10**6)),
            )
            assert made.claims[0].bound <= rows
            assert verify(made).ok


def test_the_manifest_of_a_large_choice_is_plain_json(tmp_path):
    """The number of a chosen database has more digits than 64 bits."""
    made = general(patients(), schema(), INTERVALS, tmp_path / "ledger")
    stored = made.parts[0].measurements[0].stored(lambda array: 0)
    assert json.loads(json.dumps(stored))["candidates"] == made.parts[0].measurements[0].candidates
    assert made.parts[0].measurements[0].candidates > 2**64
