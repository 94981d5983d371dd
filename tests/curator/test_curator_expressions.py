"""Expressions inside aggregates: their bounds, what the engine adds for a row, and what is refused."""

from __future__ import annotations

import math
import operator
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.curator.answers.answering import Measured, answers_from
from discreet.curator.planning import measured_once, plan_question
from discreet.engines import open_engine
from discreet.engines.duckdb.dialect import DIALECT
from discreet.engines.sql.expressions import Compiler
from discreet.errors import BadQuestion
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.cost import Accounting
from discreet.queries.tallies import (
    Present,
    Squares,
    Tally,
    Term,
    Total,
    Valued,
    is_whole,
    steps_of,
    summand_bounds,
)
from discreet.questions.dialects.curator_sql import Aggregate, parse_curator_question
from discreet.questions.expression_bounds import expression_bounds
from discreet.questions.expressions import Call, Expression
from discreet.schema import NumberColumn
from tests.curator.conftest import schema_of
from tests.curator.reference import clamped_value, evaluate
from tests.curator.test_curator_engine import read, rows_of, written

NUMBERS = ("age", "income", "3", "-7", "0.5", "1e3", "100")
CONDITIONS = (
    "member", "age > 50", "sex = 'F'", "income IS NULL", "age / 3 < income", "NOT member OR age < 10",
)  # fmt: skip


def random_expression(generator: random.Random, depth: int = 3) -> str:
    """A text that has bounds: a divisor keeps away from 0."""
    if depth == 0 or generator.random() < 0.15:
        return generator.choice(NUMBERS)
    left, right = (random_expression(generator, depth - 1) for _ in range(2))
    condition = generator.choice(CONDITIONS)
    return generator.choice(
        [
            f"({left} + {right})", f"({left} - {right})", f"({left} * {right})",
            f"({left} / greatest({right}, 2))", f"({left} % {right})", f"abs({left})", f"floor({left})",
            f"ceil({left})", f"round({left})", f"least({left}, {right})", f"greatest({left}, {right})",
            f"(CASE WHEN {condition} THEN {left} ELSE {right} END)", f"coalesce({left}, {right})",
            f"(CASE WHEN {condition} THEN {left} END)", f"(-({left}))", "year(born)", "month(born)",
        ]
    )  # fmt: skip


def aggregate_of(text: str, schema: dc.Schema, kind: str = "sum") -> Aggregate:
    (one,) = parse_curator_question(f"SELECT {kind}({text}) FROM people", schema).aggregates
    return one


def expression_of(text: str, schema: dc.Schema) -> Expression | None:
    one = aggregate_of(text, schema)
    return one.expression


def of_moderate_size(expression: Expression, schema: dc.Schema) -> bool:
    return max(map(abs, expression_bounds(expression, schema))) < 10**12


def test_the_engine_adds_up_random_expressions_as_python_does(tmp_path: Path) -> None:
    """Fresh expressions each time, over rows at and beyond every bound; the integers must be equal."""
    seed = random.SystemRandom().getrandbits(64)
    generator, schema, rows = random.Random(seed), schema_of(), rows_of(120)
    texts = [random_expression(generator) for _ in range(24)]
    made = [(text, aggregate_of(text, schema)) for text in texts]
    terms: list[Any] = []
    for text, one in made:
        of = one.expression if one.expression is not None else one.column
        if of is None or (not isinstance(of, str) and not of_moderate_size(of, schema)):
            continue
        center = round(sum(summand_bounds(of, schema)) / 2)
        bits = 0 if is_whole(of, schema) else 3
        terms += [(text, Total(of, 1, center)), (text, Total(of, 4, 0, bits)), (text, Valued(of))]
        terms += [(text, Squares(of, 1, center, 4))]
        terms += [(text, Present(one.raw))] if one.raw is not None else []
    assert len(terms) > 25
    with open_engine(written(rows, tmp_path / "t.csv"), schema) as engine:
        found = [
            numbers
            for start in range(0, len(terms), 20)
            for numbers in engine.tally([Tally(term) for _, term in terms[start : start + 20]])
        ]
    for (text, term), numbers in zip(terms, found, strict=True):
        expected = added_by_python(term, read(rows), schema)
        assert int(numbers[0]) == expected, (seed, text, term)


