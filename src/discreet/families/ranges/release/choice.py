"""What releases a class of ranges, by the error to expect; public facts decide.

The adaptive tree is pure, so under concentrated accounting it must buy its epsilon at epsilon^2/2; there
a full tree with Gaussian noise may expect less, even after what adaptivity gains, and of one column with
few cells an optimised strategy less than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.strategy import RangeStrategy
from discreet.families.ranges.release.tree import FullTree
from discreet.families.shared.release.protocol import Prepared
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

ADAPTIVE_GAIN = 0.65
"""The error of an adaptive tree as a part of the full tree's at the same epsilon: what benchmarks show."""


@dataclass(frozen=True, slots=True)
class BestTree:
    """The adaptive tree, unless a full one or a strategy expects less."""

    name: ClassVar[str] = "best-tree"
    kind: ClassVar[str] = "ranges"
    chooses: ClassVar[bool] = True

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return AdaptiveTree().refusal(query_class, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        adaptive = AdaptiveTree().prepare(query_class, schema, share=share, accounting=accounting)
        if accounting is Accounting.BASIC:
            return adaptive
        options: list[Prepared] = [adaptive]
        for other in (FullTree(), RangeStrategy()):
            if other.refusal(query_class, schema) is None:
                options.append(
                    other.prepare(query_class, schema, share=share, accounting=accounting)
                )
        return min(options, key=lambda each: _expected(each, adaptive))


def _expected(option: Prepared, adaptive: Prepared) -> float:
    expected = option.error(rows=None, confidence=0.95).expected
    assert expected is not None
    return ADAPTIVE_GAIN * expected if option is adaptive else expected
