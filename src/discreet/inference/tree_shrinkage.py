"""Point estimates on a pruned tree: an empirical-Bayes Polya tree.

Top-down, each node hands its count to its two halves. How unevenly real data splits is learnt from
the noisy tree itself, depth by depth: a mixture of "evenly", "all on one side" and normal laws of
several widths, its weights fitted by EM to all splits of that depth, starting from those of the
depth above. The posterior mean of each split is then taken: noise-like splits shrink to even ones,
clear ones stay, and every count is non-negative. Post-processing, so free; it moves estimates only,
intervals come from least squares.

May import errors, privacy, schema, queries, artifacts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.inference.tree_layers import PrunedTree, Upward

Floats = npt.NDArray[np.float64]

WIDTHS = (0.25, 0.1, 0.04, 0.015, 0.006, 0.0025, 0.001, 0.0004)
"""Standard deviations of a half's count about an even split, relative to the whole."""
ROUNDS = 25
"""Of EM; the weights hardly move any more."""
PSEUDO_COUNT = 2.0
"""How many splits the weights of the depth above count for."""
MOST_VOTERS = 4096
"""Splits that take part in EM, taken evenly: more would not change the weights to be noticed."""
TINY = 1e-290


def first_weights() -> Floats:
    """Even, one-sided, then the widths; even counts double."""
    weights = np.ones(len(WIDTHS) + 2)
    weights[0] = 2.0
    return np.asarray(weights / weights.sum())


def smoothed(tree: PrunedTree, upward: Upward | None = None) -> list[Floats]:
    """A non-negative estimate of every node of every layer; a parent is the sum of its children."""
    up = tree.upward() if upward is None else upward
    counts = [np.maximum(up.value[0], 0.0)]
    weights = first_weights()
    for place, block in enumerate(tree.blocks):
        whole = counts[-1][tree.layers[place].alive][:, np.newaxis]
        for level in range(len(block.axes)):
            value, noise = up.inner_value[place][level], up.inner_variance[place][level]
            cells = block.cells[level + 1]
            left, weights = _left_halves(
                whole,
                (value[:, 0::2], value[:, 1::2]),
                (noise[:, 0::2], noise[:, 1::2]),
                cells[:, 0::2] / np.maximum(cells[:, 0::2] + cells[:, 1::2], 1.0),
                weights,
            )
            halves = np.empty((len(whole), 2 * whole.shape[1]))
            halves[:, 0::2], halves[:, 1::2] = left, whole - left
            whole = halves
        counts.append(block.gathered(whole))
    return counts


def _left_halves(
    whole: Floats,
    value: tuple[Floats, Floats],
    noise: tuple[Floats, Floats],
    even: Floats,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """The left half of each count, and the weights that the splits of this depth vote for."""
    total = noise[0] + noise[1]
    share = np.divide(noise[0], total, out=np.ones_like(total), where=total > 0)
    middle = value[0] * (1 - share) + (whole - value[1]) * share
    spread = np.sqrt(share * noise[1])
    left = middle.copy()
    noisy = spread > 0  # the others have one half beyond the domain
    if noisy.any():
        count, base = whole[noisy], even[noisy]
        shift, weights = _shrunk(middle[noisy] - base * count, spread[noisy], count, base, weights)
        left[noisy] = base * count + shift
    return np.clip(left, 0.0, whole), weights


def _shrunk(
    seen: Floats, spread: Floats, count: Floats, even: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Posterior mean of the shift from an even split, `seen` with normal noise; and new weights."""
    count = np.maximum(count, 1e-9)
    highest, lowest = (1 - even) * count, -even * count
    all_left, all_right = _normal(seen - highest, spread), _normal(seen - lowest, spread)
    likelihood = np.empty((len(seen), len(WIDTHS) + 2))
    likelihood[:, 0] = _normal(seen, spread)
    likelihood[:, 1] = (all_left + all_right) / 2
    expected = np.zeros_like(likelihood)
    sides = all_left + all_right + TINY
    expected[:, 1] = (highest * all_left + lowest * all_right) / sides
    for place, width in enumerate(WIDTHS, start=2):
        prior = (width * count) ** 2
        both = prior + spread**2
        likelihood[:, place] = _normal(seen, np.sqrt(both))
        expected[:, place] = prior / both * seen
    likelihood += TINY
    weights = _voted(likelihood[count > spread], weights)
    posterior = likelihood * weights
    posterior /= posterior.sum(axis=1, keepdims=True)
    expected = np.clip(expected, lowest[:, np.newaxis], highest[:, np.newaxis])
    return (posterior * expected).sum(axis=1), weights


def _voted(likelihood: Floats, weights: Floats) -> Floats:
    """EM for the weights of a mixture, with the given ones as a weak prior."""
    if not len(likelihood):
        return weights
    if len(likelihood) > MOST_VOTERS:
        likelihood = likelihood[:: -(-len(likelihood) // MOST_VOTERS)]
    scaled = likelihood / likelihood.max(axis=1, keepdims=True)
    prior = PSEUDO_COUNT * weights
    for _ in range(ROUNDS):
        # Sum over splits of (scaled * weights / row sum), as two matrix products.
        votes = weights * ((1 / (scaled @ weights)) @ scaled)
        weights = (votes + prior) / (len(scaled) + PSEUDO_COUNT)
    return weights


def _normal(distance: Floats, spread: Floats) -> Floats:
    exponent = np.minimum((distance / spread) ** 2, 1400.0)
    density: Floats = np.exp(-0.5 * exponent) / spread
    return density
