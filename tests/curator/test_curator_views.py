"""Views: a declared join that keeps the identifier, and every other join refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import discreet as dc
from discreet.audits.observing import recording
from discreet.cli.application import application
from discreet.engines import open_engine
from discreet.queries.tallies import Rows, Tally
from discreet.questions.expressions import TRUE

SCHEMA = """
dataset = "care"
{unit}
[view]
sql = "{sql}"
tables = {{ visits = "visits.parquet", patients = "patients.parquet", wards = "wards.parquet" }}
public = ["wards"]
[columns.cost]
kind = "integer"
range = [0, 99]
nulls = "exclude"
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.floor]
kind = "integer"
range = [0, 9]
"""
UNIT = '[unit]\nidentifier = "person"\nmax_rows = 3'
JOIN = (
    "SELECT v.person, v.cost, p.sex, w.floor FROM visits AS v "
    "LEFT JOIN patients p ON v.person = p.person JOIN wards w ON w.ward = v.ward"
)
BUDGET = dc.Budget(epsilon=1)


def schema_of(sql: str = JOIN, unit: str = UNIT) -> dc.Schema:
    return dc.Schema.loads(SCHEMA.format(sql=sql, unit=unit))


def tables(rows: int = 60) -> dict[str, pd.DataFrame]:
    numbers = np.random.default_rng(3)
    return {
        "visits": pd.DataFrame(
            {
                "person": [f"p{n}" for n in numbers.integers(0, 20, rows)],
                "cost": numbers.integers(0, 99, rows),
                "ward": [("a", "b", "gone")[n] for n in numbers.integers(0, 3, rows)],
            }
        ),
        "patients": pd.DataFrame(
            {
                "person": [f"p{n}" for n in numbers.integers(0, 20, 25)],
                "sex": [("F", "M")[n] for n in numbers.integers(0, 2, 25)],
            }
        ),
        "wards": pd.DataFrame({"ward": ["a", "b"], "floor": [1, 2]}),
    }


def written(found: dict[str, pd.DataFrame], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, frame in found.items():
        frame.to_parquet(folder / f"{name}.parquet")
    return folder


def joined_rows(folder: Path, schema: dc.Schema) -> Counter[tuple[Any, ...]]:
    """The rows of the join, before they are bounded."""
    with open_engine(folder, schema) as engine:
        scan = engine._rows._scan  # type: ignore[attr-defined]
        names = ", ".join(f'"{name}"' for name, _ in scan.fields)
        sql = f"SELECT {names} FROM {scan.table.sql(dialect='duckdb')}"
        return Counter(engine._session.rows(sql))  # type: ignore[attr-defined]


def test_a_view_is_the_join_that_it_says(tmp_path: Path) -> None:
    found = tables()
    rows = joined_rows(written(found, tmp_path / "care"), schema_of())
    expected = found["visits"].merge(found["patients"], on="person", how="left")
    expected = expected.merge(found["wards"], on="ward")[["cost", "sex", "floor", "person"]]
    texts = expected.astype(object).where(expected.notna(), None)
    assert rows == Counter(texts.itertuples(index=False, name=None))


def test_who_comes_or_goes_changes_no_row_of_anybody_else(tmp_path: Path) -> None:
    """Each of 5 people taken out of every table about people: the others' rows stay as they were."""
    found = tables()
    whole = joined_rows(written(found, tmp_path / "care"), schema_of())
    for person in sorted({row[-1] for row in whole})[:5]:
        fewer = {
            name: frame if name == "wards" else frame[frame["person"] != person]
            for name, frame in found.items()
        }
        rest = joined_rows(written(fewer, tmp_path / "fewer"), schema_of())
        assert rest == Counter({row: n for row, n in whole.items() if row[-1] != person})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([0.0, -0.0, float("nan"), 1.5], [0.0, -0.0, float("nan"), 1.5]),
        (["1", "01", "1.0"], [1, 2, 3]),
        ([1, 2, 2**53 + 1], [1.0, 2.0, float(2**53)]),
    ],
    ids=str,
)
def test_two_people_of_different_texts_never_meet_in_a_row(
    left: list[Any], right: list[Any], tmp_path: Path
) -> None:
    """The join tells people apart exactly as the bounding of rows does."""
    found = {
        "visits": pd.DataFrame({"person": left, "cost": 1, "ward": "a"}),
        "patients": pd.DataFrame({"person": right, "sex": [f"of {zeros_alike(x)}" for x in right]}),
        "wards": pd.DataFrame({"ward": ["a"], "floor": [1]}),
    }
    for row in joined_rows(written(found, tmp_path / "care"), schema_of()):
        assert row[1] is None or row[1] == f"of {zeros_alike(row[-1])}"


def zeros_alike(person: Any) -> str:
    """Both zeros are one person."""
    return "0.0" if str(person) == "-0.0" else str(person)


