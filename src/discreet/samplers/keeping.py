"""Coins whose chances are integers over a power of two: exact, by uniform bits alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.samplers.entropy import EntropySource, current_entropy

WORD_BITS: Final = 64


def kept_by_chance(
    counts: NDArray[np.int64],
    chances: Sequence[int],
    bits: int,
    *,
    entropy: EntropySource | None = None,
) -> NDArray[np.bool_]:
    """One independent coin per count n: true with probability chances[n] / 2^bits.

    Counts beyond the last chance have the last one. A uniform integer of `bits` bits is compared
    with the chance: first its highest word, and the rest only where that ties.
    """
    if bits < WORD_BITS or not chances or not 0 <= min(chances) <= max(chances) <= 1 << bits:
        raise BadInput("A chance is an integer between 0 and 2^bits. Nothing was drawn.")
    source = current_entropy(entropy)
    spare = bits - WORD_BITS
    places = np.clip(counts, 0, len(chances) - 1)
    certain = np.array([chance == 1 << bits for chance in chances], np.bool_)
    highest = np.array([min(c >> spare, (1 << WORD_BITS) - 1) for c in chances], np.uint64)
    words = source.words(places.size, np.uint64)
    coins: NDArray[np.bool_] = (words < highest[places]) | certain[places]
    for tie in np.flatnonzero((words == highest[places]) & ~certain[places]):
        rest = chances[int(places[tie])] & ((1 << spare) - 1)
        coins[tie] = spare > 0 and source.bits(spare) < rest
    return coins
