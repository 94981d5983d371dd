"""SQL becomes a question, or is refused in one clear sentence; nothing else gets through."""

from __future__ import annotations

import re
import time
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadQuestion
from discreet.questions.conditions import (
    Comparison,
    Every,
    Leaf,
    Membership,
    NullTest,
    Opposite,
    Pattern,
    normal_form,
)
from discreet.questions.sql import Aggregate, parse_question
from discreet.schema import IntegerColumn
from tests.releases_by_hand import people

SCHEMA = people(
    columns=(*people().columns, IntegerColumn("größe in cm", 0, 9), IntegerColumn('a"b', 0, 9))
)


def where(text: str) -> object:
    return parse_question(f"SELECT count(*) FROM people WHERE {text}", SCHEMA).condition


def test_a_question_is_plain_data() -> None:
    found = parse_question(
        "SELECT Sex, count(*), sum(age) AS total, avg(p.age) FROM people AS p "
        "WHERE p.age >= 3 GROUP BY sex;",
        SCHEMA,
    )
    assert found.group_by == ("sex",)
    assert found.aggregates == (
        Aggregate("count", None, "count"),
        Aggregate("sum", "age", "total"),
        Aggregate("avg", "age", "avg(age)"),
    )
    assert found.condition == Comparison("age", ">=", 3)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("30 < age", Comparison("age", ">", 30)),
        ("age <> -1.5", Comparison("age", "!=", Decimal("-1.5"))),
        ("born = DATE '2000-02-01'", Comparison("born", "=", "2000-02-01")),
        ("born > '2000-02-01'", Comparison("born", ">", "2000-02-01")),
        ("sex IN ('F', NULL)", Membership("sex", ("F",), True)),
        ("sex NOT IN ('F')", Opposite(Membership("sex", ("F",)))),
        ("sex IS NOT NULL", Opposite(NullTest("sex"))),
        ("sex NOT LIKE 'F%'", Opposite(Pattern("sex", "F%"))),
        ("sex ILIKE 'f_'", Pattern("sex", "f_", True)),
        ("age BETWEEN 1 AND 2", Every((Comparison("age", ">=", 1), Comparison("age", "<=", 2)))),
        ("owns", Comparison("owns", "=", True)),
        ('"größe in cm" = 3', Comparison("größe in cm", "=", 3)),
        ('"GRÖSSE IN CM" = 3', Comparison("größe in cm", "=", 3)),
        ('"a""b" = 3', Comparison('a"b', "=", 3)),
    ],
)
def test_conditions_read_as_written(text: str, condition: object) -> None:
    assert where(text) == condition


def test_not_is_pushed_to_the_atoms() -> None:
    assert normal_form(Opposite(Comparison("age", "<", 3))) == Leaf(
        Comparison("age", ">=", 3), True
    )
    assert normal_form(where("NOT (age < 3 OR sex IS NULL)")) == normal_form(  # type: ignore[arg-type]
        where("age >= 3 AND sex IS NOT NULL")  # type: ignore[arg-type]
    )


