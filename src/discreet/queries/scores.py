"""Scores for private selection: integers, one a candidate, whose sensitivity is per candidate."""

from __future__ import annotations

from typing import Protocol

from discreet.queries.measurable import Counts
from discreet.queries.tallies import Tally
from discreet.schema import Schema


class Score(Protocol):
    """How good each candidate is, computed from the exact counts of some marginals."""

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The column sets that are read."""

    def candidates(self, schema: Schema) -> int: ...

    def sensitivity(self, schema: Schema) -> int:
        """How far one unit can move any single candidate's score."""

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        """The score of each candidate; with a `sampler`, the counts that it draws by."""

    @property
    def sampler(self) -> str | None:
        """Where candidates are too many to list, the place of what draws the number of one."""


class GroupScores(Protocol):
    """One row of scores a group."""

    @property
    def tally(self) -> Tally:
        """What is counted."""
        ...

    def sensitivity(self, schema: Schema) -> int:
        """How far one unit moves any score of each group, added up over the groups."""
        ...

    def evaluate(self, counts: Counts, schema: Schema) -> Counts: ...
