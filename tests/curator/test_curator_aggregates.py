"""What each aggregate of a curator says, by group and alone, against the exact answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import BadQuestion

SCHEMA = dc.Schema.loads(
    """
dataset = "people"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.pay]
kind = "number"
bounds = [0, 1000]
bits = 12
[columns.sex]
kind = "category"
values = ["F", "M"]
other = false
nulls = "exclude"
[columns.city]
kind = "category"
values = ["a", "b", "c", "d"]
other = false
nulls = "exclude"
"""
)
BUDGET = dc.Budget(epsilon=4)
SURE = 1 - 1e-7


def table() -> pd.DataFrame:
    numbers, rows = np.random.default_rng(4), 4_000
    age = numbers.integers(10, 90, rows)
    return pd.DataFrame(
        {
            "age": age,
            "pay": np.round(200 + 4 * age + numbers.normal(0, 60, rows), 2),
            "sex": numbers.choice(["F", "M"], rows),
            "city": numbers.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
        }
    )


FRAME = table()


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dc.Curator]:
    path = tmp_path_factory.mktemp("ledger") / "l.db"
    with pytest.warns(UserWarning, match="cap"):
        opened = dc.Curator(FRAME, SCHEMA, ledger=path, cap=dc.Budget(epsilon=2_000))
    with opened:
        yield opened


def slope(group: pd.DataFrame) -> float:
    return float(group["pay"].cov(group["age"]) / group["age"].var())


def at_rank(values: pd.Series, level: float) -> float:
    return float(np.sort(values)[math.ceil(level * len(values) - 1e-9) - 1])


ASKED = {
    "count(1)": (len, 40), "count(DISTINCT city)": (lambda g: g["city"].nunique(), 2),
    "count(DISTINCT sex)": (lambda g: g["sex"].nunique(), 2),
    "sum(age + pay)": (lambda g: (g["age"] + g["pay"]).sum(), 40_000),
    "avg(100 * age)": (lambda g: 100 * g["age"].mean(), 300),
    "sum(least(age, 50))": (lambda g: g["age"].clip(upper=50).sum(), 2_000),
    "sum(pay * age)": (lambda g: (g["pay"] * g["age"]).sum(), 4_000_000),
    "avg(CASE WHEN city = 'a' THEN pay ELSE 0 END)": (lambda g: g["pay"].where(g["city"] == "a", 0).mean(), 30),
    "avg(abs(pay - 500))": (lambda g: (g["pay"] - 500).abs().mean(), 30), "count(age + pay)": (len, 40),
    "avg(age > 50)": (lambda g: (g["age"] > 50).mean(), 0.1),
    "variance(age)": (lambda g: g["age"].var(), 100), "var_samp(age)": (lambda g: g["age"].var(), 100),
    "stddev(pay)": (lambda g: g["pay"].std(), 40), "stddev_samp(pay)": (lambda g: g["pay"].std(), 40),
    "stddev_pop(pay)": (lambda g: g["pay"].std(ddof=0), 40), "var_pop(age)": (lambda g: g["age"].var(ddof=0), 100),
    "covar_pop(pay, age)": (lambda g: np.cov(g["pay"], g["age"], ddof=0)[0, 1], 2_000),
    "covar_samp(pay, age)": (lambda g: g["pay"].cov(g["age"]), 2_000),
    "corr(pay, age)": (lambda g: g["pay"].corr(g["age"]), 0.3),
    "regr_slope(pay, age)": (slope, 3),
    "regr_intercept(pay, age)": (lambda g: g["pay"].mean() - slope(g) * g["age"].mean(), 150),
    "median(pay)": (lambda g: at_rank(g["pay"], 0.5), 20),
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY pay)": (lambda g: at_rank(g["pay"], 0.5), 20),
    "percentile_disc(0.1) WITHIN GROUP (ORDER BY pay DESC)": (lambda g: at_rank(g["pay"], 0.9), 20),
    "percentile(pay, 0.25)": (lambda g: at_rank(g["pay"], 0.25), 20),
    "approx_quantile(pay, 0.9)": (lambda g: at_rank(g["pay"], 0.9), 20),
    "approx_percentile(pay, 0.9)": (lambda g: at_rank(g["pay"], 0.9), 20),
    "quantile_cont(pay, 0.9)": (lambda g: at_rank(g["pay"], 0.9), 20),
}  # fmt: skip
"""The exact answer for some rows, and how far the estimate may be at epsilon 4 with thousands of rows: at
least ten times the noise's standard deviation, so that a false alarm is below 1e-6."""


@pytest.mark.parametrize("what", ASKED)
def test_each_aggregate_is_close_and_inside_its_interval(curator: dc.Curator, what: str) -> None:
    """False alarm of an interval 1e-7, of an estimate less."""
    exact, near = ASKED[what]
    alone = curator.ask(f"SELECT {what} FROM people", budget=BUDGET, confidence=SURE).only
    assert alone.lower <= exact(FRAME) <= alone.upper
    assert abs(alone.estimate - exact(FRAME)) <= near
    grouped = curator.ask(
        f"SELECT sex, {what} FROM people GROUP BY sex", budget=BUDGET, confidence=SURE
    )
    (column,) = grouped.columns
    assert len(grouped) == 2
    for place, sex in enumerate(("F", "M")):
        truth = exact(FRAME[FRAME["sex"] == sex])
        assert column.lower[place] <= truth <= column.upper[place]
        assert abs(column.estimate[place] - truth) <= 2 * near


def test_the_fullest_cells_are_named_in_each_group(curator: dc.Curator) -> None:
    """The second city has 600 rows fewer than the first, in each group 300: a wrong choice at epsilon 1
    for each has probability e^-150."""
    answers = curator.ask("SELECT sex, top(city, 2) FROM people GROUP BY sex", budget=BUDGET)
    assert answers.groups == ("sex", "top(city, 2)")
    named = [tuple(each.group.values()) for each in answers]
    assert named == [("F", "a"), ("F", "b"), ("M", "a"), ("M", "b")]
    one = curator.ask("SELECT sex, mode(city) FROM people GROUP BY sex", budget=BUDGET)
    assert [tuple(each.group.values()) for each in one] == [("F", "a"), ("M", "a")]


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("corr(pay)", "2 arguments|not understood"), ("corr(pay, city)", "numbers|category"),
        ("count(DISTINCT pay)", "ranges"), ("count(DISTINCT age, sex)", "one column"),
        ("regr_slope(pay / age, age)", "divisor"), ("quantile(pay, 0.5, 0.1)", "argument|not understood"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    curator: dc.Curator, what: str, why: str
) -> None:
    before = curator.spent
    with pytest.raises(BadQuestion, match=why):
        curator.ask(f"SELECT {what} FROM people", budget=BUDGET)
    assert curator.spent == before


@pytest.mark.parametrize(
    "sql", ["SELECT median(i) FROM t", "SELECT g, quantile(i, 0.1) FROM t GROUP BY g"]
)
def test_every_quantile_of_a_column_of_one_value_is_that_value(sql: str, tmp_path: Path) -> None:
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.i]\nkind = "integer"\nrange = [5, 5]\n[columns.g]\nkind = "boolean"\n'
    )
    table = pd.DataFrame({"i": [5, 5, 7], "g": [True, False, True]})
    one = dc.Budget(epsilon=1)
    with dc.Curator(table, schema, ledger=tmp_path / "l.db", cap=one) as curator:
        (column,) = curator.ask(sql, budget=one).columns
    assert set(column.lower) == set(column.upper) == {5}
