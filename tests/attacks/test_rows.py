"""Linking and uniqueness: a table without names is not anonymous."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from discreet.attacks.linking import Link, Traces
from discreet.attacks.linking import link as linked
from discreet.audits.attacking import link, trace, unique
from discreet.custodian.disclosure.anonymity import uniqueness
from discreet.errors import BadInput, BadSource
from discreet.plain_tables import read_columns, write_columns


def test_rows_that_are_alone_on_both_sides_are_linked_and_no_others():
    anonymised = {"sex": ["f", "m", "m"], "zip": ["1", "2", "2"], "illness": ["a", "b", "c"]}
    register = {"name": ["Ann", "Bo", "Cy"], "sex": ["f", "m", "m"], "zip": ["1", "2", "3"]}
    assert linked(anonymised, register, ["sex", "zip"]) == [Link(0, 0)]


def test_generated_patients_are_linked_by_birth_date_sex_and_region():
    outcome = link()
    assert outcome.details["right"] > 0.95 * outcome.details["links"] > 500
    assert outcome.lines[0].value > 0.5
    assert outcome.line("the same without born").value < 0.05


def test_links_on_a_custodians_tables_are_scored_only_with_names(tmp_path: Path):
    write_columns(tmp_path / "a.csv", {"id": ["1", "2"], "sex": ["f", "m"]})
    outcome = link(tmp_path / "a.csv", tmp_path / "a.csv", columns=["sex"], name="id")
    assert outcome.details["right"] == 2 and outcome.banner
    unscored = link(tmp_path / "a.csv", tmp_path / "a.csv", columns=["sex"])
    assert unscored.details["right"] is None
    assert unscored.banner.startswith("NOT PRIVATE"), "it counts rows of the custodian's table"
    with pytest.raises(BadInput, match="both tables"):
        link(tmp_path / "a.csv")


def test_uniqueness_agrees_with_counting_by_hand():
    draws = np.random.default_rng(7)
    columns = {name: [str(v) for v in draws.integers(0, 6, 60)] for name in "abcd"}
    found = {each.columns: each.unique for each in uniqueness(columns, largest=3)}
    assert len(found) == 4 + 6 + 4
    for size in (1, 2, 3):
        for chosen in combinations("abcd", size):
            rows = list(zip(*(columns[name] for name in chosen), strict=True))
            assert found[chosen] == sum(rows.count(row) == 1 for row in rows)


def test_the_worst_set_of_each_size_is_shown_and_the_outcome_is_not_private():
    outcome = unique({"a": ["1", "1", "2"], "b": ["x", "y", "y"]}, largest=2)
    assert [line.value for line in outcome.lines] == [pytest.approx(1 / 3), 1.0, 0.0]
    assert [line.ours for line in outcome.lines] == [False, False, True]
    assert outcome.banner.startswith("NOT PRIVATE")


def test_too_many_sets_are_refused():
    with pytest.raises(BadInput, match="Name fewer columns"):
        uniqueness({str(n): ["a"] for n in range(60)}, largest=6)


def test_four_points_of_a_trace_single_most_people_out():
    curve = trace(people=400, tries=200).series[0].points
    assert curve[0][1] < curve[3][1] and curve[3][1] > 0.6


def test_a_trace_that_everybody_shares_singles_nobody_out():
    assert Traces(np.zeros((20, 48), dtype=np.int64)).unicity(4, tries=20) == 0.0


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_plain_tables_are_the_same_in_every_format(ending, tmp_path: Path):
    columns = {"a": ["1", "x, y"], "b": ["", "é"]}
    write_columns(tmp_path / f"t.{ending}", columns)
    assert read_columns(tmp_path / f"t.{ending}") == columns


def test_a_table_that_is_written_again_keeps_its_permissions_and_its_link(tmp_path: Path):
    """The rows may be real ones."""
    place, link_ = tmp_path / "rows.csv", tmp_path / "link.csv"
    write_columns(place, {"a": ["1"]})
    place.chmod(0o600)
    link_.symlink_to(place)
    write_columns(link_, {"a": ["2"]})
    assert link_.is_symlink() and read_columns(place) == {"a": ["2"]}
    assert place.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.csv", "rows.csv"]


def test_a_file_without_names_takes_those_given(tmp_path: Path):
    (tmp_path / "t.data").write_text("39, State-gov\n50, Private\n")
    found = read_columns(tmp_path / "t.data", header=["age", "work"])
    assert found == {"age": ["39", "50"], "work": ["State-gov", "Private"]}
    with pytest.raises(BadSource, match="There is no file"):
        read_columns(tmp_path / "missing.csv")
    with pytest.raises(BadInput, match="no column 'pay'"):
        read_columns(tmp_path / "t.data", header=["age", "work"], wanted=["pay"])


@pytest.mark.parametrize("between", [";", "\t", "|"])
def test_a_first_line_without_commas_says_what_stands_between_its_names(
    between: str, tmp_path: Path
) -> None:
    """Else a whole line were one column, and every row unique."""
    rows = [["ward", "days"], ["A", "3"], ["B", "4"]]
    (tmp_path / "t.csv").write_text("\n".join(map(between.join, rows)))
    assert read_columns(tmp_path / "t.csv") == {"ward": ["A", "B"], "days": ["3", "4"]}
    (tmp_path / "u.csv").write_text("ward;x,days\nA;1,3\n")
    assert read_columns(tmp_path / "u.csv") == {"ward;x": ["A;1"], "days": ["3"]}


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_table_is_written_whole_or_not_at_all(tmp_path: Path, ending: str):
    def stopped():
        yield from ["1"] * 1000
        raise OSError(28, "No space left on device")

    class Half(list[str]):
        def __iter__(self):
            return stopped()

    path = tmp_path / f"t.{ending}"
    write_columns(path, {"a": ["0"]})
    before = path.read_bytes()
    with pytest.raises(OSError, match=f"No space left.*t.{ending}"):
        write_columns(path, {"a": Half()})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(BadInput, match="ending in"):
        write_columns(tmp_path / "t.xlsx", {"a": ["0"]})
