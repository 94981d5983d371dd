"""Questions that few people ask: about nothing, about rows that no cell tells apart, and with almost no noise."""

from __future__ import annotations

import math
import random
import statistics
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest

from discreet.answering import ReleaseReader
from discreet.errors import BadQuestion, NotAnswerable
from discreet.families.tables.answer.linear_tables import CombinedTable, WeightedTable
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.privacy.laws.exact_sums import kurtosis_of
from discreet.questions.cells.reach import numbers
from discreet.questions.conditions import anywhere, both, null_test
from discreet.questions.expressions import Call, ColumnValue, Constant
from discreet.releases import release
from discreet.schema import Schema
from tests.no_noise import without_noise
from tests.releases_by_hand import people, release_of_tables

ROWS = [
    {"kids": place % 4, "sex": "FMFXF"[place % 5], "owns": place % 3 == 0, "pay": 1.0}
    for place in range(60)
]
BY_GROUP = """
dataset = "t"
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.age]
kind = "integer"
range = [0, 4]
"""


@pytest.fixture(scope="module")
def reader() -> ReleaseReader:
    return ReleaseReader(release_of_tables(people(), [("kids", "sex", "owns")], ROWS))


@pytest.fixture(scope="module")
def by_group(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReleaseReader]:
    rows = pandas.DataFrame({"sex": ["f", "m", "f", "f"] * 5, "age": [0, 1, 2, 3] * 5})
    found = {}
    with without_noise(), pytest.warns(UserWarning):
        for each in ("means", "sums", "quantiles", "intervals"):
            text = f"{each}(age by sex)"
            found[each] = release(
                rows,
                Schema.loads(BY_GROUP),
                budget=Budget(epsilon=20),
                workload=[text],
                ledger=tmp_path_factory.mktemp("ledger") / "l.db",
            )
    return found


@pytest.mark.parametrize("name", ["means", "sums", "quantiles", "intervals"])
def test_no_group_at_all_has_no_rows(by_group: dict[str, ReleaseReader], name: str) -> None:
    reader = by_group[name]
    asked = "FROM t WHERE sex = 'f' AND sex = 'm'"
    assert reader.ask(f"SELECT count(age) {asked}").only.upper == 0
    assert len(reader.ask(f"SELECT sex, count(age) {asked} GROUP BY sex")) == 0
    what = "avg(age)" if name in ("means", "sums") else "median(age)"
    answer = reader.ask(f"SELECT {what} {asked}").only
    assert (answer.lower, answer.upper) == (0, 4), "of no rows it may be anything"


def test_a_median_of_no_dates_is_a_date(tmp_path: Path) -> None:
    schema = Schema.loads(
        BY_GROUP + '[columns.day]\nkind = "date"\nrange = ["2020-01-01", "2020-01-31"]\n'
    )
    rows = pandas.DataFrame({"sex": ["f"], "age": [1], "day": [date(2020, 1, 5)]})
    with without_noise(), pytest.warns(UserWarning):
        made = release(
            rows,
            schema,
            budget=Budget(epsilon=20),
            workload=["quantiles(day by sex)"],
            ledger=tmp_path / "l.db",
        )
    answer = made.ask("SELECT median(day) FROM t WHERE sex = 'f' AND sex = 'm'").only
    assert answer.interval == (date(2020, 1, 1), date(2020, 1, 31))


def test_ranges_by_group_are_the_same_however_their_conditions_are_joined(
    by_group: dict[str, ReleaseReader],
) -> None:
    ways = [
        "sex = 'f' AND age >= 2",
        "NOT (NOT (sex = 'f' AND age >= 2))",
        "NOT (NOT (sex = 'f') OR NOT (age >= 2))",
    ]
    answers = [
        by_group["intervals"].ask(f"SELECT count(*) FROM t WHERE {each}").only for each in ways
    ]
    assert answers[0].estimate == 10
    assert answers[0] == answers[1] == answers[2]


def test_a_share_with_almost_no_noise_has_a_narrow_interval(reader: ReleaseReader) -> None:
    share = reader.ask("SELECT 1.0 * count(*) FILTER (WHERE owns) / count(*) FROM people").only
    assert share.lower == pytest.approx(1 / 3) == share.upper
    mean = reader.ask("SELECT avg(CASE WHEN owns THEN 1 ELSE 4 END) FROM people").only
    assert mean.lower == pytest.approx(3.0) == mean.upper


def test_the_kurtosis_of_tiny_noise_is_a_number() -> None:
    law = DiscreteLaplaceLaw(Fraction(1, 400))
    assert math.isfinite(kurtosis_of([(1.0, law, 3)]))


