"""Measurements: noisy numbers with their exact noise law. The only thing that leaves the core.

Each can be checked by anyone who holds it: the law and the sensitivity give the cost back.

Each says how it is stored in a manifest, where its arrays are kept by number, and how the privacy
statement describes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.cost import Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.measurable import Counts, Query
from discreet.queries.tallies import Tally
from discreet.queries.tree import Nodes, Tree

HEAVIEST = 1 << 10
"""The largest weight of a place in a weighted root: whole numbers, so that sensitivities are exact."""


class Keeper(Protocol):
    """Keeps arrays beside the manifest of a file; gives the number by which the manifest names each."""

    version: int

    def __call__(self, array: npt.NDArray[Any]) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """`values` = the exact answer to `query` plus independent draws of `law`."""

    query: Query
    law: NoiseLaw
    sensitivity: Sensitivity
    cost: Cost
    values: Counts

    def stored(self, kept: Keeper) -> dict[str, Any]:
        return {
            "type": "noise",
            "query": self.query.to_dict(),
            "law": self.law.to_dict(),
            "l1": self.sensitivity.l1,
            "l2_squared": self.sensitivity.l2_squared,
            "cost": self.cost.to_dict(),
            "values": kept(self.values),
        }

    def described(self) -> dict[str, Any]:
        return {
            "kind": "noise",
            "query": self.query.kind,
            "law": self.law.to_dict(),
            "l1": self.sensitivity.l1,
            "l2_squared": self.sensitivity.l2_squared,
            "numbers": int(self.values.size),
        }


@dataclass(frozen=True, slots=True, eq=False)
class TallyMeasurement:
    """`values` = the exact tally plus independent draws of `law`."""

    query: Tally
    law: NoiseLaw
    sensitivity: Sensitivity
    cost: Cost
    values: Counts


@dataclass(frozen=True, slots=True)
class Selection:
    """The index that a private selection chose, among how many, at what cost."""

    chosen: int
    candidates: int
    sensitivity: int
    cost: Cost

    def stored(self, kept: Keeper) -> dict[str, Any]:
        return {
            "type": "selection",
            "chosen": self.chosen,
            "candidates": self.candidates,
            "sensitivity": self.sensitivity,
            "cost": self.cost.to_dict(),
        }

    def described(self) -> dict[str, Any]:
        return {"kind": "selection", "candidates": self.candidates}


@dataclass(frozen=True, slots=True, eq=False)
class TreeLevel:
    """One level of a refined tree, as published.

    `first` was published before the stopping rule spoke and `values` after it. Both carry
    discrete Laplace noise, and `first` is `values` plus independent noise, so the pair
    costs no more than `values` alone.
    """

    level: int
    nodes: Nodes
    """The children of those above that were not stopped; so files do not list them since version 3."""
    first: Counts
    values: Counts
    stopped: npt.NDArray[np.bool_]
    first_epsilon: Fraction
    """A row's loss by `first`."""
    stopped_epsilon: Fraction
    """A row's loss by `values` where the node was stopped: all that its path had left."""
    refined_epsilon: Fraction
    """A row's loss by `values` where the tree goes on; 0 if the level is the last."""

    def stored(self, kept: Keeper) -> dict[str, Any]:
        return {
            "level": self.level,
            **({"nodes": kept(self.nodes)} if kept.version < 3 else {}),
            "first": kept(self.first),
            "values": kept(self.values),
            "stopped": kept(self.stopped),
            "first_epsilon": str(self.first_epsilon),
            "stopped_epsilon": str(self.stopped_epsilon),
            "refined_epsilon": str(self.refined_epsilon),
        }


@dataclass(frozen=True, slots=True, eq=False)
class TreeMeasurement:
    """A refined tree: along every root-to-leaf path the rows' losses add to `path_epsilon`."""

    tree: Tree
    levels: tuple[TreeLevel, ...]
    path_epsilon: Fraction
    cost: Cost
    weights: tuple[int, ...] = ()
    """One for each place of the first level. The root adds up rows times these; none if it is a plain count."""

    def stored(self, kept: Keeper) -> dict[str, Any]:
        return {
            "type": "tree",
            "tree": self.tree.to_dict(),
            **({"weights": list(self.weights)} if self.weights else {}),
            "path_epsilon": str(self.path_epsilon),
            "cost": self.cost.to_dict(),
            "levels": [level.stored(kept) for level in self.levels],
        }

    def described(self) -> dict[str, Any]:
        return {
            "kind": "tree",
            "path_epsilon": str(self.path_epsilon),
            "numbers": sum(len(level.values) for level in self.levels),
        }
