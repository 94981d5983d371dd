"""What releases a class of ranges, by the error to expect; public facts decide.

The adaptive tree is pure, so under concentrated accounting it must buy its epsilon at epsilon^2/2; there
a full tree with Gaussian noise may expect less, even after what adaptivity gains, and of one column with
few cells an optimised strategy less than that.
"""

from __future__ import annotations

from functools import partial

from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.strategy import RangeStrategy
from discreet.families.ranges.release.tree import FullTree
from discreet.families.shared.release.choice import LeastError

ADAPTIVE_GAIN = 0.65
"""The error of an adaptive tree as a part of the full tree's at the same epsilon: what benchmarks show."""

best_tree = partial(
    LeastError,
    name="best-tree",
    kind=AdaptiveTree.kind,
    options=(AdaptiveTree(), FullTree(), RangeStrategy()),
    gain=ADAPTIVE_GAIN,
    first_if_pure=True,
)