def added_by_python(term: Any, rows: list[dict[str, Any]], schema: dc.Schema) -> int:
    of = term.of
    values = [
        clamped_value(schema, of, row[of]) if isinstance(of, str) else evaluate(of, row, schema)
        for row in rows
    ]
    known = [value for value in values if value is not None]
    if isinstance(term, Valued | Present):
        return len(known)
    fine = term.grid << getattr(term, "bits", 0)
    low, high = steps_of(of, fine, schema)
    least, most = (float(Fraction(end, fine)) for end in (low, high))
    steps = [min(max(round(min(max(value, least), most) * fine), low), high) for value in known]
    if isinstance(term, Total):
        return (sum(steps) >> term.bits) - term.center * len(known)
    return sum((each - term.center) ** 2 >> term.shift for each in steps)


def exactly(node: Expression, row: dict[str, Any], schema: dc.Schema) -> Fraction | None:
    """The value of an expression in fractions, which never round."""
    if (
        node.type == "boolean"
        or not isinstance(node, Call)
        or node.name in ("clamped", "year", "month")
    ):
        value = evaluate(node, row, schema)
        return None if value is None else Fraction(value)
    parts = [exactly(part, row, schema) for part in node.arguments]
    if node.name == "case":
        met = zip(parts[:-1:2], parts[1::2], strict=True)
        return next((value for truth, value in met if truth), parts[-1])
    known = [part for part in parts if part is not None]
    if node.name == "coalesce":
        return known[0] if known else None
    if node.name in ("least", "greatest"):
        return (min if node.name == "least" else max)(known, default=None)
    if len(known) < len(parts) or (node.name in "/%" and known[1] == 0):
        return None
    return Fraction(EXACT[node.name](*known))


EXACT: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "abs": abs,
    "negative": operator.neg, "floor": math.floor, "ceil": math.ceil,
    "%": lambda a, b: (1 if a >= 0 else -1) * (abs(a) % abs(b)),
    "round": lambda a: (1 if a >= 0 else -1) * math.floor(abs(a) + Fraction(1, 2)),
}  # fmt: skip


def test_no_row_leaves_the_bounds_of_a_random_expression() -> None:
    """In exact arithmetic, over rows at and beyond every bound."""
    seed = random.SystemRandom().getrandbits(64)
    generator, schema, rows = random.Random(seed), schema_of(), read(rows_of(100))
    checked = 0
    for _ in range(100):
        text = random_expression(generator)
        expression = expression_of(text, schema)
        if expression is None:
            continue
        low, high = expression_bounds(expression, schema)
        for row in rows:
            value = exactly(expression, row, schema)
            if value is not None:
                assert low <= value <= high, (seed, text)
                checked += 1
    assert checked > 1_000


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("age + income", 0, 1119), ("100 * age", 0, 11900), ("least(age, 50)", 0, 50), ("-age", -119, 0),
        ("age * income", 0, 119_000), ("age * age", 0, 14_161), ("(age - 60) * (age - 60)", 0, 3600),
        ("greatest(age, 18)", 18, 119), ("CASE WHEN member THEN age ELSE -5 END", -5, 119),
        ("age - income", -1000, 119), ("income / 4", 0, 250), ("income / (age + 1)", 0, 1000),
        ("abs(age - 100)", 0, 100), ("age % 7", 0, 7), ("floor(income / 300)", 0, 3),
        ("ceil(income / 300)", 0, 4), ("round(income / 300)", 0, 3), ("coalesce(age, 200)", 0, 200),
        ("least(age, income)", 0, 1000), ("(age - 60) * (income - 500)", -30_000, 30_000), ("year(born)", 1990, 2020), ("age > 50", 0, 1), ("2.5", "5/2", "5/2"),
    ],
)  # fmt: skip
def test_bounds_follow_from_the_schema(text: str, low: Any, high: Any) -> None:
    expression = expression_of(text, schema_of())
    assert expression is not None
    assert expression_bounds(expression, schema_of()) == (Fraction(low), Fraction(high))


ROUNDED = dc.Schema.loads(
    'dataset = "people"\n[columns.y]\nkind = "number"\nbounds = [0, 0.2]\nbits = 4\n'
    '[columns.g]\nkind = "integer"\nrange = [0, 9]\nnulls = "exclude"\n'
)


