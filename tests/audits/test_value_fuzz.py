"""No value of any type stops a run, speaks, or moves an exact number further than its row may."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, EngineFailed
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.releases import release_to_file
from tests.harness.oddities.values import CANARY, Case, invented
from tests.harness.oddities.watched_sources import OWN_STEPS, watched_sources
from tests.harness.value_fuzz import (
    BY_KIND,
    BY_ROW,
    ENGINES,
    MADE_UP,
    PACKAGES,
    findings,
    other_findings,
    source_findings,
)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_odd_value_can_be_seen_but_in_the_counts_of_its_row(package: str) -> None:
    assert list(findings(quick=True, packages=[package])) == []


def test_no_source_is_touched_before_the_first_verb_or_heard_when_it_fails(tmp_path: Path) -> None:
    assert list(source_findings(tmp_path, BY_ROW)) == []


@pytest.mark.parametrize("name", OWN_STEPS)
def test_a_release_of_a_lazy_table_that_fails_midway_is_charged_and_says_one_fixed_sentence(
    tmp_path: Path, name: str
) -> None:
    """Nothing is touched before the charge, no file is left, and the row that broke it is not in the words."""
    made, said = watched_sources(tmp_path)[name], set()
    for row in (CANARY, f"{CANARY}-2"):
        folder = tmp_path / row
        folder.mkdir()
        touched: list[int] = []
        with Ledger.open(folder / "ledger.db") as ledger:
            ledger.declare("fuzz", Budget(epsilon="1/2"))
            publish = partial(
                release_to_file,
                schema=BY_KIND["category"],
                path=folder / "out.release",
                workload=["histogram(category)"],
                ledger=ledger,
            )
            with pytest.raises(BudgetExceeded):
                publish(made([row, *["1"] * 39], touched), budget=Budget(epsilon=1))
            assert touched == [] and ledger.entries("fuzz") == []
            with pytest.raises(EngineFailed) as caught:
                publish(made([row, *["1"] * 39], touched), budget=Budget(epsilon="1/2"))
            said.add(str(caught.value))
            assert caught.value.__cause__ is None and CANARY not in repr(caught.value)
            assert ledger.spent("fuzz") == Budget(epsilon="1/2")
        assert not [each for each in folder.iterdir() if "ledger" not in each.name]
    assert len(said) == 1


@pytest.mark.trust
@pytest.mark.parametrize("package", PACKAGES)
def test_no_odd_value_of_any_type_can_be_seen_under_any_verb(
    package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On each engine also at 5,000 made-up texts, which are others each time."""
    seed = random.SystemRandom().getrandbits(32)
    made_up, tried = invented(MADE_UP, seed), list[Case]()
    found = list(findings(quick=False, packages=[package], made_up=made_up, tried=tried))
    values = sum(len(case.odd) for case in tried)
    with capsys.disabled():
        print(f"\n{package}: {values:,} odd values")  # noqa: T201 (their number is part of what is shown)
    assert found == [], seed
    assert values >= (MADE_UP if package in ENGINES else 50)


@pytest.mark.trust
def test_every_type_of_arrow_is_tried() -> None:
    assert list(other_findings()) == []
