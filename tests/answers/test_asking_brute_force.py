"""Without noise, an answer is what counting rows by hand gives: for any condition, with SQL's nulls."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answering import ReleaseReader
from discreet.artifacts.answer import Covers
from tests.releases_by_hand import people, release_of_tables

SCHEMA = people()
COLUMNS = ("age", "kids", "sex", "owns", "pay", "born")
FIRST, LAST = date(2000, 1, 1), date(2000, 4, 30)

rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.none() | st.integers(-5, 40),
            "kids": st.none() | st.integers(-2, 6),
            "sex": st.sampled_from([None, "F", "M", "X", "Fx"]),
            "owns": st.sampled_from([None, True, False]),
            "pay": st.none() | st.sampled_from([-1.0, 0.0, 0.5, 1.5, 2.0, 4.0, 7.5, 8.0, 9.0]),
            "born": st.none() | st.integers(-40, 160).map(lambda d: FIRST + timedelta(days=d)),
        }
    ),
    min_size=0,
    max_size=25,
)


def counted(column: str, value: Any) -> Any:
    """A value as the schema counts it: clamped where the column says edge."""
    if value is None:
        return None
    clamps = {"age": (0, 29), "pay": (0.0, 8.0), "born": (FIRST, LAST)}
    if column in clamps:
        low, high = clamps[column]
        return min(max(value, low), high)
    return value


def compare(sign: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    return {
        "=": left == right, "<>": left != right, "!=": left != right, "<": left < right,
        "<=": left <= right, ">": left > right, ">=": left >= right,
    }[sign]  # fmt: skip


def negate(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def conjunction(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


LITERALS = {
    "age": st.integers(-6, 35) | st.sampled_from([3.5, 9.5, 29.5]),
    "kids": st.integers(-3, 7),
    "pay": st.sampled_from([-0.5, 0, 0.25, 1.5, 2, 4.0, 6.5, 8, 8.5]),
    "born": st.integers(-10, 130).map(lambda d: FIRST + timedelta(days=d)),
    "sex": st.sampled_from(["F", "M", "X", "Y"]),
    "owns": st.booleans(),
}


def text(literal: Any) -> str:
    if literal is None:
        return "NULL"
    if isinstance(literal, bool):
        return str(literal).upper()
    if isinstance(literal, date):
        return f"DATE '{literal}'"
    return f"'{literal}'" if isinstance(literal, str) else str(literal)


@st.composite
def atoms(draw: Any) -> tuple[str, Any]:
    column = draw(st.sampled_from(COLUMNS))
    name = draw(st.sampled_from([column, f'"{column}"', column.upper()]))
    literal = LITERALS[column]
    shape = draw(st.sampled_from(["compare", "flipped", "between", "in", "null", "special"]))
    if shape == "null":
        if draw(st.booleans()):
            return f"{name} IS NULL", lambda row: row[column] is None
        return f"{name} IS NOT NULL", lambda row: row[column] is not None
    if shape == "in":
        chosen = draw(st.lists(st.none() | literal, min_size=1, max_size=3))

        def among(row: Any) -> bool | None:
            value = counted(column, row[column])
            if value is None:
                return None
            if any(one is not None and value == one for one in chosen):
                return True
            return None if None in chosen else False

        return f"{name} IN ({', '.join(map(text, chosen))})", among
    if column in ("sex", "owns"):
        if shape == "special" and column == "owns":
            truth = draw(st.booleans())
            return f"{name} IS {str(truth).upper()}", lambda row: row[column] is truth
        if shape == "special":
            pattern = draw(st.sampled_from(["F%", "_", "%x", "%"]))
            fits = {
                "F%": lambda v: v.startswith("F"), "_": lambda v: len(v) == 1,
                "%x": lambda v: v.endswith("x"), "%": lambda v: True,
            }[pattern]  # fmt: skip
            return (
                f"{name} LIKE '{pattern}'",
                lambda row: None if row[column] is None else fits(row[column]),
            )
        sign, value = draw(st.sampled_from(["=", "<>", "!="])), draw(st.none() | literal)
        return f"{name} {sign} {text(value)}", lambda row: compare(sign, row[column], value)
    if shape == "between":
        low, high = draw(st.none() | literal), draw(literal)
        return f"{name} BETWEEN {text(low)} AND {text(high)}", lambda row: conjunction(
            compare(">=", counted(column, row[column]), low),
            compare("<=", counted(column, row[column]), high),
        )
    sign, value = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="])), draw(literal)
    written = f"{name} {sign} {text(value)}"
    if shape == "flipped":
        other = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        written = f"{text(value)} {other} {name}"
    return written, lambda row: compare(sign, counted(column, row[column]), value)


def joined(pair: Any) -> tuple[str, Any]:
    word, (left, left_truth), (right, right_truth) = pair
    if word == "AND":
        return f"({left} AND {right})", lambda row: conjunction(left_truth(row), right_truth(row))
    return f"({left} OR {right})", lambda row: negate(
        conjunction(negate(left_truth(row)), negate(right_truth(row)))
    )


conditions = st.recursive(
    atoms(),
    lambda inside: st.one_of(
        st.tuples(st.sampled_from(["AND", "OR"]), inside, inside).map(joined),
        inside.map(lambda one: (f"NOT ({one[0]})", lambda row: negate(one[1](row)))),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(rows=rows_strategy, condition=conditions)
def test_a_count_without_noise_holds_the_count_by_hand(rows: Any, condition: Any) -> None:
    written, truth = condition
    reader = ReleaseReader(release_of_tables(SCHEMA, [COLUMNS], rows))
    answer = reader.ask(f"SELECT count(*) FROM people WHERE {written}").only
    by_hand = sum(truth(row) is True for row in rows)
    assert answer.lower <= by_hand <= answer.upper
    assert answer.lower <= answer.estimate <= answer.upper
    if answer.covers is Covers.NOISE:
        assert answer.lower == by_hand == answer.upper


@settings(max_examples=150, deadline=None)
@given(
    rows=rows_strategy,
    condition=conditions,
    column=st.sampled_from(["age", "kids", "pay", "owns"]),
    groups=st.lists(st.sampled_from(["sex", "owns", "age"]), unique=True, max_size=2),
)
def test_sums_averages_and_groups_without_noise_hold_those_by_hand(
    rows: Any, condition: Any, column: str, groups: list[str]
) -> None:
    written, truth = condition
    reader = ReleaseReader(release_of_tables(SCHEMA, [COLUMNS], rows))
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    asked = (
        f"SELECT count(*) AS n, count({column}) AS c, sum({column}) AS s, avg({column}) AS a "
        f"FROM people WHERE {written}{by}"
    )
    seen = 0
    bounds = SCHEMA.column(column).value_bounds
    assert bounds is not None
    for row in reader.ask(asked):
        inside = [
            one
            for one in rows
            if truth(one) is True
            and all(
                SCHEMA.column(g).label(SCHEMA.column(g).code_of(one[g])) == row.group[g]  # type: ignore[arg-type]
                for g in groups
            )
        ]
        seen += len(inside)
        values = [
            min(max(float(one[column]), float(bounds[0])), float(bounds[1]))
            for one in inside
            if one[column] is not None
        ]
        if column == "kids":  # outside values have a cell of their own: counted, never summed
            present = len(values)
            values = [float(one["kids"]) for one in inside if one["kids"] in range(4)]
        else:
            present = len(values)
        assert row["n"].lower <= len(inside) <= row["n"].upper
        assert row["c"].lower <= present <= row["c"].upper
        assert row["s"].lower - 1e-9 <= sum(values) <= row["s"].upper + 1e-9
        assert row["s"].lower <= row["s"].estimate <= row["s"].upper
        if values:
            mean = sum(values) / len(values)
            assert row["a"].lower - 1e-9 <= mean <= row["a"].upper + 1e-9
            assert row["a"].lower <= row["a"].estimate <= row["a"].upper
        if row["s"].covers is Covers.NOISE:
            assert math.isclose(row["s"].estimate, sum(values), abs_tol=1e-6)
    assert seen == sum(truth(one) is True for one in rows), "a group is missing"


@settings(max_examples=40, deadline=None)
@given(rows=rows_strategy, condition=conditions)
def test_a_question_written_otherwise_gets_the_same_answer(rows: Any, condition: Any) -> None:
    written, _ = condition
    draws = np.random.default_rng(5).integers(-30, 30, size=10**6)
    noise = iter(draws)
    release = release_of_tables(
        SCHEMA,
        [COLUMNS, ("age", "sex"), ("sex",)],
        rows,
        noise=lambda n: np.array([next(noise) for _ in range(n)]),
    )
    reader = ReleaseReader(release)

    def asked(where: str) -> Any:
        return reader.ask(f"SELECT count(*) FROM people WHERE {where}").only

    first = asked(written)
    for other in (
        f"NOT (NOT ({written}))",
        f"({written}) AND ({written})",
        f"({written}) AND (age > 3 OR age <= 3 OR age IS NULL)",
        f"({written}) OR (kids < 0 AND kids > 1)",
    ):
        assert asked(other) == first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age >= 10", "NOT age < 10"),
        ("age >= 10", "age > 9"),
        ("age BETWEEN 13 AND 15", "age > 12 AND age < 16"),
        ("age IN (1, 2)", "age = 2 OR age = 1"),
        ("sex <> 'F'", "NOT sex IN ('F')"),
        ("owns", "owns = TRUE"),
        ("pay >= 1.5 AND pay < 4", "NOT (pay < 1.5 OR pay >= 4)"),
        ("born >= '2000-02-01'", "born > DATE '2000-01-31'"),
    ],
)
def test_equal_questions_get_equal_answers(one: str, other: str) -> None:
    rows = [{"age": k % 31, "sex": "FMX"[k % 3], "owns": k % 2 == 0, "pay": k % 9, "kids": 1,
             "born": FIRST + timedelta(days=k % 110)} for k in range(200)]  # fmt: skip
    noise = np.random.default_rng(1)
    release = release_of_tables(
        SCHEMA,
        [COLUMNS, ("age", "pay"), ("born", "age"), ("sex", "owns")],
        rows,
        noise=lambda n: noise.integers(-9, 9, n),
    )
    reader = ReleaseReader(release)
    answers = [
        reader.ask(f"SELECT count(*) FROM people WHERE {where}").only for where in (one, other)
    ]
    assert answers[0] == answers[1]
