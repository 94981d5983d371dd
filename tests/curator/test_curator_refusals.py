"""What is refused is refused in one sentence, before anything is read or charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from tests.curator.conftest import Opener, schema_of

ONE = dc.Budget(epsilon=1)

REFUSED = {
    "a misspelt column": ("SELECT count(*) FROM people WHERE agee > 3", "agee"),
    "stacked statements": ("SELECT count(*) FROM people; DROP TABLE people", "one statement"),
    "attach": ("ATTACH 'other.duckdb'", "Only SELECT"),
    "pragma": ("PRAGMA database_list", "Only SELECT"),
    "copy": ("COPY people TO 'x.csv'", "Only SELECT"),
    "a file": ("SELECT count(*) FROM read_csv('/etc/passwd')", "FROM takes"),
    "a file by its name": ("SELECT count(*) FROM '/etc/passwd'", "FROM takes|no table"),
    "a subquery of another table": ("SELECT count(*) FROM (SELECT * FROM secrets)", "no table"),
    "a subquery in WHERE": (
        "SELECT count(*) FROM people WHERE age > (SELECT max(age) FROM people)",
        "subquery",
    ),
    "a subquery in IN": (
        "SELECT count(*) FROM people WHERE age IN (SELECT age FROM people)",
        "subquery|literals",
    ),
    "exists": ("SELECT count(*) FROM people WHERE EXISTS (SELECT 1)", "EXISTS"),
    "another table": ("SELECT count(*) FROM secrets", "no table"),
    "a join": ("SELECT count(*) FROM people JOIN people p ON true", "JOIN"),
    "two tables": ("SELECT count(*) FROM people, people p", "JOIN|FROM|no table"),
    "a union of rows": ("SELECT count(*) FROM people UNION SELECT age FROM people", "never shown"),
    "an intersection": ("SELECT count(*) FROM people INTERSECT SELECT 1", "UNION ALL"),
    "a window over rows": ("SELECT count(*) OVER () FROM people", "window function"),
    "rows in order": ("SELECT age FROM people ORDER BY age LIMIT 1", "never shown"),
    "rows of a subquery": ("WITH p AS (SELECT * FROM people) SELECT * FROM p", "never shown"),
    "a recursion": ("WITH RECURSIVE p AS (SELECT 1) SELECT count(*) FROM people", "RECURSIVE"),
    "a minimum": ("SELECT max(age) FROM people", "depend on a single row"),
    "bare rows": ("SELECT age FROM people", "GROUP BY"),
    "a star": ("SELECT * FROM people", "never shown"),
    "a user function": ("SELECT count(*) FROM people WHERE sleep(age)", "function"),
    "a cast": ("SELECT count(*) FROM people WHERE CAST(income AS VARCHAR) = '1'", "CAST"),
    "a regular expression": ("SELECT count(*) FROM people WHERE sex ~ 'a'", "not understood"),
    "the identifier": ("SELECT count(*) FROM people WHERE person = 'p1'", "person"),
    "a sum of texts": ("SELECT sum(sex) FROM people", "category"),
    "text plus number": ("SELECT count(*) FROM people WHERE sex + 1 > 2", "takes numbers"),
    "text beside number": ("SELECT count(*) FROM people WHERE age > 'x'", "cannot be compared"),
    "a date as condition": ("SELECT count(*) FROM people WHERE born", "true or false"),
    "ordered truth": ("SELECT count(*) FROM people WHERE member > false", "no order"),
    "a bad date": ("SELECT count(*) FROM people WHERE born > 'soon'", "date"),
    "five groups": (
        "SELECT count(*) FROM people GROUP BY age, sex, born, member, income",
        "at most 4|groups",
    ),
    "too many groups": ("SELECT count(*) FROM people GROUP BY age, income, born", "groups"),
    "a quantile of 2": ("SELECT quantile(age, 2) FROM people", "between 0 and 1"),
    "a histogram beside a sum": ("SELECT histogram(sex), sum(age) FROM people", "must be alone"),
    "distinct incomes": ("SELECT count(DISTINCT income) FROM people", "ranges"),
    "10,000 terms": (
        "SELECT count(*) FROM people WHERE " + " OR ".join(["age = 1"] * 10_000),
        "more than 1,000 terms",
    ),
    "10,000 nested negations": (
        "SELECT count(*) FROM people WHERE " + "NOT " * 10_000 + "member",
        "nested|deep",
    ),
    "a long list": (
        "SELECT count(*) FROM people WHERE age IN (" + ", ".join(["1"] * 20_000) + ")",
        "10,000",
    ),
    "deep parentheses": (
        "SELECT count(*) FROM people WHERE " + "(" * 3000 + "member" + ")" * 3000,
        "nested|deep",
    ),
    "nonsense": ("SELECT count(* FROM people", "not understood"),
    "nothing": ("  ", "empty"),
}


@pytest.fixture(scope="module")
def watched(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dc.Curator]:
    """A curator whose engine must not be touched, and whose cap must stay whole."""

    def touched(*_: object, **__: object) -> None:
        raise AssertionError("the rows were read")

    ledger = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with (
        dc.Curator(table, schema_of(), ledger=ledger, cap=dc.Budget(epsilon=10)) as curator,
        pytest.MonkeyPatch.context() as patch,
    ):
        for verb in ("tally", "row_count", "marginals", "sums"):
            patch.setattr(curator._engine, verb, touched)
        yield curator


@pytest.mark.parametrize("case", REFUSED)
def test_a_question_outside_the_allow_list_is_refused_unread_and_uncharged(
    watched: dc.Curator, case: str
) -> None:
    sql, words = REFUSED[case]
    with pytest.raises(dc.BadQuestion, match=words) as refusal:
        watched.ask(sql, budget=ONE)
    assert "Nothing was read or charged" in str(refusal.value)
    assert len(str(refusal.value)) < 700
    assert watched.left == dc.Budget(epsilon=10)


@pytest.mark.parametrize("epsilon", [-1, 0, "x", float("nan"), float("inf")])
def test_an_impossible_epsilon_is_refused(watched: dc.Curator, epsilon: Any) -> None:
    with pytest.raises(dc.BadBudget):
        watched.ask("SELECT count(*) FROM people", budget=dc.Budget(epsilon=epsilon))
    assert watched.left == dc.Budget(epsilon=10)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"budget": 1.0},
        {"budget": ONE, "accuracy": "±5"},
        {"budget": ONE, "confidence": 1},
        {"accuracy": "close"},
        {"accuracy": "±0"},
        {"accuracy": "±5 at 100%"},
        {"budget": dc.Budget(rho=1)},
    ],
    ids=str,
)
def test_a_question_without_one_sensible_price_is_refused(
    watched: dc.Curator, options: dict[str, Any]
) -> None:
    with pytest.raises(dc.BadInput):
        watched.ask("SELECT count(*) FROM people", **options)
    assert watched.left == dc.Budget(epsilon=10)


@pytest.mark.parametrize("what", ["avg(age)", "median(age)", "stddev(age)", "mode(sex)"])
def test_the_cost_of_a_means_accuracy_is_refused_with_the_reason(
    watched: dc.Curator, what: str
) -> None:
    with pytest.raises(dc.BadQuestion, match="depends on the data"):
        watched.ask(f"SELECT {what} FROM people", accuracy="±5 at 95%")
    assert watched.left == dc.Budget(epsilon=10)


def test_an_exhausted_budget_reads_nothing(watched: dc.Curator) -> None:
    with pytest.raises(dc.BudgetExceeded, match="No row was read"):
        watched.ask("SELECT count(*) FROM people", budget=dc.Budget(epsilon=11))
    assert watched.left == dc.Budget(epsilon=10)


def test_a_curator_needs_a_cap(opened: Opener) -> None:
    with pytest.raises(dc.BadBudget, match="no cap"):
        opened(cap=None)


def test_a_cap_that_is_not_the_schemas_is_refused_at_the_door(
    opened: Opener, tmp_path: Path
) -> None:
    schema = replace(schema_of(), cap=dc.Budget(epsilon=1))
    with pytest.raises(
        dc.BadBudget, match=r"caps dataset 'people' at epsilon 1.*a cap of epsilon 10"
    ):
        opened(schema=schema)
    opened(schema=schema, cap=None)  # nothing was declared by the one that was refused
    assert opened(schema=schema, cap=dc.Budget(epsilon=1)).left == dc.Budget(epsilon=1)


def test_units_are_counted_apart_only_where_there_is_an_identifier(opened: Opener) -> None:
    with pytest.raises(dc.BadQuestion, match="count\\(\\*\\)"):
        opened().ask("SELECT count(DISTINCT unit) FROM people", budget=ONE)
