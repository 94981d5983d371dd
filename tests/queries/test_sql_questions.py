"""SQL becomes a question, or is refused in one clear sentence; nothing else gets through."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.tokens import Tokenizer

from discreet.errors import BadQuestion
from discreet.questions.cells.functions import matches
from discreet.questions.conditions import Leaf, Simple, normal_form, simple_of
from discreet.questions.dialects.sql import parse_question
from discreet.questions.expressions import Call, ColumnValue, Constant, Expression
from discreet.questions.question import Aggregate
from discreet.questions.spelling import readable_name, sql_name
from discreet.schema import IntegerColumn, Schema
from tests.releases_by_hand import people

SCHEMA = people(
    columns=(*people().columns, IntegerColumn("größe in cm", 0, 9), IntegerColumn('a"b', 0, 9))
)


def where(text: str) -> Expression:
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
    age = ColumnValue("age", "integer")
    assert found.condition == Call(">=", (age, Constant(3, "integer")), "boolean")


@pytest.mark.parametrize(
    ("text", "asked", "positive"),
    [
        ("30 < age", Simple("age", ">", (30,)), True),
        ("age <> -1.5", Simple("age", "!=", (-1.5,)), True),
        ("born = DATE '2000-02-01'", Simple("born", "=", (date(2000, 2, 1),)), True),
        ("born > '2000-02-01'", Simple("born", ">", (date(2000, 2, 1),)), True),
        (
            "born > DATE '1999-01-31' + INTERVAL '1 month'",
            Simple("born", ">", (date(1999, 2, 28),)),
            True,
        ),
        ("sex IN ('F', NULL)", Simple("sex", "in", ("F",), True), True),
        ("sex NOT IN ('F')", Simple("sex", "in", ("F",)), False),
        ("sex IS NOT NULL", Simple("sex", "is null"), False),
        ("sex NOT LIKE 'F%'", Simple("sex", "like", ("F%",)), False),
        ("sex ILIKE 'f_'", Simple("sex", "ilike", ("f_",)), True),
        ("owns", Simple("owns", "=", (True,)), True),
        ("owns IS FALSE", Simple("owns", "=", (True,)), False),
        ("NOT age < 2 + 2 * 3", Simple("age", ">=", (8,)), True),
        ("age IS NOT DISTINCT FROM 3", Simple("age", "=", (3,)), True),
        ('"größe in cm" = 3', Simple("größe in cm", "=", (3,)), True),
        ('"GRÖSSE IN CM" = 3', Simple("größe in cm", "=", (3,)), True),
        ('"a""b" = 3', Simple('a"b', "=", (3,)), True),
    ],
)
def test_conditions_read_as_written(text: str, asked: Simple, positive: bool) -> None:
    found = normal_form(where(text))
    assert isinstance(found, Leaf)
    assert (simple_of(found.atom), found.positive) == (asked, positive)


def test_not_is_pushed_to_the_atoms() -> None:
    assert normal_form(where("NOT age < 3")) == normal_form(where("age >= 3"))
    assert normal_form(where("NOT (age < 3 OR sex IS NULL)")) == normal_form(
        where("age >= 3 AND sex IS NOT NULL")
    )
    assert normal_form(where("age BETWEEN 1 AND 2")) == normal_form(where("age >= 1 AND age <= 2"))


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("1 = 1", True),
        ("1/0 = 1", False),
        ("NOT 1/0 = 1", False),
        ("NULL", False),
        ("age = NULL", False),
        ("NOT age = NULL", False),
        ("DATE '2020-01-31' + INTERVAL 1 MONTH = DATE '2020-02-29'", True),
        ("upper('a') || 'b' = 'Ab' AND round(2.5) = 3", True),
    ],
)
def test_what_has_no_column_in_it_is_worked_out(text: str, truth: bool) -> None:
    assert normal_form(where(text)) is truth


@pytest.mark.parametrize("name", ["Alter", "drop", "insert", "grant", "revoke", "rollback"])
def test_a_column_may_have_the_name_of_a_command(name: str) -> None:
    """As in PostgreSQL and DuckDB: Alter is German for age."""
    schema = people(columns=(IntegerColumn(name, 0, 9),))
    asked = (
        f"SELECT {name}, count(*) FROM people WHERE {name} > 3 AND {name} IN (4, 5) GROUP BY {name}"
    )
    assert parse_question(asked, schema).group_by == (name,)


REFUSED = {
    "": "empty",
    "SELECT count(*) FROM people; DROP TABLE people": "one statement",
    "SELEC count(*) FROM people": "Did you mean 'SELECT'",
    "SELECT quantile(age, [0.25, 0.5]) FROM people": "one level at a time",
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
    "SELECT count(*) FROM people TABLESAMPLE (10)": "TABLESAMPLE is not answered",
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
    "SELECT count(*) FROM people WHERE agge = 3": "Did you mean 'age'",
    "SELECT count(*) FROM people WHERE q.age = 3": "no table 'q'",
    "SELECT count(*) FROM people WHERE age = (SELECT 3)": "subquery",
    "SELECT count(*) FROM people WHERE age IN (SELECT 3)": "no subquery",
    "SELECT count(*) FROM people WHERE EXISTS (SELECT 3)": "EXISTS",
    "SELECT count(*) FROM people WHERE age = ?": "parameter",
    "SELECT count(*) FROM people WHERE age = 1e999999999": "too long",
    "SELECT count(*) FROM people WHERE age BETWEEN SYMMETRIC 3 AND 1": "smaller end first",
    "SELECT count(*) FROM people WHERE sex LIKE ANY ('a')": "takes no ANY",
    "SELECT count(*) FROM people WHERE born < CURRENT_DATE": "write the date",
    "SELECT count(*) FROM people WHERE born + INTERVAL '1 month' > '2000-01-01'": "Move it",
    'SELECT count(*) FROM people WHERE sex = "F"': "single quotes: 'F'",
    "SELECT count(*) FROM people WHERE gamma(age) = 3": "no function gamma()",
    "SELECT count(*) FROM people WHERE fraud(age) = 3": "no function fraud()",
    "SELECT count(*) FROM people WHERE age & 1 = 1": "WHERE takes no operator &",
    "SELECT count(*) FROM people WHERE sex = born": "cannot be compared",
    "SELECT count(*) FROM people WHERE age > sex": "cannot be compared",
    "SELECT count(*) FROM people WHERE year(age) = 3": "takes a date",
    "SELECT count(*) FROM people WHERE pay::varchar = '3'": "CAST cannot make",
    "SELECT count(*) FROM people WHERE date_trunc('eon', born) = '2000-01-01'": "date_trunc() takes",
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
    assert matches(pattern, value) == bool(re.fullmatch(expression, value))


def test_a_spiteful_pattern_takes_no_time() -> None:
    started = time.process_time()
    assert not matches("%a" * 60 + "b", "a" * 5000)
    assert time.process_time() - started < 5


def test_a_name_that_is_shown_can_be_pasted_into_a_question_even_if_it_is_a_word_of_sql() -> None:
    assert readable_name("age") == "age" and readable_name("Select") == '"Select"'
    words = [word for word in Tokenizer.KEYWORDS if re.fullmatch("[A-Za-z_]+", word)]
    for word in [*words, "group", "order", "by", "in", "is", "net cost", 'a"b', "größe"]:
        named = Schema(dataset=word, columns=(IntegerColumn(word, 0, 9),))
        plain, quoted = (
            [
                replace(parse_question(text.format(name), named), text="")
                for text in (
                    "SELECT {0}, count(*) FROM {0} WHERE {0} > 3 GROUP BY {0}",
                    "SELECT quantile({0}, 0.9) FROM {0}",
                )
            ]
            for name in (readable_name(word), sql_name(word))
        )
        assert plain == quoted, word