def test_rows_of_a_person_are_bounded_after_the_join(tmp_path: Path) -> None:
    """20 visits by 10 entries make 200 rows of one person, of whom 3 are kept."""
    found = {
        "visits": pd.DataFrame({"person": ["p"] * 20, "cost": range(20), "ward": "a"}),
        "patients": pd.DataFrame({"person": ["p"] * 10, "sex": "F"}),
        "wards": pd.DataFrame({"ward": ["a"], "floor": [1]}),
    }
    folder = written(found, tmp_path / "care")
    assert sum(joined_rows(folder, schema_of()).values()) == 200
    with open_engine(folder, schema_of()) as engine:
        assert engine.tally([Tally(Rows(), (), TRUE)])[0].tolist() == [3]


def test_no_value_stops_a_view(tmp_path: Path) -> None:
    odd = ["", "x\x00y", "9" * 400, "ü", None, "1e999", "'"]
    found = {
        "visits": pd.DataFrame({"person": odd, "cost": ["9" * 50] * 7, "ward": odd}),
        "patients": pd.DataFrame({"person": odd, "sex": odd}),
        "wards": pd.DataFrame({"ward": [1.0, float("inf")], "floor": [2**62, None]}),
    }
    folder = written(found, tmp_path / "care")
    with dc.Curator(folder, schema_of(), ledger=tmp_path / "l.db", cap=BUDGET) as curator:
        answers = curator.ask("SELECT sex, avg(cost) FROM care GROUP BY sex", budget=BUDGET)
        (means,) = answers.columns
        assert len(means.estimate) == schema_of().column("sex").cells
        assert all(
            0 <= low <= high <= 99 for low, high in zip(means.lower, means.upper, strict=True)
        )


def test_a_view_is_asked_like_any_table_and_another_version_of_a_file_is_another_table(
    tmp_path: Path,
) -> None:
    folder = written(tables(), tmp_path / "care")
    cap = dc.Budget(epsilon=3)
    with (
        recording() as tape,
        dc.Curator(folder, schema_of(), ledger=tmp_path / "l.db", cap=cap) as curator,
    ):
        question = "SELECT count(*), count(DISTINCT person) FROM care WHERE floor = 1"
        first = curator.ask(question, budget=BUDGET)
        assert curator.ask(question, budget=BUDGET)[0].answers == first[0].answers
    visits = tables()["visits"].query("ward == 'a'")
    assert tape.steps[1].exact.tolist() == [visits["person"].nunique()]
    written(tables(59), folder)
    with dc.Curator(folder, schema_of(), ledger=tmp_path / "l.db") as curator:
        curator.ask(question, budget=BUDGET)
        assert curator.spent == dc.Budget(epsilon=2)


def test_a_view_comes_back_from_its_schemas_text() -> None:
    schema = schema_of()
    assert dc.Schema.loads(schema.dumps()) == schema
    assert schema.digest() != schema_of(JOIN.replace("LEFT JOIN", "JOIN")).digest()


