"""What a release of ranges is asked: SQL, groups, medians, batches, bounds, tampering, charts."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas
import pytest

from discreet.answering import ReleaseReader, open_release
from discreet.artifacts.files import write_release
from discreet.artifacts.measurement import TreeLevel, TreeMeasurement
from discreet.errors import BadRelease, NotAnswerable
from discreet.families.ranges.answer.joining import ranges_of
from discreet.families.ranges.answer.pictures import bars, drawn_codes
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.ranges.people import PEOPLE
from tests.releasing import release


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    schema = Schema.loads(PEOPLE)
    generator = np.random.default_rng(5)
    n = 20_000
    frame = pandas.DataFrame(
        {
            "age": generator.gamma(5, 8, n).astype(int),
            "income": generator.gamma(2, 60, n),
            "born": pandas.Timestamp("1960-01-01")
            + pandas.to_timedelta(generator.integers(0, 9000, n), unit="D"),
            "sex": generator.choice(["f", "m"], n),
        }
    )
    made = release(
        frame,
        schema,
        budget=Budget(epsilon=30),
        workload=["intervals(age)", "intervals(born)", "rectangles(age, income)"],
        ledger=folder / "ledger.db",
    )
    write_release(made, folder / "people.release")
    return frame, folder / "people.release"


QUESTIONS = {
    "age BETWEEN 30 AND 39": lambda f: (f.age >= 30) & (f.age <= 39),
    "age < 20 OR age >= 80": lambda f: (f.age < 20) | (f.age >= 80),
    "NOT (age >= 20 AND age < 80)": lambda f: (f.age < 20) | (f.age >= 80),
    "age IN (18, 21)": lambda f: f.age.isin([18, 21]),
    "age >= 30 AND income < 125.0": lambda f: (f.age >= 30) & (f.income < 125),
    "(age < 30 AND income < 125) OR (age >= 60 AND income >= 500)": lambda f: (
        ((f.age < 30) & (f.income < 125)) | ((f.age >= 60) & (f.income >= 500))
    ),
    "born >= '1970-01-01' AND born < '1975-01-01'": lambda f: (
        (f.born >= "1970-01-01") & (f.born < "1975-01-01")
    ),
}


@pytest.mark.parametrize("condition", QUESTIONS)
def test_sql_conditions_become_ranges(people, condition):
    """At confidence 1 - 1e-9 and 10 epsilon a class; an answer to another question is far off."""
    frame, path = people
    answer = (
        open_release(path)
        .ask(f"SELECT count(*) FROM people WHERE {condition}", confidence=1 - 1e-9)
        .only
    )
    truth = int(QUESTIONS[condition](frame).sum())
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower < 0.1 * len(frame)


def test_groups_medians_and_quantiles_are_read_off_the_release(people):
    frame, path = people
    reader = open_release(path)
    groups = reader.ask(
        "SELECT age, count(*) FROM people WHERE age BETWEEN 20 AND 24 GROUP BY age",
        confidence=1 - 1e-9,
    )
    assert [row.group["age"] for row in groups] == ["20", "21", "22", "23", "24"]
    for row in groups:
        truth = int((frame.age == int(row.group["age"])).sum())
        assert row.answer.lower <= truth <= row.answer.upper
    asked = reader.ask(
        "SELECT median(age), quantile(age, 0.9) AS high FROM people", confidence=1 - 1e-9
    )
    for name, level in [("median(age)", 0.5), ("high", 0.9)]:
        answer = asked[0][name]
        assert answer.lower <= frame.age.quantile(level) <= answer.upper
        assert answer.upper - answer.lower <= 6
    dates = reader.ask("SELECT median(born) FROM people", confidence=1 - 1e-9)
    truth = frame.born.quantile(0.5).date()
    assert dates.only.interval[0] <= truth <= dates.only.interval[1]
    assert isinstance(dates.only.value, date) and abs((dates.only.value - truth).days) < 200
    assert dates.only.value.isoformat() in str(dates)
    shown = dates.to_dict()["rows"][0]["answers"]["median(born)"]
    assert shown["lower"] <= truth.isoformat() <= shown["upper"]
    assert dates.to_pandas()["median(born)"][0] == dates.only.value


def test_quantiles_of_the_rows_in_a_range_of_the_same_column(people):
    """False alarm below 1e-6: at this confidence the interval is the first test's, with exact deviations."""
    frame = people[0]
    reader = open_release(people[1])
    found = reader.ask(
        "SELECT quantile(age, 0.25) FROM people WHERE age BETWEEN 20 AND 49", confidence=1 - 1e-9
    ).only
    some = frame.age[(frame.age >= 20) & (frame.age <= 49)]
    assert 20 <= found.lower <= some.quantile(0.25) <= found.upper <= 49


