"""What stands between a question and the rows: charge, then read; pay for each number; no row counts for more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.core.mechanisms import DiscreteLaplace, Exponential
from discreet.core.vault import ChoiceRequest, TallyRequest, Vault
from discreet.engines import open_engine
from discreet.errors import BudgetExceeded
from discreet.ledger import EntryState, Ledger
from discreet.privacy.adjacency import Adjacency
from discreet.queries.group_choices import CellScores
from discreet.queries.tallies import Cells, Present, Rows, Squares, Tally, Term, Total, Valued
from tests.curator.conftest import Opener, schema_of

HALF = DiscreteLaplace(epsilon=Fraction(1, 2))
TWO = [TallyRequest(Tally(Rows()), HALF), TallyRequest(Tally(Present("sex")), HALF)]


class Watching:
    """An engine that answers zeros, and notes how far the entry had come when it was asked."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.seen: list[Any] = []

    def tally(self, tallies: list[Tally]) -> list[np.ndarray]:
        self.seen.append([entry.state for entry in self.ledger.entries()])
        return [np.zeros(1, dtype=np.int64) for _ in tallies]


def test_tallies_are_read_on_a_charge_that_pays_for_all_of_them(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l.db") as ledger:
        engine: Any = Watching(ledger)
        vault = Vault(engine, schema_of(), ledger)
        ledger.declare("people", dc.Budget(epsilon=9))
        grant = vault.charge(dc.Budget(epsilon="9/10"), purpose="t", request="1")
        with pytest.raises(BudgetExceeded):
            grant.tally(TWO)
        assert engine.seen == []  # too dear: nothing was read
        grant = vault.charge(dc.Budget(epsilon=1), purpose="t", request="2")
        grant.tally(TWO)
        assert engine.seen == [[EntryState.CHARGED, EntryState.READING]]
        with pytest.raises(BudgetExceeded):
            grant.tally(TWO[:1])
        assert len(engine.seen) == 1


class Three(Watching):
    """The same, of tables of three cells."""

    def tally(self, tallies: list[Tally]) -> list[np.ndarray]:
        return [np.zeros(3, dtype=np.int64) for _ in super().tally(tallies)]


def test_choices_in_groups_are_made_on_a_charge_that_pays_for_all_of_them(tmp_path: Path) -> None:
    """Two choices of a half each, one of them made twice, cost one and a half, whatever the groups."""
    half = Exponential(epsilon=Fraction(1, 2))
    scores = CellScores(Tally(Cells("member")))
    two = [ChoiceRequest(scores, half, times=2), ChoiceRequest(scores, half)]
    with Ledger.open(tmp_path / "l.db") as ledger:
        engine: Any = Three(ledger)
        vault = Vault(engine, schema_of(), ledger)
        ledger.declare("people", dc.Budget(epsilon=9))
        grant = vault.charge(dc.Budget(epsilon="14/10"), purpose="t", request="1")
        with pytest.raises(BudgetExceeded):
            grant.tally_and_choose((), two)
        assert engine.seen == []
        grant = vault.charge(dc.Budget(epsilon="3/2"), purpose="t", request="2")
        _, (first, second) = grant.tally_and_choose((), two)
        assert engine.seen == [[EntryState.CHARGED, EntryState.READING]]
        assert grant.left.amount == 0
        assert first.shape == (1, 2) and len(set(first[0])) == 2 and second.shape == (1, 1)


def test_tallies_and_choices_are_read_together_and_each_is_paid(tmp_path: Path) -> None:
    half = Exponential(epsilon=Fraction(1, 2))
    tally = Tally(Cells("member"))
    asked = [TallyRequest(tally, HALF)]
    choices = [ChoiceRequest(CellScores(tally), half)]
    with Ledger.open(tmp_path / "l.db") as ledger:
        engine: Any = Three(ledger)
        vault = Vault(engine, schema_of(), ledger)
        ledger.declare("people", dc.Budget(epsilon=9))
        grant = vault.charge(dc.Budget(epsilon="9/10"), purpose="t", request="1")
        with pytest.raises(BudgetExceeded):
            grant.tally_and_choose(asked, choices)
        assert engine.seen == []
        grant = vault.charge(dc.Budget(epsilon=1), purpose="t", request="2")
        (noisy,), (chosen,) = grant.tally_and_choose(asked, choices)
        assert len(engine.seen) == 1 and grant.left.amount == 0
        assert noisy.values.shape == (3,) and chosen.shape == (1, 1)


def test_a_question_is_in_the_ledger_when_the_engine_hears_of_it(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator = opened()
    real, spent = curator._engine.tally, []

    def tally(tallies: list[Tally]) -> Any:
        spent.append(curator.spent)
        return real(tallies)

    monkeypatch.setattr(curator._engine, "tally", tally)
    curator.ask("SELECT count(*), avg(age), sum(age) FROM people", budget=dc.Budget(epsilon=1))
    assert spent == [dc.Budget(epsilon=1)]


SCHEMA = """
dataset = "t"
[columns.x]
kind = "integer"
range = [-4, 10]
nulls = "exclude"
[columns.g]
kind = "category"
values = ["a", "b"]
other = false
nulls = "exclude"
"""
TERMS: list[Term] = [
    Rows(), Present("x"), Valued("x"), Total("x", 2, 0), Total("x", 2, 6), Squares("x", 2, 6, 1),
    Cells("x"), Cells("x", 2),
]  # fmt: skip


def test_no_row_moves_a_tally_further_than_it_says() -> None:
    """All rows at both bounds, beyond them and in the middle, in either group or in none."""
    schema = dc.Schema.loads(SCHEMA)
    rows = list(product([-4, 3, 10, 99, -99, None], ["a", "b", None]))
    asked = [Tally(term, groups) for term in TERMS for groups in ((), ("g",))]
    added = [[np.zeros(tally.size(schema), dtype=np.int64) for tally in asked]]
    for x, g in rows:
        frame = pd.DataFrame({"x": pd.array([x], dtype="Int64"), "g": pd.array([g], "string")})
        with open_engine(frame, schema, threads=1) as engine:
            added.append(engine.tally(asked))
    for adjacency in Adjacency:
        told = replace(schema, adjacency=adjacency)
        for place, tally in enumerate(asked):
            said = tally.sensitivity(told)
            others = added[:1] if adjacency is Adjacency.ADD_REMOVE else added
            moves = [np.abs(one[place] - other[place]) for one, other in product(added, others)]
            assert max(int(move.sum()) for move in moves) == said.l1, tally
            assert max(int((move**2).sum()) for move in moves) == said.l2_squared, tally
