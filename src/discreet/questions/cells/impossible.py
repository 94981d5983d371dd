"""Which cells of a table are empty by declaration, and which rows of codes no row can be.

A cell over some columns is impossible if one declaration about no other columns names it, or if a column in it is
declared to be derived from another one, which says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools
from discreet.questions.derived import ANY, Derived, derived_columns
from discreet.schema import Schema
from discreet.schema.columns.column import Range

Codes = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
Rule = dict[str, tuple[Range, ...]]
"""Ranges of codes that together are impossible, one entry a column."""


def rules_over(schema: Schema, names: Sequence[str]) -> list[Rule]:
    """The declarations that are about these columns alone."""
    columns = {column.name: column for column in schema.columns}
    return [each.cells(columns) for each in schema.impossible if set(each.columns) <= set(names)]


def declares_empty_cells(schema: Schema) -> bool:
    """Whether the schema declares that some combinations have no rows."""
    return bool(schema.impossible or schema.derived)


def derived_over(schema: Schema, names: Sequence[str]) -> list[Derived]:
    """The declarations of derived columns that are about these columns alone."""
    return [
        each for each in derived_columns(schema) if each.column in names and each.source in names
    ]


def empty_tables(
    schema: Schema, sets: Iterable[Sequence[str]], most: int
) -> dict[tuple[str, ...], Bools] | None:
    """The tables over columns that declarations tie together, each with its impossible cells.

    Only declarations count whose columns are all in one table of `sets`. No column is in two of the tables found. `None` if
    one of them has more than `most` cells.
    """
    tied = [frozenset(each.columns) for each in schema.impossible]
    tied += [frozenset((each.column, each.source)) for each in derived_columns(schema)]
    held = [frozenset(each) for each in sets]
    together: list[frozenset[str]] = []
    for own in tied:
        if any(own <= each for each in held):
            meeting = [each for each in together if each & own]
            together = [each for each in together if not each & own]
            together.append(own.union(*meeting))
    found: dict[tuple[str, ...], Bools] = {}
    for each in together:
        names = tuple(name for name in schema.names if name in each)
        if prod(schema.column(name).cells for name in names) > most:
            return None
        empty = impossible_cells(schema, names)
        assert empty is not None
        found[names] = empty
    return found


def impossible_cells(schema: Schema, names: Sequence[str]) -> Bools | None:
    """For each cell of the table over `names`, whether it is impossible; `None` if none is declared."""
    rules, derived = rules_over(schema, names), derived_over(schema, names)
    if not rules and not derived:
        return None
    shape = [schema.column(name).cells for name in names]
    found = np.zeros(shape, dtype=np.bool_)
    for rule in rules:
        held = np.ones((1,) * len(names), dtype=np.bool_)
        for axis, name in enumerate(names):
            if name in rule:
                own = _chosen(np.arange(shape[axis]), rule[name])
                held = held & own.reshape(
                    [-1 if place == axis else 1 for place in range(len(names))]
                )
        found |= held
    for each in derived:
        codes = np.indices(schema.sizes((each.source, each.column)))
        differs = _differs(each, codes[0], codes[1])
        pair = [list(names).index(each.source), list(names).index(each.column)]
        if pair[0] > pair[1]:
            differs = differs.T
        found |= differs.reshape([shape[axis] if axis in pair else 1 for axis in range(len(names))])
    return found


def impossible_rows(schema: Schema, names: Sequence[str], codes: Codes) -> Bools:
    """For each row of codes, one column a name, whether a declaration rules it out."""
    found = np.zeros(len(codes), dtype=np.bool_)
    for rule in rules_over(schema, names):
        held = np.ones(len(codes), dtype=np.bool_)
        for name, ranges in rule.items():
            held &= _chosen(codes[:, list(names).index(name)], ranges)
        found |= held
    for each in derived_over(schema, names):
        source, own = (list(names).index(name) for name in (each.source, each.column))
        found |= _differs(each, codes[:, source], codes[:, own])
    return found


def _differs(derived: Derived, source: Codes, column: Codes) -> Bools:
    """Whether a derived column is not what its declaration says."""
    wanted = derived.wanted(source)
    return np.asarray((wanted != ANY) & (wanted != column.astype(np.int64)))


def covers_box(rules: Sequence[Rule], box: dict[str, Range]) -> bool:
    """Whether every cell of the box (half-open ranges of codes) is impossible. Lists no cells."""
    if any(start >= stop for start, stop in box.values()):
        return True
    if not rules:
        return False
    first, rest = rules[0], rules[1:]
    inside = dict(box)
    for name, ranges in first.items():
        start, stop = inside[name]
        meeting = [(max(start, a), min(stop, b)) for a, b in ranges if max(start, a) < min(stop, b)]
        edges = [start, *(edge for pair in meeting for edge in pair), stop]
        outside = zip(edges[::2], edges[1::2], strict=True)
        if not all(covers_box(rest, inside | {name: gap}) for gap in outside):
            return False
        if len(meeting) > 1:  # each stretch goes on by itself
            return all(covers_box(rules, inside | {name: pair}) for pair in meeting)
        if not meeting:
            return True  # all of the box was outside, and the other rules cover that
        inside[name] = meeting[0]
    return True


def _chosen(codes: Codes, ranges: Sequence[Range]) -> Bools:
    found = np.zeros(codes.shape, dtype=np.bool_)
    for start, stop in ranges:
        found |= (codes >= start) & (codes < stop)
    return found
