"""Caps that protect nobody are warned of and asked about; who raises one, and why, is kept and shown."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest

OLD = Path(__file__).parents[1] / "ledger" / "old_ledgers"


@pytest.fixture
def old_ledger(tmp_path):
    """A ledger of format 1: what it was charged does not say whom it protects."""
    for name in ("format_1.db", "format_1.db.mark"):
        shutil.copy(OLD / name, tmp_path / name)
    return tmp_path / "format_1.db"


@pytest.mark.parametrize(
    "budget", [("--epsilon", "100000000"), ("--epsilon", "101"), ("--rho", "70")]
)
def test_a_cap_above_100_needs_a_yes_before_anything_is_read_or_charged(discreet, people, budget):
    schema = people / "huge.toml"
    schema.write_text(
        (people / "people.toml").read_text(encoding="utf-8").replace('[cap]\nepsilon = "2"\n', ""),
        encoding="utf-8",
    )
    words = ("people.csv", "--schema", "huge.toml", *budget, "--for", "histogram(sex)")
    refused = discreet("release", *words, "-o", "huge.release")
    assert refused.code == 2
    assert "--yes" in refused.err and "Nothing was read or charged" in refused.err
    assert not (people / "huge.release").exists()
    assert not (people / "state").exists()
    done = discreet("release", *words, "-o", "huge.release", "--yes")
    assert done.code == 0, done.err
    assert done.err.count("gives almost no protection") == 1


def test_a_cap_above_10_is_warned_of_and_one_of_10_is_not(discreet, people):
    for cap, warned in (("10", 0), ("11", 1)):
        done = discreet(
            *("curator", "left", "people.csv", "--schema", "people.toml", "--cap", "2"),
            *("--ledger", f"{cap}.db"),
        )
        assert done.code == 0, done.err
        raised = discreet(
            *("ledger", "raise-cap", "people", "--epsilon", cap, "--reason", "a test"),
            *("--ledger", f"{cap}.db"),
        )
        assert raised.code == 0
        assert raised.err.count("Warning: The cap is") == warned


def test_learning_with_a_huge_cap_is_asked_about_too(discreet, people):
    words = ("schema", "learn", "people.csv", "--dataset", "p", "--column", "age", "--epsilon", "1")
    assert discreet(*words, "--cap", "1000").code == 2
    assert not (people / "state").exists()
    assert discreet(*words, "--cap", "1000", "--yes").code == 0


def test_who_raised_a_cap_and_why_is_shown(discreet, people):
    made = discreet(
        *("release", "people.csv", "--schema", "people.toml", "--epsilon", "1"),
        *("--for", "histogram(sex)", "-o", "people.release"),
    )
    assert made.code == 0, made.err
    words = ("ledger", "raise-cap", "people", "--reason", "approved by the board")
    assert discreet(*words, "--epsilon", "3").code == 0
    assert discreet(*words, "--epsilon", "4", "--by", "Ann Lee").code == 0
    shown = discreet("ledger", "show")
    for said in ("Ann Lee", pwd.getpwuid(os.getuid()).pw_name, "approved by the board"):
        assert said in shown.out
    assert "The cap of people protects one row, added or removed (add-remove)." in shown.out
    told = discreet("ledger", "show", "--json").json
    assert told["datasets"][0]["protects"]["adjacency"] == "add-remove"
    assert [(one["what"], one["by"], one["reason"]) for one in told["caps"]] == [
        ("declared", None, None),
        ("raised", pwd.getpwuid(os.getuid()).pw_name, "approved by the board"),
        ("raised", "Ann Lee", "approved by the board"),
    ]


@pytest.mark.parametrize(
    ("option", "said"),
    [("--mu", "epsilon 0.835, delta 1e-06"), ("--rho", "epsilon 3.132, delta 1e-06")],
)
def test_what_is_spent_in_rho_or_mu_is_told_in_epsilon_too(option, said, discreet, people):
    text = (people / "people.toml").read_text(encoding="utf-8")
    (people / "other.toml").write_text(text.replace('[cap]\nepsilon = "2"\n', ""), encoding="utf-8")
    made = discreet(
        *("release", "people.csv", "--schema", "other.toml", option, "0.2"),
        *("--for", "histogram(sex)", "-o", "people.release"),
    )
    assert made.code == 0, made.err
    shown = discreet("ledger", "show").out
    assert f"What people spent is at most {said}; its whole cap is {said}." in shown


def test_in_epsilon_nothing_is_converted(discreet, people):
    words = ("release", "people.csv", "--schema", "people.toml", "--epsilon", "1")
    assert discreet(*words, "--for", "histogram(sex)", "-o", "people.release").code == 0
    assert "is at most" not in discreet("ledger", "show").out


def test_a_schema_of_another_adjacency_is_refused_and_converted_on_demand(discreet, people):
    changed = people / "changed.toml"
    text = (people / "people.toml").read_text(encoding="utf-8")
    changed.write_text('adjacency = "change-one"\n' + text.lstrip(), encoding="utf-8")
    words = ("--epsilon", "1/4", "--for", "histogram(sex)")
    first = discreet("release", "people.csv", "--schema", "changed.toml", *words, "-o", "a.release")
    assert first.code == 0, first.err
    second = ("release", "people.csv", "--schema", "people.toml", *words, "-o", "b.release")
    refused = discreet(*second)
    assert refused.code == 2
    assert "counts as epsilon 0.5" in refused.err and "--convert-unit" in refused.err
    assert not (people / "b.release").exists()
    assert discreet(*second, "--convert-unit").code == 0
    assert "epsilon 0.5 (for epsilon 0.25)" in discreet("ledger", "show").out


def test_the_unit_of_old_charges_is_declared_on_the_command_line(discreet, people, old_ledger):
    words = (
        "curator",
        "left",
        "people.csv",
        "--schema",
        "people.toml",
        "--ledger",
        str(old_ledger),
    )
    assert "an unknown unit" in discreet("ledger", "show", "--ledger", str(old_ledger)).out
    refused = discreet(*words)
    assert refused.code == 2
    assert "discreet ledger declare-unit" in refused.err
    declared = discreet(
        *("ledger", "declare-unit", "people", "--adjacency", "add-remove"),
        *("--reason", "as in people.toml", "--by", "Ann Lee", "--ledger", str(old_ledger)),
    )
    assert declared.code == 0, declared.err
    assert "Ann Lee" in discreet("ledger", "show", "--ledger", str(old_ledger)).out
    raised = people / "raised.toml"
    text = (people / "people.toml").read_text(encoding="utf-8")
    raised.write_text(
        text.replace('epsilon = "2"', 'epsilon = "2"\ndelta = "1e-9"'), encoding="utf-8"
    )
    left = discreet(*("raised.toml" if word == "people.toml" else word for word in words))
    assert left.code == 0, left.err
    assert "epsilon 1.5" in left.out
