"""Point estimates on a pruned tree: an empirical-Bayes Polya tree.

Top-down, each node hands its count to its two halves. How unevenly real data splits is learnt from
the noisy tree itself, depth by depth: a mixture of "evenly", "all on one side" and normal laws about
either, of several widths, its weights fitted by EM to all splits of that depth, starting from those of the
depth above. The posterior mean of each split is then taken: noise-like splits shrink to even ones,
clear ones stay, and every count is non-negative. Post-processing, so free; it moves estimates only,
intervals come from least squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from discreet.arrays import Bools, Floats, Singles
from discreet.families.ranges.estimate.tree_layers import PrunedTree, Upward

WIDTHS = (0.25, 0.1, 0.04, 0.015, 0.006, 0.0025, 0.001, 0.0004)
"""Standard deviations of a half's count about an even split, relative to the whole."""
NEARLY = (0.1, 0.03)
"""The same about all on one side: a half that holds little, but not nothing."""
MOST_NEARLY = 1 << 15
"""In one depth; where there are more splits, few of them tell little from nothing, and time counts."""
ROUNDS = 25
"""Rounds of EM; after these the weights hardly move."""
PSEUDO_COUNT = 2.0
"""How many splits the weights of the depth above count for."""
MOST_FITTED = 4096
"""Splits that take part in EM, taken evenly: more would not change the weights to be noticed."""
FEWEST_FITTED = 1024
"""Nodes of a large layer whose splits the weights are fitted to; a node has several splits."""
TINY = np.float32(1e-30)
"""Added to each likelihood, so that none is nothing."""
MOST_EXPONENT = np.float32(120)
LEAST_COUNT = 1e-9
LEAST_SPREAD = 1e-15
"""The least noise, as a part of a count; less counts as this, so that squares stay in range."""
LEAST_WEIGHT = 1e-5
"""A law of less weight is left out."""
_BLOCK = 1 << 13


def first_weights() -> Floats:
    """Even, one-sided, then the widths about each; even counts double."""
    weights = np.ones(2 + len(WIDTHS) + len(NEARLY))
    weights[0] = 2.0
    return np.asarray(weights / weights.sum())


def smoothed(tree: PrunedTree, upward: Upward | None = None) -> list[Floats]:
    """A non-negative estimate of every node of every layer; a parent is the sum of its children."""
    return _top_down(tree, upward, only_last=False)


def smoothed_last(tree: PrunedTree) -> Floats:
    """The estimates of the last layer, without the work that only others need.

    In each layer above, a node is worked on if it has a child that is alive. Besides, the mixture weights
    are fitted to `FEWEST_FITTED` nodes, taken evenly. A layer of up to `MOST_FITTED` nodes is treated as in
    `smoothed`.
    """
    return _top_down(tree, None, only_last=True)[-1]


