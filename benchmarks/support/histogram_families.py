"""Generated one-dimensional histograms: many shapes, sizes and numbers of rows, from one seed.

Constants that are tuned to a handful of published histograms win on these and on no others. So a choice
is judged here, too: a seed gives a list of histograms in which each family takes its turn, with a size
of 2^8 to 2^14 cells and 10^3 to 10^7 rows. Another seed gives other ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Weights = Callable[[np.ndarray, np.random.Generator], np.ndarray]
BITS = (8, 10, 12, 14)
FEWEST_ROWS, MOST_ROWS = 1e3, 1e7


def bumps(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One to six normal laws, and a few rows everywhere."""
    many = int(generator.integers(1, 7))
    centres, widths = generator.random(many), 10 ** generator.uniform(-1.7, -0.5, many)
    heights = generator.random(many) / widths
    shapes = np.exp(-0.5 * ((line[:, np.newaxis] - centres) / widths) ** 2)
    return shapes @ heights + 0.02 * generator.random()


def waves(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Dense: slow waves about a level that is nowhere near 0."""
    swing = sum(
        generator.normal() / order * np.cos(np.pi * order * (line + generator.random()))
        for order in range(1, 8)
    )
    return np.exp(generator.uniform(0.1, 0.8) * swing)


def walk(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Dense and rough: the exponential of a random walk, with the same swing at any size."""
    steps = generator.normal(size=len(line)) / np.sqrt(len(line))
    return np.exp(generator.uniform(0.5, 3) * np.cumsum(steps))


def steps(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Piecewise constant: 3 to 40 pieces, some of them empty."""
    many = int(generator.integers(3, 41))
    edges = np.sort(generator.random(many - 1))
    heights = generator.gamma(0.7, size=many) * (generator.random(many) < 0.8)
    heights[int(generator.integers(many))] += 0.5
    return heights[np.searchsorted(edges, line)]


def tail(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A heavy tail from the first cell on, as of degrees, sizes and prices."""
    return (line + 10 ** generator.uniform(-4, -1.5)) ** -generator.uniform(1.1, 2.5)


def incomes(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A lognormal law: nothing, a steep rise, a long fall."""
    place, width = generator.uniform(0.02, 0.3), generator.uniform(0.3, 0.9)
    return np.exp(-0.5 * (np.log((line + 1e-4) / place) / width) ** 2) / (line + 1e-4)


def heaps(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Smooth, with heaps on round numbers: what people say of ages and prices."""
    every = int(generator.choice([5, 10, 12, 25, 50, 100]))
    heaped = np.arange(len(line)) % every == 0
    return bumps(line, generator) * np.where(heaped, generator.uniform(2, every), 1.0)


def sparse(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Most cells nearly empty, a few full, in no order."""
    return generator.gamma(10 ** generator.uniform(-2, -0.7), size=len(line)) + 1e-12


def clusters(line: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A few narrow clusters in an empty domain."""
    many = int(generator.integers(2, 12))
    centres, widths = generator.random(many), 10 ** generator.uniform(-3.2, -1.8, many)
    shapes = np.exp(-0.5 * ((line[:, np.newaxis] - centres) / widths) ** 2)
    return shapes @ generator.gamma(0.7, size=many) + 1e-9


FAMILIES: tuple[Weights, ...] = (
    bumps, waves, walk, steps, tail, incomes, heaps, sparse, clusters,
)  # fmt: skip


def generated(many: int, seed: int) -> dict[str, np.ndarray]:
    """So many histograms, the families in turn; rows are drawn from the family's law."""
    found = {}
    for place in range(many):
        generator = np.random.default_rng([seed, place])
        family = FAMILIES[place % len(FAMILIES)]
        cells = 1 << int(generator.choice(BITS))
        rows = int(np.exp(generator.uniform(np.log(FEWEST_ROWS), np.log(MOST_ROWS))))
        weights = family((np.arange(cells) + 0.5) / cells, generator)
        counts = generator.multinomial(rows, weights / weights.sum())
        name = f"{family.__name__} 2^{cells.bit_length() - 1} n {rows:.0e}"
        while name in found:  # two of one family, as large and with about as many rows
            name += "'"
        found[name] = counts
    return found
