"""One cap, many schemas: what the worst unit loses never passes it.

No statistics: a cap holds or it does not. The fixed part fills each kind of cap with each kind of charge, so a
unit that is not compared, or a conversion that is too cheap, is caught in every run.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from discreet.families.shared.estimate.public_random import generator
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget, Notion
from tests.harness.charging import (
    KINDS,
    Charge,
    Kind,
    Report,
    audit,
    every_pair,
    overspent,
    public_doors,
    random_sequences,
    worst_loss,
)

ROW, CHANGED_ROW, PERSON = Kind(False), Kind(True), Kind(False, 0)


def test_every_kind_of_charge_to_every_kind_of_cap_stays_below_it(tmp_path):
    report = Report()
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        every_pair(ledger, report)
    assert not report.found, report.text
    assert report.granted >= 4 * len(KINDS)


def test_every_public_way_to_spend_keeps_the_cap_for_every_unit(tmp_path):
    report = Report()
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        for door in public_doors(tmp_path):
            random_sequences(
                ledger, report, doors=(door,), sequences=3, length=5, random=generator()
            )
    assert not report.found, report.text
    assert report.granted > 0


@pytest.mark.trust
def test_500_random_sequences_by_the_api_and_2000_by_the_ledger_keep_every_cap(tmp_path):
    report = audit(tmp_path, sequences=500)
    assert not report.found, report.text


def test_a_release_by_person_and_ten_by_row_lose_more_than_their_sum():
    """The sum is 1; whoever has four rows loses 3.1 in tables of four rows, and more in larger ones."""
    charges = [Charge(PERSON, Budget(epsilon="3/10")), Charge(ROW, Budget(epsilon="7/10"))]
    assert max(worst_loss(charges, PERSON, Notion.EPSILON)) == (Decimal("3.1"), 0)
    assert overspent("both", Budget(epsilon=1), PERSON, charges) is not None
    assert overspent("both", Budget(epsilon="3.1"), PERSON, charges) is None


def test_a_changed_row_loses_twice_what_a_row_that_comes_loses_and_four_times_its_rho():
    assert worst_loss([Charge(ROW, Budget(epsilon=1))], CHANGED_ROW, Notion.EPSILON) == [(2, 0)]
    assert worst_loss([Charge(ROW, Budget(rho=1))], CHANGED_ROW, Notion.RHO) == [(4, 0)]
    ((_, delta),) = worst_loss(
        [Charge(ROW, Budget(epsilon=1, delta="1e-6"))], CHANGED_ROW, Notion.EPSILON
    )
    assert abs(float(delta) / 3.718281828e-6 - 1) < 1e-9


def test_a_row_that_comes_is_hidden_by_no_number_of_changes():
    ((amount, _),) = worst_loss([Charge(CHANGED_ROW, Budget(epsilon=1))], ROW, Notion.EPSILON)
    assert amount == Decimal("Infinity")
