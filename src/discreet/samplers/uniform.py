"""Uniform integers below any bound, without modulo bias.

Words are cut to the bits of the bound's last value and those at or above the bound are
drawn again: at most half of them, and what is kept is uniform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.limits import check_count


def uniform_below(bound: int, count: int, *, entropy: EntropySource | None = None) -> NDArray[Any]:
    """`count` independent uniform integers in 0..bound-1.

    An int64 array where bound <= 2^63, else an object array of Python integers.
    """
    if isinstance(bound, bool) or not hasattr(bound, "__index__") or bound < 1:
        raise BadInput(f"bound must be a positive integer, not {bound!r}. Nothing was drawn.")
    bound, count, source = int(bound), check_count(count), current_entropy(entropy)
    bits = (bound - 1).bit_length()
    if bits > 63:
        return np.array([_one_below(bound, bits, source) for _ in range(count)], object)
    if bits == 0:
        return np.zeros(count, np.int64)
    size = next(width for width in (8, 16, 32, 64) if bits <= width)
    kind = np.dtype(f"u{size // 8}")
    chance = bound / 2.0**bits  # at least a half; sets how many words are asked for, nothing else
    drawn = np.empty(count, np.int64)
    done = 0
    while done < count:
        words = source.words(int((count - done) / chance * 1.01) + 8, kind)
        words >>= kind.type(size - bits)
        kept = words[words <= kind.type(bound - 1)][: count - done]
        drawn[done : done + kept.size] = kept
        done += kept.size
    return drawn


def _one_below(bound: int, bits: int, entropy: EntropySource) -> int:
    while True:
        value = entropy.bits(bits)
        if value < bound:
            return value
