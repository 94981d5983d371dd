"""Noise that is turned off, through the test door, so that answers can be compared with the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from discreet.core.noise import DrawnNoise
from discreet.core.test_door import observed_vaults


class NoNoise(DrawnNoise):
    """Publishes the exact numbers, and chooses the best."""

    def draw(self, law: Any, count: int) -> Any:
        return np.zeros(count, dtype=np.int64)

    def chain(self, exact: Any, laws: Sequence[Any], *, step: str) -> Any:
        return np.repeat(exact[np.newaxis, :], len(laws), axis=0)

    def choose(self, scores: Any, unit: Any, *, step: str, among: Any = None) -> int:
        return int(np.argmax(scores))


def without_noise() -> AbstractContextManager[None]:
    """Vaults that are opened within the block publish exact numbers.

    A fixture must leave the block before it yields: else the tests after it have no noise either.
    """
    return observed_vaults(lambda engine: (engine, NoNoise()))
