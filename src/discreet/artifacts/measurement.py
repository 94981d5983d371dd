"""Measurements: noisy numbers with their exact noise law. The only thing that leaves the kernel.

Each can be checked by anyone who holds it: the law and the sensitivity give the cost back.

May import errors, privacy, schema, queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.cost import Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.measurable import Counts, Query
from discreet.queries.tallies import Tally
from discreet.queries.tree import Nodes, Tree


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """`values` = the exact answer to `query` plus independent draws of `law`."""

    query: Query
    law: NoiseLaw
    sensitivity: Sensitivity
    cost: Cost
    values: Counts


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


@dataclass(frozen=True, slots=True, eq=False)
class TreeLevel:
    """One level of a refined tree, as published.

    `first` was published before the stopping rule spoke and `values` after it. Both carry
    discrete Laplace noise, and `first` is `values` plus independent noise, so the pair
    costs no more than `values` alone.
    """

    level: int
    nodes: Nodes
    first: Counts
    values: Counts
    stopped: npt.NDArray[np.bool_]
    first_epsilon: Fraction
    """A row's loss by `first`."""
    stopped_epsilon: Fraction
    """A row's loss by `values` where the node was stopped: all that its path had left."""
    refined_epsilon: Fraction
    """A row's loss by `values` where the tree goes on; 0 if the level is the last."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeMeasurement:
    """A refined tree: along every root-to-leaf path the rows' losses add to `path_epsilon`."""

    tree: Tree
    levels: tuple[TreeLevel, ...]
    path_epsilon: Fraction
    cost: Cost
