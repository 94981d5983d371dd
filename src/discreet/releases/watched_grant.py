"""The verbs of a grant, and a word when the last of them has read: the engine is not needed any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from discreet.arrays import Bools
from discreet.artifacts.measurement import Measurement, Selection, TreeMeasurement
from discreet.core.mechanisms import Exponential, PartitionSelection
from discreet.core.refining import LevelView, Schedule
from discreet.core.vault import Grant, Request
from discreet.privacy.budget import Budget
from discreet.queries.scores import Score
from discreet.queries.tallies import Key
from discreet.queries.tree import Tree
from discreet.questions.expressions import Expression

T = TypeVar("T")


class WatchedGrant:
    """The verbs of a grant. When nothing is left to spend, no row can be read any more, and `all_read` is called.

    Estimates of what was read may take longer than reading it, so the engine need not wait for them.
    """

    def __init__(self, grant: Grant, all_read: Callable[[], None]) -> None:
        self._grant, self._all_read = grant, all_read

    def measure(self, requests: Sequence[Request]) -> tuple[Measurement, ...]:
        return self._read(self._grant.measure(requests))

    def select(self, score: Score, mechanism: Exponential) -> Selection:
        return self._read(self._grant.select(score, mechanism))

    def find_keys(
        self, columns: Sequence[str], condition: Expression, mechanism: PartitionSelection
    ) -> tuple[Key, ...]:
        return self._read(self._grant.find_keys(columns, condition, mechanism))

    def refine(
        self,
        tree: Tree,
        *,
        epsilon: Fraction,
        schedule: Schedule,
        stop: Callable[[LevelView], Bools],
    ) -> TreeMeasurement:
        return self._read(self._grant.refine(tree, epsilon=epsilon, schedule=schedule, stop=stop))

    def _read(self, found: T) -> T:
        left = self._grant.left
        if left == Budget.nothing(left.notion):
            self._all_read()
        return found
