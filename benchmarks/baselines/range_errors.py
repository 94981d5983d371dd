"""Errors of the baselines and of ours on one histogram: mean absolute error of 2,000 random ranges.

The baselines run on float noise and with a public n; ours runs through the kernel, with its exact noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from fractions import Fraction
from functools import cache, cached_property
from typing import Self

import numpy as np

from benchmarks.baselines import grids, hierarchies
from benchmarks.baselines.dawa import Dawa, RangeWorkload, hilbert_order
from benchmarks.baselines.histogram_engine import histogram_schema, opened_grant
from benchmarks.baselines.workload import random_ranges, range_sums
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_empties import told_apart
from discreet.families.ranges.estimate.tree_shrinkage import smoothed
from discreet.families.ranges.queries.ranges import Intervals, Rectangles
from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.tree import FullTree
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting

Mechanism = Callable[[np.ndarray, float, np.random.RandomState], np.ndarray]
FIXED: dict[int, dict[str, Mechanism]] = {
    1: {
        "Identity": hierarchies.identity,
        "H2": hierarchies.binary_hierarchy,
        "HB": hierarchies.hierarchy,
        "Privelet": hierarchies.privelet,
    },
    2: {
        "Identity": hierarchies.identity,
        "QuadTree": hierarchies.quad_tree,
        "HB2D": hierarchies.hierarchy_2d,
    },
}
"""By dimensions: baselines that add noise without looking at the rows. Their error is measured once for a shape."""
FIXED_DRAWS = 400


@dataclass(frozen=True)
class Error:
    """A mean error over draws, and its standard error."""

    mean: float
    uncertain: float

    @classmethod
    def of(cls, drawn: list[float]) -> Self:
        return cls(float(np.mean(drawn)), float(np.std(drawn) / math.sqrt(max(len(drawn) - 1, 1))))

    def over(self, other: Error) -> Error:
        """The ratio of two independent ones."""
        ratio = self.mean / other.mean
        parts = self.uncertain / self.mean, other.uncertain / other.mean
        return Error(ratio, ratio * math.hypot(*parts))


class Field:
    """The workload over histograms of one shape, with the mechanisms that answer it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        dimensions = self.dimensions = len(shape)
        self.shape = shape
        self.first, self.last = random_ranges(self.shape)
        self.order = np.arange(shape[0]) if dimensions == 1 else hilbert_order(shape[0])
        self.schema = histogram_schema(self.shape)
        self.query_class = Intervals("x0") if dimensions == 1 else Rectangles("x0", "x1")

    @cached_property
    def workload(self) -> RangeWorkload:
        return RangeWorkload(self.first, self.last, self.order, self.shape)

    def baselines(self, counts: np.ndarray) -> dict[str, Mechanism]:
        """Those that the bar is set by, then (in brackets) those that are only printed."""

        def dawa(ratio: float, sound: bool) -> Mechanism:
            made = Dawa(self.workload, self.order, sound=sound, ratio=ratio)
            return lambda x, epsilon, generator: made.release(x, deviations, epsilon, generator)

        deviations = Dawa(self.workload, self.order).deviations(counts)
        if self.dimensions == 1:
            return FIXED[1] | {"DAWA": dawa(0.5, False), "(DAWA at 1/4)": dawa(0.25, False)}
        return FIXED[2] | {
            "UG": grids.uniform_grid,
            "AG": grids.adaptive_grid,
            "DAWA sound": dawa(0.25, True),
            "(DAWA)": dawa(0.25, False),
        }

    @cached_property
    def fixed(self) -> dict[str, Error]:
        """At epsilon 1, of mechanisms whose error does not depend on the rows, and falls as 1/epsilon."""
        nothing, generator = np.zeros(self.shape), np.random.RandomState(2)
        return {
            label: Error.of(
                [
                    np.abs(
                        range_sums(mechanism(nothing, 1.0, generator), self.first, self.last)
                    ).mean()
                    for _ in range(FIXED_DRAWS)
                ]
            )
            for label, mechanism in FIXED[self.dimensions].items()
        }

    def prepared(self, algorithm: AdaptiveTree | FullTree, epsilon: str):
        return algorithm.prepare(
            self.query_class,
            self.schema,
            share=Budget(epsilon=Fraction(epsilon)),
            accounting=Accounting.BASIC,
        )

    def draws(self, algorithm, counts: np.ndarray, epsilon: str, many: int):
        """Releases of the histogram, one after the other."""
        made = self.prepared(algorithm, epsilon)
        with opened_grant(counts, self.schema, made.share.times(many)) as grant:
            for _ in range(many):
                measured = grant.measure(made.requests) if made.requests else ()
                part, _ = made.finish(grant, measured, public_rows=None, confidence=0.95)
                yield RangeSource(part, self.schema)

    @property
    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.first.astype(np.uint64), self.last.astype(np.uint64)


