"""A measured table's own draws: one for each of its cells, told from other tables' by a key."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.laws import NoiseLaw

Draws = tuple[Hashable, NoiseLaw, Floats]
"""What tells a measurement from others, its law, and the weight of each of its draws."""


@dataclass(frozen=True, slots=True)
class DrawnCells:
    """A table with a draw on each of its cells."""

    key: Hashable
    columns: tuple[str, ...]
    shape: tuple[int, ...]

    def spread(self, weights: Floats, columns: tuple[str, ...]) -> Floats:
        """The weights of this table's cells, flat, of a weighted sum of cells over some of its columns."""
        kept = [name for name in self.columns if name in columns]
        turned = weights.transpose([columns.index(name) for name in kept]) if kept else weights
        sides = [
            size if name in columns else 1
            for name, size in zip(self.columns, self.shape, strict=True)
        ]
        return np.asarray(np.broadcast_to(turned.reshape(sides), self.shape)).reshape(-1)
