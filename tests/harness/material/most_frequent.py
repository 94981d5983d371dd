"""The simplest score that a private selection can be drilled with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.queries.measurable import Counts, Marginal
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class MostFrequent:
    """Each cell of a marginal scores its count: selecting gives the mode.

    One unit moves any one count by at most its rows, under either adjacency.
    """

    columns: tuple[str, ...]

    sampler: ClassVar[None] = None

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        return (self.columns,)

    def candidates(self, schema: Schema) -> int:
        return Marginal(self.columns).size(schema)

    def sensitivity(self, schema: Schema) -> int:
        return schema.unit.max_rows

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        return np.ascontiguousarray(counts[0].reshape(-1))
