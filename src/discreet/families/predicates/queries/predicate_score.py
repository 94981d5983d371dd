"""A score for private selection: how far a model is from the truth on each declared predicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.release import Part
from discreet.errors import BadRelease
from discreet.families.predicates.queries.predicates import Partition, Predicates
from discreet.schema import Schema

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ModelError:
    """|rows that satisfy a predicate - what a model says|, for each predicate.

    One unit moves any one count by at most its rows, under either adjacency, and the distance to a
    fixed number by no more.
    """

    partition: Partition
    model: Counts
    """What the model says: whole numbers, computed from noisy numbers only."""

    sampler: ClassVar[None] = None

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        return (self.partition.columns,)

    def candidates(self, schema: Schema) -> int:
        return len(self.model)

    def sensitivity(self, schema: Schema) -> int:
        return _moved(schema)

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        in_part = np.zeros(self.partition.parts, dtype=np.int64)
        np.add.at(in_part, self.partition.part, counts[0].reshape(-1))
        answers = np.array([in_part[row].sum() for row in self.partition.workload], dtype=np.int64)
        return np.asarray(np.abs(answers - self.model))


def selected_among(part: Part, schema: Schema) -> tuple[int, int]:
    """Candidates and sensitivity of a selection among predicates, whatever the model says of them."""
    if not isinstance(part.query_class, Predicates):
        raise BadRelease("A part of predicates does not say which they are.")
    return len(part.query_class.conditions), _moved(schema)


def _moved(schema: Schema) -> int:
    return schema.unit.max_rows
