"""Three charts: a histogram with error bars, a heat map of two columns, and curves.

Drawn for a page that may be light, dark or printed: colours are classes, set by the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.charts.scale import Axis, axis_over, brief, round_ticks, shown
from discreet.charts.svg import element, number, picture, rectangles

WIDTH = 720.0
LEVELS = 8
MOST_HOVERS = 40


@dataclass(frozen=True, slots=True)
class Bar:
    """One cell: its label, the tick to write where its cell begins, and its interval."""

    label: str
    tick: str
    estimate: float
    lower: float
    upper: float
    special: bool = False
    """A cell for nulls or other values, which has no place in the order."""


def grid_lines(marks: Sequence[float], axis: Axis, left: float, right: float) -> list[Markup]:
    """Lines across the chart at the marks of an upright axis, and their numbers."""
    lines = "".join(f"M{number(left)} {number(axis.at(mark))}H{number(right)}" for mark in marks)
    labels = [
        element("text", brief(mark), x=left - 8, y=axis.at(mark) + 4, text_anchor="end")
        for mark in marks
    ]
    return [element("path", d=lines, class_="grid"), *labels]


def columns(name: str, title: str, bars: Sequence[Bar]) -> Markup:
    """Upright bars, for an ordered column; special cells stand apart at the right."""
    left, right, top, bottom, height = 64.0, WIDTH - 8, 14.0, 208.0, 250.0
    axis, marks = axis_over(_ends(bars), start=bottom, end=top, about=4)
    apart = 0.8 if any(bar.special for bar in bars) else 0.0
    step = (right - left) / max(len(bars) + apart, 1)
    gap = min(2.0, step * 0.15)
    boxes: dict[bool, list[tuple[float, float, float, float]]] = {False: [], True: []}
    whiskers, hovers, labels = [], [], []
    written = round_ticks([bar.tick for bar in bars if not bar.special])
    zero, cap = axis.at(0), min(3.0, step * 0.25)
    for index, bar in enumerate(bars):
        x = left + (index + (apart if bar.special else 0)) * step
        height_ = axis.at(bar.estimate)
        boxes[bar.special].append(
            (x + gap / 2, min(height_, zero), step - gap, abs(zero - height_))
        )
        whiskers.append(_upright_whisker(x + step / 2, axis.at(bar.lower), axis.at(bar.upper), cap))
        if bar.special:
            labels.append(tick_text(bar.label, x + step / 2, bottom))
        elif index in written:
            labels.append(tick_text(bar.tick, x if bar.tick != bar.label else x + step / 2, bottom))
        hovers.append(_hover(bar, x, top, step, bottom - top))
    return picture(
        name,
        title,
        _described(bars),
        WIDTH,
        height,
        *grid_lines(marks, axis, left, right),
        element("path", d=rectangles(boxes[False]), class_="bar"),
        element("path", d=rectangles(boxes[True]), class_="bar special"),
        element("path", d="".join(whiskers), class_="whisker"),
        element("path", d=f"M{number(left)} {number(zero)}H{number(right)}", class_="base"),
        *labels,
        *(hovers if len(bars) <= MOST_HOVERS else ()),
    )


def rows(name: str, title: str, bars: Sequence[Bar]) -> Markup:
    """Lying bars, for categories: their names read best on lines of their own."""
    longest = max((len(bar.label) for bar in bars), default=0)
    left, right, top, line = min(220.0, 24 + 7.2 * longest), WIDTH - 90, 8.0, 26.0
    axis, marks = axis_over(_ends(bars), start=left, end=right)
    bottom = top + line * len(bars)
    zero = axis.at(0)
    boxes: dict[bool, list[tuple[float, float, float, float]]] = {False: [], True: []}
    whiskers, texts, hovers = [], [], []
    for index, bar in enumerate(bars):
        y = top + index * line
        x = axis.at(bar.estimate)
        boxes[bar.special].append((min(x, zero), y + 4, abs(x - zero), line - 8))
        low, high, middle = axis.at(bar.lower), axis.at(bar.upper), y + line / 2
        whiskers.append(
            f"M{number(low)} {number(middle)}H{number(high)}"
            f"M{number(low)} {number(middle - 4)}v8M{number(high)} {number(middle - 4)}v8"
        )
        short = bar.label if len(bar.label) <= 28 else bar.label[:27] + "…"
        texts.append(element("text", short, x=left - 8, y=middle + 4, text_anchor="end"))
        texts.append(
            element("text", shown(bar.estimate), x=max(high, x) + 8, y=middle + 4, class_="value")
        )
        hovers.append(_hover(bar, 0, y, WIDTH, line))
    lines = "".join(f"M{number(axis.at(mark))} {number(top)}V{number(bottom)}" for mark in marks)
    return picture(
        name,
        title,
        _described(bars),
        WIDTH,
        bottom + 26,
        element("path", d=lines, class_="grid"),
        *(tick_text(brief(mark), axis.at(mark), bottom) for mark in marks),
        element("path", d=rectangles(boxes[False]), class_="bar"),
        element("path", d=rectangles(boxes[True]), class_="bar special"),
        element("path", d="".join(whiskers), class_="whisker"),
        element("path", d=f"M{number(zero)} {number(top)}V{number(bottom)}", class_="base"),
        *texts,
        *(hovers if len(bars) <= MOST_HOVERS else ()),
    )


def _ends(bars: Sequence[Bar]) -> list[float]:
    return [value for bar in bars for value in (bar.lower, bar.estimate, bar.upper)]


def _upright_whisker(x: float, low: float, high: float, cap: float) -> str:
    whisker = f"M{number(x)} {number(low)}V{number(high)}"
    if cap >= 1.5:
        whisker += "".join(
            f"M{number(x - cap)} {number(end)}h{number(2 * cap)}" for end in (low, high)
        )
    return whisker


def tick_text(text: str, x: float, bottom: float) -> Markup:
    """A word below the chart."""
    short = text if len(text) <= 14 else text[:13] + "…"
    return element("text", short, x=x, y=bottom + 18, text_anchor="middle")


def _hover(bar: Bar, x: float, y: float, width: float, height: float) -> Markup:
    text = f"{bar.label}: {shown(bar.estimate)} [{shown(bar.lower)}, {shown(bar.upper)}]"
    return element(
        "rect", element("title", text), x=x, y=y, width=width, height=height, class_="hover"
    )


def _described(bars: Sequence[Bar]) -> str:
    largest = max(bars, key=lambda bar: bar.estimate, default=None)
    if largest is None:
        return "No cells."
    return (
        f"{len(bars)} cells with error bars; the largest is {largest.label}, "
        f"about {shown(largest.estimate)}. The numbers follow as a table."
    )


@dataclass(frozen=True, slots=True)
class Heat:
    """Noisy counts over two columns, 0 where noise alone could explain them."""

    across: Sequence[str]
    down: Sequence[str]
    values: Sequence[Sequence[float]]
    """One sequence for each of `down`."""


def level_of(value: float, top: float, bottom: float = 0.0) -> int:
    """0 where noise alone explains the cell, else 1 to `LEVELS` by the square root of its share.

    `bottom` is where the shades begin: were all cells about as full, they would be one colour.
    """
    if value <= 0 or top <= 0:
        return 0
    if top <= bottom:
        return LEVELS
    return max(1, min(LEVELS, math.ceil(LEVELS * math.sqrt((value - bottom) / (top - bottom)))))


def heat_map(
    name: str,
    title: str,
    heat: Heat,
    *,
    unit: str = "rows",
    blank: str = "noise alone could explain it",
    written: Callable[[float], str] = lambda edge: shown(round(edge)),
) -> tuple[Markup, list[tuple[str, str]]]:
    """The picture, and its legend: what each shade stands for, its edges as `written` gives them."""
    longest = max((len(label) for label in heat.down), default=0)
    left, top, right = min(200.0, 20 + 7.2 * longest), 8.0, WIDTH - 12
    wide = (right - left) / max(len(heat.across), 1)
    tall = min(max(260.0 / max(len(heat.down), 1), 4.0), 28.0)
    bottom = top + tall * len(heat.down)
    largest = max((value for line in heat.values for value in line), default=0.0)
    smallest = min((value for line in heat.values for value in line), default=0.0)
    least = smallest if smallest > largest / 4 else 0.0
    boxes: dict[int, list[tuple[float, float, float, float]]] = {}
    for row, line in enumerate(heat.values):
        for level, start, stop in _runs([level_of(value, largest, least) for value in line]):
            boxes.setdefault(level, []).append(
                (left + start * wide, top + row * tall, (stop - start) * wide, tall)
            )
    every_down = max(1, math.ceil(13 / tall))
    every_across = max(1, math.ceil(max(map(len, heat.across), default=1) * 8 / wide))
    labels = [
        element("text", label[:26], x=left - 8, y=top + (row + 0.5) * tall + 4, text_anchor="end")
        for row, label in enumerate(heat.down)
        if row % every_down == 0
    ]
    labels += [
        tick_text(label, left + (column + 0.5) * wide, bottom)
        for column, label in enumerate(heat.across)
        if column % every_across == 0
    ]
    drawn = picture(
        name,
        title,
        f"{len(heat.down)} by {len(heat.across)} cells; darker means more {unit}. "
        f"The fullest holds about {shown(largest)}.",
        WIDTH,
        bottom + 26,
        *(
            element("path", d=rectangles(boxes[level]), class_=f"h{level}")
            for level in sorted(boxes)
        ),
        element("path", d=rectangles([(left, top, right - left, bottom - top)]), class_="frame"),
        *labels,
    )
    edges = [least + (largest - least) * (level / LEVELS) ** 2 for level in range(LEVELS + 1)]
    legend = [("h0", blank)]
    for level in sorted(filter(None, boxes)):
        legend.append((f"h{level}", f"{written(edges[level - 1])} to {written(edges[level])}"))
    return drawn, legend


def _runs(levels: Sequence[int]) -> list[tuple[int, int, int]]:
    """Neighbours of one level, drawn as one box."""
    runs: list[tuple[int, int, int]] = []
    for place, level in enumerate(levels):
        if runs and runs[-1][0] == level:
            runs[-1] = (level, runs[-1][1], place + 1)
        else:
            runs.append((level, place, place + 1))
    return runs


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart, and the class that colours it."""

    label: str
    style: str
    points: Sequence[tuple[float, float]]


