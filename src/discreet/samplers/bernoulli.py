"""Coins that fall with probability exp(-n unit), exact, with integers alone.

Theorem. exp(-n unit) is the product of exp(-2^j unit) over the binary digits j of n, so
the coin of n is the conjunction of independent coins, one per digit. There are at most
64 distinct ones, each a threshold known to any number of bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.exact import Enclosure, Thresholds, exp_minus, multiply
from discreet.samplers.limits import check_unit

WORD_BITS: Final = 32
DIGITS: Final = 64


def bernoulli_exp(
    numerators: NDArray[Any], unit: Fraction, *, entropy: EntropySource | None = None
) -> NDArray[np.bool_]:
    """One independent coin per entry n of `numerators`: true with probability exp(-n unit)."""
    numerators = np.asarray(numerators)
    if numerators.dtype.kind not in "iu" or (numerators.size and numerators.min() < 0):
        raise BadInput("numerators must be non-negative 64-bit integers. Nothing was drawn.")
    coins = digit_coins(check_unit(unit))
    flat = numerators.ravel().astype(np.uint64)
    return coins.toss(flat, current_entropy(entropy)).reshape(numerators.shape)


def toss_threshold(
    thresholds: Thresholds,
    index: int,
    count: int,
    entropy: EntropySource,
    *,
    word_bits: int = WORD_BITS,
) -> NDArray[np.bool_]:
    """`count` independent coins, true with the probability that is threshold `index`."""
    words = entropy.words(count, np.uint32)
    if word_bits < WORD_BITS:
        words >>= np.uint32(WORD_BITS - word_bits)
    floor = thresholds.floors(word_bits)[index]
    coins = words < np.uint32(floor)
    for tie in np.flatnonzero(words == np.uint32(floor)):
        coins[tie] = thresholds.below(index, floor, word_bits, entropy)
    return coins


class DigitCoins:
    """The coins exp(-2^j unit), j = 0..63, of one unit."""

    def __init__(self, unit: Fraction, *, word_bits: int = WORD_BITS) -> None:
        """Tests narrow `word_bits`, so that ties abound."""
        self._word_bits = word_bits

        def enclose(precision: int) -> Sequence[Enclosure]:
            digits = [exp_minus(unit, precision)]
            for _ in range(DIGITS - 1):
                digits.append(multiply(digits[-1], digits[-1], precision))
            return digits

        self._thresholds = Thresholds(enclose)

    def toss(self, numerators: NDArray[np.uint64], entropy: EntropySource) -> NDArray[np.bool_]:
        """One coin per numerator. The highest digits come first: they fail most often."""
        standing = np.arange(numerators.size)
        left = numerators
        digits = (1 << DIGITS) - 1  # those not yet tossed
        while digit := (int(np.bitwise_or.reduce(left)) & digits).bit_length():
            digits = (1 << digit - 1) - 1
            tossed = np.flatnonzero(left >> np.uint64(digit - 1) & np.uint64(1))
            coins = toss_threshold(
                self._thresholds, digit - 1, tossed.size, entropy, word_bits=self._word_bits
            )
            keep = np.ones(standing.size, np.bool_)
            keep[tossed[~coins]] = False
            standing, left = standing[keep], left[keep]
        result = np.zeros(numerators.size, np.bool_)
        result[standing] = True
        return result


@lru_cache(maxsize=256)
def digit_coins(unit: Fraction) -> DigitCoins:
    """The coins of `unit`, their thresholds kept."""
    return DigitCoins(unit)