def _top_down(tree: PrunedTree, upward: Upward | None, *, only_last: bool) -> list[Floats]:
    up = tree.upward() if upward is None else upward
    counts = [np.maximum(up.value[0], 0.0)]
    weights = first_weights()
    for place, block in enumerate(tree.blocks):
        alive = tree.layers[place].alive
        rows, in_fit = np.arange(len(alive)), np.ones(len(alive), dtype=np.bool_)
        if only_last and place + 1 < len(tree.blocks) and len(alive) > MOST_FITTED:
            in_fit[:] = False
            in_fit[:: len(alive) // FEWEST_FITTED] = True
            rows = np.union1d(np.flatnonzero(in_fit), block.parents(tree.layers[place + 1].alive))
        whole = counts[-1][alive[rows]][:, np.newaxis]
        for level in range(len(block.axes)):
            value, noise, cells = (
                each if len(rows) == len(alive) else each[rows]
                for each in (
                    up.inner_value[place][level],
                    up.inner_variance[place][level],
                    block.cells[level + 1],
                )
            )
            left, weights = _left_halves(
                whole,
                (value[:, 0::2], value[:, 1::2]),
                (noise[:, 0::2], noise[:, 1::2]),
                cells[:, 0::2] / np.maximum(cells[:, 0::2] + cells[:, 1::2], 1.0),
                in_fit[rows],
                weights,
            )
            halves = np.empty((len(whole), 2 * whole.shape[1]))
            halves[:, 0::2], halves[:, 1::2] = left, whole - left
            whole = halves
        if len(rows) < len(alive):
            some, whole = whole, np.zeros(block.shape)
            whole[rows] = some
        counts.append(block.gathered(whole))
    return counts


def _left_halves(
    whole: Floats,
    value: tuple[Floats, Floats],
    noise: tuple[Floats, Floats],
    even: Floats,
    in_fit: Bools,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """The left half of each count, and the mixture weights fitted to the splits of this depth."""
    total = noise[0] + noise[1]
    share = np.divide(noise[0], total, out=np.ones_like(total), where=total > 0)
    middle = value[0] * (1 - share) + (whole - value[1]) * share
    spread = np.sqrt(share * noise[1])
    noisy = spread > 0  # the others have one half beyond the domain
    if not noisy.any():
        return np.clip(middle, 0.0, whole), weights
    chosen: Any = ... if noisy.all() else noisy  # to choose all is to copy nothing
    base = even * whole
    in_fit = np.broadcast_to(in_fit[:, np.newaxis], noisy.shape)
    shift, weights = _shrunk(
        (middle - base)[chosen].ravel(),
        spread[chosen].ravel(),
        np.maximum(whole, LEAST_COUNT)[chosen].ravel(),
        even[chosen].ravel(),
        in_fit[chosen].ravel(),
        weights,
    )
    middle[chosen] = base[chosen] + shift.reshape(base[chosen].shape)
    return np.clip(middle, 0.0, whole), weights


def _shrunk(
    seen: Floats,
    spread: Floats,
    count: Floats,
    even: Floats,
    in_fit: Bools,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Posterior mean of the shift from an even split, `seen` with normal noise; and new weights.

    What is looked for is how far the mean is pulled from what was seen, in units of the noise. That is
    a small number wherever little noise was added, so single precision is enough.
    """
    spread = np.maximum(spread, LEAST_SPREAD * count)
    fitted = np.flatnonzero(in_fit & (count > spread))
    if len(fitted) > MOST_FITTED:
        fitted = fitted[:: -(-len(fitted) // MOST_FITTED)]
    components = _laws(
        *_distances(seen[fitted], spread[fitted], count[fitted], even[fitted]),
        kept=[True] * len(weights),
    )
    weights = _fitted_weights(
        np.stack([likelihood for likelihood, _ in components], axis=1).astype(np.float64), weights
    )
    # The widest law and the one-sided one stay: they account for what no other expects.
    last = len(weights) - (len(NEARLY) if len(seen) > MOST_NEARLY else 0)
    kept = [
        place < 3 or (weight > LEAST_WEIGHT and place < last)
        for place, weight in enumerate(weights)
    ]
    mixture_weights = weights[kept].astype(np.float32)
    shift = np.empty_like(seen)
    for start in range(0, len(seen), _BLOCK):  # in blocks that stay in a processor's cache
        block = slice(start, start + _BLOCK)
        middle, left, right = _distances(seen[block], spread[block], count[block], even[block])
        total, mean = np.zeros_like(middle), np.zeros_like(middle)
        for weight, (likelihood, pull) in zip(
            mixture_weights, _laws(middle, left, right, kept=kept), strict=True
        ):
            likelihood *= weight
            total += likelihood
            np.maximum(pull, left, out=pull)
            np.minimum(pull, right, out=pull)
            likelihood *= pull
            mean += likelihood
        mean /= total
        np.multiply(mean, spread[block], out=shift[block])
    return np.subtract(seen, shift, out=shift), weights


def _distances(
    seen: Floats, spread: Floats, count: Floats, even: Floats
) -> tuple[Singles, Singles, Singles]:
    """How far what was seen lies from an even split, from all on the left and from all on the right."""
    per_spread = 1 / spread
    middle, whole = seen * per_spread, count * per_spread
    right = middle + even * whole
    return (
        middle.astype(np.float32),
        (right - whole).astype(np.float32),
        right.astype(np.float32),
    )


def _laws(
    middle: Singles, left: Singles, right: Singles, *, kept: Sequence[bool]
) -> list[tuple[Singles, Singles]]:
    """Under each law that is kept: how likely what was seen is, and how far its mean is from that."""
    all_left, all_right = _normal(left), _normal(right)
    sides = all_left + all_right
    one_sided = left * all_left
    one_sided += right * all_right
    one_sided /= sides + TINY
    sides *= np.float32(0.5)
    sides += TINY
    even = _normal(middle)
    even += TINY
    found = [(even, middle.copy()), (sides, one_sided)]
    squares = (right - left) ** 2
    about_even, about_side = kept[2 : 2 + len(WIDTHS)], kept[2 + len(WIDTHS) :]
    found += _normals(middle, squares, compress(WIDTHS, about_even))
    if any(about_side):
        side = np.where(np.abs(left) < np.abs(right), left, right)
        found += _normals(side, squares, compress(NEARLY, about_side))
    return found


def _normals(
    distance: Singles, squares: Singles, widths: Iterable[float]
) -> list[tuple[Singles, Singles]]:
    """Under normal laws of some widths, about what was seen at this distance: as `_laws`."""
    found = []
    exponent = np.float32(-0.5) * distance * distance
    for width in widths:
        precision = squares * np.float32(width**2)
        precision += np.float32(1)
        np.reciprocal(precision, out=precision)
        likelihood = exponent * precision
        np.exp(likelihood, out=likelihood)
        likelihood *= np.sqrt(precision)
        likelihood += TINY
        precision *= distance
        found.append((likelihood, precision))
    return found


def _fitted_weights(likelihood: Floats, weights: Floats) -> Floats:
    """EM for the weights of a mixture, with the given ones as a weak prior."""
    if not len(likelihood):
        return weights
    scaled = likelihood / likelihood.max(axis=1, keepdims=True)
    prior = PSEUDO_COUNT * weights
    for _ in range(ROUNDS):
        # Sum over splits of (scaled * weights / row sum), as two matrix products.
        expected = weights * ((1 / (scaled @ weights)) @ scaled)
        weights = (expected + prior) / (len(scaled) + PSEUDO_COUNT)
    return weights


def _normal(distance: Singles) -> Singles:
    exponent = np.minimum(distance * distance, MOST_EXPONENT)
    exponent *= np.float32(-0.5)
    density: Singles = np.exp(exponent, out=exponent)
    return density
