"""Inversion by table: one 16-bit word draws one digit, exactly.

The unit interval is cut at the thresholds of a law. A word whose whole cell lies between
two thresholds decides the digit by one look-up. A word whose cell holds a threshold is
extended to 64 bits, for all such words at once, and what still ties (probability 2^-48)
is decided one by one with as many bits as it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.entropy import EntropySource
from discreet.samplers.exact import Thresholds

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
