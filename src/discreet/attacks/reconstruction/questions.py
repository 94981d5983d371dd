"""The adversary's questions: random subsets of the people."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.families.shared.estimate.public_random import generator

Subsets = npt.NDArray[np.float32]
"""One question a row, one person a column: 1 where the person is in the subset."""


def random_subsets(people: int, questions: int, *, seed: int | None = None) -> Subsets:
    """Every person is in every subset with probability one half."""
    bits = generator(seed).integers(0, 256, (questions, (people + 7) // 8), dtype=np.uint8)
    return np.unpackbits(bits, axis=1, count=people).astype(np.float32)
