"""The curator on the command line, learning bounds, and the pricing example."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import discreet as dc
from discreet.cli.application import application
from discreet.curator import learn_schema
from tests.curator.conftest import SCHEMA

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(table: Path, tmp_path: Path) -> Any:
    schema = tmp_path / "people.toml"
    schema.write_text(SCHEMA.format(adjacency="add-remove", unit=""), encoding="utf-8")
    options = ["--schema", str(schema), "--ledger", str(tmp_path / "ledger.db"), "--cap", "3"]

    def invoke(verb: str, *words: str) -> Any:
        return CliRunner().invoke(application, ["curator", verb, str(table), *words, *options])

    return invoke


def test_a_question_on_the_command_line_is_charged_and_answered_again_for_nothing(run: Any) -> None:
    sql = "SELECT sex, count(*), median(age) FROM people GROUP BY sex"
    first = run("ask", sql, "--epsilon", "1/3", "--json")
    again = run("ask", sql, "--epsilon", "1/3", "--json")
    assert first.exit_code == again.exit_code == 0, first.output
    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert json.loads(first.stdout)["left"] == {"epsilon": "8/3", "delta": "0"}
    assert "epsilon 8/3 is left" in run("left").output
    assert "count" in run("ask", sql, "--epsilon", "1/3").output


def test_a_dry_run_tells_the_cost_and_spends_nothing(run: Any) -> None:
    asked = run("ask", "SELECT count(*) FROM people", "--accuracy", "±10 at 95%", "--dry-run")
    assert asked.exit_code == 0, asked.output
    assert "would cost epsilon 0." in asked.output
    assert json.loads(run("left", "--json").stdout)["left"] == {"epsilon": "3", "delta": "0"}


def test_bounds_are_learnt_for_the_stated_budget(tmp_path: Path) -> None:
    """At confidence 1 - 1e-9 an empty range is taken for a full one once in 1e9 runs."""
    numbers = np.random.default_rng(3)
    frame = pd.DataFrame({"pay": numbers.uniform(-30, 700, 5000), "none": [None] * 5000})
    with dc.Ledger.open(tmp_path / "ledger.db") as ledger:
        pay, none = learn_schema(
            frame,
            dataset="people",
            columns=["pay", "none"],
            budget=dc.Budget(epsilon=1),
            ledger=ledger,
            confidence=1 - 1e-9,
        )
        assert ledger.spent("people") == dc.Budget(epsilon=1)
    assert (pay.low, pay.high) == (-32, 1024)
    assert not none.found


def test_the_pricing_example_hardly_ever_takes_the_bad_price() -> None:
    """A price of 1.01 loses a third of the revenue: it is chosen with probability below 1e-7 a time."""
    chosen = runpy.run_path(str(ROOT / "examples" / "pricing.py"))["main"](300)
    assert chosen["1.01"] == 0
    assert sum(chosen.values()) == 20
