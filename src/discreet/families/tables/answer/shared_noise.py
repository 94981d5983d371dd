"""The covariance of the noise of two answers of a release.

Tables that overlap are put together from the same measurements, so their noises are correlated. Whoever compares two answers,
or chooses by one and reads the other, must take that into account.
"""

from __future__ import annotations

import numpy as np

from discreet.answering.regions.selecting import Selection, select
from discreet.arrays import Floats
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.questions.dialects.sql import parse_question
from discreet.questions.spelling import sql_name


def noise_covariance(library: Library, first: str, second: str, *, by: str) -> float:
    """The covariance of the noises of the rows that satisfy `first` and of those that satisfy `second`, in one cell of `by`."""
    one, other = (_selected(library, each, by) for each in (first, second))
    held = library.made(TableLibrary)
    tables = held.all_tables
    if tables.determines(one.names) and tables.determines(other.names):
        weights = (tables.everywhere(each.names, _in_first_cell(each, by)) for each in (one, other))
        return tables.covariance(one.names, next(weights), other.names, next(weights))
    used = [{id(table) for table, _ in held.usable(each.names)} for each in (one, other)]
    if all(used) and not used[0] & used[1]:
        return 0.0
    raise NotAnswerable(
        "The covariance of the noise of these two counts is not known: a model filled them in, or both are read from one "
        "table that leaves rows out."
    )


def _selected(library: Library, condition: str, by: str) -> Selection:
    schema = library.schema
    text = f"SELECT count(*) FROM {sql_name(schema.dataset)} WHERE ({condition})"
    return select(parse_question(text, schema).condition, schema, keep=[by])


def _in_first_cell(selection: Selection, by: str) -> Floats:
    """Weight 1 on the cells that satisfy the condition, in the first cell of `by`."""
    axis = selection.names.index(by)
    weights = np.array(np.broadcast_to(selection.outer(), selection.shape), dtype=np.float64)
    rest = np.moveaxis(weights, axis, 0)
    rest[1:] = 0.0
    return weights
