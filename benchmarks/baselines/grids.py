"""Uniform and adaptive grids (Qardaji et al. 2013), with the constants of DPBench; they use a public n."""

from __future__ import annotations

import math

import numpy as np

Generator = np.random.RandomState


def _step(cells: float, wanted: float) -> int:
    """Cells a side of a grid of about `wanted` blocks, rounded as DPBench does."""
    return max(1, int(math.sqrt(cells / wanted) - 1) + 1)


def _blocks(counts: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = (np.arange(0, side, step) for side in counts.shape)
    sums = np.add.reduceat(np.add.reduceat(counts, rows, axis=0), columns, axis=1)
    heights = np.diff(np.append(rows, counts.shape[0]))
    widths = np.diff(np.append(columns, counts.shape[1]))
    return sums.astype(np.float64), heights, widths


def _spread(sums: np.ndarray, heights: np.ndarray, widths: np.ndarray) -> np.ndarray:
    density = sums / np.outer(heights, widths)
    return np.repeat(np.repeat(density, heights, axis=0), widths, axis=1)


def uniform_grid(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """UG: one grid, its fineness from n and epsilon."""
    step = _step(counts.size, counts.sum() * epsilon / 10)
    sums, heights, widths = _blocks(counts, step)
    return _spread(sums + generator.laplace(0, 1 / epsilon, sums.shape), heights, widths)


def adaptive_grid(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """AG: a coarse grid, each block with a finer one, its fineness from the block's noisy count."""
    half = 0.5
    coarse = max(10, int(math.sqrt(counts.sum() * epsilon / 10) / 4 - 1) + 1)
    step = _step(counts.size, coarse**2)
    found = np.zeros(counts.shape)
    for row in range(0, counts.shape[0], step):
        for column in range(0, counts.shape[1], step):
            block = counts[row : row + step, column : column + step]
            total = block.sum() + generator.laplace(0, 1 / (half * epsilon))
            fine = 1
            if total > 0:
                fine = max(1, int(math.sqrt(total * (1 - half) * epsilon / 5) - 1) + 1)
            sums, heights, widths = _blocks(block, _step(block.size, fine**2))
            sums += generator.laplace(0, 1 / ((1 - half) * epsilon), sums.shape)
            weight = (half * fine) ** 2
            mean = (weight * total + (1 - half) ** 2 * sums.sum()) / ((1 - half) ** 2 + weight)
            sums += (mean - sums.sum()) / sums.size
            found[row : row + step, column : column + step] = _spread(sums, heights, widths)
    return found
