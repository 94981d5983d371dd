"""The charts: well-formed, accessible, and inert whatever the labels are."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from discreet.charts.scale import axis_over, brief, shown, ticks
from discreet.charts.shapes import (
    LEVELS,
    Bar,
    Curve,
    Heat,
    columns,
    curves,
    heat_map,
    level_of,
    rows,
)
from discreet.charts.svg import element

HOSTILE = '<script>alert("1")</script>&\'>]]>'


def bars(count: int, label: str = "cell") -> list[Bar]:
    return [Bar(f"{label} {i}", str(i), i * 3.0, i * 3.0 - 5, i * 3.0 + 5) for i in range(count)]


def pictures(label: str) -> list[Markup]:
    heat = Heat([label, "b"], [label, "c"], [[1.0, 20.0], [300.0, 0.0]])
    line = Curve(label, "c1", [(0.0, 0.0), (1.0, math.inf), (2.0, 3.0)])
    return [
        columns("a", label, bars(3, label)),
        rows("b", label, bars(3, label)),
        heat_map("c", label, heat)[0],
        curves("d", label, label, [line], across=label, up=label),
    ]


@pytest.mark.parametrize("label", ["age", HOSTILE, "Größe 日本 😀", ""])
def test_a_chart_is_well_formed_xml_whatever_its_labels(label: str) -> None:
    for picture in pictures(label):
        root = ElementTree.fromstring(picture)
        assert root.tag == "svg"
        assert not any(node.tag == "script" for node in root.iter())


def test_a_chart_has_a_title_and_a_description_that_it_is_labelled_by() -> None:
    for picture in pictures("age"):
        root = ElementTree.fromstring(picture)
        ids = {node.get("id") for node in root.iter() if node.tag in ("title", "desc")}
        assert root.get("role") == "img"
        assert set((root.get("aria-labelledby") or "").split()) <= ids


def test_attributes_cannot_be_broken_out_of() -> None:
    assert '"' not in element("g", x='"><script>').removeprefix('<g x="').removesuffix('"/>')


@pytest.mark.parametrize("count", [0, 1, 2, 39, 500])
def test_histograms_can_have_any_number_of_bars(count: int) -> None:
    for chart in (columns, rows):
        assert ElementTree.fromstring(chart("a", "t", bars(count))).tag.endswith("svg")


def test_a_thousand_bars_take_little_room() -> None:
    assert len(columns("a", "t", bars(1000))) < 60_000


def test_infinite_and_unknown_ends_are_drawn_at_the_edge_of_the_chart() -> None:
    wild = [Bar("a", "a", 5.0, -math.inf, math.inf), Bar("b", "b", math.nan, math.nan, math.nan)]
    for chart in (columns, rows):
        text = chart("a", "t", wild)
        ElementTree.fromstring(text)
        paths = [node.get("d", "") for node in ElementTree.fromstring(text).iter("path")]
        assert not any("nan" in path or "inf" in path for path in paths)


def test_a_cell_that_noise_alone_explains_has_the_level_of_nothing() -> None:
    assert level_of(0.0, 100.0) == 0
    assert level_of(0.1, 100.0) == 1
    assert level_of(100.0, 100.0) == LEVELS
    assert level_of(5.0, 0.0) == 0


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 0.003), (-5, 7), (0, 123456), (3, 3), (0, math.inf)]
)
def test_ticks_are_round_and_span_the_range(low: float, high: float) -> None:
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 12
    assert marks == sorted(marks)
    if high > low and math.isfinite(high):
        assert marks[0] <= low
        assert marks[-1] >= high


def test_an_axis_shows_zero_and_every_value() -> None:
    axis, marks = axis_over([3, 8, -1], start=0, end=100)
    assert axis.at(-1) == 0
    assert axis.at(8) == 100
    assert 0 in marks


@pytest.mark.parametrize(
    ("value", "table", "axis"),
    [
        (1234567.0, "1,234,567", "1.23457M"),
        (15000.0, "15,000", "15k"),
        (0.12345, "0.1235", "0.12345"),
        (math.inf, "unbounded", None),
        (math.nan, "unknown", None),
    ],
)
def test_numbers_read_well(value: float, table: str, axis: str | None) -> None:
    assert shown(value) == table
    if axis is not None and value < 1e6:
        assert brief(value) == axis
