"""Multisets in order: how many there are, the number of each, and the multiset of a number. Exact integers.

A multiset of `size` rows of k kinds is written as k counts that add up to `size`. They are numbered as
words are in a dictionary: by the first count, then by the second, ... A private choice among all small
databases publishes such a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadInput


def multisets(kinds: int, size: int) -> int:
    """How many there are."""
    return comb(size + kinds - 1, size)


def number_of(counts: Sequence[int]) -> int:
    """The place of a multiset among all with as many kinds and rows, from 0 on."""
    place, left = 0, sum(counts)
    for following, count in zip(range(len(counts) - 1, 0, -1), counts, strict=False):
        # those with a smaller count here: a sum of binomials, which telescopes
        place += comb(left + following, following) - comb(left - count + following, following)
        left -= count
    return place


def numbered(place: int, kinds: int, size: int) -> tuple[int, ...]:
    """The multiset at that place: the inverse of `number_of`."""
    if not 0 <= place < multisets(kinds, size):
        raise BadInput(f"There is no multiset with the number {place}.")
    counts, left = [], size
    for following in range(kinds - 1, 0, -1):
        all_here = comb(left + following, following)
        low, high = 0, left
        while low < high:
            middle = (low + high + 1) // 2
            before = all_here - comb(left - middle + following, following)
            low, high = (middle, high) if before <= place else (low, middle - 1)
        place -= all_here - comb(left - low + following, following)
        counts.append(low)
        left -= low
    return (*counts, left)


@lru_cache(maxsize=256)
def listed(kinds: int, size: int) -> Integers:
    """All multisets, one a row, in order. For few of them."""
    if kinds == 1:
        return np.full((1, 1), size, dtype=np.int64)
    blocks = []
    for first in range(size + 1):
        rest = listed(kinds - 1, size - first)
        blocks.append(np.hstack([np.full((len(rest), 1), first, dtype=np.int64), rest]))
    return np.concatenate(blocks)
