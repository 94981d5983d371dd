"""A curator's aggregate from outside `src`: one entry, and it is read, paid for, answered and recorded."""

from __future__ import annotations

import pandas as pd
import pytest

import discreet as dc
from discreet.audits.losses import step_losses
from discreet.audits.observing import recording, replaying
from discreet.errors import BadInput, BadQuestion
from discreet.questions.dialects.aggregates import AggregateKind, register, registered
from discreet.questions.dialects.curator_sql import parse_curator_question
from tests.extending.missing import ENTRY

SCHEMA = dc.Schema.loads(
    """
dataset = "people"
adjacency = "add-remove"
[columns.age]
kind = "integer"
range = [0, 3]
nulls = "exclude"
[columns.pay]
kind = "integer"
range = [0, 120]
"""
)
FRAME = pd.DataFrame({"age": [k % 4 for k in range(400)], "pay": [None, 3, 50, 7] * 100})
MISSING = "SELECT missing(pay) FROM people"
BUDGET = dc.Budget(epsilon=4)
SURE = 1 - 1e-7


@pytest.fixture
def known():
    with registered(ENTRY):
        yield


def curator_of(frame, folder):
    return dc.Curator(frame, SCHEMA, ledger=folder / "l.db", cap=dc.Budget(epsilon=40))


@pytest.mark.usefixtures("known")
def test_a_curator_answers_it_alone_by_group_under_a_condition_and_beside_others(tmp_path):
    """False alarm of each interval: 1e-7."""
    with curator_of(FRAME, tmp_path) as curator:
        one = curator.ask(MISSING, budget=BUDGET, confidence=SURE)
        assert one.only.lower <= 100 <= one.only.upper and one.only.upper - one.only.lower < 50
        assert "Counted as all rows less those with a value." in one.notes
        grouped = curator.ask(
            "SELECT age, missing(pay) FROM people GROUP BY age", budget=BUDGET, confidence=SURE
        )
        column = grouped.columns[0]
        for lower, exact, upper in zip(column.lower, (100, 0, 0, 0), column.upper, strict=True):
            assert lower <= exact <= upper
        beside = curator.ask(
            "SELECT count(*), missing(pay) FROM people WHERE age >= 1",
            budget=BUDGET,
            confidence=SURE,
        )
        assert beside.columns[1].lower[0] == 0 and beside.columns[1].upper[0] < 50
        again = curator.ask(MISSING, budget=BUDGET, confidence=SURE).only
        assert again.estimate == one.only.estimate, "an answer that was paid for is given again"


@pytest.mark.usefixtures("known")
def test_its_answer_on_a_neighbour_differs_by_what_was_paid_for(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with recording() as tape, curator_of(FRAME, tmp_path / "one") as curator:
        first = curator.ask(MISSING, budget=BUDGET).only
    with replaying(tape) as replayed, curator_of(FRAME[:-1], tmp_path / "other") as curator:
        second = curator.ask(MISSING, budget=BUDGET).only
    assert (first.estimate, first.lower) == (second.estimate, second.lower)
    losses = step_losses(tape.steps, replayed.steps, [])
    assert sum(loss.epsilon for loss in losses) == BUDGET.epsilon


@pytest.mark.usefixtures("known")
def test_it_refuses_what_it_cannot_count_before_anything_is_charged(tmp_path):
    with curator_of(FRAME, tmp_path) as curator:
        for asked, why in (
            ("SELECT missing(age) FROM people", "holds no nulls"),
            ("SELECT missing(pay, 2) FROM people", "takes 1 argument"),
            ("SELECT missing(pay + 1) FROM people", "takes a plain column"),
            ("SELECT misssing(pay) FROM people", "missing"),
        ):
            with pytest.raises(BadQuestion, match=why):
                curator.ask(asked, budget=BUDGET)
        with pytest.raises(BadQuestion, match="depends on the data"):
            curator.ask(MISSING, accuracy="±50 at 95%")


def test_without_its_entry_nothing_knows_it():
    with pytest.raises(BadQuestion, match="takes no"):
        parse_curator_question(MISSING, SCHEMA)


def test_an_aggregate_has_one_entry_and_the_form_of_a_function():
    with pytest.raises(BadInput, match="already"):
        register(AggregateKind(kind="sum", is_function=True))
    with pytest.raises(BadInput, match="a function of one column"):
        register(AggregateKind(kind="Most Of", is_function=True))
