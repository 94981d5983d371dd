"""A set of answers prints, exports and compares itself."""

from __future__ import annotations

import json
import sys

import pytest

from discreet.answering import ReleaseReader
from discreet.artifacts.answer import Answer, Covers, Unit
from discreet.artifacts.answers import Answers
from discreet.errors import BadInput
from tests.releases_by_hand import people, release_of_tables

ROWS = [{"age": 5, "sex": "F"}] * 7 + [{"age": 15, "sex": "<M>"}] * 3


def grouped(where: str = "") -> Answers:
    reader = ReleaseReader(release_of_tables(people(), [("age", "sex")], ROWS))
    return reader.ask(
        f"SELECT sex, count(*) AS n, avg(age) AS mean FROM people {where} GROUP BY sex"
    )


def single(where: str) -> Answers:
    reader = ReleaseReader(release_of_tables(people(), [("age", "sex")], ROWS))
    return reader.ask(f"SELECT count(*) FROM people WHERE {where}")


def test_it_prints_as_a_table_with_intervals_and_notes() -> None:
    text = str(grouped())
    assert text.splitlines()[0].split()[:2] == ["sex", "n"]
    assert (
        "[7, 7]" in text
        and "noise + discretisation" in text
        and "discretisation also allows" in text
    )


def test_its_html_is_a_table_and_escapes_labels() -> None:
    html = grouped()._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == 5
    answers = single("sex = 'F'")
    assert "&lt;" in Answers(
        groups=("sex",), codes=grouped().codes, label=lambda axis, code: "<b>",
        columns=grouped().columns, confidence=0.95,
    )._repr_html_()  # fmt: skip
    assert "<table>" in answers._repr_html_()


def test_no_column_of_the_question_takes_the_place_of_an_end() -> None:
    """Names such as n_lower and pay_std are an analyst's to give."""
    reader = ReleaseReader(release_of_tables(people(), [("age", "sex")], ROWS))
    asked = "SELECT sex AS n_upper, count(*) AS n, sum(age) AS n_lower, avg(age) AS n_std FROM people GROUP BY sex"
    found = reader.ask(asked)
    columns = found.to_columns()
    assert len(columns) == 1 + 4 * 3
    assert columns["n_upper"].tolist() == ["F", "M", "(other)", None]
    for column in found.columns:
        assert columns[column.name].tolist() == column.values(column.estimate).tolist()
    assert columns["n_lower_"].tolist() == columns["n_upper_"].tolist() == [7, 0, 3, 0]


def test_it_becomes_a_data_frame_and_an_arrow_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = grouped().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.columns.tolist()[:5] == ["sex", "n", "n_lower", "n_upper", "n_std"]
    assert frame["n"].tolist() == [7, 0, 3, 0]
    pytest.importorskip("pyarrow")
    assert grouped().to_arrow().column("sex").to_pylist() == ["F", "M", "(other)", None]
    polars = pytest.importorskip("polars")
    for made in (grouped().to_polars(), polars.DataFrame(grouped())):
        assert made["sex"].to_list() == ["F", "M", "(other)", None] and made["n"].to_list() == [
            7,
            0,
            3,
            0,
        ]


def test_counts_are_integers_and_means_are_not() -> None:
    answers = grouped()
    columns = answers.to_columns()
    kinds = {name: values.dtype.kind for name, values in columns.items() if name != "sex"}
    whole = {name for name, kind in kinds.items() if kind == "i"}
    assert whole == {"n", "n_lower", "n_upper"}
    (row, *_) = answers.to_dict()["rows"]
    n, mean = row["answers"]["n"], row["answers"]["mean"]
    assert all(type(n[each]) is int for each in ("estimate", "lower", "upper"))
    assert type(mean["estimate"]) is float
    assert not answers[0]["n"].is_vague and answers[1]["n"].unit is Unit.COUNT
    # also where more is done with them
    sorted_ = ReleaseReader(release_of_tables(people(), [("age", "sex")], ROWS)).ask(
        "SELECT sex, count(*) AS n FROM people GROUP BY sex ORDER BY n DESC LIMIT 1"
    )
    assert sorted_.to_columns()["n"].tolist() == [7] and sorted_.to_columns()["n"].dtype.kind == "i"


def test_its_dict_is_plain_json() -> None:
    data = json.loads(json.dumps(grouped().to_dict()))
    assert data["rows"][0]["group"] == data["rows"][0]["values"] == {"sex": "F"}
    assert data["rows"][3]["values"] == {"sex": None}, "null is no text"
    assert data["rows"][0]["answers"]["n"]["estimate"] == 7


def test_only_is_refused_where_there_are_several() -> None:
    assert single("sex = 'F'").only.estimate == 7
    with pytest.raises(BadInput, match="not a single answer"):
        _ = grouped().only


def test_rows_are_indexed_and_iterated() -> None:
    answers = grouped()
    assert len(answers) == 4 and answers[-1].group == {"sex": "null"}
    assert [row["n"].estimate for row in answers] == [7, 0, 3, 0]
    with pytest.raises(IndexError):
        _ = answers[4]


def test_a_difference_has_an_interval_that_holds_for_both() -> None:
    left = Answer(estimate=10, lower=8, upper=12, confidence=0.95, std=1, covers=Covers.NOISE)
    right = Answer(
        estimate=3, lower=1, upper=4, confidence=0.95, std=1, covers=Covers.NOISE_AND_CELLS
    )
    difference = left.minus(right)
    assert (difference.estimate, difference.lower, difference.upper) == (7, 4, 11)
    assert (
        difference.confidence == pytest.approx(0.9) and difference.covers is Covers.NOISE_AND_CELLS
    )
    assert left.compare(right) == "higher" and right.compare(left) == "lower"
    assert left.compare(left) == "too close to tell"


def test_sets_are_compared_group_by_group() -> None:
    difference = grouped().minus(grouped("WHERE sex = 'F' OR sex = 'M'"))
    assert [row.group["sex"] for row in difference] == ["F", "M"]
    assert [row["n"].estimate for row in difference] == [0, 0]
    assert difference.confidence == pytest.approx(0.9)
    with pytest.raises(BadInput, match="same shape"):
        grouped().minus(single("sex = 'F'"))


def test_importing_answers_loads_nothing_heavy() -> None:
    import subprocess

    code = (
        "import sys, discreet.answering; "
        "print([m for m in ('duckdb', 'pandas', 'pyarrow', 'rich', 'jinja2', 'sqlglot', "
        "'discreet.core') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_an_interval_as_wide_as_its_estimate_is_vague_and_a_number_without_noise_is_not() -> None:
    def answer(estimate: float, lower: float, upper: float) -> Answer:
        return Answer(
            estimate=estimate,
            lower=lower,
            upper=upper,
            confidence=0.95,
            std=1.0,
            covers=Covers.NOISE,
        )

    assert answer(29, 0, 29).is_vague, "the mean of an empty group, at the upper bound"
    assert answer(5, 0, 9).is_vague and answer(0, 0, 1).is_vague
    assert not answer(9, 5, 13).is_vague and not answer(0, 0, 0).is_vague
