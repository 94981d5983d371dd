"""Groups of many sizes, their exact answers, and how often intervals miss them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

import discreet as dc
from discreet.artifacts.answers import AnswerColumn
from discreet.core.noise import DrawnNoise
from discreet.curator.answers.answering import Measured, answers_from
from discreet.curator.planning import Planned, plan_question
from discreet.engines import open_engine
from discreet.engines.protocol import Engine
from discreet.questions.dialects.curator_sql import parse_curator_question

Exact = tuple[list[np.ndarray], list[np.ndarray]]
GROUPS = 60
SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
[columns.place]
kind = "integer"
range = [0, {last}]
nulls = "exclude"
[columns.pay]
kind = "number"
bounds = [0, 1000]
bits = 10
nulls = "exclude"
[columns.age]
kind = "integer"
range = [0, 99]
nulls = "exclude"
[columns.seen]
kind = "datetime"
range = ["2020-01-01T00:00:00", "2020-12-31T23:59:59"]
granularity = "day"
nulls = "exclude"
"""
START = pd.Timestamp("2020-01-01")


def table() -> pd.DataFrame:
    """Groups of 0, 1, 2, 5, 40 and 600 rows; pay is skewed, or all at one bound, or two lumps."""
    numbers = np.random.default_rng(5)
    parts = []
    for place in range(GROUPS):
        rows = (0, 1, 2, 5, 40, 600)[place % 6]
        kind = place // 6 % 3
        pay = (
            numbers.lognormal(4, 1.5, rows)
            if kind == 0
            else np.full(rows, 1000.0)
            if kind == 1
            else numbers.choice([1.0, 900.0], rows)
        )
        age = (
            numbers.integers(0, 100, rows) if kind else np.minimum(numbers.geometric(0.2, rows), 99)
        )
        seen = START + pd.to_timedelta(age * 5000 + np.arange(rows) % 60, unit="min")
        parts.append(pd.DataFrame({"place": place, "pay": pay, "age": age, "seen": seen}))
    return pd.concat(parts)


def truths(frame: pd.DataFrame, what: str) -> np.ndarray:
    """The exact answer of each group; not a number where there is none."""
    pay = frame.assign(pay=frame["pay"].clip(0, 1000)).groupby("place")["pay"]
    age = frame.groupby("place")["age"]
    instants = frame["seen"].astype("datetime64[us]").astype("int64")
    seen = frame.assign(seen=instants).groupby("place")["seen"]
    clamped = frame.assign(pay=frame["pay"].clip(0, 1000)).groupby("place")
    if what in OF_GROUPS:
        made = {place: OF_GROUPS[what](group) for place, group in clamped}
        empty = 0.0 if what in NEVER_NULL else np.nan
        return np.array([made.get(place, empty) for place in range(GROUPS)], dtype=float)
    found = {
        "count(*)": age.size,
        "sum(pay)": pay.sum,
        "avg(pay)": pay.mean,
        "avg(age)": age.mean,
        "stddev(pay)": lambda: pay.std(ddof=1),
        "variance(age)": lambda: age.var(ddof=1),
        "stddev_pop(pay)": lambda: pay.std(ddof=0),
        "var_pop(age)": lambda: age.var(ddof=0),
        "median(age)": lambda: age.quantile(0.5, interpolation="lower"),
        "quantile(pay, 0.9)": lambda: pay.apply(
            lambda values: np.sort(values)[math.ceil(0.9 * len(values) - 1e-9) - 1]
        ),
        "quantile(seen, 0.2)": lambda: seen.apply(
            lambda values: np.sort(values)[math.ceil(0.2 * len(values) - 1e-9) - 1]
        ),
    }[what]()
    empty = 0.0 if what in ("count(*)", "sum(pay)") else np.nan
    return found.reindex(range(GROUPS)).fillna(empty).to_numpy(dtype=float)


