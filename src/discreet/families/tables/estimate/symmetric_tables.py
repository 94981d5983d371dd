"""Noisy tables whose noise looks alike from every cell: what boxes of their cells share of it, exactly.

Noise of its own on each cell, or residuals combined by least squares: renumbering the cells of a
column changes neither. So (Schur) the noise of the residual of each set S of columns is one number
times the projection onto its space, and the covariance of the sums over two boxes E and A is

    sum over S of noise_S * prod_{in S} (|E & A| - |E| |A| / d) * prod_{others} |E| |A| / d^2,

each factor about one column of d cells. Boxes of one table may be compared with those of another
over other columns, put together from the same residuals: only the sets S that both have count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from discreet.arrays import Codes, Floats

Box = tuple[Codes, Codes]
"""First and last cells, both included: one row a box, one number a column."""


@dataclass(frozen=True, eq=False)
class SymmetricTable:
    """A table over some columns, an axis each."""

    columns: tuple[str, ...]
    counts: Floats
    noise: Mapping[frozenset[str], float]
    """For each set of columns the variance of its residual, as if each cell of it had its own noise."""
    tail: float
    """The excess kurtosis of a single draw, at most."""
    has_own_draws: bool
    """Whether each cell has draws of its own; else they are those of residuals."""
    _sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sizes", self.counts.shape)

    @cached_property
    def _prefix(self) -> Floats:
        found = np.zeros([size + 1 for size in self._sizes])
        found[(slice(1, None),) * found.ndim] = self.counts
        for axis in range(found.ndim):
            np.cumsum(found, axis=axis, out=found)
        return found

    def sums(self, box: Box) -> Floats:
        """The noisy rows of each box."""
        first, last = (each.astype(np.int64) for each in box)
        total = np.zeros(len(first))
        for corner in product((0, 1), repeat=first.shape[1]):
            at = np.where(np.array(corner, dtype=np.bool_), first, last + 1)
            total += (-1) ** sum(corner) * self._prefix[tuple(at.T)]
        return np.where((first > last).any(axis=1), 0.0, total)

    def covariance(self, one: Box, table: SymmetricTable, other: Box) -> Floats:
        """The covariance of sums over boxes of this table and of another one, which may be the same."""
        mine, theirs = self._shares(one), table._shares(other)
        common = {name: _common(self, one, table, other, name) for name in mine if name in theirs}
        total = np.zeros(len(one[0]))
        for own, noise in self.noise.items():
            if not noise or not own <= common.keys():
                continue
            part = np.full(len(total), noise)
            for name in own:
                size = self._sizes[self.columns.index(name)]
                part = part * (common[name] - mine[name] * theirs[name] * size)
            for shares in (mine, theirs):
                for name, share in shares.items():
                    if name not in own:
                        part = part * share
            total += part
        return total

    def variance(self, box: Box) -> Floats:
        return np.maximum(self.covariance(box, self, box), 0.0)

    def kurtosis(self, box: Box) -> Floats:
        """Excess kurtosis of the noise of each box, or somewhat more: draws of several sources are one."""
        shares = self._shares(box)
        if self.has_own_draws:
            cells = prod(self._sizes)
            share = np.prod(list(shares.values()), axis=0) if shares else np.ones(len(box[0]))
            if self.noise.get(frozenset()) == 0:
                return self.tail * _few(share, cells)
            return self.tail / np.maximum(share * cells, 1.0)
        variance = self.variance(box)
        total = np.zeros(len(variance))
        for own, noise in self.noise.items():
            part, tail = np.full(len(total), noise), np.full(len(total), self.tail)
            for name, share in shares.items():
                size = self._sizes[self.columns.index(name)]
                part = part * (share * (1 - share) * size if name in own else share**2)
                tail = tail * (_few(share, size) if name in own else 1.0)
            total += tail * part**2
        return np.divide(total, variance**2, out=np.zeros(len(total)), where=variance**2 > 0)

    def _shares(self, box: Box) -> dict[str, Floats]:
        """By column, the share of its cells that each box takes."""
        first, last = (each.astype(np.float64) for each in box)
        wide = np.maximum(last - first + 1, 0.0) / np.array(self._sizes, dtype=np.float64)
        return {name: wide[:, axis] for axis, name in enumerate(self.columns)}


def _common(
    table: SymmetricTable, one: Box, their: SymmetricTable, other: Box, name: str
) -> Floats:
    """Cells of a column that both boxes take."""
    mine, theirs = table.columns.index(name), their.columns.index(name)
    first = np.maximum(one[0][:, mine], other[0][:, theirs]).astype(np.float64)
    last = np.minimum(one[1][:, mine], other[1][:, theirs]).astype(np.float64)
    return np.maximum(last - first + 1, 0.0)


def _few(share: Floats, cells: int) -> Floats:
    """Sum of c^4 over the squared sum of c^2, for c = 1 on a share of the cells and 0 on others, centred."""
    spread = share * (1 - share)
    wide = np.divide(1 - 3 * spread, cells * spread, out=np.zeros(len(share)), where=spread > 0)
    return np.minimum(wide, 1.0)
