"""Entropy that tests choose: recorded, replayed from a tape, or the same byte for ever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.samplers.entropy import EntropySource, system_entropy


class RecordedEntropy:
    """Real entropy that keeps a copy of all it gave, for a replay."""

    def __init__(self, source: EntropySource | None = None) -> None:
        self._source = source or system_entropy()
        self.tape: list[bytes] = []

    def words(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Words of the source, recorded."""
        words = self._source.words(count, dtype)
        self.tape.append(words.tobytes())
        return words

    def bits(self, count: int) -> int:
        """Bits of the source, recorded."""
        bits = self._source.bits(count)
        self.tape.append(bits.to_bytes((count + 7) // 8, "little"))
        return bits


class ReplayedEntropy:
    """Answers request by request from a tape, then from `after` (real entropy if not given).

    An entry of the tape serves one request: it is cut, or filled up from `after`, to the
    size that the request asks for. A tape of chosen words forces a sampler into a corner.
    """

    def __init__(self, tape: Iterable[bytes], after: EntropySource | None = None) -> None:
        self._tape = list(tape)
        self._after = after or system_entropy()
        self.requests = 0

    def words(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """The next entry of the tape as words."""
        kind = np.dtype(dtype)
        return np.frombuffer(self._next(count * kind.itemsize), kind).copy()

    def bits(self, count: int) -> int:
        """The next entry of the tape as an integer."""
        return int.from_bytes(self._next((count + 7) // 8), "little") & ((1 << count) - 1)

    def _next(self, size: int) -> bytes:
        self.requests += 1
        chosen = self._tape.pop(0)[:size] if self._tape else b""
        return chosen + self._after.words(size - len(chosen), np.uint8).tobytes()


class ConstantEntropy:
    """Every byte is the same: the plainest way to break a sampler that trusts its words."""

    def __init__(self, byte: int) -> None:
        self._byte = byte

    def words(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Words made of the one byte."""
        kind = np.dtype(dtype)
        return np.full(count * kind.itemsize, self._byte, np.uint8).view(kind)

    def bits(self, count: int) -> int:
        """Bits of the one byte."""
        size = (count + 7) // 8
        return int.from_bytes(bytes([self._byte]) * size, "little") >> (8 * size - count)
