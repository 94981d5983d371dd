"""Questions to a release of `keys(town)`, and how far its answers can be trusted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import discreet as dc
from discreet.answering import ReleaseReader
from discreet.answering.overview import telling_claims
from discreet.artifacts.release import ErrorClaim, Release
from discreet.core.mechanisms import PartitionSelection
from discreet.families.keys.answer import KeySource
from discreet.families.keys.estimate import most_unnamed, noise_level
from discreet.families.keys.release import _unnamed
from discreet.privacy.laws import DiscreteLaplaceLaw
from tests.keys.towns import BUDGET, SURE, TOWNS, frame_of, schema_of

ASKED = "SELECT count(*) FROM people WHERE "
TRUE_ROWS = Counter(TOWNS)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ReleaseReader:
    folder = tmp_path_factory.mktemp("keys")
    return dc.release(
        frame_of(TOWNS), schema_of(), budget=BUDGET, workload=["keys(town)"], ledger=folder / "l.db"
    )


def test_groups_are_the_published_values_all_others_and_nulls(reader: ReleaseReader) -> None:
    """False alarm: 1e-8 a group."""
    answers = reader.ask(
        "SELECT town, count(*) FROM people GROUP BY town ORDER BY town", confidence=SURE
    )
    found = {row.group["town"]: row.answer for row in answers}
    assert {"Rome", "Oslo", "Lima", "(other)", "null"} <= set(found)
    for town in ("Rome", "Oslo", "Lima"):
        assert found[town].lower <= TRUE_ROWS[town] <= found[town].upper
        assert found[town].covers.value == "noise"
    first = reader.ask(
        "SELECT town, count(*) AS n FROM people WHERE town IS NOT NULL GROUP BY town ORDER BY n DESC LIMIT 1"
    )
    assert [row.group["town"] for row in first] == ["Rome"]
    listed = reader.ask("SELECT town FROM people GROUP BY town")
    assert len(listed) == len(found)
    upper = reader.ask("SELECT upper(town), count(*) FROM people GROUP BY upper(town)")
    assert "ROME" in {next(iter(row.group.values())) for row in upper}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("town = 'Rome'", TRUE_ROWS["Rome"]),
        ("town IN ('Rome', 'Lima')", 1_200),
        ("town IN ('Rome', 'Tiny', 'v7')", 903),
        ("town = 'Tiny'", 2),
        ("town = 'nowhere'", 0),
        ("town <> 'Rome'", 900),
        ("town <> 'Tiny'", 1_798),
        ("town LIKE 'Ro%'", 900),
        ("town LIKE 'T%'", 2),
        ("upper(town) = 'OSLO'", 500),
        ("town IS NULL", 100),
        ("town IS NOT NULL", 1_800),
        ("NOT (town = 'Rome' OR town = 'Tiny')", 898),
        ("town = 'Rome' AND town = 'Oslo'", 0),
    ],
)
def test_an_interval_holds_whatever_is_asked_of_the_column(
    reader: ReleaseReader, condition: str, rows: int
) -> None:
    """False alarm: 1e-8 a condition."""
    found = reader.ask(ASKED + condition, confidence=SURE).only
    assert found.lower <= rows <= found.upper, condition
    usual = reader.ask(ASKED + condition).only
    assert usual.upper - usual.lower < 250


def test_all_rows_and_all_values_are_counted(reader: ReleaseReader) -> None:
    """False alarm: 2e-8."""
    everything = reader.ask("SELECT count(*) FROM people", confidence=SURE).only
    assert everything.lower <= 1_900 <= everything.upper
    valued = reader.ask("SELECT count(town) FROM people", confidence=SURE).only
    assert valued.lower <= 1_800 <= valued.upper


def test_of_a_value_that_is_not_published_a_bound_is_said_with_its_confidence(
    reader: ReleaseReader,
) -> None:
    source = reader._library.evidence.sources[0]
    assert isinstance(source, KeySource)
    answer = reader.ask(ASKED + "town = 'nowhere'")
    most = most_unnamed(source._unnamed, 0.95)
    assert (answer.only.estimate, answer.only.lower, answer.only.upper) == (0, 0, most)
    assert f"at most {most} rows hold it, with confidence 0.95" in " ".join(answer.notes)
    assert "not a declared value" not in " ".join(answer.notes)


def test_a_number_of_different_values_is_only_bounded_from_below(reader: ReleaseReader) -> None:
    found = reader.ask("SELECT count(DISTINCT town) FROM people").only
    many = len(reader.release.parts[0].namings[0].keys)
    assert (found.estimate, found.lower, found.upper) == (many, many, inf)


def test_other_columns_beside_it_are_refused_with_the_reason(reader: ReleaseReader) -> None:
    with pytest.raises(dc.NotAnswerable, match="not together with other columns"):
        reader.ask("SELECT town, sex, count(*) FROM people GROUP BY town, sex")
    with pytest.raises(dc.NotAnswerable):
        reader.ask(ASKED + "sex = 'F'")


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize(
    ("epsilon", "touched"), [(Fraction(2), 1), (Fraction(2), 6), (Fraction(1, 50), 1)]
)
def test_an_interval_covers_however_many_hold_a_value(
    confidence: float, epsilon: Fraction, touched: int
) -> None:
    """Exact, for every number of people: a value is named and its noise small, or it is not named and few hold it."""
    naming = PartitionSelection(epsilon=epsilon, delta=BUDGET.delta).law(touched)
    law = DiscreteLaplaceLaw(touched / epsilon)
    width = law.half_width(noise_level(confidence))
    inside = 1 - 2 * float(law.cdf(-width - 1))
    bound = most_unnamed(_unnamed(naming), confidence)
    assert bound < naming.certain
    for held in range(naming.certain + 2):
        named = float(naming.chance(held))
        covered = named * inside + (1 - named) * (held <= bound)
        assert covered >= confidence - 1e-12, held


def test_claims_hold_for_named_and_unnamed_values(reader: ReleaseReader) -> None:
    """False alarm: 1e-8."""
    alone, together = reader.release.claims
    assert not alone.simultaneous and together.simultaneous
    bound = reader.usefulness("keys(town)", delta="1e-8").bound
    for town, rows in TRUE_ROWS.items():
        if town is not None:
            answer = reader.ask(ASKED + f"town = '{town}'").only
            assert abs(answer.estimate - rows) <= bound
    assert together.bound <= bound


def test_beside_tables_of_the_same_column_values_are_still_named(tmp_path: Path) -> None:
    """False alarm: 2e-8."""
    reader = dc.release(
        frame_of(TOWNS), schema_of(), budget=dc.Budget(epsilon=8, delta="1e-6"),
        workload=["keys(town)", "marginals(2)"], ledger=tmp_path / "l.db",
    )  # fmt: skip
    one = reader.ask(ASKED + "town = 'Rome'", confidence=SURE).only
    assert one.lower <= 900 <= one.upper < 1_200
    found = reader.ask("SELECT town, count(*) FROM people GROUP BY town")
    assert {"Rome", "Oslo"} <= {row.group["town"] for row in found}
    women = reader.ask(ASKED + "sex = 'F' AND town IS NULL", confidence=SURE).only
    assert women.lower <= 50 <= women.upper
    drawn = Counter(reader.synthesize(2_000, seed=1).column("town"))
    assert drawn["Rome"] > drawn["Oslo"] > drawn["Lima"] > 0
    assert set(drawn) - {None, "(other)"} <= {
        key for (key,) in reader.release.parts[0].namings[0].keys
    }


def test_synthetic_rows_hold_published_values_only(reader: ReleaseReader) -> None:
    """900 of 1,900 rows are in Rome: 2,000 draws are within 7 standard errors, but once in 1e11."""
    drawn = Counter(reader.synthesize(2_000, seed=3).column("town"))
    named = {key for (key,) in reader.release.parts[0].namings[0].keys}
    assert set(drawn) <= named | {None, "(other)"}
    assert 0.38 < drawn["Rome"] / 2_000 < 0.57


def test_odd_values_are_published_asked_and_shown_like_any_other(tmp_path: Path) -> None:
    """500 people each, so all are named; false alarm 1e-8 a value."""
    odd = [
        "(other)",
        "(null)",
        "",
        " ",
        "a'b",
        'c"d',
        "x\ny",
        "REPLACE ME",
        "👩‍👩‍👧",
        "null",
        "1",
        "1.0",
        "<b>",
    ]
    reader = dc.release(
        frame_of([text for text in odd for _ in range(500)]), schema_of(), budget=BUDGET,
        workload=["keys(town)"], ledger=tmp_path / "l.db",
    )  # fmt: skip
    assert {key for (key,) in reader.release.parts[0].namings[0].keys} == set(odd)
    for text in odd:
        spelled = text.replace("'", "''")
        found = reader.ask(ASKED + f"town = '{spelled}'", confidence=SURE).only
        assert found.lower <= 500 <= found.upper, text
    shown = reader.ask("SELECT town, count(*) FROM people GROUP BY town")
    labels = [row.group["town"] for row in shown]
    assert len(set(labels)) == len(labels) == len(odd) + 2
    assert "<b>" not in dc.render_report(reader).split("published by name")[-1][:4_000]


def test_the_statement_and_the_report_say_that_values_are_named(reader: ReleaseReader) -> None:
    words = str(reader.statement())
    assert "but the values that are named" in words
    assert "published with a probability of at most 1e-06" in words
    page = dc.render_report(reader)
    assert "Values of town that are published by name" in page and "Rome" in page
    assert "ORDER BY count(*) DESC LIMIT 10" in page


def test_with_few_groups_a_person_nothing_is_said_of_rows_that_are_left_out(tmp_path: Path) -> None:
    people = [f"p{k // 3}" for k in range(900)]
    towns = [("a", "b", "c")[k % 3] for k in range(900)]
    reader = dc.release(
        frame_of(towns, person=people), schema_of(rows=3, groups=1),
        budget=dc.Budget(epsilon=8, delta="1e-6"), workload=["keys(town)"], ledger=tmp_path / "l.db",
    )  # fmt: skip
    answers = reader.ask("SELECT town, count(*) FROM people GROUP BY town")
    assert any("At most 1 values" in note for note in answers.notes)


def test_where_nulls_are_left_out_they_are_in_no_count(tmp_path: Path) -> None:
    """False alarm: 1e-8."""
    reader = dc.release(
        frame_of(TOWNS), schema_of(nulls="exclude"), budget=BUDGET, workload=["keys(town)"],
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    answers = reader.ask("SELECT town, count(*) FROM people GROUP BY town", confidence=SURE)
    assert "null" not in {row.group["town"] for row in answers}
    with pytest.raises(dc.NotAnswerable):
        reader.ask("SELECT count(*) FROM people")


def test_a_bound_of_each_value_is_not_told_where_that_of_all_at_once_is_smaller() -> None:
    """Both are claims of the file. Told side by side, the larger bound of the weaker statement helps nobody."""
    claims = [
        ErrorClaim("keys(town)", 1065.0, 0.95, False, "coins"),
        ErrorClaim("keys(town)", 257.0, 0.95, True, "noise"),
        ErrorClaim("marginals(sex)", 10.0, 0.95, False, "noise"),
        ErrorClaim("marginals(sex)", 19.0, 0.95, True, "noise"),
        ErrorClaim("means(age by sex)", 3.0, 0.95, True, "noise", "groups of at least 9 values"),
    ]
    found = telling_claims(cast("Release", SimpleNamespace(claims=claims)))
    assert found == claims[1:]


def test_a_release_without_names_says_which_class_would_have_named_them(tmp_path: Path) -> None:
    made = dc.release(
        frame_of(TOWNS),
        schema_of(),
        budget=BUDGET,
        workload=["histogram(sex)"],
        ledger=tmp_path / "l.db",
    )
    with pytest.raises(dc.NotAnswerable, match=r"needed keys\(town\), and"):
        made.ask("SELECT town, count(*) FROM people GROUP BY town")
    with pytest.raises(
        dc.NotAnswerable, match=r"'town' are not declared.* keys\(town\); a curator"
    ):
        made.ask("SELECT town, sex, count(*) FROM people GROUP BY town, sex")
    assert "none declared" in str(made)
