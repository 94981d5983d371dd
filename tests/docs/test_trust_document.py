"""Documents link only to what exists; docs/trust.md lists every planted bug under its number."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.mutants.catalogue import LAST, MUTANTS

ROOT = Path(__file__).resolve().parents[2]
TRUST = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
DOCUMENTS = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")))
}


def anchors(text: str) -> set[str]:
    """As they are made from headings: lower case, blanks to dashes, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", DOCUMENTS[document])
    assert links
    for link in links:
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_test_that_is_named_exists() -> None:
    defects = (ROOT / "docs" / "defects.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TRUST + defects)
    assert len(named) > 10
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}, name


def test_every_promise_names_code_a_test_and_a_planted_bug() -> None:
    table = TRUST.split("## Each promise")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    known = {mutant.name for mutant in MUTANTS}
    assert len(rows) >= 12
    for row in rows:
        promise, _, code, test, bug = (cell.strip() for cell in row.strip("| ").split(" | "))
        assert "](../src/" in code, promise
        assert "::test_" in test, promise
        assert set(re.findall(r"`([\w-]+)`", bug)) <= known and "`" in bug, promise


def test_the_list_of_bugs_is_the_catalogue() -> None:
    rows = re.findall(
        r"^\| (\d+) \| .+? \| (.+) \|$", TRUST.split("## The classic bugs")[1], re.MULTILINE
    )
    assert [int(number) for number, _ in rows] == list(range(1, LAST + 1))
    for number, names in rows:
        listed = set(re.findall(r"`([\w-]+)`", names))
        assert listed == {mutant.name for mutant in MUTANTS if mutant.trap == int(number)}, number
