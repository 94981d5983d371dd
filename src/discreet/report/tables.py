"""What a release says about its contingency tables: their errors, which columns go together, and how
far synthetic rows are from the noisy numbers. Everything is computed from published numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.charts.figure import Figure, Table, clipped
from discreet.charts.shapes import Heat, heat_map
from discreet.errors import DiscreetError
from discreet.queries.class_tables import is_fitted
from discreet.queries.classes import NamesTables
from discreet.questions.cells.impossible import impossible_cells

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader
    from discreet.answering.synthesis.synthetic import SyntheticTable

Columns = tuple[str, ...]

MOST_TABLES = 300
MOST_CELLS = 12_000
MOST_LINES = 40
MOST_COLUMNS = 30
"""Columns in the picture of which go together."""
MOST_DOMAIN = 600
"""Cells of all columns, up to which a model is fitted for the page where the release brings none."""
MOST_FITTED = 120
"""Tables of one and two columns, likewise."""
MOST_ROWS = 20_000


def table_sets(reader: ReleaseReader) -> list[Columns]:
    """The tables of one and two columns that the release's classes imply, the smaller ones first."""
    schema = reader.schema
    found: dict[Columns, None] = {}
    for part in reader.release.parts:
        if isinstance(part.query_class, NamesTables):
            for columns in part.query_class.sets(schema)[: 10 * MOST_TABLES]:
                for size in (1, 2):
                    found |= dict.fromkeys(combinations(columns, size))
    small = [each for each in found if prod(schema.sizes(each)) <= MOST_CELLS]
    order = {name: place for place, name in enumerate(schema.names)}
    small.sort(key=lambda each: (len(each), [order[name] for name in each]))
    return small[:MOST_TABLES]


@dataclass(frozen=True, slots=True)
class Line:
    """One table: how far off it is to be expected, its dependence, its distance from synthetic rows."""

    columns: Columns
    error: float
    """Expected total variation of the noisy table."""
    together: float | None
    """Cramer's V of two columns, corrected for what noise adds."""
    clear: bool
    """Whether the dependence is more than noise would show."""
    synthetic: float | None


def lines_of(reader: ReleaseReader) -> list[Line]:
    drawn = _synthetic(reader)
    found: list[Line] = []
    for columns in table_sets(reader):
        try:
            counts, std = reader.noisy_table(columns)
        except DiscreetError:
            continue
        rows = max(float(counts.sum()), 1.0)
        error = min(1.0, counts.size * std * math.sqrt(2 / math.pi) / 2 / rows)
        together, clear = cramers_v(counts, std) if len(columns) == 2 else (None, False)
        distance = None
        if drawn is not None and set(columns) <= set(drawn.names):
            distance = _distance(drawn, columns, counts)
        found.append(Line(columns, error, together, clear, distance))
    return found


def cramers_v(counts: Floats, std: float) -> tuple[float, bool]:
    """Dependence of two columns from 0 to 1, read from noisy counts, and whether it is more than noise.

    The squared distance from independent columns is counted in units of the expected counts; what noise
    of deviation `std` adds to it on average is taken off, and three deviations of that must be left.
    Categories that noise hides are passed over: they have no rows to speak of, and V is relative to the
    number of categories.
    """
    counts = _seen(counts, std)
    kept = np.maximum(counts, 0.0)
    rows = float(counts.sum())
    if rows < 1 or min(counts.shape) < 2 or kept.sum() <= 0:
        return 0.0, False
    sides = kept.sum(axis=1), kept.sum(axis=0)
    expected = np.maximum(np.outer(*sides) / kept.sum(), 1.0)
    distance = float(((counts - expected) ** 2 / expected).sum())
    noise = std**2 * float((1 / expected).sum())
    spread = math.sqrt(5 * std**4 * float((1 / expected**2).sum()))
    square = max(0.0, distance - noise) / rows / (min(counts.shape) - 1)
    return min(1.0, math.sqrt(square)), distance - noise > 3 * spread


def _seen(counts: Floats, std: float) -> Floats:
    """The rows and columns of a table whose sums are above three deviations of their noise, and 1."""
    for axis in range(2):
        others = counts.shape[1 - axis]
        is_seen = counts.sum(axis=1 - axis) >= max(1.0, 3 * std * math.sqrt(others))
        counts = counts.compress(is_seen, axis=axis)
    return counts


