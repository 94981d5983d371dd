"""Many marginals at once: the rows' codes in memory, in bytes, counted by numpy.

A database groups by a few sets of columns in one scan; thousands of sets would be thousands of hash
tables. Here each column is encoded once, and a marginal costs one pass over a few bytes of each row, in
blocks that stay in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.passes import Grouping
from discreet.engines.protocol import Counts

_LEAST_BLOCK, _LARGEST_BLOCK = 1 << 15, 1 << 20
_KEY_TYPES = (np.uint8, np.uint16, np.uint32)


class Counting:
    """The counts of each grouping, flat, over batches of rows."""

    def __init__(self, groupings: Sequence[Grouping]) -> None:
        self._groupings = groupings
        self.totals: list[Counts] = [np.zeros(each.cells, dtype=np.int64) for each in groupings]

    def add(self, codes: Mapping[str, NDArray[Any]]) -> None:
        """A batch: by column, each row's slot."""
        for grouping, total in zip(self._groupings, self.totals, strict=True):
            _add(total, grouping, [codes[name] for name in grouping.columns])


def _add(total: Counts, grouping: Grouping, codes: Sequence[NDArray[Any]]) -> None:
    type_ = next((one for one in _KEY_TYPES if grouping.cells <= np.iinfo(one).max), np.int64)
    block = min(max(_LEAST_BLOCK, grouping.cells), _LARGEST_BLOCK)
    for start in range(0, len(codes[0]), block):
        key = codes[0][start : start + block].astype(type_, copy=False)
        for code, slots in zip(codes[1:], grouping.slots[1:], strict=True):
            key = np.multiply(key, type_(slots), dtype=type_)
            key += code[start : start + block].astype(type_, copy=False)
        total += np.bincount(key, minlength=len(total))
