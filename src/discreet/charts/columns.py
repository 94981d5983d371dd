"""Answers as figures: which chart suits a column, and what its axis says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from discreet.charts.figure import Figure, Table, clipped
from discreet.charts.scale import brief, shown
from discreet.charts.shapes import Bar, Heat, columns, heat_map, rows
from discreet.schema import Column, OrderedColumn

if TYPE_CHECKING:
    from discreet.artifacts.answers import Answers

MOST_LINES = 120
MOST_MATRIX = 400


def edge_text(column: Column, code: int) -> str:
    """What an axis writes where a cell begins: the lower edge of an ordered one, else its label."""
    if not isinstance(column, OrderedColumn) or code >= column.value_cells:
        return column.label(code)
    low = column.bounds(code)[0]
    if isinstance(low, date):
        if getattr(column, "granularity", "") == "year":
            return str(low.year)
        return low.isoformat()[:10]
    return brief(float(low)) if isinstance(low, (int, float)) else column.label(code)


def histogram_figure(name: str, column: Column, answers: Answers) -> Figure:
    """Counts by one column."""
    counted = answers.columns[0]
    named = clipped(column.name)
    bars = [
        Bar(
            label=clipped(column.label(code)),
            tick=clipped(edge_text(column, code)),
            estimate=float(counted.estimate[place]),
            lower=float(counted.lower[place]),
            upper=float(counted.upper[place]),
            special=code >= column.value_cells,
        )
        for place, code in enumerate(answers.codes[:, 0].tolist())
    ]
    lying = not column.is_ordered and len(bars) <= 30
    draw = rows if lying else columns
    kind = "cells in order" if column.is_ordered else "categories"
    return Figure(
        title=named,
        caption=f"Rows by {named}: {sum(not bar.special for bar in bars):,} {kind}.{_special(column)}",
        picture=draw(name, f"Rows by {named}", bars),
        table=bar_table("cell", bars),
    )


def bar_table(first: str, bars: Sequence[Bar]) -> Table | None:
    """The numbers of some bars, where they are few enough to read."""
    if len(bars) > MOST_LINES:
        return None
    return Table(
        (first, "estimate", "lower", "upper"),
        [(bar.label, shown(bar.estimate), shown(bar.lower), shown(bar.upper)) for bar in bars],
        right=(1, 2, 3),
    )


def _special(column: Column) -> str:
    """Why there are cells that nobody declared: they are published empty or not, with noise."""
    said = []
    if column.other_cell is not None:
        said.append(f"{column.label(column.other_cell)} counts rows whose value is not declared")
    if column.null_cell is not None:
        said.append(f"{column.label(column.null_cell)} counts rows without a value")
    if not said:
        return ""
    always = "Both are shown even if they are" if len(said) == 2 else "It is shown even if it is"
    return f" {', '.join(said)}. {always} empty, because leaving one out would reveal that."


def heat_figure(name: str, down: Column, across: Column, answers: Answers) -> Figure | None:
    """Counts by two columns; what noise alone could explain is left blank. `None` where that is all."""
    counted = answers.columns[0]
    estimates = [[0.0] * across.cells for _ in range(down.cells)]
    clear = [[0.0] * across.cells for _ in range(down.cells)]
    for place, (row, column) in enumerate(answers.codes.tolist()):
        estimates[row][column] = float(counted.estimate[place])
        if counted.lower[place] > 0:
            clear[row][column] = estimates[row][column]
    if not any(map(any, clear)):
        return None
    labels_down = [clipped(edge_text(down, code)) for code in range(down.cells)]
    labels_across = [clipped(edge_text(across, code)) for code in range(across.cells)]
    below, beside = clipped(down.name), clipped(across.name)
    title = f"{below} by {beside}"
    picture, legend = heat_map(name, f"Rows by {title}", Heat(labels_across, labels_down, clear))
    width = float((counted.upper - counted.estimate).max())
    table = None
    if across.cells * down.cells <= MOST_MATRIX:
        table = Table(
            (down.name, *(across.label(code) for code in range(across.cells))),
            [(down.label(row), *map(shown, line)) for row, line in enumerate(estimates)],
            right=tuple(range(1, across.cells + 1)),
        )
    return Figure(
        title=title,
        caption=f"Rows by {below} (down) and {beside} (across). "
        f"Noise moves each cell by up to ± {shown(width)}.",
        picture=picture,
        legend=legend,
        table=table,
    )
