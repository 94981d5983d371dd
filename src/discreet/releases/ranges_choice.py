"""Which tree releases a class of ranges, by the error to expect; public facts decide.

The adaptive tree is pure, so under concentrated accounting it must buy its epsilon at epsilon^2/2; there
a full tree with Gaussian noise may expect less, even after what adaptivity gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.releases.protocol import Prepared
from discreet.releases.ranges_adaptive import AdaptiveTree
from discreet.releases.ranges_tree import FullTree
from discreet.schema import Schema

ADAPTIVE_GAIN = 0.65
"""The error of an adaptive tree as a part of the full tree's at the same epsilon: what benchmarks show."""


@dataclass(frozen=True, slots=True)
class BestTree:
    """The adaptive tree, unless a full one expects less."""

    name: ClassVar[str] = "best-tree"
    kind: ClassVar[str] = "ranges"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return AdaptiveTree().refusal(query_class, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        adaptive = AdaptiveTree().prepare(query_class, schema, share=share, accounting=accounting)
        if accounting is Accounting.BASIC or FullTree().refusal(query_class, schema) is not None:
            return adaptive
        full = FullTree().prepare(query_class, schema, share=share, accounting=accounting)
        expected = [each.error(rows=None, confidence=0.95).expected for each in (adaptive, full)]
        assert expected[0] is not None and expected[1] is not None
        return adaptive if ADAPTIVE_GAIN * expected[0] <= expected[1] else full
