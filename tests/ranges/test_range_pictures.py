"""What is shown and drawn of a range release: charts in the report, synthetic rows, notes and claims."""

from __future__ import annotations

import re
from datetime import date, datetime
from html import unescape

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

from discreet.answering import ReleaseReader
from discreet.artifacts.files import write_release
from discreet.cli.application import application
from discreet.errors import BadInput, NotAnswerable
from discreet.families.ranges.queries.ranges import questions
from discreet.privacy.budget import Budget
from discreet.report import LARGEST, render_report
from discreet.schema import Schema
from tests.ranges.people import PEOPLE
from tests.releasing import release

SCHEMA = Schema.loads(
    PEOPLE
    + """
[columns.seen]
kind = "datetime"
range = ["2000-01-01 00:00:00", "2030-01-01 00:00:00"]
granularity = "second"
[columns.key]
kind = "integer"
range = [-9223372036854775808, 9223372036854775807]
"""
)
ROWS = 20_000


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(5)
    seen = generator.integers(0, 900_000_000, ROWS)
    return pandas.DataFrame(
        {
            "age": generator.gamma(5, 8, ROWS).astype(int).clip(0, 99),
            "income": generator.gamma(2, 60, ROWS).clip(0, 999),
            "born": pandas.Timestamp("1960-01-01")
            + pandas.to_timedelta(generator.integers(0, 9000, ROWS), unit="D"),
            "seen": pandas.Timestamp("2000-01-01") + pandas.to_timedelta(seen, unit="s"),
            "key": generator.integers(2**61, 2**62, ROWS),
            "sex": generator.choice(["f", "m"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def opened(frame, tmp_path_factory):
    """A release for any workload, at epsilon 10 a class."""
    folder = tmp_path_factory.mktemp("ledgers")
    kept = {}

    def made(*workload, algorithms=None):
        key = (workload, str(algorithms))
        if key not in kept:
            kept[key] = ReleaseReader(
                release(
                    frame,
                    SCHEMA,
                    budget=Budget(epsilon=10 * len(workload)),
                    workload=list(workload),
                    ledger=folder / f"{len(kept)}.db",
                    algorithms=algorithms,
                )
            )
        return kept[key]

    return made


def test_the_report_draws_a_distribution_with_its_band_and_a_heat_map(opened):
    reader = opened("intervals(age)", "intervals(born)", "rectangles(age, income)")
    page = render_report(reader)
    assert len(page.encode()) <= LARGEST
    for title in ("age, added up", "born, added up", "age by income"):
        assert title in page
    assert page.count('class="band"') >= 2 and "A rising line of" in page
    assert re.search(r"a tree of [\d,]+ nodes", page)
    pictures = re.findall(r'<svg[^>]*role="img"[^>]*aria-labelledby="(\S+) (\S+)"', page)
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(set(ids)) == len(ids) and {each for pair in pictures for each in pair} <= set(ids)
    for bar in reader.distribution("age", most=64).estimate[:3]:
        assert f"{int(bar):,}" in page


def test_what_the_report_suggests_to_ask_is_answered(opened):
    reader = opened("intervals(age)", "intervals(born)", "rectangles(age, income)")
    asked = re.findall(r"SELECT count.*?(?=')", unescape(render_report(reader)).replace("''", "~"))
    assert len(asked) >= 2
    for part in reader.release.parts:
        for example in questions(part, SCHEMA):
            assert reader.ask(example).only.estimate > 0


def test_a_distribution_adds_up_and_its_band_holds_its_line(opened, frame):
    """At epsilon 10 a class no bar of thousands is off by a hundred but for a chance below 1e-9."""
    reader = opened("intervals(age)", "intervals(born)", "rectangles(age, income)")
    found = reader.distribution("age", most=16)
    truth = frame.groupby(frame.age // 8).size().reindex(range(13), fill_value=0)
    assert np.abs(found.estimate - truth).max() < 100
    estimate, lower, upper = found.running
    assert ((lower <= estimate) & (estimate <= upper)).all()
    assert np.abs(estimate - truth.cumsum()).max() < 200
    boxes = reader.distribution("age", "income", most=8)
    assert boxes.shape == (7, 8) and boxes.estimate.sum() == pytest.approx(ROWS, rel=0.02)
    assert reader.distribution("income", most=8).estimate.sum() == pytest.approx(ROWS, rel=0.02)
    with pytest.raises(NotAnswerable):
        reader.distribution("sex")
    with pytest.raises(BadInput):
        reader.distribution("age", most=0)


def test_synthetic_rows_of_ranges_have_the_releases_counts_and_the_schemas_types(opened, frame):
    reader = opened(
        "intervals(born)", "rectangles(age, income)", "intervals(seen)", "intervals(key)"
    )
    rows = reader.synthesize(seed=1)
    assert rows.names == ("age", "income", "born", "seen", "key")
    assert len(rows) == pytest.approx(ROWS, rel=0.02)
    ages, incomes = (np.array(rows.column(name)) for name in ("age", "income"))
    keys = np.array([each for each in rows.column("key") if each is not None])
    for age in (20, 40, 60):
        asked = f"SELECT count(*) FROM people WHERE age < {age} AND income < 125"
        share = reader.ask(asked, whole=False).only.estimate
        drawn = ((ages < age) & (incomes < 125)).sum()
        assert drawn == pytest.approx(share, abs=0.02 * ROWS)
    kinds = {"born": date, "seen": datetime}
    for name, kind in kinds.items():  # noise may look like a few rows without a value
        values = [each for each in rows.column(name) if each is not None]
        assert len(values) > 0.95 * len(rows) and all(isinstance(each, kind) for each in values)
    assert (keys >= 2**60).mean() > 0.9
    assert "independently" in rows.notes[0] and "age, income; born" in rows.notes[0]
    assert "do not count nulls" in rows.notes[1] and "sex" in rows.notes[-1]
    again = reader.synthesize(seed=1)
    assert np.array_equal(rows.codes, again.codes)


def test_columns_of_tables_and_of_ranges_stand_side_by_side(opened, frame):
    reader = opened("marginals(age, sex)", "intervals(age)", "intervals(income)")
    rows = reader.synthesize(500, seed=2)
    assert rows.names == ("age", "income", "sex")
    assert set(rows.column("sex")) <= {"f", "m", None}
    assert len(rows.column("income")) == 500 and "age, sex; income" in rows.notes[0]


def test_the_command_writes_them_and_says_what_they_do_not_show(opened, tmp_path):
    reader = opened(
        "intervals(born)", "rectangles(age, income)", "intervals(seen)", "intervals(key)"
    )
    write_release(reader.release, tmp_path / "people.release")
    done = CliRunner().invoke(
        application,
        [
            "synthesize",
            str(tmp_path / "people.release"),
            "-o",
            str(tmp_path / "rows.csv"),
            "--rows",
            "50",
        ],
    )
    assert done.exit_code == 0, done.output
    assert "50 synthetic rows of 5 columns" in done.output and "independently" in done.output
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 51


def test_answers_say_what_their_intervals_stand_on(opened):
    """A tree in two stages was found with noise of its own, so nothing is taken as fixed."""
    asked = "SELECT count(*) FROM people WHERE age < 30"
    notes = {}
    for name in ("adaptive-tree", "two-stage-tree", "tree"):
        reader = opened("intervals(age)", algorithms={"intervals(age)": name})
        notes[name] = " ".join(reader.ask(asked).notes)
    assert "takes the tree as fixed" in notes["adaptive-tree"]
    assert "noise of its own" in notes["two-stage-tree"]
    assert "the tree as fixed" not in notes["two-stage-tree"] + notes["tree"]


@pytest.mark.parametrize("name", ["adaptive-tree", "two-stage-tree", "tree"])
def test_a_released_tree_claims_the_bound_that_anybody_can_compute_again(opened, name):
    reader = opened("intervals(age)", algorithms={"intervals(age)": name})
    (claim,) = reader.release.claims
    assert claim.simultaneous and claim.confidence == 0.95
    again = reader.usefulness("intervals(age)", delta=0.05)
    assert claim.bound == pytest.approx(again.bound) and claim.bound < ROWS / 10
    assert reader.usefulness("unions(age, 3)", delta=0.05).bound == pytest.approx(3 * again.bound)


def test_unions_are_released_asked_and_claimed(opened, frame):
    """At 1 - 1e-9 the interval of a union holds; both its ranges are counted."""
    reader = opened("unions(age, 2)", "unions(age, income, 2)")
    assert reader.workload == ("unions(age, 2)", "unions(age, income, 2)")
    answer = reader.ask(
        "SELECT count(*) FROM people WHERE age BETWEEN 10 AND 19 OR age >= 60", confidence=1 - 1e-9
    ).only
    truth = int((((frame.age >= 10) & (frame.age <= 19)) | (frame.age >= 60)).sum())
    assert answer.lower <= truth <= answer.upper and answer.upper - answer.lower < ROWS / 10
    one, two = reader.release.claims
    assert one.query_class == "unions(age, 2)" and two.bound > one.bound


def test_moments_come_back_as_moments(opened, frame):
    reader = opened(
        "intervals(born)", "rectangles(age, income)", "intervals(seen)", "intervals(key)"
    )
    asked = reader.ask(
        "SELECT median(seen), quantile(born, 0.9) AS late FROM people", confidence=1 - 1e-9
    )
    answer = asked[0]["median(seen)"]
    low, high = answer.interval
    assert low <= frame.seen.quantile(0.5).to_pydatetime() <= high
    assert isinstance(answer.value, datetime) and low <= answer.value <= high
    late = asked[0]["late"]
    assert late.interval[0] <= frame.born.quantile(0.9).date() <= late.interval[1]
    assert not answer.is_vague and str(answer.value)[:4] in str(asked)
    shown = asked.to_dict()["rows"][0]["answers"]["late"]
    assert shown["estimate"] == late.value.isoformat()


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_a_column_of_ranges_has_nulls_in_as_many_rows_as_are_missing_from_it(adjacency, tmp_path):
    """At epsilon 200 a total is off by 20 rows with a probability below 1e-9."""
    text = f'dataset = "t"\nadjacency = "{adjacency}"\n'
    text += '[columns.x]\nkind = "integer"\nrange = [0, 99]\n'
    text += '[columns.day]\nkind = "date"\nrange = [2020-01-01, 2020-12-31]\n'
    text += '[columns.b]\nkind = "boolean"\n'
    lines = [
        f"{k % 100 if k % 4 else ''},{'2020-03-01' if k % 2 else ''},true" for k in range(1000)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["x,day,b", *lines, ""]))
    for workload in (["intervals(x)", "intervals(day)", "histogram(b)"], ["intervals(x)"]):
        made = release(
            tmp_path / "t.csv",
            Schema.loads(text),
            budget=Budget(epsilon=200),
            workload=workload,
            ledger=tmp_path / f"{len(workload)}.db",
        )
        reader = ReleaseReader(made)
        for rows in (None, 400):
            drawn = reader.synthesize(rows, seed=3)
            missing = sum(each is None for each in drawn.column("x"))
            knows = adjacency == "change-one" or len(workload) > 1
            assert missing == pytest.approx(len(drawn) / 4 if knows else 0, abs=20)
            assert (
                any(
                    "the number of nulls is the number of all rows minus" in note
                    for note in drawn.notes
                )
                == knows
            )
        if len(workload) > 1:
            missing = sum(each is None for each in drawn.column("day"))
            assert missing == pytest.approx(len(drawn) / 2, abs=20)
    assert reader.synthesize(0).column("x") == []
