"""Synthetic rows of the tables: from whole counts where the release has them, else from a model of all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.answering.synthesis.drawn_rows import Nulls
from discreet.arrays import Floats, Integers
from discreet.artifacts.answer import Answer
from discreet.families.shared.answer.evidence import reduced
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.table_models import model_of_tables
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.agreeing import largest_sets
from discreet.families.tables.estimate.clique_tree import LARGEST_PAIR, most_even_rows
from discreet.families.tables.estimate.fitting import RowModel
from discreet.families.tables.estimate.likely_counts import likely
from discreet.families.tables.estimate.log_linear import LARGEST_DOMAIN, LogLinear
from discreet.families.tables.estimate.mixture import Mixture
from discreet.families.tables.estimate.settling import (
    MORE_WORK,
    WORK,
    settle,
    tables_side_by_side,
)
from discreet.families.tables.estimate.wanted_pairs import HELD_PAIR, wanted_pairs
from discreet.families.tables.estimate.whole_tables import WholeCounts

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

LEAST = 1e-300
"""Stands for a sum of 0 where one divides by it."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Rows drawn from all tables at once."""

    columns: tuple[str, ...]
    rows: float
    draw: Callable[[int, Generator], Integers]
    counts_every_row: ClassVar[bool] = True
    nulls: ClassVar[Nulls] = "as counted"


def rows_of_tables(library: Library, counted: Answer | None) -> list[TableRows]:
    """One for all tables, if there are any."""
    held = library.made(TableLibrary)
    whole = held.whole
    if whole is not None:
        is_of_pairs = held.most_columns <= 2 and whole.total > 0
        draw = partial(_evenly, whole) if is_of_pairs else whole.drawn
        return [TableRows(tuple(whole.columns), whole.total, draw)]
    found = model_of_tables(held)
    if found is None:
        return []
    model, names, rows = found
    return [TableRows(tuple(names), rows, partial(_settled, held, model, names, rows))]


def _evenly(whole: WholeCounts, many: int, public: Generator) -> Integers:
    """Rows with the pairs of whole counts that are as even as can be otherwise.

    Whole counts were found near to measured pairs. What they say about three columns and more nobody measured: it is an accident of how they
    were found. Where there is room, all pairs are those of the whole counts, so rows and answers agree.
    """
    sizes = [int(whole.over((name,)).size) for name in whole.columns]
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    wanted = np.zeros((int(edges[-1]),) * 2, dtype=np.float32)
    for part, name in zip(parts, whole.columns, strict=True):
        np.fill_diagonal(wanted[part, part], whole.over((name,)))
    for one, other in combinations(range(len(sizes)), 2):
        pair = whole.over((whole.columns[one], whole.columns[other]))
        wanted[parts[one], parts[other]], wanted[parts[other], parts[one]] = pair, pair.T
    wanted *= np.float32(many / whole.total)
    codes = most_even_rows(sizes, tables_side_by_side(wanted, sizes), many, public)
    settle(codes, sizes, wanted, public, work=MORE_WORK)
    return codes


def _settled(
    library: TableLibrary,
    model: RowModel,
    names: list[str],
    rows: float,
    many: int,
    public: Generator,
) -> Integers:
    """Rows of a model, moved to where its tables and the measured ones want them.

    A mixture may hold dependences of three columns and more that its pairs do not imply, and nobody
    measured. So its rows are drawn from the most even model of its pairs instead.
    """
    if isinstance(model, LogLinear):
        model = model.scaled_to(_likely_wider_tables(library, model, names, rows))
    values = [library.schema.column(name).value_cells for name in names]
    wanted = wanted_pairs(model, library.all_tables, names, values, rows=rows, drawn=many)
    if wanted is None:
        return model.sample(many, public)
    sizes = library.complete.sizes(names)
    if isinstance(model, Mixture) and many:
        wider = _likely_wider_tables(library, model, names, rows, LARGEST_PAIR)
        tables = {**tables_side_by_side(wanted, sizes), **wider}
        codes = most_even_rows(sizes, tables, many, public)
    else:
        codes = model.sample(many, public)
    measured = library.all_tables
    pairs = combinations(names, 2)
    work = MORE_WORK if all(measured.determines(pair) for pair in pairs) else WORK
    settle(codes, sizes, wanted, public, work=work)
    return codes


def _likely_wider_tables(
    library: TableLibrary,
    model: RowModel,
    names: list[str],
    rows: float,
    most: int = LARGEST_DOMAIN,
) -> dict[tuple[int, ...], Floats]:
    """The shares of measured tables of three columns and more: of the counts that are likely, where the model expects its own.

    `most`: tables of more cells are left out. Each component of a mixture holds its cells, and no clique has room for them.
    """
    wanted = {}
    for columns, noisy, variance in _wider_tables(library, names, most):
        places = tuple(names.index(name) for name in columns)
        shares = np.array(model.marginal(places))
        there = shares[tuple(slice(cells) for cells in noisy.shape)]  # rows that the table counts
        own = rows if library.all_tables.determines(columns) else max(float(noisy.sum()), 1.0)
        expected = own * there / max(float(there.sum()), LEAST)
        counts = likely(noisy.ravel(), expected.ravel(), variance, HELD_PAIR)
        if counts.sum() > 0:
            there[:] = there.sum() * counts.reshape(noisy.shape) / counts.sum()
            wanted[places] = shares
    return wanted


def _wider_tables(
    library: TableLibrary, names: list[str], most: int
) -> Iterator[tuple[tuple[str, ...], Floats, float]]:
    """The largest tables of three columns and more that were measured, with the variance of a cell.

    Tables that leave out other rows than others do are taken as they are. They have fewer cells: none for rows without a value.
    """
    agreement, measured = library.agreement, library.all_tables
    alone = {frozenset(table.columns): table for table in library.tables}
    sets = library.sets_together(() if agreement is None else agreement.sets)
    for own in largest_sets([*map(frozenset, sets), *alone]):
        columns = tuple(name for name in names if name in own)
        if len(columns) < 3 or len(columns) < len(own):
            continue
        if prod(library.complete.sizes(columns)) > most:
            continue
        if measured.determines(columns):
            yield columns, measured.table(columns), measured.cell_variance(columns)
        elif own in alone:
            table = alone[own]
            yield columns, reduced(table, columns).astype(np.float64), table.law.variance
