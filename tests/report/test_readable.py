"""The report can be read: numbers in words, round ticks, shades that differ, nothing empty, also on a phone."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from markupsafe import Markup

from discreet import Budget, ReleaseReader, Schema, release, render_report
from discreet.charts.figure import Figure, Table
from discreet.charts.scale import round_ticks, shown_beside
from discreet.charts.shapes import LEVELS, Heat, heat_map
from discreet.custodian.comparison import compare
from discreet.families.halfspaces.figures import _snapped
from discreet.report.content import Content
from discreet.report.page import LARGEST, _ever_fewer

TEXT = """
dataset = "people"
people = 3000
[columns.age]
kind = "integer"
range = [0, 99]
[columns.pay]
kind = "integer"
range = [0, 63]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> ReleaseReader:
    rows = np.arange(3000)
    table = polars.DataFrame(
        {"age": rows % 100, "pay": rows * 7 % 64, "sex": np.where(rows % 2, "f", "m")}
    )
    return release(
        table, Schema.loads(TEXT), budget=Budget(epsilon=8),
        workload=["marginals(age, sex)", "intervals(age)", "halfspaces(age, pay)", "means(age)"],
        ledger=tmp_path_factory.mktemp("readable") / "l.db",
    )  # fmt: skip


@pytest.fixture(scope="module")
def text(reader) -> str:
    return render_report(reader)


def test_a_large_budget_is_told_in_plain_numbers(text):
    assert "at most 2,981 times as likely" in text and "e+0" not in text
    assert "can be at most 99.966% sure" in text and "100% sure" not in text


def test_what_was_released_by_name_is_drawn(text):
    drawn = text.partition("Not drawn here")[0]
    for title in ("age, added up", "age and pay"):
        assert f"<b>{title}</b>" in drawn


def test_tables_beside_found_values_are_drawn_and_so_are_the_values(tmp_path):
    """The values of a town have no cells in its table, and are not counted together with other columns."""
    town = '[columns.town]\nkind = "category"\nundeclared = true'
    rows = np.arange(3000)
    table = polars.DataFrame(
        {"age": rows % 100, "pay": rows * 7 % 64, "sex": np.where(rows % 2, "f", "m"),
         "town": np.where(rows % 3, "Bonn", "Ulm")}
    )  # fmt: skip
    found = release(
        table, Schema.loads(TEXT + town), budget=Budget(epsilon=8, delta=1e-6),
        workload=["marginals(2)", "keys(town)"], ledger=tmp_path / "l.db",
    )  # fmt: skip
    page = render_report(found)
    assert "Bonn" in page and "<b>Which columns go together</b>" in page
    compared = {each.columns for each in compare(found, table, confidence=0.95)}
    assert compared == {("age", "pay"), ("age", "sex"), ("pay", "sex")}


def test_a_figure_that_is_too_large_does_not_keep_smaller_ones_off_the_page():
    def figure(size: int) -> Figure:
        return Figure(f"of {size}", "", Markup("x" * size))

    empty = Table()
    content = Content(
        dataset="d", lead="", facts=[], guarantee=[], not_promised=[], loss=None, parts=empty,
        claims=empty, numbers=empty, tables=empty,
        figures=[figure(100), figure(LARGEST), figure(200)],
        confidence="", questions=[], python="", verify="", columns=empty, software="",
    )  # fmt: skip
    kept = next(_ever_fewer(content))
    assert kept == [0, 2]
    assert [each.title for each in content.with_figures(kept).figures] == ["of 100", "of 200"]
    assert f"of {LARGEST}" in content.with_figures(kept).left_out


def test_an_estimate_and_its_interval_are_told_apart():
    ends = 1039.91, 1040.32
    assert shown_beside(1040.12, *ends) == "1,040.12"
    assert [shown_beside(end, *ends, 1040.12) for end in ends] == ["1,039.91", "1,040.32"]
    assert shown_beside(12.0, 10.0, 14.0) == "12"
    assert shown_beside(3.0, 3.0, 3.0) == "3"
    assert shown_beside(float("inf"), 1.0, 2.5) == "unbounded"


def test_a_column_that_is_empty_in_every_row_is_left_out():
    table = Table(("a", "b", "c"), [("x", "", "1"), ("y", "", "2")], right=(1, 2))
    assert table.headers == ("a", "c") and table.right == (1,)
    assert table.rows == (("x", "1"), ("y", "2"))
    assert Table(("a", "b")).headers == ("a", "b")


def test_ticks_stand_at_round_numbers():
    ages = [str(age) for age in range(100)]
    assert [ages[place] for place in sorted(round_ticks(ages))] == ["0", "20", "40", "60", "80"]
    years = [str(year) for year in range(1925, 2025)]
    assert {years[place] for place in round_ticks(years)} == {
        "1940",
        "1960",
        "1980",
        "2000",
        "2020",
    }
    money = [f"{5 * step}k" for step in range(40)]
    assert all(int(money[place][:-1]) % 50 == 0 for place in round_ticks(money))
    names = [f"2024-{month:02d}-01" for month in range(1, 13)]
    assert round_ticks(names) == {0, 2, 4, 6, 8, 10}
    assert round_ticks(["1", "2", "3"]) == {0, 1, 2}
    assert _snapped(4.7e-13, 0, 160_000) == 0 and _snapped(-0.5, -0.5, 99.5) == -0.5


def test_cells_that_are_about_as_full_have_different_shades():
    values = [[1000.0 + 10 * (row + column) for column in range(6)] for row in range(6)]
    labels = list("abcdef")
    _, legend = heat_map("x", "x", Heat(labels, labels, values))
    assert len(legend) - 1 >= LEVELS - 2, "beside the blank"
    assert legend[1][1].startswith("1,000 to ") and legend[-1][1].endswith(" to 1,100")
    uneven = [[0.0, 5.0], [50.0, 1000.0]]
    _, legend = heat_map("x", "x", Heat(["a", "b"], ["c", "d"], uneven))
    assert legend[1][1].startswith("0 to ") and legend[-1][1].endswith(" to 1,000")


def test_on_a_phone_tables_are_cards_and_charts_scroll(text):
    assert 'class="cards"' in text and 'data-of="because of"' in text
    style = text.partition("max-width:600px")[2]
    assert ".cards thead{display:none}" in style and ".scroll>svg{min-width:640px}" in style
    assert text.count('<div class="scroll"><svg') == text.count("<svg")
