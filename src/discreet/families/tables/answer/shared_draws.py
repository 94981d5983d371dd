"""The draws behind counts and sums of a table's cells, for those who combine several of them.

Cells of one release share draws: of a residual, of a table that both belong to, of the whole number of rows. Each
answer is a weighted sum of such draws. Two answers are told apart by their weights, and their difference, or any
other weighted sum, has the difference of the weights: see `postprocessing.joint_noise`.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from discreet.answering.regions.public_total import weights_counted_down
from discreet.answering.regions.selecting import Selection
from discreet.arrays import Floats
from discreet.artifacts.answers import SharedDraws
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.privacy.laws import NoiseLaw
from discreet.questions.cells.impossible import declares_empty_cells

MOST_WEIGHTS = 1 << 21
"""Weights that are worked out for one question; beyond, its numbers are combined by the union bound."""
MOST_GROUPS = 1 << 10


def cell_draws(
    library: TableLibrary, selection: Selection, weights: Floats, group_axes: tuple[int, ...]
) -> SharedDraws | None:
    """The draws of a weighted sum of the selected cells, one a group of cells of the group axes.

    `None` where a model fills the table in, answers are those of a whole table, cells are declared to be empty,
    rows were spread over cells, or there are too many weights.
    """
    table = library.table(selection.names)
    if table.is_model or declares_empty_cells(library.schema):
        return None
    if table.whole is not None and table.whole.of_whole_table:
        return None
    if selection.loses_rows and library.spreads_evenly:
        return None
    shape = table.counts.shape
    groups = [shape[axis] for axis in group_axes]
    many = int(np.prod(groups, dtype=np.int64))
    if many > MOST_GROUPS or many * table.draws_behind > MOST_WEIGHTS:
        return None
    wide = np.broadcast_to(weights, shape)
    rows = np.zeros((many, *shape))
    for at, place in enumerate(np.ndindex(*groups)):
        chosen: list[int | slice] = [slice(None)] * len(shape)
        for axis, code in zip(group_axes, place, strict=True):
            chosen[axis] = code
        rows[at, *chosen] = wide[tuple(chosen)]
    values = (rows * table.counts).reshape(many, -1).sum(axis=1)
    shown = None
    if table.whole is not None:
        shown = (rows * table.whole.counts).reshape(many, -1).sum(axis=1)
    if table.has_own_draws and not selection.loses_rows:
        values, rows = weights_counted_down(library.tabled_rows, table.counts, values, rows)
    # A group without a draw of some measurement, such as one that the condition rules out, keeps zeros there.
    found: dict[Hashable, tuple[NoiseLaw, Floats]] = {}
    for at in range(many):
        drawn = table.draws(rows[at, ...])
        if drawn is None:
            return None
        for key, law, each in drawn:
            if key not in found:
                found[key] = law, np.zeros((many, len(each)))
            found[key][1][at] += each
    return SharedDraws(values, tuple((key, law, each) for key, (law, each) in found.items()), shown)
