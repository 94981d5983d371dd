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
from discreet.curator.learning import LearntBounds, LearntValues
from discreet.privacy.adjacency import PrivacyUnit
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
    assert isinstance(pay, LearntBounds) and isinstance(none, LearntBounds)
    assert (pay.low, pay.high) == (-32, 1024)
    assert not none.found


def test_values_are_learnt_for_the_stated_budget(tmp_path: Path) -> None:
    """Sure to be named from 300 people on; each of 40 people alone with 1e-9: a false alarm of 4e-8."""
    frame = pd.DataFrame(
        {
            "town": ["a"] * 300 + ["b'"] * 400 + [f"only {n}" for n in range(40)],
            "pay": 100.0,
            "who": range(740),
        }
    )
    budget = dc.Budget(epsilon=2, delta="1e-9")
    with dc.Ledger.open(tmp_path / "ledger.db") as ledger:
        pay, town = learn_schema(
            frame,
            dataset="people",
            columns=["pay"],
            categories=["town"],
            budget=budget,
            unit=PrivacyUnit("who", 2),
            ledger=ledger,
            confidence=1 - 1e-9,
        )
        assert ledger.spent("people") == budget
    assert isinstance(town, LearntValues)
    assert town.values == ("a", "b'")
    assert town.threshold < 300
    assert pay.charged + town.charged == budget
    with pytest.raises(dc.BadBudget, match="delta"):
        learn_schema(
            frame,
            dataset="others",
            categories=["town"],
            budget=dc.Budget(epsilon=1),
            ledger=tmp_path / "ledger.db",
        )


def test_values_are_learnt_on_the_command_line(tmp_path: Path) -> None:
    """400 people: sure to be named."""
    frame = pd.DataFrame({"town": ["a"] * 400, "pay": 100.0})
    frame.to_parquet(tmp_path / "people.parquet")
    words = ["schema", "learn", str(tmp_path / "people.parquet"), "--dataset", "people"]
    words += ["--category", "town", "--column", "pay", "--epsilon", "2", "--delta", "1e-9"]
    words += ["--cap", "9", "--cap-delta", "1e-6", "--ledger", str(tmp_path / "l.db")]
    done = CliRunner().invoke(application, [*words, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[1]["values"] == ["a"]
    shown = CliRunner().invoke(application, words)
    assert shown.exit_code == 0, shown.output
    assert 'values = ["a"]' in shown.output


def test_an_alert_on_the_command_line_stops_at_the_first_count_above(run: Any) -> None:
    """400 and 0 against 200, with noise of scales 1 and 2: wrong with probability below 1e-30."""
    low = "SELECT count(*) FROM people WHERE age > 500"
    high = "SELECT count(*) FROM people"
    done = run("alert", low, high, low, "--threshold", "200", "--epsilon", "2", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert [one["answer"] for one in said["answers"]] == ["below", "above"]
    assert said["left"] == {"epsilon": "1", "delta": "0"}
    refused = run("alert", low, "SELECT avg(age) FROM people", "--threshold", "9", "--epsilon", "1")
    assert isinstance(refused.exception, dc.BadQuestion)
    assert "epsilon 1 is left" in run("left").output


def test_the_ledger_does_not_call_an_alert_lost(run: Any, tmp_path: Path) -> None:
    """Its answers are not recorded: they were said, so nothing was lost."""
    high = "SELECT count(*) FROM people"
    assert run("alert", high, "--threshold", "200", "--epsilon", "2").exit_code == 0
    shown = CliRunner().invoke(
        application, ["ledger", "show", "--ledger", str(tmp_path / "ledger.db")]
    )
    assert "watched" in shown.output and "lost" not in shown.output


def test_groups_are_found_on_the_command_line(run: Any) -> None:
    """100 rows of each of four: sure to be named."""
    sql = "SELECT sex, count(*) FROM people GROUP BY sex"
    words = ("--epsilon", "2", "--delta", "1e-9", "--undeclared", "sex", "--json")
    done = run("ask", sql, *words, "--cap-delta", "1e-6")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert [row["group"]["sex"] for row in rows] == ["F", "M", "X"]


def test_the_pricing_example_hardly_ever_takes_the_bad_price() -> None:
    """A price of 1.01 loses a third of the revenue: it is chosen with probability below 1e-7 a time."""
    chosen = runpy.run_path(str(ROOT / "examples" / "pricing.py"))["main"](300)
    assert chosen["1.01"] == 0
    assert sum(chosen.values()) == 20
