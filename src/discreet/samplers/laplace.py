"""Geometric and discrete Laplace noise, exact, by independent digits.

Theorem (digits). Let G be geometric, P(G = g) = (1 - p) p^g with p = exp(-1/scale), and
M a positive integer. Then G = M T + L with T and L independent, T geometric with ratio
p^M, and L in 0..M-1 with P(L = l) proportional to p^l. So G is drawn digit by digit, each
by one table look-up, and only the top digit T is unbounded. T is memoryless: beyond its
table's end K it is K plus a fresh draw, so no tail is cut off.

Theorem (sign). The discrete Laplace law P(X = x) = (1 - p) / (1 + p) p^|x| is X = G with
probability 1 / (1 + p) and X = -1 - G with probability p / (1 + p): both halves are
geometric, and zero is counted once. The sign is drawn together with the top digit.
(Ghosh, Roughgarden, Sundararajan 2012 for the law as a privacy mechanism.)

Inversion by table: one 16-bit word draws one digit, exactly. The unit interval is cut at the thresholds of a law. A word whose whole cell lies between
two thresholds decides the digit by one look-up. A word whose cell holds a threshold is
extended to 64 bits, for all such words at once, and what still ties (probability 2^-48)
is decided one by one with as many bits as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.exact import (
    Enclosure,
    Thresholds,
    below_powers,
    divide,
    exp_minus,
    multiply,
)
from discreet.samplers.limits import check_count, check_scale

UNDECIDED: Final = -(1 << 15)


@dataclass(frozen=True, slots=True)
class Widths:
    """Bits of the first word and of its extension. Tests narrow them, so that ties abound."""

    first: int = 16
    second: int = 64

    def __post_init__(self) -> None:
        assert 1 <= self.first <= 16 and self.first < self.second <= 64


WIDE: Final = Widths()


class DigitTable:
    """Draws `outcomes[i]` when i thresholds lie below a uniform real."""

    def __init__(
        self,
        thresholds: Thresholds,
        outcomes: Sequence[int],
        *,
        rare: Sequence[int] = (),
        widths: Widths = WIDE,
    ) -> None:
        """Outcomes listed in `rare` are always reported among the positions drawn the long way."""
        self._thresholds = thresholds
        self._widths = widths
        self._outcomes = np.array(outcomes, np.int16)
        self._floors = np.array(thresholds.floors(widths.second), np.uint64)
        cells = self._floors >> np.uint64(widths.second - widths.first)
        ends = np.concatenate(([0], cells.astype(np.int64), [1 << widths.first]))
        decided = np.where(np.isin(outcomes, rare), UNDECIDED, self._outcomes)
        self._table = np.repeat(decided.astype(np.int16), np.diff(ends))
        self._table[ends[1:-1]] = UNDECIDED

    def draw(self, count: int, entropy: EntropySource) -> tuple[NDArray[np.int16], NDArray[Any]]:
        """`count` outcomes, and the positions that the look-up did not decide."""
        words = entropy.words(count, np.uint16)
        if self._widths.first < 16:
            words >>= np.uint16(16 - self._widths.first)
        outcomes = self._table[words]
        undecided = np.flatnonzero(outcomes == UNDECIDED)
        if undecided.size:
            outcomes[undecided] = self._outcomes[self._extend(words[undecided], entropy)]
        return outcomes, undecided

    def _extend(self, words: NDArray[np.uint16], entropy: EntropySource) -> NDArray[np.int64]:
        """How many thresholds lie below each uniform real that begins with one of `words`."""
        more = self._widths.second - self._widths.first
        extended = words.astype(np.uint64) << np.uint64(more)
        extended |= entropy.words(words.size, np.uint64) >> np.uint64(64 - more)
        index = np.searchsorted(self._floors, extended, side="left")
        ties = np.flatnonzero(index != np.searchsorted(self._floors, extended, side="right"))
        for tie in ties:
            index[tie] = self._thresholds.locate(int(extended[tie]), self._widths.second, entropy)
        return index


BLOCK: Final = 1 << 15
"""Draws per pass: the arrays of one pass stay in the processor's cache."""

DIGIT_BITS: Final = 8
TABLE_SCALES: Final = 12
"""The tables reach at least this many scales; what lies beyond (6e-6) takes the long way."""


def discrete_laplace(
    scale: Fraction, count: int, *, entropy: EntropySource | None = None
) -> NDArray[np.int64]:
    """`count` independent draws of P(x) proportional to exp(-|x| / scale), exact."""
    sampler = signed_sampler(check_scale(scale))
    return in_blocks(sampler.draw, check_count(count), current_entropy(entropy))


def geometric(
    scale: Fraction, count: int, *, entropy: EntropySource | None = None
) -> NDArray[np.int64]:
    """`count` independent draws of P(g) proportional to exp(-g / scale), g >= 0, exact."""
    sampler = unsigned_sampler(check_scale(scale))
    return in_blocks(sampler.draw, check_count(count), current_entropy(entropy))


def in_blocks(
    draw: Callable[[int, EntropySource], NDArray[Any]], count: int, entropy: EntropySource
) -> NDArray[np.int64]:
    """`count` draws in passes of at most `BLOCK`."""
    drawn = np.empty(count, np.int64)
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        drawn[start:stop] = draw(stop - start, entropy)
    return drawn


