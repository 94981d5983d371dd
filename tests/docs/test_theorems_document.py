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
