"""Rows that declared predicates tell apart, by the schema alone."""

from __future__ import annotations

import numpy as np

from discreet.families.predicates.queries.predicates import Predicates, partition
from discreet.schema import Schema


def extreme_rows(asked: Predicates, schema: Schema) -> tuple[dict[str, int], dict[str, int]]:
    """A row that satisfies the most predicates, and one on which as many as possible differ from it: their cells, by column."""
    found = partition(schema, asked.conditions)
    shape = schema.sizes(found.columns)
    cells = np.stack(np.unravel_index(np.arange(len(found.part)), shape), axis=1)
    # Cells for other values have no value to write, so only values and nulls are looked for.
    written = np.ones(len(cells), dtype=np.bool_)
    for axis, name in enumerate(found.columns):
        column = schema.column(name)
        if column.other_cell is not None:
            written &= cells[:, axis] != column.other_cell
    truths = found.workload[:, found.part]
    most = int(np.argmax(np.where(written, truths.sum(axis=0), -1)))
    moved = (truths != truths[:, most : most + 1]).sum(axis=0)
    furthest = int(np.argmax(np.where(written, moved, -1)))
    one, other = (
        dict(zip(found.columns, cells[place].tolist(), strict=True)) for place in (most, furthest)
    )
    return one, other
