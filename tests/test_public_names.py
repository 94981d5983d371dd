"""The public names, pinned: adding or removing one is a decision, not an accident."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

PUBLIC = [
    "Adjacency",
    "Answer",
    "Answers",
    "BadBudget",
    "BadInput",
    "BadQuestion",
    "BadRelease",
    "BadSchema",
    "BadSource",
    "Budget",
    "BudgetExceeded",
    "Curator",
    "DiscreetError",
    "Halfspaces",
    "Ledger",
    "LedgerError",
    "Marginals",
    "Means",
    "NotAnswerable",
    "Plan",
    "Predicates",
    "PrivacyUnit",
    "Refused",
    "ReleaseReader",
    "Schema",
    "Sums",
    "__version__",
    "connect",
    "open_release",
    "plan",
    "release",
    "release_to_file",
    "render_report",
]


def test_the_public_names_are_these() -> None:
    assert sorted(discreet.__all__) == sorted(PUBLIC)
    # About thirty, and one for each query class: a workload cannot be written without their names.
    assert len(PUBLIC) <= 36


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(discreet, name) is not None
    assert name in dir(discreet)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'vault'"):
        _ = getattr(discreet, "vault")  # noqa: B009 - mypy knows that it is not there


def test_importing_discreet_loads_neither_numbers_nor_a_database() -> None:
    script = (
        "import sys, discreet; print({'numpy', 'duckdb', 'scipy', 'sqlglot'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_the_types_of_the_public_names_are_stated_in_the_stub() -> None:
    stub = Path(discreet.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    listed = re.search(r"__all__ = \[(.*?)\]", stub, flags=re.DOTALL)
    assert listed is not None
    assert sorted(re.findall(r'"(\w+)"', listed[1])) == sorted(PUBLIC)
    for name in PUBLIC:
        assert len(re.findall(rf"\b{name}\b", stub)) >= 2, name
