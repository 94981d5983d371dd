"""Among how many databases the general mechanism chose, and at what sensitivity: for `verify`."""

from __future__ import annotations

from discreet.artifacts.release import Part
from discreet.errors import BadRelease
from discreet.families.predicates.answer.sanitised import database_size, kinds_of
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.ranges.queries.ranges import Ranges
from discreet.queries.multisets import multisets
from discreet.schema import Schema, keeps_every_row


def among_listed(part: Part, schema: Schema) -> tuple[int, int]:
    """Scores are errors times m, so one row moves them by m."""
    if not isinstance(part.query_class, Predicates):
        raise BadRelease("A sanitised database does not say for which predicates it is.")
    size = database_size(part)
    return multisets(kinds_of(schema, part.query_class).workload.shape[1], size), size


def among_walks(part: Part, schema: Schema) -> tuple[int, int]:
    """Levels are counted in rows, so one row moves them by 1."""
    if not isinstance(part.query_class, Ranges) or len(part.query_class.columns) != 1:
        raise BadRelease("A sanitised database does not say for which column it is.")
    column = schema.column(part.query_class.columns[0])
    with_rest = column.cells > column.value_cells or not keeps_every_row(column)
    return multisets(column.value_cells + with_rest, database_size(part)), 1
