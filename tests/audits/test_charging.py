"""One cap, many schemas: what the worst unit loses never passes it.

No statistics: a cap holds or it does not. The fixed part fills each kind of cap with each kind of charge, so a
unit that is not compared, or a conversion that is too cheap, is caught in every run.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from discreet.curator import learn_schema
from discreet.errors import Refused, WrongUnit
from discreet.families.shared.estimate.public_random import generator
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget, Notion
from discreet.releases import release
from discreet.schema import Schema
from tests.harness.charging import (
    KINDS,
    Charge,
    Kind,
    Report,
    audit,
    every_pair,
    lost,
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


TWENTY = 20
"""Rows of one person, all of which are used."""


def _table_of_one_person_with_many_rows(folder: Path) -> Path:
    lines = [f"ann,{row % 10}" for row in range(TWENTY)] + [f"bob {row},3" for row in range(30)]
    path = folder / "people.csv"
    path.write_text("\n".join(["person,age", *lines]) + "\n", encoding="utf-8")
    return path


def _schema(adjacency: str = "add-remove", *, by_person: bool = False) -> Schema:
    unit = f'[unit]\nidentifier = "person"\nmax_rows = {TWENTY}\n' if by_person else ""
    return Schema.loads(
        f'dataset = "people"\nadjacency = "{adjacency}"\n{unit}'
        '[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
    )


def test_a_release_by_person_and_one_by_row_no_longer_lose_ten_and_a_half_under_a_cap_of_one(
    tmp_path,
):
    """The report's case. Half of the cap pays for Ann; the other half, by row, she would pay for twenty times."""
    source, half = _table_of_one_person_with_many_rows(tmp_path), Budget(epsilon="1/2")
    true_loss = lost(half, 1, Notion.EPSILON)[0] + lost(half, TWENTY, Notion.EPSILON)[0]
    assert true_loss == Decimal("10.5")
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.declare("people", Budget(epsilon=1))
        spend = partial(release, source, budget=half, workload=["histogram(age)"], ledger=ledger)
        spend(schema=_schema(by_person=True))
        with pytest.raises(WrongUnit, match="person"):
            spend(schema=_schema())
        with pytest.raises(
            Refused
        ):  # no number of persons is a row, so there is no conversion either
            spend(schema=_schema(), convert_unit=True)
        assert ledger.spent("people") == half


def test_a_learnt_schema_and_a_change_one_release_are_not_added_under_one_cap(tmp_path):
    """A schema was always learnt for rows that come and go; no number of changed rows hides one that comes."""
    source, half = _table_of_one_person_with_many_rows(tmp_path), Budget(epsilon="1/2")
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.declare("people", Budget(epsilon=1))
        learn_schema(source, dataset="people", columns=["age"], budget=half, ledger=ledger)
        spend = partial(release, source, budget=half, workload=["histogram(age)"], ledger=ledger)
        for convert_unit in (False, True):
            with pytest.raises(Refused, match="change-one"):
                spend(schema=_schema("change-one"), convert_unit=convert_unit)
        assert ledger.spent("people") == half


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