REFUSED = {
    "": "empty",
    "SELECT count(*) FROM people; DROP TABLE people": "one statement",
    "DROP TABLE people": "Only SELECT",
    "ATTACH 'x.db'": "Only SELECT",
    "PRAGMA table_info(people)": "Only SELECT",
    "COPY people TO 'x'": "Only SELECT",
    "WITH q AS (SELECT 1) SELECT count(*) FROM q": "WITH is not supported",
    "SELECT * FROM people": "SELECT takes no",
    "SELECT age FROM people": "GROUP BY",
    "SELECT max(age) FROM people": "depend on a single row",
    "SELECT count(DISTINCT age) FROM people": "DISTINCT",
    "SELECT count(*) + 1 FROM people": "SELECT takes no",
    "SELECT count(*) FILTER (WHERE age = 1) FROM people": "SELECT takes no",
    "SELECT count(*) OVER () FROM people": "SELECT takes no",
    "SELECT sum(sex) FROM people": "of kind category",
    "SELECT sum(born) FROM people": "of kind date",
    "SELECT sum(age + 1) FROM people": "plain column",
    "SELECT count(*)": "FROM",
    "SELECT count(*) FROM others": "no table 'others'",
    "SELECT count(*) FROM main.people": "nothing more",
    "SELECT count(*) FROM people TABLESAMPLE (10)": "nothing more",
    "SELECT count(*) FROM (SELECT 1) t": "subquery",
    "SELECT count(*) FROM read_csv('/etc/passwd')": "dataset's name",
    "SELECT count(*) FROM '/etc/passwd'": "no table",
    "SELECT count(*) FROM people, people q": "JOIN",
    "SELECT count(*) FROM people JOIN people q ON 1 = 1": "JOIN",
    "SELECT count(*) FROM people UNION SELECT count(*) FROM people": "UNION",
    "SELECT count(*) FROM people ORDER BY 1": "ORDER BY",
    "SELECT count(*) FROM people LIMIT 1": "LIMIT",
    "SELECT age, count(*) FROM people GROUP BY age HAVING count(*) > 1": "HAVING",
    "SELECT age, count(*) FROM people GROUP BY ROLLUP (age)": "plain columns",
    "SELECT count(*) FROM people GROUP BY 1": "plain columns",
    "SELECT DISTINCT count(*) FROM people": "DISTINCT",
    "SELECT count(*) INTO x FROM people": "INTO",
    "SELECT count(*) FROM people WHERE age = kids": "Two columns",
    "SELECT count(*) FROM people WHERE age = age": "Two columns",
    "SELECT count(*) FROM people WHERE agge = 3": "Did you mean 'age'",
    "SELECT count(*) FROM people WHERE q.age = 3": "no table 'q'",
    "SELECT count(*) FROM people WHERE abs(age) = 3": "column on one side",
    "SELECT count(*) FROM people WHERE age + 1 = 3": "column on one side",
    "SELECT count(*) FROM people WHERE age = abs(3)": "literals",
    "SELECT count(*) FROM people WHERE age = (SELECT 3)": "literals",
    "SELECT count(*) FROM people WHERE age IN (SELECT 3)": "no subquery",
    "SELECT count(*) FROM people WHERE EXISTS (SELECT 3)": "EXISTS",
    "SELECT count(*) FROM people WHERE age = ?": "parameter",
    "SELECT count(*) FROM people WHERE age = 1e999999999": "too long",
    "SELECT count(*) FROM people WHERE age BETWEEN SYMMETRIC 3 AND 1": "plain form",
    "SELECT count(*) FROM people WHERE sex LIKE ANY ('a')": "literals",
    "SELECT count(*) FROM people WHERE age IS DISTINCT FROM 3": "WHERE takes no",
    "SELECT count(*) FROM people WHERE CASE WHEN age = 1 THEN TRUE END": "WHERE takes no",
    "SELECT count(*) FROM people WHERE 1 = 1": "column on one side",
    "SELECT count(* FROM people": "not understood",
    "SELECT count(*) FROM people WHERE sex = 'F": "not understood",
    "SELECT count(*) FROM people WHERE": "not understood",
}


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(REFUSED[text])) as caught:
        parse_question(text, SCHEMA)
    message = str(caught.value)
    assert "\x1b" not in message and "\n" not in message and len(message) < 400


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age > 'old'", "a number"),
        ("sex > 'F'", "no order"),
        ("owns = 'maybe'", "true or false"),
        ("born > 3", "a date"),
        ("age LIKE '1%'", "LIKE"),
        ("age IS TRUE", "not boolean"),
        ("pay = 'x'", "a number"),
    ],
)
def test_a_literal_of_the_wrong_kind_is_refused_when_asked(text: str, says: str) -> None:
    from discreet.answering import ReleaseReader
    from tests.releases_by_hand import release_of_tables

    with pytest.raises(BadQuestion, match=says):
        ReleaseReader(release_of_tables(SCHEMA, [], [])).ask(
            f"SELECT count(*) FROM people WHERE {text}"
        )


@pytest.mark.parametrize("word", ["(", "NOT ", "-"])
def test_deep_nesting_is_refused_and_not_a_crash(word: str) -> None:
    close = ")" * 20_000 if word == "(" else ""
    middle = "age = 1" if word != "-" else "age = "
    text = f"{word * 20_000}{middle}{close}" if word != "-" else f"age = {'- ' * 20_000}1"
    with pytest.raises(BadQuestion):
        where(text)


def test_ten_thousand_terms_are_read_quickly() -> None:
    started = time.process_time()
    where(" OR ".join(f"age = {k}" for k in range(10_000)))
    where(f"age IN ({', '.join(map(str, range(10_000)))})")
    assert time.process_time() - started < 10


def test_a_question_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadQuestion, match="characters"):
        where(" OR ".join(f"age = {k}" for k in range(200_000)))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.text("SELECTcount(*)FROMpeople WHERage=1'\";-/%", max_size=80))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    for question in (text, f"SELECT count(*) FROM people WHERE {text}"):
        try:
            parse_question(question, SCHEMA)
        except BadQuestion as refused:
            assert "\x1b" not in str(refused)


@given(st.text("ab%_", max_size=8), st.text("ab", max_size=8))
def test_patterns_match_as_a_regular_expression_would(pattern: str, value: str) -> None:
    expression = "".join({"%": ".*", "_": "."}.get(letter, letter) for letter in pattern)
    assert Pattern("x", pattern).matches(value) == bool(re.fullmatch(expression, value))


def test_a_spiteful_pattern_takes_no_time() -> None:
    started = time.process_time()
    assert not Pattern("x", "%a" * 60 + "b").matches("a" * 5000)
    assert time.process_time() - started < 5
