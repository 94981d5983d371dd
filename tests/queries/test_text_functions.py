"""Functions of texts on declared values give what DuckDB gives, and refuse what they cannot be worked out on."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

from discreet.errors import BadQuestion
from discreet.questions.cells.reaching.expressions import value_of
from discreet.questions.expressions import Expression
from discreet.questions.reading.expressions import ExpressionReader
from discreet.schema import Schema

VALUES = ("a-x", "a-y-z", "Über-x", "", "-", "x")
SCHEMA = Schema.loads(f"""
dataset = "p"
people = 10
[columns.c]
kind = "category"
values = {list(VALUES)!r}
[columns.d]
kind = "category"
values = ["q"]
[columns.n]
kind = "integer"
range = [0, 9]
""")
FUNCTIONS = (
    "split_part(c, '-', 1)", "split_part(c, '-', 2)", "split_part(c, '-', -1)", "split_part(c, 'é', 1)", "right(c, 2)",
    "right(c, 0)", "right(c, -1)", "replace(c, '-', '__')", "replace(c, '', 'y')", "reverse(c)",
    "lpad(c, 4, '*')", "rpad(c, 4, 'ab')", "lpad(c, 2, '*')", "starts_with(c, 'a')", "suffix(c, 'x')",
    "contains(c, '-')", "strpos(c, 'x')", "split_part(upper(c), '-', 1)", "right(replace(split_part(c, '-', 1), 'b', '_'), 2)", "length(replace(c, '-', ''))",
)  # fmt: skip


def read(text: str) -> Expression:
    (node,) = sqlglot.parse_one(f"SELECT {text}").expressions
    return ExpressionReader(SCHEMA, ("p",)).key(node)


def test_they_are_worked_out_as_by_duckdb() -> None:
    with duckdb.connect() as database:
        for text in FUNCTIONS:
            made = read(text)
            for value in VALUES:
                (wanted,) = (
                    database.execute(f"SELECT {text} FROM (SELECT ? AS c)", [value]).fetchone()
                    or ()
                )
                assert value_of(made, {"c": value}) == wanted, (text, value)
            assert value_of(made, {"c": None}) is None
            assert value_of(made, {"c": "not declared"}) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("split_part(c, n, 1)", "all literals except the column"),
        ("right(c, 'x')", "a whole number"),
        ("replace(n, 'a', 'b')", "takes a text"),
        ("split_part(concat(c, d), '-', 1)", "one column of kind category"),
        ("lpad(c, 100000, '*')", "more than 4,096 letters"),
    ],
)
def test_what_they_cannot_be_worked_out_on_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadQuestion, match=said):
        read(text)
