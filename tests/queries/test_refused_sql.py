"""SQL outside the allow-list is refused by name, never run and never half understood."""

from __future__ import annotations

import pytest

from discreet.errors import BadQuestion
from discreet.questions.cells.reaching.expressions import value_of
from discreet.questions.dialects.sql import parse_question
from discreet.questions.expressions import Expression
from discreet.schema import IntegerColumn, Schema

SCHEMA = Schema.loads(
    'dataset = "people"\nadjacency = "add-remove"\n'
    '[columns.age]\nkind = "integer"\nrange = [0, 99]\n[columns.sex]\nkind = "category"\nvalues = ["F", "M"]\n'
)
REFUSED = [
    "SELECT count(*) FROM people; SELECT count(*) FROM people",
    "SELECT count(*) FROM people; DROP TABLE people",
    "DROP TABLE people",
    "ATTACH 'x.db'",
    "PRAGMA database_list",
    "COPY people TO 'x'",
    "INSERT INTO people VALUES (1)",
    "SELECT * FROM people",
    "SELECT age FROM people",
    "SELECT max(age) FROM people",
    "SELECT count(*) FROM people LIMIT 1",
    "SELECT count(*) FROM people ORDER BY 1",
    "SELECT sex, count(*) FROM people GROUP BY sex HAVING count(*) > 3",
    "SELECT count(DISTINCT age) FROM people",
    "SELECT DISTINCT count(*) FROM people",
    "SELECT count(*) FROM people TABLESAMPLE 10 PERCENT",
    "SELECT count(*) FROM people, people",
    "SELECT count(*) FROM people JOIN people USING (age)",
    "WITH x AS (SELECT 1) SELECT count(*) FROM people",
    "SELECT count(*) FROM (SELECT * FROM people)",
    "SELECT count(*) FROM read_csv('/etc/passwd')",
    "SELECT count(*) FROM '/etc/passwd'",
    "SELECT count(*) FROM elsewhere.people",
    "SELECT count(*) FROM other",
    "SELECT count(*) FROM people WHERE age = (SELECT 1)",
    "SELECT count(*) FROM people WHERE exists (SELECT 1)",
    "SELECT count(*) FROM people WHERE random() < 0.5",
    "SELECT count(*) FROM people UNION SELECT count(*) FROM people",
    "SELECT count(*) FILTER (WHERE age > 3) FROM people",
    "SELECT count(*) OVER () FROM people",
    "SELECT sum(age * 1000000) FROM people",
    "SELECT count(*) INTO x FROM people",
    "",
    "\x00",
    "select",
]


@pytest.mark.parametrize("text", REFUSED)
def test_sql_outside_the_allow_list_is_refused(text: str) -> None:
    with pytest.raises(BadQuestion) as refused:
        parse_question(text, SCHEMA)
    assert "\n" not in str(refused.value)


def test_sql_inside_the_allow_list_is_understood() -> None:
    question = parse_question(
        "SELECT sex, count(*) FROM people WHERE age > 3 GROUP BY sex;", SCHEMA
    )
    assert question.group_by == ("sex",)


@pytest.mark.parametrize("called", ["string_agg(sex, ',')", "bool_and(age)", "max_by(age, sex)"])
def test_a_refused_function_is_called_what_it_was_called(called: str) -> None:
    """The parser knows several names for one function, and has one of its own."""
    word = called.partition("(")[0]
    with pytest.raises(BadQuestion, match=rf"no function {word}\(\) here"):
        parse_question(f"SELECT {called} FROM people", SCHEMA)


def test_whole_numbers_are_divided_exactly_or_not_at_all() -> None:
    """`//` divides in doubles, in which 2^53 + 1 is 2^53."""
    columns = IntegerColumn("small", -(2**53) + 1, 2**53 - 1), IntegerColumn("large", 0, 2**53)
    schema = Schema(dataset="t", columns=columns)

    def condition(text: str) -> Expression:
        return parse_question(f"SELECT count(*) FROM t WHERE {text}", schema).condition

    for refused in ("large // 3 = 1", "small * 2 DIV 3 = 1", "(large + 1) // 2 > 0"):
        with pytest.raises(BadQuestion, match=r"below 2\^53 .* exactly, and .* may be as large as"):
            condition(refused)
    for number in (2**53 - 1, -(2**53) + 1, 7, -7):
        for divisor in (1, 2, 3, -3, 2**53 - 1, 2**62 + 1):
            exact = abs(number) // abs(divisor) * (1 if (number < 0) == (divisor < 0) else -1)
            found = condition(f"small // {divisor} = {exact}")
            assert value_of(found, {"small": number}) is True, (number, divisor)
    assert condition(f"{2**53 + 1} // 1 = large") == condition(f"{2**53 + 1} = large")
