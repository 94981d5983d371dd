"""What is said beside an answer: nothing that contradicts itself, no advice that cannot be followed."""

from __future__ import annotations

import re

import polars
import pytest

from discreet import Budget, Schema, release
from discreet.errors import BadQuestion, NotAnswerable

TEXT = """
dataset = "d"
adjacency = "change-one"
[columns.age]
kind = "integer"
range = [0, 99]
nulls = "exclude"
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
TABLE = polars.DataFrame({"age": [20, 30, 40, 50] * 5, "sex": ["f", "m"] * 10})


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return release(
        TABLE, Schema.loads(TEXT), budget=Budget(epsilon=20),
        workload=["means(age)", "intervals(age)", "marginals(age, sex)"],
        ledger=tmp_path_factory.mktemp("notes") / "l.db",
    )  # fmt: skip


def test_a_mean_over_all_rows_does_not_say_that_some_are_not_counted(reader):
    found = reader.ask("SELECT avg(age) FROM d")
    assert any("over all 20 rows" in note for note in found.notes)
    assert not any("not counted" in note for note in found.notes)
    mixed = reader.ask("SELECT avg(age), sum(age) FROM d").notes
    assert any("not counted" in note for note in mixed), "the sum leaves them out"


@pytest.mark.parametrize(
    ("question", "advice", "not_advice"),
    [
        ("SELECT median(age) FROM d WHERE sex = 'f'", "without WHERE", "GROUP BY"),
        ("SELECT sex, median(age) FROM d GROUP BY sex", "without GROUP BY", "WHERE"),
    ],
)
def test_advice_names_only_what_was_written(tmp_path, question, advice, not_advice):
    """Asked of a release that has a tree of ages and no table with both columns."""
    made = release(
        TABLE, Schema.loads(TEXT), budget=Budget(epsilon=20), workload=["intervals(age)"],
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    with pytest.raises(NotAnswerable) as told:
        made.ask(question)
    assert advice in str(told.value) and not_advice not in str(told.value)


NULLABLE = TEXT.replace('nulls = "exclude"', 'nulls = "cell"')


@pytest.fixture(scope="module")
def of_ranges(tmp_path_factory):
    """A release that counts ages, and not the rows without one."""
    return release(
        TABLE, Schema.loads(NULLABLE), budget=Budget(epsilon=20),
        workload=["intervals(age)", "histogram(sex)"],
        ledger=tmp_path_factory.mktemp("ranges") / "l.db",
    )  # fmt: skip


def test_where_only_rows_without_a_value_are_missing_the_refusal_says_so(of_ranges):
    question = (
        "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS w, count(*) FROM d {} GROUP BY w"
    )
    with pytest.raises(NotAnswerable, match="add age IS NOT NULL to WHERE"):
        of_ranges.ask(question.format(""))
    assert len(of_ranges.ask(question.format("WHERE age IS NOT NULL"))) == 2


def test_a_refusal_names_all_that_is_missing_at_once(of_ranges):
    with pytest.raises(NotAnswerable) as told:
        of_ranges.ask("SELECT upper(sex) AS s, count(*), avg(age) FROM d GROUP BY s")
    assert "marginals(age, sex) or means(age by sex)" in str(told.value)


@pytest.mark.parametrize(
    "condition", ["age > 99", "age >= 120", "100 <= age", "age < 0", "sex = 'f' AND age < 0"]
)
def test_a_condition_beyond_the_bounds_says_that_no_row_is_counted_there(reader, condition):
    found = reader.ask(f"SELECT count(*) FROM d WHERE {condition}")
    assert any("bounds 0 to 99" in note for note in found.notes)


@pytest.mark.parametrize(
    "condition", ["age > 98", "age >= 99", "age < 200", "age <= 0", "age > -5"]
)
def test_a_condition_that_the_bounds_allow_says_nothing_of_them(reader, condition):
    found = reader.ask(f"SELECT count(*) FROM d WHERE {condition}")
    assert not any("bounds" in note for note in found.notes)


def test_the_example_of_a_class_names_its_columns_as_sql_does(tmp_path):
    schema = Schema.loads(
        'dataset = "order"\n[columns.select]\nkind = "integer"\nrange = [0, 3]\n'
        """[columns.'a "b" c']\nkind = "category"\nvalues = ["x", "y"]\n"""
    )
    table = polars.DataFrame({"select": [1, 2, 3], 'a "b" c': ["x", "y", "x"]})
    classes = ['marginals(select, "a ""b"" c")', "sums(select)"]
    made = release(
        table, schema, budget=Budget(epsilon=9), workload=classes, ledger=tmp_path / "l.db"
    )
    assert [example for _, _, example in made.overview().classes] == [
        'SELECT "select", "a ""b"" c", count(*) FROM "order" GROUP BY "select", "a ""b"" c" '
        "ORDER BY count(*) DESC LIMIT 5",
        'SELECT sum("select") FROM "order"',
    ]


def test_a_large_error_is_shown_in_whole_rows_as_where_the_release_was_made(tmp_path):
    schema = Schema.loads('dataset = "d"\n[columns.a]\nkind = "integer"\nrange = [0, 3]\n')
    table = polars.DataFrame({"a": [1, 2, 3]})
    made = release(
        table,
        schema,
        budget=Budget(epsilon="1/9999"),
        workload=["marginals(a)"],
        ledger=tmp_path / "l.db",
    )
    (_, error, _) = made.overview().classes[0]
    assert re.search(r"off by at most \d\d,\d{3}, at", error)


@pytest.mark.parametrize("question", [None, 5, b"SELECT count(*) FROM d"])
def test_what_is_no_text_is_no_question(reader, question):
    with pytest.raises(BadQuestion, match="a text in SQL, not"):
        reader.ask(question)


MOMENTS = """
dataset = "d"
[columns.at]
kind = "datetime"
range = [2013-01-01T00:00:00, 2013-12-31T23:59:59]
granularity = "day"
[columns.day]
kind = "date"
range = [2013-01-01, 2013-12-31]
"""


def test_a_day_is_compared_with_the_bounds_of_moments_and_both_are_shown_as_dates(tmp_path):
    moments = polars.DataFrame({"at": ["2013-05-01T10:00:00"] * 20, "day": ["2013-05-01"] * 20})
    reader = release(
        moments, Schema.loads(MOMENTS), budget=Budget(epsilon=20),
        workload=["histogram(at)", "histogram(day)"], ledger=tmp_path / "l.db",
    )  # fmt: skip

    def said(condition):
        notes = reader.ask(f"SELECT count(*) FROM d WHERE {condition}").notes
        return [note for note in notes if "has the bounds" in note]

    assert said("at <= DATE '2013-12-31'") == []
    assert said("at BETWEEN DATE '2013-03-01' AND DATE '2013-04-01'") == []
    (note,) = said("at >= DATE '2014-02-01'")
    assert "'at' has the bounds 2013-01-01 00:00:00 to 2013-12-31 23:59:59." in note
    (note,) = said("day > '2014-02-01'")
    assert "'day' has the bounds 2013-01-01 to 2013-12-31." in note