def _synthetic(reader: ReleaseReader) -> SyntheticTable | None:
    """A sample of synthetic rows, where a model is quickly fitted."""
    fitted = any(is_fitted(part.kind) for part in reader.release.parts)
    cells = sum(column.cells for column in reader.schema.columns)
    if not fitted and (cells > MOST_DOMAIN or len(table_sets(reader)) > MOST_FITTED):
        return None
    try:
        return reader.synthesize(MOST_ROWS, seed=0)
    except DiscreetError:
        return None


def _distance(drawn: SyntheticTable, columns: Columns, counts: Floats) -> float:
    """Total variation between the synthetic rows' table and the noisy one, negative counts as 0."""
    codes = drawn.codes[:, [drawn.names.index(name) for name in columns]].astype(np.int64)
    # A row may have no value in a column that leaves rows out: then the table has no cell for it.
    codes = codes[np.all(codes < counts.shape, axis=1)]
    table = np.zeros(counts.shape)
    np.add.at(table, tuple(codes.T), 1.0)
    noisy = np.maximum(counts, 0.0)
    impossible = impossible_cells(drawn.schema, columns)
    if impossible is not None:
        noisy = np.where(impossible, 0.0, noisy)
    if not len(codes) or noisy.sum() <= 0:
        return 0.0
    return float(np.abs(table / table.sum() - noisy / noisy.sum()).sum()) / 2


def tables_table(lines: list[Line]) -> Table:
    """Single columns first, then pairs, those that go together most first; the rest is counted."""
    ordered = sorted(lines, key=lambda line: (len(line.columns), -(line.together or 0.0)))
    singles = [line for line in ordered if len(line.columns) == 1][: MOST_LINES // 2]
    pairs = [line for line in ordered if len(line.columns) == 2][: MOST_LINES - len(singles)]
    rows = [
        (
            " by ".join(map(clipped, line.columns)),
            _percent(line.error),
            "" if line.together is None else f"{line.together:.2f}" + _mark(line),
            "" if line.synthetic is None else _percent(line.synthetic),
        )
        for line in [*singles, *pairs]
    ]
    more = len(lines) - len(rows)
    note = f"{more:,} more tables are in the release." if more > 0 else ""
    headers = ("table", "expected error", "Cramér's V", "synthetic rows differ by")
    return Table(headers, rows, right=(1, 2, 3), note=note)


def _mark(line: Line) -> str:
    return "" if line.clear else " (noise could explain it)"


def _percent(part: float) -> str:
    return f"{100 * part:.2g}%" if part < 0.1 else f"{100 * part:.0f}%"


def together_figure(reader: ReleaseReader, lines: list[Line]) -> Figure | None:
    """Columns against columns: darker where they depend on each other more."""
    pairs = {line.columns: line for line in lines if len(line.columns) == 2}
    named = {name for columns in pairs for name in columns}
    names = [name for name in reader.schema.names if name in named]
    if len(names) < 3:
        return None
    if len(names) > MOST_COLUMNS:
        strongest = sorted(pairs.values(), key=lambda line: -(line.together or 0.0))
        kept = list(dict.fromkeys(name for line in strongest for name in line.columns))
        names = [name for name in names if name in kept[:MOST_COLUMNS]]

    def value(one: str, other: str) -> float:
        line = pairs.get((one, other)) or pairs.get((other, one))
        return 100 * (line.together or 0.0) if line is not None and line.clear else 0.0

    values = [[value(one, other) for other in names] for one in names]
    labels = [clipped(name) for name in names]
    picture, legend = heat_map(
        "together",
        "Which columns go together",
        Heat(labels, labels, values),
        unit="Cramér's V, in %",
        blank="noise alone could explain it, or not released",
        written=lambda edge: f"{edge / 100:.2f}",
    )
    return Figure(
        title="Which columns go together",
        caption="Cramér's V of each pair, from 0 (independent) to 1, read from the noisy tables corrected "
        "for what noise adds.",
        picture=picture,
        legend=legend,
    )
