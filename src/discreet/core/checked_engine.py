"""What an engine returns, checked before anything is computed from it.

Noise is calibrated to the shape of an answer and to how far one person can move it. An engine that
returned another shape, another type or an impossible number would break that without a sign. So nothing that it returns is trusted: shapes come from the schema and the request, counts are 64-bit integers
and not negative, sums are whole numbers. What does not fit stops the run, with one fixed sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.engines.protocol import Counts, Engine, SumRequest
from discreet.errors import EngineFailed
from discreet.queries.tallies import Key, Tally
from discreet.questions.expressions import Expression
from discreet.schema import Schema

MISFIT = (
    "The engine returned something that cannot be an answer to what it was asked. Nothing was "
    "published. What was charged stays charged. This is a defect of the engine: please report it."
)


class CheckedEngine:
    """The verbs of an engine that the core uses. Thread safe if the engine is."""

    def __init__(self, engine: Engine, schema: Schema) -> None:
        self._engine, self._schema = engine, schema

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[Counts]:
        """One table of counts for each set of columns."""
        shapes = [self._schema.sizes(names) for names in column_sets]
        found = self._engine.marginals(column_sets)
        _expect(len(found) == len(shapes))
        return [_counts(each, shape) for each, shape in zip(found, shapes, strict=True)]

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        """One count for each node."""
        return _counts(self._engine.node_counts(columns, shifts, nodes), (len(nodes),))

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        """One whole number for each request."""
        found = self._engine.sums(requests)
        _expect(len(found) == len(requests) and all(type(each) is int for each in found))
        return found

    def tally(self, tallies: Sequence[Tally]) -> list[Counts]:
        """The integers of each tally."""
        found = self._engine.tally(tallies)
        _expect(len(found) == len(tallies))
        return [
            _integers(each, (tally.size(self._schema),))
            for each, tally in zip(found, tallies, strict=True)
        ]

    def held_keys(self, columns: Sequence[str], condition: Expression) -> tuple[list[Key], Counts]:
        """Keys, each once and in order, and how many units hold each.

        Named keys are published in the order in which they come, so it must not be that of the rows.
        """
        keys, held = self._engine.held_keys(columns, condition)
        _expect(all(len(key) == len(columns) for key in keys))
        _expect(all(type(text) is str for key in keys for text in key))
        _expect(all(key < following for key, following in pairwise(keys)))
        return keys, _counts(held, (len(keys),))

    def row_count(self) -> int:
        """How many rows there are."""
        found = self._engine.row_count()
        _expect(type(found) is int and found >= 0)
        return found


def _counts(found: Counts, shape: tuple[int, ...]) -> Counts:
    checked = _integers(found, shape)
    _expect(prod(shape) == 0 or int(checked.min()) >= 0)
    return checked


def _integers(found: Counts, shape: tuple[int, ...]) -> Counts:
    _expect(isinstance(found, np.ndarray) and found.dtype == np.int64 and found.shape == shape)
    return found


def _expect(fits: bool) -> None:
    if not fits:
        raise EngineFailed(MISFIT)
