"""How far each small database is from the table: what the general mechanism chooses by.

The candidates are multisets of m rows, each standing for n/m rows of the table. A base measure over
sequences would give a database with different rows more weight than one with equal rows: here every
multiset counts once. n is public, so change-one is the only adjacency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Bools, Integers
from discreet.artifacts.release import Part
from discreet.errors import BadRelease
from discreet.families.predicates.answer.sanitised import database_size, kinds_of
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.ranges.queries.ranges import Ranges
from discreet.queries.measurable import Counts
from discreet.queries.multisets import listed, multisets
from discreet.schema import Schema, keeps_every_row

STEP = 1 << 16
"""Databases whose errors are computed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ListedDatabases:
    """Every multiset of `size` rows, and the predicate on which each is worst.

    The score is -max |m c - n d| over the predicates, c of the table's n rows and d of the database's m
    rows satisfying one: its error in rows, times -m, so that it is whole. A changed row moves each c by
    at most 1, so the score moves by at most m.
    """

    columns: tuple[str, ...]
    part: Integers
    """The kind of each cell of `columns`, flat."""
    workload: Bools
    """One row a predicate, one column a kind of point."""
    size: int
    rows: int
    sampler: ClassVar[None] = None

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        return (self.columns,)

    def candidates(self, schema: Schema) -> int:
        return multisets(self.workload.shape[1], self.size)

    def sensitivity(self, schema: Schema) -> int:
        return self.size

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        in_kind = np.zeros(self.workload.shape[1], dtype=np.int64)
        np.add.at(in_kind, self.part, counts[0].reshape(-1))
        exact = np.array([in_kind[row].sum() for row in self.workload], dtype=np.int64)
        return self.scores(exact)

    def scores(self, exact: Counts) -> Counts:
        """The score of each multiset, in the order of their numbers. Half of the kinds are put together first, then the other half."""
        kinds = self.workload.shape[1]
        first = kinds // 2
        weights = np.unique(self.workload, axis=0, return_index=True)[1]
        table = self.workload[weights].astype(np.int64)
        goal = self.size * exact[weights]
        if first == 0:
            worst = np.abs(self.rows * self.size * table[:, 0] - goal).max(keepdims=True)
            return np.asarray(-worst, dtype=np.int64)
        endings = [
            self.rows * listed(kinds - first, left) @ table[:, first:].T
            for left in range(self.size + 1)
        ]
        beginnings = _up_to(first, self.size)
        found = np.empty(multisets(kinds, self.size), dtype=np.int64)
        at = 0
        for beginning in beginnings:
            base = self.rows * (table[:, :first] @ beginning) - goal
            ending = endings[self.size - int(beginning.sum())]
            for start in range(0, len(ending), STEP):
                some = ending[start : start + STEP] + base
                np.abs(some, out=some)
                found[at : at + len(some)] = some.max(axis=1)
                at += len(some)
        return np.negative(found, out=found)


def _up_to(kinds: int, most: int) -> Integers:
    """Counts of `kinds` kinds that add up to at most `most`, in order."""
    return listed(kinds + 1, most)[:, :-1]


@dataclass(frozen=True, slots=True)
class OrderedDatabases:
    """Every multiset of `size` rows over the values of one column, too many to list.

    `samplers.walks` says how they are judged, and draws one. A changed row moves the level of each by at
    most 1.
    """

    column: str
    values: int
    """Value cells. Rows without a value are one more kind, beyond the last."""
    with_rest: bool
    """Whether some rows may have no value."""
    size: int
    rows: int
    levels: int
    of_intervals: bool
    sampler: ClassVar[str] = "discreet.samplers.walks:drawn_walk"

    @property
    def kinds(self) -> int:
        return self.values + self.with_rest

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        return ((self.column,),)

    def candidates(self, schema: Schema) -> int:
        return multisets(self.kinds, self.size)

    def sensitivity(self, schema: Schema) -> int:
        return 1

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        valued = counts[0].reshape(-1)[: self.values]
        if not self.with_rest:
            return valued.copy()
        return np.append(valued, np.int64(self.rows) - valued.sum(dtype=np.int64))


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
