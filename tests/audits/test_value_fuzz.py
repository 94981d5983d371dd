"""No value of any type stops a run, speaks, or moves an exact number further than its row may."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.value_fuzz import BY_ROW, PACKAGES, findings, other_findings, source_findings


@pytest.mark.parametrize("package", PACKAGES)
def test_no_odd_value_can_be_seen_but_in_the_counts_of_its_row(package: str) -> None:
    assert list(findings(quick=True, packages=[package])) == []


def test_no_source_is_touched_before_the_first_verb_or_heard_when_it_fails(tmp_path: Path) -> None:
    assert list(source_findings(tmp_path, BY_ROW)) == []


@pytest.mark.trust
@pytest.mark.parametrize("package", PACKAGES)
def test_no_odd_value_of_any_type_can_be_seen_under_any_verb(package: str) -> None:
    assert list(findings(quick=False, packages=[package])) == []


@pytest.mark.trust
def test_every_type_of_arrow_is_tried() -> None:
    assert list(other_findings()) == []
