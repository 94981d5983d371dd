"""Scores for a private choice in every group of a tally: the bucket of a quantile, or the fullest cell.

Groups are disjoint, so one charge pays for a choice in each (parallel composition): in a group whose
scores one unit moves by d the exponential mechanism loses epsilon * d / sensitivity, and over all groups
the d of one unit add up to the sensitivity at most. Losses of bounded range add up alike, so the same
holds under zCDP. With m the rows of a unit and s the most that a row moves a score of its group:
  add-remove            m s
  change-one, one group m t, with t the most that a changed row moves a score
  change-one, several   2 m s: it leaves one group and enters another
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import BadInput
from discreet.privacy.adjacency import Adjacency
from discreet.queries.measurable import Counts
from discreet.queries.tallies import Cells, Tally
from discreet.schema import Schema

MOST_STEPS = 1000
"""Denominators of the levels that are scored: finer ones are rounded to them."""


@dataclass(frozen=True, slots=True)
class RankScores:
    """How far each bucket's rank is from a quantile's, in each group.

    With a/b the level, D(e) = (b - a) (rows below edge e) - a (rows from it on) never falls with e, and
    a bucket holds the quantile if D is at most 0 at its first edge and at least 0 at its last one. Its
    score is -max(0, D(first), -D(last)): the number of rows, times at most b, that would have to be
    others. An added row moves every D by b - a or a, so no score moves by more than the greater;
    a changed one moves D by b at most.
    """

    tally: Tally
    level: Fraction

    def _steps(self) -> tuple[int, int]:
        near = self.level.limit_denominator(MOST_STEPS)
        return near.numerator, near.denominator

    def sensitivity(self, schema: Schema) -> int:
        a, b = self._steps()
        return _over_groups(self.tally, schema, added=max(a, b - a), changed=b)

    def evaluate(self, counts: Counts, schema: Schema) -> Counts:
        assert isinstance(self.tally.term, Cells)
        a, b = self._steps()
        table = counts.reshape(-1, self.tally.term.buckets(schema))
        upto = np.cumsum(table, axis=1)
        last = b * upto - a * upto[:, -1:]
        first = last - b * table
        scores: Counts = -np.maximum(np.maximum(first, -last), 0)
        return scores


@dataclass(frozen=True, slots=True)
class CellScores:
    """The number of rows in each cell, in each group. A row, added or changed, moves a count by 1."""

    tally: Tally

    def sensitivity(self, schema: Schema) -> int:
        return _over_groups(self.tally, schema, added=1, changed=1)

    def evaluate(self, counts: Counts, schema: Schema) -> Counts:
        assert isinstance(self.tally.term, Cells)
        return counts.reshape(-1, self.tally.term.buckets(schema))


def _over_groups(tally: Tally, schema: Schema, *, added: int, changed: int) -> int:
    if not isinstance(tally.term, Cells):
        raise BadInput("A choice in groups is between the cells of a column.")
    rows = schema.unit.max_rows
    if schema.adjacency is Adjacency.ADD_REMOVE:
        return rows * added
    if tally.groups or tally.found is not None:
        return rows * 2 * added
    return rows * changed
