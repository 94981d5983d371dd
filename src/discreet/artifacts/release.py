"""`Release`: what a custodian publishes. Noisy numbers, what was computed from them, and public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

import discreet
from discreet.artifacts.measurement import Keeper, Measurement, Selection, TreeMeasurement
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.queries.classes import QueryClass
from discreet.queries.tallies import Key
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class Naming:
    """Keys over some columns that enough units hold, in order, and what it cost to name them.

    Thread safe: it never changes.
    """

    columns: tuple[str, ...]
    keys: tuple[Key, ...]
    touched: int
    """How many keys one unit can touch: the cost is shared by so many, at worst."""
    cost: Cost

    def stored(self, kept: Keeper) -> dict[str, Any]:
        return {
            "type": "naming",
            "columns": list(self.columns),
            "keys": [list(key) for key in self.keys],
            "touched": self.touched,
            "paid": self.cost.to_dict(),
        }

    def described(self) -> dict[str, Any]:
        return {
            "kind": "naming",
            "columns": list(self.columns),
            "touched": self.touched,
            "keys": len(self.keys),
        }


Measured = Measurement | TreeMeasurement | Selection | Naming
"""What a part of a release is made of."""
FORMAT_VERSION = 3
SOFTWARE = f"discreet {discreet.__version__}"
"""The software that a new release names as its origin."""


ANSWERS, AS_MEASURED = "answers", "as measured, so that they add up"
"""A fact of a part about its answers, and what it says where they may lie below 0."""
GLANCE = "glance"
"""A fact of a part whose measurements were chosen after a first noisy look."""
TOGETHER = "answers agree with"
"""What a part of tables says where its answers agree with those of other parts. Older files do not say it."""


@dataclass(frozen=True, slots=True)
class ErrorClaim:
    """With probability `confidence` over the noise, every query of the class is off by at most `bound`.

    Where `among` is given, it says of which queries this holds.

    Thread safe: it never changes.
    """

    query_class: str
    bound: float
    confidence: float
    simultaneous: bool
    """Whether the bound holds for all queries of the class at once, or for each alone."""
    theorem: str
    among: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one algorithm released for one query class."""

    kind: str
    """Which answerer understands it; see the table in `answers`."""
    query_class: QueryClass
    algorithm: str
    measurements: tuple[Measured, ...]
    estimates: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Arrays computed from the measurements: post-processing, so free."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Small public facts, plain JSON."""

    @property
    def noisy(self) -> list[Measurement]:
        """Its measurements by added noise, in order."""
        return [each for each in self.measurements if isinstance(each, Measurement)]

    @property
    def is_answered_as_measured(self) -> bool:
        """Whether its counts are neither rounded nor cut off at 0 or at a public total, so that they add up."""
        return self.facts.get(ANSWERS) == AS_MEASURED

    @property
    def selections(self) -> list[Selection]:
        """Its private choices, in order."""
        return [each for each in self.measurements if isinstance(each, Selection)]

    @property
    def namings(self) -> list[Naming]:
        """The keys that it published by name, in order."""
        return [each for each in self.measurements if isinstance(each, Naming)]

    @property
    def trees(self) -> list[TreeMeasurement]:
        """Its refined trees, in order."""
        return [each for each in self.measurements if isinstance(each, TreeMeasurement)]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A portable answer to unlimited questions of its query classes.

    Thread safe: it never changes.
    """

    schema: Schema
    budget: Budget
    accounting: Accounting
    parts: tuple[Part, ...]
    public_rows: int | None
    """The number of rows, under change-one only; None where it is a secret."""
    claims: tuple[ErrorClaim, ...]
    software: str

    @property
    def workload(self) -> tuple[str, ...]:
        return tuple(part.query_class.text for part in self.parts)