def curves(
    name: str, title: str, description: str, lines: Sequence[Curve], *, across: str, up: str
) -> Markup:
    """Step lines over a shared pair of axes."""
    left, right, top, bottom = 64.0, WIDTH - 16, 24.0, 236.0
    every = [point for line in lines for point in line.points if all(map(math.isfinite, point))]
    wide, wide_marks = axis_over([x for x, _ in every], start=left, end=right, about=8)
    tall, tall_marks = axis_over([y for _, y in every], start=bottom, end=top, about=4)
    drawn = []
    for line in lines:
        places = [
            (number(wide.at(x)), number(tall.at(y)))
            for x, y in line.points
            if math.isfinite(x) and math.isfinite(y)
        ]
        # Steps, not slopes: a chance of exceeding a value jumps where the value is taken.
        steps = "".join(f"H{x}V{y}" for x, y in places[1:])
        start = f"M{places[0][0]} {places[0][1]}" if places else "M0 0"
        drawn.append(element("path", d=start + steps, class_=f"curve {line.style}"))
    return picture(
        name,
        title,
        description,
        WIDTH,
        bottom + 46,
        *grid_lines(tall_marks, tall, left, right),
        *(tick_text(brief(mark), wide.at(mark), bottom) for mark in wide_marks),
        *drawn,
        element("text", across, x=(left + right) / 2, y=bottom + 40, text_anchor="middle"),
        element("text", up, x=left - 56, y=top - 10),
    )
