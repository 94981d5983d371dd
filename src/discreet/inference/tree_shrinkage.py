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
FEWEST_VOTERS = 1024
"""Nodes of a large layer whose splits vote, where not all are looked at; a node has several splits."""
TINY = 1e-290
_BLOCK = 1 << 13


def first_weights() -> Floats:
    """Even, one-sided, then the widths; even counts double."""
    weights = np.ones(len(WIDTHS) + 2)
    weights[0] = 2.0
    return np.asarray(weights / weights.sum())


def smoothed(tree: PrunedTree, upward: Upward | None = None) -> list[Floats]:
    """A non-negative estimate of every node of every layer; a parent is the sum of its children."""
    return _top_down(tree, upward, only_last=False)


def smoothed_last(tree: PrunedTree) -> Floats:
    """The estimates of the last layer, without the work that only others need.

    Of each layer above, a node takes part if it has a child that is alive; besides, `FEWEST_VOTERS`
    nodes, taken evenly, which vote. A layer of up to `MOST_VOTERS` nodes is treated as in `smoothed`.
    """
    return _top_down(tree, None, only_last=True)[-1]


def _top_down(tree: PrunedTree, upward: Upward | None, *, only_last: bool) -> list[Floats]:
    up = tree.upward() if upward is None else upward
    counts = [np.maximum(up.value[0], 0.0)]
    weights = first_weights()
    for place, block in enumerate(tree.blocks):
        alive = tree.layers[place].alive
        rows, votes = np.arange(len(alive)), np.ones(len(alive), dtype=np.bool_)
        if only_last and place + 1 < len(tree.blocks) and len(alive) > MOST_VOTERS:
            votes[:] = False
            votes[:: len(alive) // FEWEST_VOTERS] = True
            rows = np.union1d(np.flatnonzero(votes), block.parents(tree.layers[place + 1].alive))
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
                votes[rows],
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
    votes: npt.NDArray[np.bool_],
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
        voting = np.broadcast_to(votes[:, np.newaxis], noisy.shape)[noisy]
        shift, weights = _shrunk(
            middle[noisy] - base * count, spread[noisy], count, base, voting, weights
        )
        left[noisy] = base * count + shift
    return np.clip(left, 0.0, whole), weights


def _shrunk(
    seen: Floats,
    spread: Floats,
    count: Floats,
    even: Floats,
    votes: npt.NDArray[np.bool_],
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Posterior mean of the shift from an even split, `seen` with normal noise; and new weights."""
    count = np.maximum(count, 1e-9)
    voters = np.flatnonzero(votes & (count > spread))
    if len(voters) > MOST_VOTERS:
        voters = voters[:: -(-len(voters) // MOST_VOTERS)]
    voting = _laws(seen[voters], spread[voters], count[voters], even[voters])
    weights = _voted(np.stack([likelihood for likelihood, _ in voting], axis=1), weights)
    shift = np.empty_like(seen)
    for start in range(0, len(seen), _BLOCK):  # in blocks that stay in a processor's cache
        block = slice(start, start + _BLOCK)
        highest, lowest = (1 - even[block]) * count[block], -even[block] * count[block]
        laws = _laws(seen[block], spread[block], count[block], even[block])
        total, mean = np.zeros(len(highest)), np.zeros(len(highest))
        for weight, (likelihood, expected) in zip(weights, laws, strict=True):
            likelihood *= weight
            total += likelihood
            if expected is not None:
                likelihood *= np.clip(expected, lowest, highest)
                mean += likelihood
        shift[block] = mean / total
    return shift, weights


def _laws(
    seen: Floats, spread: Floats, count: Floats, even: Floats
) -> list[tuple[Floats, Floats | None]]:
    """Under each law of the mixture: how likely `seen` is, and the shift then expected (`None`: none)."""
    highest, lowest = (1 - even) * count, -even * count
    all_left, all_right = _normal(seen - highest, spread), _normal(seen - lowest, spread)
    sides = all_left + all_right
    one_sided = (highest * all_left + lowest * all_right) / (sides + TINY)
    found: list[tuple[Floats, Floats | None]] = [
        (_normal(seen, spread) + TINY, None),
        (sides / 2 + TINY, one_sided),
    ]
    noise, exponent, squares = spread**2, -0.5 * seen**2, count**2
    for width in WIDTHS:
        prior = width**2 * squares
        precision = 1 / (prior + noise)
        likelihood = np.exp(exponent * precision)
        likelihood *= np.sqrt(precision)
        likelihood += TINY
        prior *= precision
        prior *= seen
        found.append((likelihood, prior))
    return found


def _voted(likelihood: Floats, weights: Floats) -> Floats:
    """EM for the weights of a mixture, with the given ones as a weak prior."""
    if not len(likelihood):
        return weights
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
