"""Scores for private selection: integers, one a candidate, whose sensitivity is per candidate.

May import errors, privacy, schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.queries.measurable import Counts, Marginal
from discreet.schema import Schema


class Score(Protocol):
    """How good each candidate is, computed from the exact counts of some marginals."""

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The column sets that are read."""
        ...

    def candidates(self, schema: Schema) -> int: ...

    def sensitivity(self, schema: Schema) -> int:
        """How far one unit can move any single candidate's score."""
        ...

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts: ...


@dataclass(frozen=True, slots=True)
class MostFrequent:
    """Each cell of a marginal scores its count: selecting gives the mode.

    One unit moves any one count by at most its rows, under either adjacency.
    """

    columns: tuple[str, ...]

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        return (self.columns,)

    def candidates(self, schema: Schema) -> int:
        return Marginal(self.columns).size(schema)

    def sensitivity(self, schema: Schema) -> int:
        return schema.unit.max_rows

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        return np.ascontiguousarray(counts[0].reshape(-1))
