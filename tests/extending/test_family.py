"""A family from outside `src`: one entry, and all that is done with a release is done with it."""

from __future__ import annotations

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import BadInput, BadRelease, NotAnswerable
from discreet.queries.classes import parse_class
from discreet.queries.registry import Family, register, registered
from tests.extending.remainders import FAMILY
from tests.extending.whole_way import Way, walked
from tests.harness.forgery import registered as forged_classes
from tests.harness.material.tables import possible

SCHEMA = dc.Schema.loads(
    """
dataset = "people"
adjacency = "add-remove"
[columns.age]
kind = "integer"
range = [0, 11]
[columns.kids]
kind = "integer"
range = [0, 3]
"""
)
FRAME = pd.DataFrame({"age": [k % 12 for k in range(600)], "kids": [k % 4 for k in range(600)]})
EVEN = "SELECT count(*) FROM people WHERE age IN (0, 2, 4, 6, 8, 10)"
WAY = Way(FRAME, SCHEMA, ("remainders(age, 2)", "marginals(kids)"), EVEN, 300)


@pytest.fixture
def known():
    with registered(FAMILY):
        yield


@pytest.mark.usefixtures("known")
def test_it_goes_the_whole_way_of_a_release(tmp_path):
    reader = walked(WAY, tmp_path)
    page = dc.render_report(reader)
    assert "Rows by remainder of age" in page and "IN (0, 2, 4, 6, 8, 10)" in page
    odd = reader.ask("SELECT count(*) FROM people WHERE age IN (1, 3, 5, 7, 9, 11)").only
    all_ages = reader.ask("SELECT count(*) FROM people WHERE age >= 0").only
    even = reader.ask(EVEN).only
    assert all_ages.estimate == even.estimate + odd.estimate
    with pytest.raises(NotAnswerable, match="remainders"):
        reader.ask("SELECT count(*) FROM people WHERE age < 3")
    drawn = reader.synthesize(2_000, seed=3).to_dict()
    assert set(drawn) == {"age", "kids"} and set(drawn["age"]) == set(range(12))
    # half of them, give or take the noise and 6 standard errors
    assert 0.4 < sum(age % 2 for age in drawn["age"]) / 2_000 < 0.6
    claim = reader.usefulness("remainders(age, 2)", delta="1/20")
    assert even.upper - even.estimate <= claim.bound
    assert "remainders(age, 2)" in {text.text for text, _ in possible(SCHEMA)}
    assert ("remainders", "noisy-remainders") in forged_classes()


def test_without_its_entry_nothing_knows_it(tmp_path):
    with registered(FAMILY):
        path = tmp_path / "made.release"
        dc.release_to_file(
            FRAME, SCHEMA, path, budget=dc.Budget(epsilon=1), workload=["remainders(age, 2)"],
            ledger=tmp_path / "ledger.db",
        )  # fmt: skip
    with pytest.raises(BadInput, match="is not known"):
        parse_class("remainders(age, 2)")
    with pytest.raises(BadRelease):
        dc.open_release(path)


def test_a_class_is_read_and_a_kind_of_part_answered_in_one_way_only():
    for taken in (
        Family(name="tables"),
        Family(name="new", readers={"marginals": FAMILY.readers["remainders"]}),
        Family(name="new", sources={"ranges": "nowhere:at_all"}),
        Family(name="new", usefulness={"means": "nowhere:at_all"}),
    ):
        with pytest.raises(BadInput, match="already"):
            register(taken)
