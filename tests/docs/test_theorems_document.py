"""docs/theorems.md: every statement names code and a test that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
ROWS = [
    line
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| statement", "|---"))
]


def test_every_row_names_a_file_and_a_test_that_exist() -> None:
    assert len(ROWS) > 35
    for row in ROWS:
        cells = [each.strip() for each in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 6, row
        (link,) = re.findall(r"\]\(([^)]+)\)", cells[2])
        assert (ROOT / "docs" / link).is_file(), link
        (named,) = re.findall(r"`(tests/[^`]+)`", cells[3])
        file, _, name = named.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        tests = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
        assert not name or name in tests, named
        assert cells[0] and cells[1] and cells[4], row


def test_every_theory_module_is_named_in_the_table() -> None:
    for module in (ROOT / "src" / "discreet" / "theory").glob("*.py"):
        if module.name != "__init__.py":
            assert f"theory/{module.name})" in TEXT, module.name


NUMBERED = (
    "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "3.1", "3.2", "3.3", "3.4", "4.1", "4.2", "5.1", "5.2", "5.3",
    "6.1", "6.2", "6.3", "6.4", "6.5", "7.1", "7.2", "7.3", "A.1", "A.2", "A.3", "A.4", "A.5", "A.6",
)  # fmt: skip
"""Every numbered definition, observation, lemma, theorem, claim, property and corollary of the paper."""


def test_every_numbered_statement_of_the_paper_has_a_row() -> None:
    first = " ".join(re.split(r"(?<!\\)\|", row)[1] for row in ROWS)
    named = set(re.findall(r"\b[2-7A]\.\d\b", first))
    assert named == set(NUMBERED)