@pytest.mark.parametrize(
    "question",
    [
        "SELECT count(*) FROM people WHERE age IS NULL",
        "SELECT count(*) FROM people WHERE age < 5 AND sex = 'f'",
        "SELECT median(age) FROM people WHERE age < 50 OR age > 60",
        "SELECT median(income) FROM people",
        "SELECT avg(age) FROM people WHERE sex = 'f'",
    ],
)
def test_what_no_tree_can_answer_is_refused(people, question):
    with pytest.raises(NotAnswerable):
        open_release(people[1]).ask(question)


def test_values_that_cut_cells_are_bracketed_in_the_batch_path(people):
    frame, path = people
    found = open_release(path).count_many(
        "age", [10.5, 50, 70, -5], [20.2, 40, 200, -1], confidence=1 - 1e-9
    )
    truths = [((frame.age >= 11) & (frame.age <= 20)).sum(), 0, (frame.age >= 70).sum(), 0]
    assert ((found.lower <= truths) & (truths <= found.upper)).all()
    boxes = open_release(path).count_boxes(
        ["age", "income"], [[0, 0], [5, 9]], [[99, 1023], [4, 9]], confidence=1 - 1e-9
    )
    assert boxes.lower[0] <= len(frame) <= boxes.upper[0]
    assert boxes.upper[1] == 0


def test_no_interval_is_off_by_more_than_the_simultaneous_bound(people):
    frame, path = people
    reader = open_release(path)
    claim = reader.usefulness("intervals(age)", delta=1e-9)
    assert claim.simultaneous
    low, high = np.triu_indices(100)
    found = reader.count_many("age", low, high, codes=True)
    prefix = np.concatenate([[0], np.cumsum(np.bincount(frame.age.clip(0, 99), minlength=100))])
    worst = np.abs(found.estimate - (prefix[high + 1] - prefix[low])).max()
    assert worst <= claim.bound < len(frame) / 20


def test_verify_catches_tampering_with_a_tree(people):
    release_ = open_release(people[1]).release
    part = release_.parts[0]
    (measured,) = part.measurements
    assert isinstance(measured, TreeMeasurement)
    assert verify(release_).ok

    def tampered(**changes):
        level = measured.levels[1]
        fields = {name: getattr(level, name) for name in TreeLevel.__slots__} | changes
        levels = (measured.levels[0], TreeLevel(**fields), *measured.levels[2:])
        changed = TreeMeasurement(measured.tree, levels, measured.path_epsilon, measured.cost)
        new = type(part)(part.kind, part.query_class, part.algorithm, (changed,), part.estimates)
        return type(release_)(
            release_.schema, release_.budget, release_.accounting, (new,), None, (), "test"
        )

    level = measured.levels[1]
    for bad in (
        tampered(stopped_epsilon=2 * level.stopped_epsilon),
        tampered(refined_epsilon=measured.path_epsilon),
        tampered(stopped=~level.stopped),
        tampered(nodes=level.nodes[::-1].copy()),
    ):
        assert not verify(bad).ok
    with pytest.raises(BadRelease):
        ReleaseReader(tampered(stopped=~level.stopped)).ask(
            "SELECT count(*) FROM people WHERE age < 30"
        )


def test_charts_and_synthetic_values_follow_the_release(people):
    frame, path = people
    (source, *_) = ranges_of(open_release(path)._library)
    chart = bars(source, most=16)
    assert chart.shape == (13,)
    assert chart.estimate.sum() == pytest.approx(len(frame), rel=0.02)
    assert ((chart.lower <= chart.estimate) & (chart.estimate <= chart.upper)).all()
    drawn = drawn_codes(source, 5000, generator(3))
    assert drawn.shape == (5000, 1) and drawn.max() <= 99
    assert np.array_equal(drawn, drawn_codes(source, 5000, generator(3)))
    for age in (20, 40, 60):
        share = (frame.age.clip(0, 99) < age).mean()
        assert (drawn[:, 0] < age).mean() == pytest.approx(share, abs=0.02)


def test_ranges_over_more_columns_say_how_they_are_asked_about_fewer(tmp_path):
    """A row without a height is in no box: how many weigh so much is not known, but of those with a height it is."""
    schema = Schema.loads(
        """
        dataset = "people"
        [columns.height]
        kind = "integer"
        range = [0, 15]
        [columns.weight]
        kind = "integer"
        range = [0, 15]
        """
    )
    frame = pandas.DataFrame({"height": [*range(16)] * 40, "weight": [*range(8)] * 80})
    made = release(
        frame,
        schema,
        budget=Budget(epsilon=9),
        workload=["rectangles(height, weight)"],
        ledger=tmp_path / "ledger.db",
    )
    write_release(made, tmp_path / "people.release")
    reader = open_release(tmp_path / "people.release")
    with pytest.raises(NotAnswerable, match=r"add WHERE height IS NOT NULL\.$"):
        reader.ask("SELECT count(*) FROM people WHERE weight < 4")
    asked = "SELECT count(*) FROM people WHERE weight < 4 AND height IS NOT NULL"
    answer = reader.ask(asked, confidence=0.999999).only
    assert answer.lower <= (frame.weight < 4).sum() <= answer.upper
