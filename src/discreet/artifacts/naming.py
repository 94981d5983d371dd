"""`Naming`: keys that a private partition selection published by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.artifacts.measurement import Keeper
from discreet.privacy.cost import Cost
from discreet.queries.tallies import Key


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