class GeometricSampler:
    """Draws geometric (or, `signed`, discrete Laplace) noise of one scale."""

    def __init__(
        self,
        scale: Fraction,
        *,
        signed: bool,
        widths: Widths = WIDE,
        digit_bits: int = DIGIT_BITS,
        table_scales: int = TABLE_SCALES,
    ) -> None:
        """The last three are narrowed by tests, so that what is rare here happens often there."""
        self._scale = scale
        self._signed = signed
        self._widths = widths
        reach = max(1, -(-table_scales * scale.numerator // scale.denominator))
        bits = (reach - 1).bit_length()
        low_bits = max(0, bits - digit_bits)
        self._integer: np.dtype[Any] = np.dtype(np.int32 if bits < 30 else np.int64)
        self._shift = low_bits
        self._size = min(reach, 1 << digit_bits)
        self._top = _top_table(scale, low_bits, self._size, signed=signed, widths=widths)
        self._lower: list[tuple[int, DigitTable]] = []
        shift = 0
        while shift < low_bits:
            pieces = -(-(low_bits - shift) // digit_bits)
            piece = -(-(low_bits - shift) // pieces)
            self._lower.append((shift, _lower_table(scale, shift, piece, widths)))
            shift += piece

    def draw(self, count: int, entropy: EntropySource) -> NDArray[Any]:
        """`count` draws as int32 or int64."""
        top, rare = self._top.draw(count, entropy)
        drawn: NDArray[Any] = top.astype(self._integer)
        drawn <<= self._shift
        if self._lower:
            low = self._draw_lower(count, entropy)
            if self._signed:  # -1 - G is the complement of G, lower digits included
                low ^= (top >> 15) & self._integer.type((1 << self._shift) - 1)
            drawn |= low
        return self._extend(drawn, top, rare, entropy)

    def _draw_lower(self, count: int, entropy: EntropySource) -> NDArray[Any]:
        low: NDArray[Any] = np.zeros(count, self._integer)
        for shift, table in self._lower:
            digit: NDArray[Any] = table.draw(count, entropy)[0].astype(self._integer)
            digit <<= shift
            low |= digit
        return low

    def _extend(
        self,
        drawn: NDArray[Any],
        top: NDArray[np.int16],
        rare: NDArray[Any],
        entropy: EntropySource,
    ) -> NDArray[Any]:
        """Adds a fresh top digit, away from zero, where the top digit ran off its table."""
        if not rare.size:
            return drawn
        for end, sign in ((self._size, 1), (~self._size, -1)):
            beyond = rare[top[rare] == end]
            if beyond.size:
                more = self._more_top_digits(beyond.size, entropy)
                drawn = drawn.astype(np.int64)
                drawn[beyond] += sign * (more << self._shift)
        return drawn

    @cached_property
    def _unsigned_top(self) -> DigitTable:
        if not self._signed:
            return self._top
        return _top_table(self._scale, self._shift, self._size, signed=False, widths=self._widths)

    def _more_top_digits(self, count: int, entropy: EntropySource) -> NDArray[np.int64]:
        total = np.zeros(count, np.int64)
        going = np.arange(count)
        while going.size:
            digit = self._unsigned_top.draw(going.size, entropy)[0]
            total[going] += digit
            going = going[digit == self._size]
        return total


def _top_table(
    scale: Fraction, shift: int, size: int, *, signed: bool, widths: Widths
) -> DigitTable:
    """The top digit 0..size-1, or `size` for "beyond"; if signed also ~0..~size."""
    digits = range(size + 1)
    if not signed:

        def enclose(precision: int) -> Sequence[Enclosure]:
            ratio = exp_minus(Fraction(1 << shift) / scale, precision)
            return below_powers(ratio, size, precision)

        return DigitTable(Thresholds(enclose), digits, rare=[size], widths=widths)

    def enclose_signed(precision: int) -> Sequence[Enclosure]:
        one = (1 << precision, 1 << precision)
        p = exp_minus(1 / scale, precision)
        total = (one[0] + p[0], one[1] + p[1])
        ratio = exp_minus(Fraction(1 << shift) / scale, precision)
        below = below_powers(ratio, size, precision)
        positive = [divide(b, total, precision) for b in below]
        negative = []
        for b in below:
            part = multiply(p, b, precision)
            negative.append(divide((one[0] + part[0], one[1] + part[1]), total, precision))
        return [*positive, divide(one, total, precision), *negative]

    outcomes = [*digits, *(~digit for digit in digits)]
    return DigitTable(Thresholds(enclose_signed), outcomes, rare=[size, ~size], widths=widths)


def _lower_table(scale: Fraction, shift: int, bits: int, widths: Widths) -> DigitTable:
    """A digit of weight 2^shift in 0..2^bits - 1."""
    size = 1 << bits

    def enclose(precision: int) -> Sequence[Enclosure]:
        ratio = exp_minus(Fraction(1 << shift) / scale, precision)
        below = below_powers(ratio, size, precision)
        return [divide(b, below[-1], precision) for b in below[:-1]]

    return DigitTable(Thresholds(enclose), range(size), widths=widths)


@lru_cache(maxsize=64)
def signed_sampler(scale: Fraction) -> GeometricSampler:
    """The discrete Laplace sampler of `scale`, its tables kept."""
    return GeometricSampler(scale, signed=True)


@lru_cache(maxsize=64)
def unsigned_sampler(scale: Fraction) -> GeometricSampler:
    """The geometric sampler of `scale`, its tables kept."""
    return GeometricSampler(scale, signed=False)