ON = "SELECT v.person, v.cost, p.sex, w.floor FROM visits v JOIN patients p ON "
END = " JOIN wards w ON v.ward = w.ward"
REFUSED = {
    "a join by another column": (ON + "v.ward = p.ward" + END, "must be joined by 'person'"),
    "a join by an inequality": (ON + "v.person <> p.person" + END, "equalities"),
    "a join by either": (ON + "v.person = p.person OR v.ward = p.ward" + END, "equalities"),
    "a join by a constant": (ON + "v.person = p.person AND p.sex = 'F'" + END, "plain columns"),
    "a join by a function": (ON + "lower(v.person) = lower(p.person)" + END, "plain columns"),
    "a join with itself alone": (ON + "p.person = p.person" + END, "earlier table"),
    "the identifier of a public table": (
        "SELECT v.person, v.cost, p.sex, w.floor FROM visits v JOIN wards w ON v.ward = w.ward "
        "JOIN patients p ON p.person = w.person",
        "must be joined by 'person'",
    ),
    "a cross join": ("SELECT v.person, v.cost FROM visits v CROSS JOIN patients p", "CROSS"),
    "a comma": ("SELECT v.person, v.cost FROM visits v, patients p", "without ON"),
    "a right join": (ON.replace("JOIN", "RIGHT JOIN") + "v.person = p.person" + END, "RIGHT"),
    "a full join": (ON.replace("JOIN", "FULL JOIN") + "v.person = p.person" + END, "FULL"),
    "a semi join": (ON.replace("JOIN", "SEMI JOIN") + "v.person = p.person" + END, "SEMI"),
    "a natural join": ("SELECT v.person FROM visits v NATURAL JOIN patients p", "besides ON|ON"),
    "a join with using": ("SELECT v.person FROM visits v JOIN patients p USING (person)", "ON"),
    "no identifier": (JOIN.replace("v.person, ", ""), "keep the identifier"),
    "another's identifier": (JOIN.replace("SELECT v.person", "SELECT p.person"), "keep the ident"),
    "a made-up identifier": (
        JOIN.replace("SELECT v.person", "SELECT v.ward AS person"),
        "keep the identifier",
    ),
    "a public table first": (
        "SELECT w.person, w.floor FROM wards w JOIN visits v ON w.ward = v.ward",
        "declared public",
    ),
    "a where": (JOIN + " WHERE v.cost > 3", "WHERE"),
    "a group": (JOIN + " GROUP BY v.person", "GROUP"),
    "an expression": (JOIN.replace("v.cost", "1 / v.cost AS cost"), "plain columns"),
    "a star": (JOIN.replace("v.cost", "v.*"), "plain columns"),
    "a bare column": (JOIN.replace("v.cost", "cost"), "table's name"),
    "a window": (JOIN.replace("v.cost", "row_number() OVER () AS cost"), "plain columns"),
    "distinct": (JOIN.replace("SELECT", "SELECT DISTINCT"), "DISTINCT"),
    "a subquery": (JOIN.replace("visits AS v", "(SELECT * FROM visits) v"), "for a table"),
    "a file": (JOIN.replace("visits AS v", "read_csv('/etc/passwd') v"), "for a table|plain name"),
    "another table": (JOIN.replace("visits AS v", "secrets v"), "no table 'secrets'"),
    "two statements": (JOIN + "; DROP TABLE visits", "one plain SELECT"),
    "a union": (f"{JOIN} UNION {JOIN}", "one plain SELECT"),
    "a with": ("WITH v AS (SELECT 1) " + JOIN, "WITH|one plain"),
    "nonsense": ("SELECT FROM WHERE", "not understood|no FROM|needs|WHERE"),
    "nothing": ("", "one plain SELECT|not understood"),
    "a missing column": (JOIN.replace(", w.floor", ""), "does not select it"),
    "a column twice": (JOIN.replace("v.cost", "v.cost, p.cost"), "two columns"),
    "one name for two tables": (JOIN.replace("patients p", "patients v"), "two tables"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_any_other_join_is_refused_in_a_sentence(case: str) -> None:
    sql, words = REFUSED[case]
    with pytest.raises(dc.BadSchema, match=words) as refusal:
        schema_of(sql)
    assert "[view]" in str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (UNIT, "", "identifier"),
        ('"visits.parquet"', '"../visits.parquet"', "source's folder"),
        ('"visits.parquet"', '"/etc/visits.parquet"', "source's folder"),
        ('"visits.parquet"', '"visits.csv"', "Parquet file"),
        ('"visits.parquet"', "3", "names a file"),
        ('public = ["wards"]', 'public = ["nobody"]', "none of the tables"),
        ('public = ["wards"]', "", "must be joined by 'person'"),
        ('"patients.parquet"', '"Visits.parquet"', "is used for two tables"),
        ("[columns.sex]", "[columns.age]\nkind = 'boolean'\n[columns.sex]", "does not select it"),
    ],
)
def test_a_view_that_is_not_whole_is_refused_in_a_sentence(old: str, new: str, words: str) -> None:
    text = SCHEMA.format(sql=JOIN, unit=UNIT)
    assert old in text
    with pytest.raises(dc.BadSchema, match=words):
        dc.Schema.loads(text.replace(old, new))


def test_a_file_under_two_names_is_refused_for_one_of_them_might_be_public(tmp_path: Path) -> None:
    folder = written(tables(), tmp_path / "care")
    (folder / "wards.parquet").unlink()
    (folder / "wards.parquet").symlink_to(folder / "visits.parquet")
    with pytest.raises(dc.BadSource, match="one file"):
        open_engine(folder, schema_of())


def test_a_view_needs_its_folder_its_files_and_their_columns(tmp_path: Path) -> None:
    folder = written(tables(), tmp_path / "care")
    for source in (folder / "visits.parquet", tables()["visits"]):
        with pytest.raises(dc.BadSource, match="folder"):
            open_engine(source, schema_of())
    tables()["patients"].drop(columns="sex").to_parquet(folder / "patients.parquet")
    with pytest.raises(dc.BadSource, match="no column 'sex'"):
        open_engine(folder, schema_of())
    (folder / "wards.parquet").unlink()
    with pytest.raises(dc.BadSource, match=r"no file 'wards.parquet'"):
        open_engine(folder, schema_of())


def test_a_view_is_asked_on_the_command_line(tmp_path: Path) -> None:
    folder = written(tables(), tmp_path / "care")
    path = tmp_path / "care.toml"
    path.write_text(SCHEMA.format(sql=JOIN, unit=UNIT), encoding="utf-8")
    done = CliRunner().invoke(
        application,
        [
            *["curator", "ask"],
            str(folder),
            "SELECT count(*) FROM care",
            "--schema",
            str(path),
            *["--epsilon", "1", "--cap", "1", "--json", "--ledger"],
            str(tmp_path / "l.db"),
        ],
    )
    assert done.exit_code == 0, done.output