def test_a_row_adds_no_more_than_the_bounds_even_where_doubles_round_beyond_them() -> None:
    """Exactly, 0.2 + 0.1 - 0.3 is at most 2.8e-17; in doubles it is 5.6e-17, twice as much."""
    expression = expression_of("greatest(floor((y + 0.1 - 0.3) * 1e17), 0)", ROUNDED)
    assert expression is not None
    assert expression_bounds(expression, ROUNDED) == (0, 2)
    frame = pd.DataFrame({"y": [0.2, 9.0, 0.1], "g": [0, 1, 2]})
    terms: list[Term] = [
        Total(expression, 1, 0),
        Total(expression, 4, 4, 3),
        Squares(expression, 2, 2, 0),
    ]
    with open_engine(frame, ROUNDED) as engine:
        found = engine.tally([Tally(term, ("g",)) for term in terms])
    for term, numbers in zip(terms, found, strict=True):
        low, high = Tally(term).row_bounds(ROUNDED)
        assert low <= int(numbers.min()) and int(numbers.max()) == high, term


@pytest.mark.parametrize("kind", ["sum", "avg", "stddev"])
@pytest.mark.parametrize(
    "text", ["x * y", "x - y", "CASE WHEN x > 0 THEN y ELSE x END", "x / (y + 9)"]
)
def test_one_row_moves_the_sums_of_an_expression_by_what_is_paid_for(kind: str, text: str) -> None:
    """Rows at the corners and far beyond: none adds more than the sensitivity, and one comes near it."""
    schema = dc.Schema.loads(
        'dataset = "people"\n[columns.x]\nkind = "integer"\nrange = [-4, 10]\n'
        '[columns.y]\nkind = "number"\nbounds = [-2, 3]\nbits = 4\n'
        '[columns.g]\nkind = "integer"\nrange = [0, 99]\nnulls = "exclude"\n'
    )
    budget = dc.Budget(epsilon=1)
    question = parse_curator_question(f"SELECT {kind}({text}) FROM people", schema)
    planned = plan_question(question, schema, budget=budget, notion=budget.notion)
    pairs = [(x, y) for x in (-99, -4, 0, 10, 99) for y in (-9.0, -2.0, 0.0, 3.0, 1e300, None)]
    frame = pd.DataFrame([(x, y, n) for n, (x, y) in enumerate(pairs)], columns=["x", "y", "g"])
    tallies = [Tally(request.query.term, ("g",)) for request in planned.requests]
    with open_engine(frame, schema) as engine:
        found = engine.tally(tallies)
    for request, numbers in zip(planned.requests, found, strict=True):
        reach = request.query.sensitivity(schema).l1
        assert int(np.abs(numbers).max()) <= reach
        assert int(np.abs(numbers).max()) >= 0.4 * reach


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("income / age", "divisor"), ("length(sex)", "no bounds for length"), ("sex", "is of kind category"),
        ("lower(sex)", "no bounds"), ("max(age)", "takes no"), ("age + sex", "takes numbers"),
        ("(SELECT 1)", "takes no"), ("born", "is of kind date"), ("'a'", "numbers"),
    ],
)  # fmt: skip
def test_an_expression_without_bounds_is_refused_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(BadQuestion, match=why) as refused:
        parse_curator_question(f"SELECT sum({text}) FROM people", schema_of())
    assert "Nothing was read or charged." in str(refused.value)


def test_a_sum_too_wide_for_64_bits_is_refused_before_the_charge(tmp_path: Path) -> None:
    schema = dc.Schema.loads(
        'dataset = "people"\n[columns.x]\nkind = "integer"\nrange = [0, 999999999999]\nwidth = 1000000\n'
    )
    frame = pd.DataFrame({"x": [1, 2]})
    with dc.Curator(frame, schema, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=1)) as curator:
        with pytest.raises(BadQuestion, match="too wide to sum"):
            curator.ask("SELECT sum(x * x) FROM people", budget=dc.Budget(epsilon=1))
        assert curator.left == dc.Budget(epsilon=1)


def test_expressions_are_named_by_their_text_and_known_by_their_meaning() -> None:
    schema = schema_of()
    one = parse_curator_question("SELECT sum(age + 1), count(age * 2) AS n FROM people", schema)
    assert [each.name for each in one.aggregates] == ["sum(age + 1)", "n"]
    same = parse_curator_question("SELECT SUM( age+1 ), COUNT(age*2) FROM people", schema)
    other = parse_curator_question("SELECT SUM(age+2), COUNT(age*2) FROM people", schema)
    assert one.canonical() == same.canonical() != other.canonical()


