"""What one question nests deeply is refused before its charge, or it is answered: never an error after the charge.

An expression passes the reader, which knows how long and how deep it is once it is written out, and then an engine. Here
every operation is nested as deep as the reader allows, and written by every dialect with part of Python's stack.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import sqlglot

from discreet.curator import Curator
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.spark.dialect import SparkDialect
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.expressions import Compiler
from discreet.errors import BadQuestion
from discreet.privacy.budget import Budget
from discreet.questions.expressions import Call, Expression
from discreet.questions.limits.work import copies
from discreet.questions.reading.expressions import ExpressionReader
from discreet.questions.reading.walk import DEEPEST
from discreet.releases import release
from tests.every_kind import EVERY_KIND

SCHEMA = replace(EVERY_KIND, dataset="deep", people=20)
NESTED = {
    "abs": ("abs(", ")", "age"),
    "minus": ("-(", ")", "age"),
    "floor": ("floor(", ")", "x"),
    "round": ("round(", ", 2)", "x"),
    "sqrt": ("sqrt(", ")", "x"),
    "plus": ("(1 + ", ")", "age"),
    "plus, to the left": ("", " + 1", "age"),
    "plus of numbers": ("(1.5 + ", ")", "x"),
    "a quotient": ("(", " / 3)", "age"),
    "case": ("CASE WHEN age > 5 THEN 1 ELSE ", " END", "age"),
    "case, in its condition": ("CASE WHEN ", " > 3 THEN 1 ELSE 2 END", "age"),
    "coalesce": ("coalesce(", ", 3)", "age"),
    "nullif": ("nullif(", ", 3)", "age"),
    "lower": ("lower(", ")", "m"),
    "substr": ("substr(", ", 1, 3)", "m"),
    "concat": ("concat('a', ", ")", "m"),
    "a text as an integer": ("CAST(CAST(", " AS VARCHAR) AS INTEGER)", "age"),
    "a text as a date": ("CAST(CAST(", " AS VARCHAR) AS DATE)", "day"),
    "date_trunc": ("date_trunc('month', ", ")", "at"),
    "a day later": ("(", " + 1)", "day"),
    "not": ("(NOT ", ")", "ok"),
    "and, or": ("(ok AND (NOT ok OR ", "))", "ok"),
    "width_bucket": ("width_bucket(", ", 0, 10, 5)", "age"),
    "parentheses": ("(", ")", "age"),
}
WRITTEN_AGAIN = (
    "CAST(m AS INTEGER)", "CAST(m AS DOUBLE)", "CAST(m AS DATE)", "CAST(m AS TIMESTAMP)",
    "CAST(day AS VARCHAR)", "CAST(at AS DATE)", "CAST(age AS VARCHAR)", "nullif(age, 3)", "year(day)", "year(at)",
    "month(at)", "hour(at)", "date_trunc('year', at)", "date_trunc('week', at)", "date_trunc('hour', at)",
)  # fmt: skip
DIALECTS = (DuckDBDialect, PostgresDialect, SparkDialect)
STACK = 650
"""Calls that reading and writing may take, of the thousand that Python allows by default."""


def nested(case: str, times: int) -> str:
    before, after, inside = NESTED[case]
    return before * times + inside + after * times


def read(text: str) -> Expression:
    (node,) = sqlglot.parse_one(f"SELECT {text}").expressions
    return ExpressionReader(SCHEMA, ("deep",)).key(node)


@contextmanager
def stack(calls: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + calls)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def deepest(case: str) -> Expression:
    """The deepest expression of its kind that the reader takes."""
    with stack(10_000):  # for the parser, which gives way first; people may allow it more
        for times in range(DEEPEST + 1, 0, -1):
            try:
                return read(nested(case, times))
            except BadQuestion:
                continue
    raise AssertionError("the reader takes none")


@pytest.mark.parametrize("case", NESTED)
def test_what_the_reader_takes_every_dialect_writes(case: str) -> None:
    expression = deepest(case)
    for dialect in DIALECTS:
        with stack(STACK):
            made = dialect()
            text = made.render(Compiler(SCHEMA, made).sql(expression))
        assert len(text) < 4_000_000, dialect.__name__


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_dialect_writes_a_part_more_often_than_the_reader_counts(
    dialect: Callable[[], Dialect],
) -> None:
    for text in WRITTEN_AGAIN:
        expression, made = read(text), dialect()
        assert isinstance(expression, Call)
        written = made.render(Compiler(SCHEMA, made).sql(expression))
        most = max(copies(expression, each) for each in expression.arguments)
        assert len(re.findall(r"\bu[0-9]\b", written)) <= most, text


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("deep") / "deep.csv"
    path.write_text("age,x,m,ok,day,at\n" + "1,0.5,F,true,2020-01-02,2020-01-02 10:00:00\n" * 20)
    return path


@pytest.mark.filterwarnings("ignore:The cap")
def test_a_deep_question_is_answered_or_costs_nothing(rows: Path) -> None:
    with Curator(
        rows, SCHEMA, ledger=rows.with_name("l.db"), cap=Budget(epsilon=100_000)
    ) as curator:
        for sql in questions():
            before = curator.spent
            try:
                curator.ask(sql, budget=Budget(epsilon=1))
            except BadQuestion as refusal:
                assert "Nothing was read or charged" in str(refusal)
                assert curator.spent == before


def test_a_deep_question_to_a_release_is_answered_or_refused_in_one_sentence(rows: Path) -> None:
    made = release(
        rows,
        SCHEMA,
        budget=Budget(epsilon=1),
        workload=["marginals(age, m)", "marginals(age, ok)", "histogram(x)"],
        ledger=rows.with_name("r.db"),
    )
    for sql in questions():
        try:
            made.ask(sql)
        except BadQuestion as refusal:
            assert str(refusal)


def questions() -> Iterator[str]:
    """Each kind of nesting at the depths where something gives way, in every clause that takes it."""
    for case in ("abs", "case", "plus, to the left", "concat", "parentheses", "round"):
        for times in (38, 45, 400):
            text = nested(case, times)
            yield f"SELECT count(*) FROM deep WHERE {text} IS NULL"
            if case in ("abs", "plus, to the left") and times < 400:
                yield f"SELECT sum({text}) AS s FROM deep"
                yield f"SELECT {text.replace('age', 'count(*)')} AS n FROM deep"
                yield f"SELECT m, count(*) FROM deep GROUP BY m HAVING {text.replace('age', 'count(*)')} > 1"
    for many in (40, 3_000):
        yield "SELECT count(*) FROM deep WHERE " + " AND ".join(["age > 3"] * many)
        yield (
            "SELECT count(*) FROM deep WHERE " + "(age > 3 OR (ok AND " * many + "ok" + "))" * many
        )
