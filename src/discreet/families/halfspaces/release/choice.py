"""Which structure releases a class of halfspaces, by the error to expect; public facts decide.

Both errors are averages over the same random halfspaces. Under pure accounting the tree wins nearly
always; with a delta a grid has Gaussian noise, which a tree, being pure, has not.
"""

from __future__ import annotations

from functools import partial

from discreet.families.halfspaces.release.cells import HalfspaceCells
from discreet.families.halfspaces.release.tree import HalfspaceTree
from discreet.families.shared.release.choice import LeastError

best_halfspaces = partial(
    LeastError,
    name="best-cells",
    kind=HalfspaceTree.kind,
    options=(HalfspaceTree(), HalfspaceCells()),
)
