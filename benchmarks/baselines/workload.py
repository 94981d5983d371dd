"""Histograms, random ranges and errors as DPBench has them (Hay et al. 2016)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

BINS = 4096
SEED = 9001


def histograms(folder: Path, dimensions: int) -> dict[str, np.ndarray]:
    """The histograms of a folder of .npy files. Long ones are summed to 4,096 bins; sides are filled up with empty bins to a power of two."""
    found = {}
    for path in sorted((folder / ("one_d" if dimensions == 1 else "two_d")).glob("*.npy")):
        counts = np.load(path).astype(np.int64)
        if dimensions == 1 and len(counts) > BINS:
            counts = np.add.reduceat(counts, np.arange(BINS) * len(counts) // BINS)
        empty = [(0, (1 << (side - 1).bit_length()) - side) for side in counts.shape]
        found[path.stem] = np.pad(counts, empty)
    return found


def random_ranges(shape: tuple[int, ...], many: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """First and last cell (both included) of ranges of random size, then random place; seed 9001."""
    generator = np.random.RandomState(SEED)
    first, last = [], []
    for _ in range(many):
        sizes = [generator.randint(1, side + 1) for side in shape]
        starts = [
            generator.randint(0, side - size + 1) for side, size in zip(shape, sizes, strict=True)
        ]
        first.append(starts)
        last.append([start + size - 1 for start, size in zip(starts, sizes, strict=True)])
    return np.array(first), np.array(last)


def range_sums(histogram: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The sums of a histogram over ranges, by prefix sums."""
    table = np.zeros([side + 1 for side in histogram.shape])
    prefix = histogram.astype(np.float64)
    for axis in range(histogram.ndim):
        prefix = prefix.cumsum(axis=axis)
    table[(slice(1, None),) * histogram.ndim] = prefix
    total = np.zeros(len(first))
    for corner in np.ndindex(*(2,) * histogram.ndim):
        place = tuple(
            first[:, axis] if side else last[:, axis] + 1 for axis, side in enumerate(corner)
        )
        total += (-1) ** sum(corner) * table[place]
    return total
