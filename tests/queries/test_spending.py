"""Measurements asked for in one call cost their sum, however they overlap."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.mechanisms import DiscreteLaplace
from discreet.core.vault import Request, Vault
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.conversion import epsilon_from_rho, rho_from_budget
from discreet.queries.measurable import Marginal
from discreet.schema import Schema

SCHEMA = Schema.loads(
    'dataset = "people"\nadjacency = "add-remove"\n'
    '[columns.a]\nkind = "boolean"\n[columns.b]\nkind = "boolean"\n'
)


def test_measurements_of_one_call_cost_their_sum(tmp_path):
    half = DiscreteLaplace(epsilon=Fraction(1, 2))
    tables = [Request(Marginal(columns), half) for columns in (("a",), ("b",), ("a", "b"))]
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        grant = Vault(None, SCHEMA, ledger).charge(Budget(epsilon=1), purpose="t", request="t")
        with pytest.raises(BudgetExceeded, match=r"this costs epsilon 1\.5"):
            grant.measure(tables)


def test_deltas_add_like_epsilons():
    once = Budget(epsilon="1/4", delta="1e-6")
    assert once + once == Budget(epsilon="1/2", delta="2e-6")
    assert not Budget(epsilon=1, delta="1.9e-6").covers(once + once)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-9"), ("8", "1e-3")])
def test_the_rho_that_a_budget_allows_converts_back_to_no_more_than_the_budget(epsilon, delta):
    rho = rho_from_budget(epsilon=epsilon, delta=delta)
    assert epsilon_from_rho(rho, delta=delta) <= Fraction(epsilon)
    assert epsilon_from_rho(rho * Fraction(1001, 1000), delta=delta) > Fraction(epsilon)