@pytest.mark.parametrize("default", ["", ", 0"])
def test_what_is_null_by_the_estimates_alone_may_have_a_value(
    reader: ReleaseReader, default: str
) -> None:
    """All rows with an undeclared sex are 'X', which the release does not know: trim(sex) = 'X' may hold for none or all of them."""
    only = "FILTER (WHERE trim(sex) = 'X')"
    asked = f"sum(kids) {only} / count(*) {only}"
    answer = reader.ask(f"SELECT coalesce({asked}{default}) FROM people").only
    rows = [int(str(row["kids"])) for row in ROWS if row["sex"] == "X"]
    truth = sum(rows) / len(rows)
    assert answer.lower <= truth <= answer.upper


def test_undeclared_values_count_as_one_different_value(reader: ReleaseReader) -> None:
    found = reader.ask("SELECT count(DISTINCT sex) FROM people")
    assert (found.only.lower, found.only.upper) == (3, 3), "F, M, and all others"
    assert any("count as one" in note for note in found.notes)
    by_value = reader.ask("SELECT owns, count(DISTINCT owns) AS n FROM people GROUP BY owns")
    assert {row.group["owns"]: row["n"].estimate for row in by_value} == {
        "false": 1,
        "true": 1,
        "null": 0,
    }


def test_a_test_for_null_does_not_hide_what_a_column_holds() -> None:
    kids = ColumnValue("kids", "integer")
    above = Call(">", (kids, Constant(2, "integer")), "boolean")
    for condition in (both(above, null_test("kids")), both(null_test("kids"), above)):
        assert anywhere(condition)["kids"] == numbers(-(2**63), 2**63 - 1, null=True)


def test_a_mean_of_a_case_is_about_the_rows_that_its_conditions_are_about(tmp_path: Path) -> None:
    """Rows whose age is excluded are in no count with a condition about age: nor in the divisor."""
    schema = Schema.loads(BY_GROUP + 'nulls = "exclude"\n')
    rows = pandas.DataFrame({"sex": ["f"] * 90, "age": [1, 2, None] * 30})
    workload = ["marginals(sex, age)", "marginals(sex)"]
    with without_noise(), pytest.warns(UserWarning):
        made = release(
            rows, schema, budget=Budget(epsilon=40), workload=workload, ledger=tmp_path / "l.db"
        )
    for asked in ("CASE WHEN age = 1 OR sex = 'm' THEN 1 ELSE 0 END", "age = 1 OR sex = 'm'"):
        assert made.ask(f"SELECT avg({asked}) FROM t").only.estimate == pytest.approx(0.5)


def test_a_quantile_at_the_end_of_a_cell_is_the_last_of_its_rows() -> None:
    """18 of 20 rows are up to 2, so the least value with nine tenths of the rows is 2."""
    rows = [{"kids": value} for value in [0] * 10 + [2] * 8 + [3] * 2]
    reader = ReleaseReader(release_of_tables(people(), [("kids",)], rows))
    answer = reader.ask("SELECT quantile(kids, 0.9) FROM people").only
    assert (answer.estimate, answer.lower) == (2, 2)


def test_the_covariance_of_a_column_with_itself_is_its_variance() -> None:
    """Values lie anywhere in wide cells: the product of one value with itself is no product of two."""
    pay = [1.6, 1.7, 3.9, 3.5, 2.0, 2.2]
    rows = [{"pay": each} for each in pay]
    reader = ReleaseReader(release_of_tables(people(), [("pay",)], rows))
    asked = "FROM people WHERE pay >= 1.5 AND pay < 4"
    answer = reader.ask(f"SELECT covar_pop(pay, pay) {asked}").only
    assert answer.lower <= statistics.pvariance(pay) <= answer.upper


def test_groups_of_a_derived_column_keep_their_names() -> None:
    """The release has none of it, so rows are counted by the other column, whose cells have other numbers."""
    schema = Schema.loads(
        BY_GROUP
        + '[columns.life]\nkind = "category"\nvalues = ["young", "old"]\n'
        + "[derived]\nlife = \"CASE WHEN age < 2 THEN 'young' WHEN age >= 2 THEN 'old' END\"\n"
    )
    rows = [{"sex": "f", "age": place % 5} for place in range(20)]
    reader = ReleaseReader(release_of_tables(schema, [("sex", "age")], rows))
    found = reader.ask(
        "SELECT left(life, 1) AS l, count(*) FILTER (WHERE age > 2) AS n FROM t GROUP BY l"
    )
    counts = {row.group["l"]: row["n"].estimate for row in found}
    assert counts["o"] == 8
    assert counts.get("y", 0) == 0


def test_a_count_of_the_identifier_is_the_number_of_rows() -> None:
    """A row without an identifier belongs to nobody and is not counted, so the others are all of them."""
    schema = people(unit=PrivacyUnit("patient id", 3))
    reader = ReleaseReader(release_of_tables(schema, [("kids", "sex", "owns")], ROWS))
    for grouped in ("", " GROUP BY sex"):
        rows = reader.ask(f"SELECT count(*) AS n FROM people{grouped}")
        of_persons = reader.ask(f'SELECT count("patient id") AS n FROM people{grouped}')
        assert of_persons.to_dict()["rows"] == rows.to_dict()["rows"]
    with pytest.raises(BadQuestion, match="one person's") as caught:
        reader.ask('SELECT "patient id", count(*) FROM people GROUP BY 1')
    assert 'DISTINCT "patient id")' in str(caught.value)
    assert "single quotes" not in str(caught.value)