def without_slopes(source: RangeSource) -> list[RangeSource]:
    """The same release of one column, its leaves estimated without slopes: what these gain, on the same noise."""
    if len(source.columns) > 1:
        return []
    tree = source.tree
    upward = tree.upward([told_apart(layer) for layer in tree.layers])
    leaves = tree.leaves(smoothed(tree, upward, sloped=False))
    return [RangeSource(replace(source.part, estimates={"leaves": leaves}), source.schema)]


def spread_truly(source: RangeSource, counts: np.ndarray) -> list[np.ndarray]:
    """The released nodes of the first level below the root, their rows spread over the cells as they truly are.

    No smoothing of what lies below this level could leave less error: the rest is the noise of its nodes.
    """
    if len(source.columns) > 1:
        return []
    first = next(layer for layer in source.tree.layers if layer.depth[0])
    starts = np.arange(0, len(counts), 1 << (source.tree.bits[0] - first.depth[0]))
    cells = np.arange(len(counts), dtype=np.uint64)[:, np.newaxis]
    nodes = np.add.reduceat(source.fitted(cells, cells).estimate, starts)
    truly = np.add.reduceat(counts, starts)
    inside = np.diff(np.append(starts, len(counts)))
    even = np.repeat(nodes / inside, inside)
    return [
        np.where(
            np.repeat(truly, inside) > 0,
            counts * np.repeat(nodes / np.maximum(truly, 1), inside),
            even,
        )
    ]


@cache
def field_of(shape: tuple[int, ...]) -> Field:
    return Field(shape)


class Case:
    """A histogram at one epsilon: the errors of all mechanisms."""

    def __init__(self, counts: np.ndarray, epsilon: str, generator: np.random.RandomState) -> None:
        self.counts, self.epsilon, self._generator = counts, epsilon, generator
        self._field = field_of(counts.shape)
        self._truth = range_sums(counts, self._field.first, self._field.last)

    def _of_cells(self, cells: np.ndarray) -> float:
        sums = range_sums(cells, self._field.first, self._field.last)
        return float(np.abs(sums - self._truth).mean())

    def baselines(self, draws: int, slow_draws: int) -> dict[str, Error]:
        value, found = float(Fraction(self.epsilon)), {}
        for label, mechanism in self._field.baselines(self.counts).items():
            fixed = self._field.fixed.get(label)
            if fixed is not None:
                found[label] = Error(fixed.mean / value, fixed.uncertain / value)
                continue
            many = slow_draws if "DAWA" in label else draws
            drawn = [mechanism(self.counts, value, self._generator) for _ in range(many)]
            found[label] = Error.of([self._of_cells(cells) for cells in drawn])
        return found

    def ours(self, draws: int, parts: Parts | None = None) -> Error:
        """Ours; `parts` also collects what slopes gain, and what is left if rows inside coarse nodes were known."""
        drawn, plain, spread = [], [], []
        for source in self._field.draws(AdaptiveTree(), self.counts, self.epsilon, draws):
            drawn.append(self._of_source(source))
            if parts is not None:
                plain += [self._of_source(each) for each in without_slopes(source)]
                spread += [self._of_cells(cells) for cells in spread_truly(source, self.counts)]
        ours = Error.of(drawn)
        if parts is not None and spread:
            parts.unsloped.append(float(np.mean(plain)) / ours.mean)
            parts.coarse.append(float(np.mean(spread)) / ours.mean)
        return ours

    def _of_source(self, source: RangeSource) -> float:
        return float(np.abs(source.fitted(*self._field.codes).estimate - self._truth).mean())


@dataclass
class Parts:
    """Errors relative to ours, a number for each case."""

    unsloped: list[float] = dataclass_field(default_factory=list)
    coarse: list[float] = dataclass_field(default_factory=list)
