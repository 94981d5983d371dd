"""Synthetic rows of the tables: from whole counts where the release has them, else from a model of all tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from discreet.answering.synthesis.drawn_rows import Nulls
from discreet.arrays import Integers
from discreet.artifacts.answer import Answer
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.table_models import model_of_tables
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.clique_tree import most_even_rows
from discreet.families.tables.estimate.fitting import RowModel
from discreet.families.tables.estimate.mixture import Mixture
from discreet.families.tables.estimate.settling import (
    MORE_WORK,
    WORK,
    settle,
    tables_side_by_side,
)
from discreet.families.tables.estimate.wanted_pairs import wanted_pairs

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


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
        return [TableRows(tuple(whole.columns), whole.total, whole.drawn)]
    found = model_of_tables(held)
    if found is None:
        return []
    model, names, rows = found
    return [TableRows(tuple(names), rows, partial(_settled, held, model, names, rows))]


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
    values = [library.schema.column(name).value_cells for name in names]
    wanted = wanted_pairs(model, library.all_tables, names, values, rows=rows, drawn=many)
    if wanted is None:
        return model.sample(many, public)
    sizes = library.complete.sizes(names)
    if isinstance(model, Mixture) and many:
        codes = most_even_rows(sizes, tables_side_by_side(wanted, sizes), many, public)
    else:
        codes = model.sample(many, public)
    measured = library.all_tables
    pairs = combinations(names, 2)
    work = MORE_WORK if all(measured.determines(pair) for pair in pairs) else WORK
    settle(codes, sizes, wanted, public, work=work)
    return codes