def test_what_sqlglot_cannot_spell_does_not_reach_the_screen(
    reader: ReleaseReader, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadQuestion, match="to_char"):
        reader.ask("SELECT to_char(born, 'YYYY-WW') AS m, count(*) FROM people GROUP BY m")
    assert capfd.readouterr() == ("", "")


def test_a_refused_quantile_names_a_class_that_answers_it(
    by_group: dict[str, ReleaseReader],
) -> None:
    with pytest.raises(NotAnswerable, match=r"marginals\(age, sex\) or quantiles\(age by sex\)"):
        by_group["means"].ask("SELECT sex, median(age) FROM t GROUP BY sex")
    with pytest.raises(NotAnswerable, match=r"needed intervals\(age\),"):
        by_group["means"].ask("SELECT median(age) FROM t")
    assert len(by_group["quantiles"].ask("SELECT sex, median(age) FROM t GROUP BY sex")) == 4


def test_a_note_says_where_undeclared_values_are_among_computed_groups() -> None:
    reader = ReleaseReader(release_of_tables(people(), [("kids", "sex", "owns")], ROWS))
    found = reader.ask("SELECT lower(sex) AS s, count(*) FROM people GROUP BY s")
    assert any(
        "group (other) of s, whatever the expression gives" in note for note in found.notes
    ) == ("(other)" in [row.group["s"] for row in found])
    plain = reader.ask("SELECT sex, count(*) FROM people GROUP BY sex")
    assert not any("whichever" in note for note in plain.notes)


@pytest.mark.parametrize("asked", ["sum(kids)", "avg(kids)", "sum(kids * kids)"])
def test_a_sum_over_too_many_cells_is_refused_before_its_table_is_made(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table and its weights would take many times the memory that the limit is for."""
    fresh = ReleaseReader(release_of_tables(people(), [("kids", "sex", "owns")], ROWS))
    monkeypatch.setattr("discreet.families.tables.answer.sums.summing.MOST_WEIGHTED", 10)

    def made(*_: object) -> None:
        raise AssertionError("a table was made")

    monkeypatch.setattr(TableLibrary, "_combined", made)
    with pytest.raises(NotAnswerable, match=r"needs \d+ cells one by one; the most is 10"):
        fresh.ask(f"SELECT {asked} FROM people WHERE sex = 'F'")


def test_a_quantile_that_takes_too_long_is_not_said_to_lack_a_table(
    reader: ReleaseReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.families.tables.answer.table_quantiles.MOST_WORK", 1)
    for where in ("", "WHERE sex = 'F'"):
        with pytest.raises(NotAnswerable, match="which takes too long"):
            reader.ask(f"SELECT median(kids) FROM people {where}")


AGES = """
dataset = "t"
[columns.age]
kind = "integer"
range = [0, 39]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""


@pytest.mark.parametrize(
    "workload", [["marginals(age, sex)"], ["marginals(age, sex)", "histogram(age)"]]
)
def test_a_quantile_is_the_same_if_the_noise_of_every_cell_is_looked_at(
    workload: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Chebyshev's bound decides whether a cell is possible, the half-width of its noise is not computed."""
    public = random.Random(5)
    ages = [min(max(round(public.gauss(18, 7)), 0), 39) for _ in range(600)]
    rows = pandas.DataFrame({"age": ages, "sex": [public.choice("fm") for _ in ages]})
    schema, ledger = Schema.loads(AGES), tmp_path / "l.db"
    made = release(rows, schema, budget=Budget(epsilon=2), workload=workload, ledger=ledger)
    questions = [
        f"SELECT {by}quantile(age, {level}) FROM t {where} {f'GROUP BY {by[:-2]}' if by else ''}"
        for level in ("0.1", "0.5", "0.97")
        for by in ("", "sex, ")
        for where in ("", "WHERE age > 7", "WHERE sex = 'm'")
    ]
    looked: list[int] = []
    widths = WeightedTable.widths

    def counted(*asked: Any) -> Any:
        looked.append(1)
        return widths(*asked)

    monkeypatch.setattr(WeightedTable, "widths", counted)
    short = [made.ask(each).to_dict() for each in questions]
    few = len(looked)
    for kind in (WeightedTable, CombinedTable):
        monkeypatch.setattr(kind, "deviations", lambda *_: math.inf)
    looked.clear()
    assert [made.ask(each).to_dict() for each in questions] == short
    assert few < 0.7 * len(looked)
