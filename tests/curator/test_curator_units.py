"""Releases, questions, alerts and learnt schemas of one dataset protect the same people, or are refused."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import discreet as dc
from discreet.audits.observing import recording
from discreet.curator import learn_schema
from discreet.errors import LargeCap, WrongUnit
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.queries.classes import parse_class
from tests.curator.conftest import schema_of

TENTH = dc.Budget(epsilon="1/10")


@pytest.fixture
def ledger(tmp_path):
    with dc.Ledger.open(tmp_path / "ledger.db") as opened:
        yield opened


def released(table, schema, ledger, **more):
    return dc.release(
        table, schema, budget=TENTH, workload=[parse_class("histogram(sex)")], ledger=ledger, **more
    )


def test_a_release_by_row_is_refused_where_one_by_person_was_charged(table, ledger):
    ledger.declare("people", dc.Budget(epsilon=1))
    released(table, schema_of(max_rows=3), ledger)
    with pytest.raises(WrongUnit, match="any number of rows"):
        released(table, schema_of(), ledger, convert_unit=True)
    released(table, schema_of(max_rows=2), ledger)
    assert ledger.spent("people") == TENTH.times(2)


def test_a_curator_whose_schema_protects_others_does_not_open(table, ledger):
    released(table, schema_of("change-one"), ledger)
    ledger.raise_cap("people", dc.Budget(epsilon=1), reason="a test")
    with pytest.raises(WrongUnit, match="--convert-unit"):
        dc.Curator(table, schema_of(), ledger=ledger)
    with dc.Curator(table, schema_of(), ledger=ledger, convert_unit=True) as curator:
        curator.ask("SELECT count(*) FROM people", budget=TENTH)
        assert curator.spent == TENTH.times(3)
        curator.alert(3, budget=TENTH)
        assert curator.spent == TENTH.times(5)


@pytest.mark.parametrize(
    ("adjacency", "max_rows"), [("change-one", None), ("add-remove", 4), ("change-one", 4)]
)
def test_learning_protects_whom_the_cap_protects(table, ledger, adjacency, max_rows):
    ledger.declare("people", dc.Budget(epsilon=1))
    schema = schema_of(adjacency, max_rows=max_rows)
    released(table, schema, ledger)
    learn_schema(table, dataset="people", columns=["income"], budget=TENTH, ledger=ledger)
    assert [view.protects for view in ledger.entries()] == [schema.protects] * 2
    assert ledger.spent("people") == TENTH.times(2)


def test_learning_under_another_unit_is_refused_or_converted(table, ledger):
    ledger.declare("people", dc.Budget(epsilon=1))
    released(table, schema_of("change-one"), ledger)
    asked = {"dataset": "people", "columns": ["income"], "budget": TENTH, "ledger": ledger}
    with pytest.raises(WrongUnit):
        learn_schema(table, **asked, adjacency=Adjacency.ADD_REMOVE)
    learn_schema(table, **asked, adjacency=Adjacency.ADD_REMOVE, convert_unit=True)
    learn_schema(
        table,
        **asked,
        adjacency=Adjacency.ADD_REMOVE,
        unit=PrivacyUnit("person", 2),
        convert_unit=True,
    )
    assert ledger.spent("people") == TENTH.times(1 + 2 + 4)


def test_a_refused_lesson_makes_no_ledger(table, tmp_path):
    with pytest.raises(dc.BadInput):
        learn_schema(table, dataset="people", budget=TENTH, ledger=tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_large_cap_is_warned_of_before_anything_is_charged(table, ledger):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for attempt in (
            lambda: dc.Curator(table, schema_of(), ledger=ledger, cap=dc.Budget(epsilon=11)),
            lambda: dc.release(
                table,
                schema_of(),
                budget=dc.Budget(rho=2),
                workload=[parse_class("histogram(sex)")],
                ledger=ledger,
            ),
            lambda: learn_schema(
                table,
                dataset="people",
                columns=["age"],
                budget=dc.Budget(epsilon=11),
                ledger=ledger,
            ),
        ):
            with pytest.raises(LargeCap, match="gives almost no protection"):
                attempt()
        dc.Curator(table, schema_of(), ledger=ledger, cap=dc.Budget(epsilon=10)).close()
    assert ledger.entries() == []


VISITS = """
dataset = "visits"
[unit]
identifier = "person"
max_rows = 6
max_groups = 2
[columns.month]
kind = "integer"
range = [1, 12]
nulls = "exclude"
"""


def test_a_histogram_and_a_group_by_count_the_same_rows_and_say_which(tmp_path):
    """Twelve visits of each of 40 people, one a month: six are kept, those of two months are counted."""
    schema = dc.Schema.loads(VISITS)
    frame = pd.DataFrame(
        [(f"p{n}", m) for n in range(40) for m in range(1, 13)], columns=["person", "month"]
    )
    exact, notes = [], []
    cap, budget = dc.Budget(epsilon=9), dc.Budget(epsilon=1)
    with (
        recording() as tape,
        dc.Curator(frame, schema, ledger=tmp_path / "l.db", cap=cap) as curator,
    ):
        for sql in (
            "SELECT histogram(month) FROM visits",
            "SELECT month, count(*) FROM visits GROUP BY month",
        ):
            notes.append(curator.ask(sql, budget=budget).notes)
            exact.append(tape.steps[-1].exact.tolist())
        alone = curator.ask("SELECT count(*) FROM visits", budget=budget).notes
        fullest = curator.ask("SELECT mode(month) FROM visits", budget=budget).notes
    assert exact[0] == exact[1]
    assert sum(exact[0]) == 80
    assert (
        notes[0]
        == notes[1]
        == (
            "At most 6 rows of each person are counted, in at most 2 of the groups: the answer and its "
            "interval are about those.",
        )
    )
    said = "At most 6 rows of each person are counted: the answer and its interval are about those."
    assert alone == (said,) and said in fullest


def test_a_releases_answer_says_how_many_rows_of_a_person_are_counted(table, tmp_path):
    """Nothing is said where each row is protected by itself."""
    said = "At most 2 rows of each person are counted: the answer and its interval are about those."
    with dc.Ledger.open(tmp_path / "one.db") as ledger:
        bounded = released(table, schema_of(max_rows=2), ledger).ask("SELECT count(*) FROM people")
    with dc.Ledger.open(tmp_path / "other.db") as ledger:
        every = released(table, schema_of(), ledger).ask("SELECT count(*) FROM people")
    assert said in bounded.notes
    assert not any("are counted" in note for note in every.notes)
