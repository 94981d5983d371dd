"""Identity, hierarchies of counts and wavelets: mechanisms whose noise does not depend on the data."""

from __future__ import annotations

import math

import numpy as np

Generator = np.random.RandomState


def identity(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """Noise on every cell."""
    return counts + generator.laplace(0, 1 / epsilon, counts.shape)


def consistent_tree(
    leaves: np.ndarray,
    fans: list[int],
    shares: list[float],
    epsilon: float,
    generator: Generator,
) -> np.ndarray:
    """Noisy counts of all levels of a complete tree, made consistent by least squares (Hay et al. 2010).

    `fans`: children of a node, level by level from the root; `shares` of epsilon likewise, 0 for a
    level that is not measured.
    """
    exact = [leaves.astype(np.float64)]
    for fan in reversed(fans):
        exact.insert(0, exact[0].reshape(-1, fan).sum(axis=1))
    noisy = [
        level + generator.laplace(0, 1 / (epsilon * share), level.size) if share else None
        for level, share in zip(exact, shares, strict=True)
    ]
    variances = [2 / (epsilon * share) ** 2 if share else math.inf for share in shares]
    assert noisy[-1] is not None  # the leaves are measured
    best, spread = [noisy[-1]], [variances[-1]]
    below: list[np.ndarray] = []
    for level in range(len(fans) - 1, -1, -1):
        summed = best[0].reshape(-1, fans[level]).sum(axis=1)
        variance = fans[level] * spread[0]
        below.insert(0, summed)
        own = noisy[level]
        if own is None:
            best.insert(0, summed)
            spread.insert(0, variance)
            continue
        weight = variance / (variance + variances[level])
        best.insert(0, weight * own + (1 - weight) * summed)
        spread.insert(0, variance * variances[level] / (variance + variances[level]))
    final = best[0]
    for level, fan in enumerate(fans):
        final = best[level + 1] + np.repeat((final - below[level]) / fan, fan)
    return final


def hierarchy(
    counts: np.ndarray, epsilon: float, generator: Generator, fan: int | None = None
) -> np.ndarray:
    """HB (Qardaji et al. 2013): the fan-out of least average variance; H2 with `fan` = 2."""
    cells = len(counts)

    def variance(b: int) -> float:
        height = math.ceil(math.log(cells, b))
        return (b - 1) * height**3 - 2 * (b + 1) * height**2 / 3

    fan = fan or min(range(2, cells + 1), key=variance)
    height = math.ceil(math.log(cells, fan) - 1e-12)
    padded = np.zeros(fan**height)
    padded[:cells] = counts
    shares = [1 / (height + 1)] * (height + 1)
    return consistent_tree(padded, [fan] * height, shares, epsilon, generator)[:cells]


def binary_hierarchy(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """H2 (Hay et al. 2010)."""
    return hierarchy(counts, epsilon, generator, fan=2)


def privelet(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """Haar wavelets (Xiao et al. 2010), for a power of two of cells."""
    height = int(math.log2(len(counts)))
    scale = (height + 1) / epsilon
    sums, differences = counts.astype(np.float64), []
    for _ in range(height):
        differences.append(sums[0::2] - sums[1::2])
        sums = sums[0::2] + sums[1::2]
    sums = sums + generator.laplace(0, scale, 1)
    for difference in reversed(differences):
        noisy = difference + generator.laplace(0, scale, difference.size)
        halves = np.empty(2 * sums.size)
        halves[0::2], halves[1::2] = (sums + noisy) / 2, (sums - noisy) / 2
        sums = halves
    return sums


def square_tree(
    counts: np.ndarray,
    fans: list[int],
    shares: list[float],
    epsilon: float,
    generator: Generator,
) -> np.ndarray:
    """A tree over a square grid that splits each side into fans[0] parts, then fans[1], ..."""
    side, height = int(np.prod(fans)), len(fans)
    padded = np.zeros((side, side))
    padded[: counts.shape[0], : counts.shape[1]] = counts
    cells = np.arange(side * side).reshape([*fans, *fans])
    order = cells.transpose(
        [axis for level in range(height) for axis in (level, height + level)]
    ).ravel()
    found = np.empty(side * side)
    found[order] = consistent_tree(
        padded.ravel()[order], [fan * fan for fan in fans], shares, epsilon, generator
    )
    return found.reshape(side, side)[: counts.shape[0], : counts.shape[1]]


def hierarchy_2d(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """HB in two dimensions (Qardaji et al. 2013)."""
    side = counts.shape[0]

    def height(fan: int) -> int:
        return math.ceil(math.log(side, fan) - 1e-12)

    fan = min(range(2, side + 1), key=lambda b: b * (side - 1) * height(b) ** 2)
    levels = height(fan)
    shares = [0.0] + [1 / levels] * levels
    return square_tree(counts, [fan] * levels, shares, epsilon, generator)


def quad_tree(counts: np.ndarray, epsilon: float, generator: Generator) -> np.ndarray:
    """QuadTree with geometric budgets (Cormode et al. 2012), down to single cells."""
    height = int(math.log2(counts.shape[0]))
    shares = 2 ** (np.arange(height + 1) / 3)
    return square_tree(counts, [2] * height, list(shares / shares.sum()), epsilon, generator)