def missed(
    what: str, draws: int, *, adjacency: str = "add-remove", budget: dc.Budget
) -> tuple[int, int, float]:
    """Misses, pairs, and the mean width."""
    schema = dc.Schema.loads(SCHEMA.format(adjacency=adjacency, last=GROUPS - 1))
    frame = table()
    question = parse_curator_question(f"SELECT {what} FROM people GROUP BY place", schema)
    planned = plan_question(question, schema, budget=budget, notion=budget.notion)
    with open_engine(frame, schema) as engine:
        exact = exact_of(planned, engine)
    expected = truths(frame, what)
    real = np.isfinite(expected)
    misses = pairs = 0
    widths = []
    for _ in range(draws):
        column = drawn(planned, exact)
        inside = (column.lower <= expected + 1e-6) & (expected - 1e-6 <= column.upper)
        misses += int((~inside & real).sum())
        pairs += int(real.sum())
        widths.append(float(np.mean(column.upper - column.lower)))
    return misses, pairs, float(np.mean(widths))


def exact_of(planned: Planned, engine: Engine) -> Exact:
    """What the core would read for a question: the tallies, and the counts that choices are scored by."""
    tallies = engine.tally([request.query for request in planned.requests])
    picks = engine.tally([pick.scores.tally for pick in planned.picks])
    return tallies, picks


def drawn(planned: Planned, exact: Exact) -> AnswerColumn:
    noise = DrawnNoise()
    values = tuple(
        numbers + noise.draw(law, numbers.size)
        for numbers, law in zip(exact[0], planned.laws, strict=True)
    )
    picked = tuple(
        np.array(
            [
                [
                    noise.choose(
                        row, pick.mechanism.unit(pick.scores.sensitivity(planned.schema)), step=""
                    )
                ]
                for row in pick.scores.evaluate(counts, planned.schema)
            ]
        )
        for pick, counts in zip(planned.picks, exact[1], strict=True)
    )
    measured = Measured(values=values, laws=planned.laws, picked=picked)
    return answers_from(planned, measured, confidence=0.95).columns[0]


def _line(group: pd.DataFrame) -> tuple[float, float]:
    """The slope and the intercept of pay over age; not numbers where age has one value."""
    x, y = group["age"].to_numpy(float), group["pay"].to_numpy(float)
    spread = float(np.mean((x - x.mean()) ** 2))
    if spread < 1e-12:
        return math.nan, math.nan
    slope = float(np.mean((x - x.mean()) * (y - y.mean()))) / spread
    return slope, float(y.mean() - slope * x.mean())


def _corr(group: pd.DataFrame) -> float:
    x, y = group["age"].to_numpy(float), group["pay"].to_numpy(float)
    spread = float(np.std(x) * np.std(y))
    return float(np.mean((x - x.mean()) * (y - y.mean()))) / spread if spread > 1e-9 else math.nan


OF_GROUPS: dict[str, Callable[[pd.DataFrame], float]] = {
    "sum(pay * age)": lambda group: float((group["pay"] * group["age"]).sum()),
    "avg(100 * age - pay)": lambda group: float((100 * group["age"] - group["pay"]).mean()),
    "sum(least(pay, 50))": lambda group: float(group["pay"].clip(upper=50).sum()),
    "avg(CASE WHEN age > 9 THEN pay ELSE 0 END)": lambda group: float(
        group["pay"].where(group["age"] > 9, 0.0).mean()
    ),
    "count(pay + age)": lambda group: float(len(group)),
    "covar_pop(pay, age)": lambda group: float(
        (group["pay"] * group["age"]).mean() - group["pay"].mean() * group["age"].mean()
    ),
    "covar_samp(pay, age)": lambda group: (
        float(group["pay"].cov(group["age"])) if len(group) > 1 else math.nan
    ),
    "corr(pay, age)": _corr,
    "regr_slope(pay, age)": lambda group: _line(group)[0],
    "regr_intercept(pay, age)": lambda group: _line(group)[1],
    "count(DISTINCT age)": lambda group: float(group["age"].nunique()),
}
NEVER_NULL = ("sum(pay * age)", "sum(least(pay, 50))", "count(pay + age)", "count(DISTINCT age)")
WHAT = [
    "count(*)", "sum(pay)", "avg(pay)", "avg(age)", "stddev(pay)", "variance(age)", "median(age)",
    "quantile(pay, 0.9)", "quantile(seen, 0.2)", "stddev_pop(pay)", "var_pop(age)", *OF_GROUPS,
]  # fmt: skip