def test_the_sql_of_a_long_chain_grows_with_its_length_and_not_beyond() -> None:
    """Each operation on doubles is checked for infinity; its operands are written once."""
    texts = ["+".join(["income"] * count) + " > 3" for count in (10, 38)]
    lengths = []
    for text in texts:
        question = parse_curator_question(f"SELECT count(*) FROM people WHERE {text}", schema_of())
        lengths.append(len(DIALECT.render(Compiler(schema_of(), DIALECT).sql(question.condition))))
    assert lengths[1] < 5 * lengths[0]


JOINT = "SELECT avg(age), sum(age), count(age) FROM people"


@pytest.mark.parametrize("budget", [dc.Budget(epsilon=1), dc.Budget(rho="1/10")], ids=str)
def test_a_mean_a_sum_and_a_count_are_two_measurements(budget: dc.Budget) -> None:
    question = parse_curator_question(JOINT, schema_of())
    planned = plan_question(question, schema_of(), budget=budget, notion=budget.notion)
    assert [type(request.query.term) for request in planned.requests] == [Total, Valued]
    alone = parse_curator_question("SELECT sum(age) FROM people", schema_of())
    (request,) = plan_question(alone, schema_of(), budget=budget, notion=budget.notion).requests
    assert request.query.term == Total("age", 1, 0), "alone, a sum is best measured as it is"


def test_a_sum_made_of_two_tallies_is_as_wide_as_the_noise_of_both() -> None:
    """No draw is made: values without noise, and the interval's own width."""
    schema, budget = schema_of(), dc.Budget(epsilon=1)
    planned = plan_question(
        parse_curator_question(JOINT, schema), schema, budget=budget, notion=budget.notion
    )
    values = (np.array([-35_000]), np.array([1_000]))
    measured = Measured(values=values, laws=planned.laws)
    mean, total, count = answers_from(planned, measured, confidence=0.95).columns
    assert total.estimate[0] == -35_000 / 2 + 59.5 * 1_000
    assert mean.estimate[0] == total.estimate[0] / count.estimate[0]
    noise = ((0.5, planned.laws[0], 1), (59.5, planned.laws[1], 1))
    wanted = half_width(noise, Fraction(95, 100))
    assert (total.upper[0] - total.lower[0]) / 2 == pytest.approx(wanted)


@pytest.mark.parametrize("accounting", Accounting)
def test_the_shares_of_a_question_are_the_best_there_are(accounting: Accounting) -> None:
    """Against 2,000 other splits of the same tallies: none has a smaller product of expected errors."""
    schema, budget = (
        schema_of(),
        dc.Budget(epsilon=1) if accounting is Accounting.BASIC else dc.Budget(rho=1),
    )
    sql = "SELECT avg(age), sum(age), count(age), stddev(income), count(*) FROM people"
    planned = plan_question(
        parse_curator_question(sql, schema), schema, budget=budget, notion=budget.notion
    )
    (chosen,), (weights,) = measured_once([planned.needed], accounting)
    power = 2 if accounting is Accounting.BASIC else 1

    def product(split: dict[Any, float]) -> float:
        whole = sum(split.values())
        return sum(
            math.log(
                sum(
                    float(error) / (split[term] / whole) ** power
                    for term, error in zip(each.terms, each.errors, strict=True)
                )
            )
            for each in chosen
        )

    best = product({term: float(weight) for term, weight in weights.items()})
    generator = random.Random()
    for _ in range(2_000):
        other = {term: float(w) * math.exp(generator.gauss(0, 0.5)) for term, w in weights.items()}
        assert product(other) >= best - 1e-4


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("sqrt(x * x)", 2e154),
        ("ln(greatest(x * x, 1))", 710),
        ("ln(y * y)", 745),
        ("sqrt(y * y)", 1),
    ],
)
def test_roots_and_logarithms_of_what_no_double_holds_have_the_ends_of_doubles(
    text: str, most: float
) -> None:
    schema = dc.Schema(
        dataset="people",
        columns=(
            NumberColumn("x", -1e200, 1e200, bits=2),
            NumberColumn("y", 1e-200, 1, bits=2),
        ),
    )
    expression = aggregate_of(text, schema).expression
    assert expression is not None
    assert max(map(abs, expression_bounds(expression, schema))) <= most * 1.001
