"""Figures of range releases: a column's distribution with its band, and heat maps of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from markupsafe import Markup

from discreet.charts.columns import MOST_MATRIX, bar_table, edge_text
from discreet.charts.figure import Figure, Table, clipped
from discreet.charts.scale import axis_over, round_ticks, shown
from discreet.charts.shapes import WIDTH, Bar, Heat, columns, grid_lines, heat_map, tick_text
from discreet.charts.svg import element, number, picture
from discreet.families.ranges.queries.ranges import Ranges
from discreet.schema import Column

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader
    from discreet.families.ranges.answer.pictures import Bars

MOST_BARS, MOST_SQUARES = 64, 48
"""Along a column: of a histogram, and of a heat map."""


def range_figures(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """The distribution of every column that was released as ranges; for two columns at a time, a heat map."""
    schema = reader.release.schema
    sets = list(
        dict.fromkeys(
            part.query_class.named(schema)
            for part in reader.release.parts
            if isinstance(part.query_class, Ranges)
        )
    )
    place = 0
    for names in sets:
        if len(names) == 1:
            found = reader.distribution(*names, most=MOST_BARS, confidence=confidence)
            column = schema.column(names[0])
            yield _histogram(f"range{place}", column, found)
            yield _cumulative(f"sum{place}", column, found)
            place += 1
    for names in sets:
        for pair in combinations(names, 2):
            found = reader.distribution(*pair, most=MOST_SQUARES, confidence=confidence)
            yield _heat(f"box{place}", [schema.column(name) for name in pair], found)
            place += 1


def _stretch(column: Column, first: int, last: int) -> str:
    """The name of some neighbouring cells."""
    if first == last:
        return clipped(column.label(first))
    return clipped(f"{column.label(first)} to {column.label(last)}")


def _histogram(name: str, column: Column, found: Bars) -> Figure:
    named = clipped(column.name)
    bars = [
        Bar(
            label=_stretch(column, first, last),
            tick=clipped(edge_text(column, first)),
            estimate=float(found.estimate[place]),
            lower=float(found.lower[place]),
            upper=float(found.upper[place]),
        )
        for place, (first, last) in enumerate(
            zip(found.first[:, 0].tolist(), found.last[:, 0].tolist(), strict=True)
        )
    ]
    return Figure(
        title=named,
        caption=f"Rows by {named}, {len(bars):,} stretches of its range in order.",
        picture=columns(name, f"Rows by {named}", bars),
        table=bar_table("stretch", bars),
    )


def _cumulative(name: str, column: Column, found: Bars) -> Figure:
    """Rows up to the end of each stretch, with the interval of each such count."""
    named = clipped(column.name)
    total = found.running
    assert total is not None
    points = list(zip(*(each.tolist() for each in total), strict=True))
    starts = [clipped(edge_text(column, first)) for first in found.first[:, 0].tolist()]
    half = next((i for i, (rows, _, _) in enumerate(points) if rows >= points[-1][0] / 2), 0)
    described = (
        f"A rising line of {len(points)} steps within a band; half of the rows lie at or below "
        f"{_stretch(column, int(found.first[half, 0]), int(found.last[half, 0]))}."
    )
    return Figure(
        title=f"{named}, added up",
        caption=f"Rows up to each value of {named}; the band is the interval of each point alone.",
        picture=_band(name, f"Rows up to each value of {named}", described, starts, points),
        legend=[("c1", "estimate"), ("band", "interval")],
    )


def _band(
    name: str,
    title: str,
    described: str,
    starts: Sequence[str],
    points: Sequence[tuple[float, float, float]],
) -> Markup:
    left, right, top, bottom = 64.0, WIDTH - 8, 14.0, 208.0
    axis, marks = axis_over(
        [value for point in points for value in point], start=bottom, end=top, about=4
    )
    step = (right - left) / max(len(points), 1)
    places = [left + (place + 1) * step for place in range(len(points))]

    def line(which: int) -> list[str]:
        ends = zip(places, points, strict=True)
        return [f"{number(x)} {number(axis.at(point[which]))}" for x, point in ends]

    origin = f"{number(left)} {number(axis.at(0))}"
    area = "M" + "L".join([origin, *line(1), *reversed(line(2))]) + "z"
    written = round_ticks(starts)
    return picture(
        name,
        title,
        described,
        WIDTH,
        250.0,
        *grid_lines(marks, axis, left, right),
        element("path", d=area, class_="band"),
        element("path", d="M" + "L".join([origin, *line(0)]), class_="curve c1"),
        *(
            tick_text(text, left + place * step, bottom)
            for place, text in enumerate(starts)
            if place in written
        ),
    )


def _heat(name: str, pair: Sequence[Column], found: Bars) -> Figure:
    """Counts of squares; what noise and the squares' leaves alone could explain is left blank."""
    down, across = pair
    tall, wide = found.shape
    firsts, lasts = (each.reshape(tall, wide, 2).tolist() for each in (found.first, found.last))
    estimates = found.estimate.reshape(tall, wide).tolist()
    clear = [
        [estimate if lower > 0 else 0.0 for estimate, lower in zip(*row, strict=True)]
        for row in zip(estimates, found.lower.reshape(tall, wide).tolist(), strict=True)
    ]
    labels_down = [clipped(edge_text(down, row[0][0])) for row in firsts]
    labels_across = [clipped(edge_text(across, cell[1])) for cell in firsts[0]]
    title = f"{clipped(down.name)} by {clipped(across.name)}"
    drawn, legend = heat_map(name, f"Rows by {title}", Heat(labels_across, labels_down, clear))
    table = None
    if tall * wide <= MOST_MATRIX:
        headers = [
            _stretch(across, cell[1], last[1])
            for cell, last in zip(firsts[0], lasts[0], strict=True)
        ]
        table = Table(
            (down.name, *headers),
            [
                (_stretch(down, row[0][0], last[0][0]), *map(shown, line))
                for row, last, line in zip(firsts, lasts, estimates, strict=True)
            ],
            right=tuple(range(1, wide + 1)),
        )
    return Figure(
        title=title,
        caption=f"Rows by {clipped(down.name)} (down) and {clipped(across.name)} (across), in "
        f"{tall:,} by {wide:,} stretches.",
        picture=drawn,
        legend=legend,
        table=table,
    )
