"""docs/api.md says what the code says, about every public name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools import api_docs  # noqa: E402 - the tools are no package of the product

PAGE = api_docs.PAGE.read_text(encoding="utf-8")
NAMES = api_docs.referenced(PAGE)


def test_the_reference_is_up_to_date() -> None:
    assert api_docs.written(PAGE) == PAGE, "Run python tools/api_docs.py."


def test_a_changed_docstring_would_be_seen() -> None:
    old = "Which tables are neighbours."
    assert old in PAGE
    assert api_docs.written(PAGE.replace(old, "Something else.")) == PAGE


def test_every_public_name_has_a_reference() -> None:
    public = {name for module, name in NAMES if module == "discreet"}
    assert public == set(discreet.__all__) - {"__version__"}


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[".".join(each) for each in NAMES])
def test_every_name_and_method_has_a_docstring(module: str, name: str) -> None:
    assert list(api_docs.undocumented(module, name)) == []


def test_a_method_without_a_docstring_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discreet.Budget.covers, "__doc__", None)
    assert list(api_docs.undocumented("discreet", "Budget")) == ["discreet.Budget.covers"]


def test_every_name_stands_once() -> None:
    assert len(NAMES) == len(set(NAMES))
    headings = re.findall(r"^#### (.+)$", PAGE, re.MULTILINE)
    assert len(headings) == len(set(headings))
