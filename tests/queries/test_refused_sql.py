"""SQL outside the allow-list is refused by name, never run and never half understood."""

from __future__ import annotations

import pytest

from discreet.errors import BadQuestion
from discreet.questions.dialects.sql import parse_question
from discreet.schema import Schema

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
