"""Ranges by an adaptive tree in two stages: intervals that need no apology.

A tenth of epsilon finds where to stop; then the tree that this gave is measured afresh with the rest,
and only those numbers answer. Given the tree, their noise is independent of how it was found, so
intervals are valid for it as for a tree chosen beforehand. The price is the tenth, and the noise
reduction that the adaptive tree has for nothing.

Guarantee:   epsilon-DP: basic composition of two uses of `core.refining`.
Adjacency:   the schema's.
Sensitivity: as the adaptive tree's.
Theorem:     composition; sample splitting, applied to noise.
Error:       as the adaptive tree's, at nine tenths of epsilon, given the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from discreet.arrays import Bools
from discreet.artifacts.measurement import TreeMeasurement
from discreet.core.refining import LevelView, path_epsilon
from discreet.families.ranges.release.adaptive import (
    AdaptiveTree,
    PreparedTree,
    StoppingRule,
    thresholds,
)
from discreet.families.shared.release.protocol import ClassError, Verbs
from discreet.privacy.cost import Cost

STRUCTURE = Fraction(1, 10)
"""The part of epsilon that finds the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTwoStages(PreparedTree):
    """Structure, then counts."""

    is_weighted: ClassVar[bool] = False
    is_simulated: ClassVar[bool] = False

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        """That of the second stage, which alone answers."""
        counted = replace(self, epsilon=self.stages[1])
        return PreparedTree.error(counted, rows=rows, confidence=confidence)

    @property
    def stages(self) -> tuple[Fraction, Fraction]:
        return self.epsilon * STRUCTURE, self.epsilon * (1 - STRUCTURE)

    def costs(self) -> tuple[Cost, ...]:
        return tuple(Cost.pure(each) for each in self.stages)

    def measure(self, grant: Verbs) -> tuple[TreeMeasurement, ...]:
        finding, counting = self.stages
        bars = thresholds(
            self.tree,
            self.schedule.shares,
            path=path_epsilon(finding, self.schema),
            whole=path_epsilon(counting, self.schema),
        )
        structure = grant.refine(
            self.tree,
            epsilon=finding,
            schedule=self.schedule,
            stop=StoppingRule(self.tree, self.schema, bars),
        )
        counts = grant.refine(
            self.tree, epsilon=counting, schedule=self.schedule, stop=SameTree(structure)
        )
        return structure, counts


@dataclass(frozen=True, slots=True)
class TwoStageTree(AdaptiveTree):
    """The adaptive tree, its structure and its counts from separate noise."""

    # Under concentrated accounting two pure parts add as squares; their sum is the safe bound.
    name: ClassVar[str] = "two-stage-tree"
    prepared: ClassVar[type[PreparedTree]] = PreparedTwoStages


@dataclass(frozen=True, slots=True)
class SameTree:
    """Stop where another tree stopped."""

    other: TreeMeasurement

    def __call__(self, view: LevelView) -> Bools:
        (level,) = [each for each in self.other.levels if each.level == view.level]
        return level.stopped.copy()


__all__ = ["SameTree", "TwoStageTree"]
