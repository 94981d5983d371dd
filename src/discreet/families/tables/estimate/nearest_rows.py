"""Rows whose tables are near measured ones, where the combinations of cells are too many to list.

Least squares without negative counts, over the combinations that a search finds (column generation):

1. Start with combinations drawn as if columns were independent.
2. Find weights of at least 0 for them such that all measured numbers together are nearest, each in units of its noise.
3. What a further combination would gain is a sum of one number for each measured set of columns. Climb from many
   combinations to others that gain more, one column at a time; add those that gain anything; go on at 2.

A climb may miss the best combination, so the result is near and perhaps not the nearest. It has no negative count in any case, and
all its tables agree. Public randomness with a fixed seed: the same numbers give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.linear_programs import Block, block_prices, block_rows

ROUNDS, SWEEPS = 12, 2
STARTS = 400
"""Combinations that each round climbs from."""
DRAWN = 4
"""Combinations to begin with, for each measured number; and at most `MOST_DRAWN`."""
MOST_DRAWN = 3000
STEPS = 300
GAIN = 1e-6
"""A combination is added if its gain is at least this part of the largest gain at the start."""

_Prices = list[tuple[tuple[int, ...], Floats]]
"""For each set of columns, what each combination of its cells gains."""


def nearest_rows(
    sizes: Sequence[int],
    blocks: Sequence[Block],
    is_open: Callable[[Integers], Bools] | None = None,
) -> tuple[Integers, Floats]:
    """Combinations of cells, one row each, and how often each occurs: a number of at least 0.

    `is_open`: which combinations can have rows.
    """
    public = generator(0)
    edges = np.cumsum([0, *(each.numbers.size for each in blocks)])
    values = np.concatenate([each.numbers.reshape(-1) / each.std for each in blocks])

    def prices(missing: Floats) -> _Prices:
        return [
            (each.axes, block_prices(sizes, each, missing[start:stop]))
            for each, start, stop in zip(blocks, edges[:-1], edges[1:], strict=True)
        ]

    shares = _shares(sizes, blocks)

    def drawn(many: int) -> Integers:
        columns = [public.choice(len(own), many, p=own) for own in shares]
        return np.stack(columns, axis=1).astype(np.int64)

    def kept_open(codes: Integers) -> Integers:
        return codes if is_open is None else codes[is_open(codes)]

    first_drawn = drawn(min(MOST_DRAWN, DRAWN * len(values)))
    codes = np.unique(kept_open(first_drawn), axis=0)
    if not len(codes):  # hardly any combination is open
        codes = np.unique(first_drawn, axis=0)[:1]
    weights = np.full(len(codes), max(1.0, _total(blocks)) / len(codes))
    first = 0.0
    for turn in range(ROUNDS):
        rows = block_rows(sizes, blocks, codes)
        weights = _least_squares(rows, values, weights)
        gains = prices(values - rows @ weights)
        used = np.flatnonzero(weights > 0)
        if len(used):
            codes, weights = codes[used], weights[used]
        starts = codes[public.integers(0, len(codes), STARTS // 2)]
        climbed = _climbed(np.concatenate([starts, drawn(STARTS // 2)]), sizes, gains)
        found = np.unique(kept_open(climbed), axis=0)
        gained = _gain(found, gains)
        first = max(first, float(gained.max(initial=0.0)) if turn == 0 else 0.0)
        better = found[gained > GAIN * first]
        joined, places = np.unique(np.concatenate([codes, better]), axis=0, return_index=True)
        if len(joined) == len(codes):
            break
        kept = np.append(weights, np.zeros(len(better)))[places]
        codes, weights = joined, kept
    return codes, _least_squares(block_rows(sizes, blocks, codes), values, weights)


def _least_squares(rows: Floats, values: Floats, start: Floats) -> Floats:
    """Weights of at least 0 by accelerated gradient steps, begun anew where they overshoot."""
    gram, goal = rows.T @ rows, rows.T @ values
    # Numbers of small noise (above all that of all rows) would make steps tiny: each weight has a step of its own.
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-12))
    gram, goal = gram * scale[:, None] * scale[None, :], goal * scale
    step = 1 / _largest(gram)
    found = ahead = start / scale
    speed = 1.0
    for _ in range(STEPS):
        slope = gram @ ahead - goal
        after = np.maximum(ahead - step * slope, 0.0)
        if float(slope @ (after - found)) > 0:
            speed, ahead = 1.0, found
            slope = gram @ ahead - goal
            after = np.maximum(ahead - step * slope, 0.0)
        faster = (1 + np.sqrt(1 + 4 * speed * speed)) / 2
        ahead = after + (speed - 1) / faster * (after - found)
        found, speed = after, faster
    return np.asarray(found * scale)


def _largest(gram: Floats) -> float:
    """The largest eigenvalue, a little above: by powers."""
    vector = np.ones(len(gram))
    for _ in range(30):
        vector = gram @ vector
        vector /= max(float(np.linalg.norm(vector)), 1e-300)
    return 1.05 * max(float(vector @ gram @ vector), 1e-12)


def _total(blocks: Sequence[Block]) -> float:
    return next((float(each.numbers[0]) for each in blocks if not each.axes), 0.0)


def _shares(sizes: Sequence[int], blocks: Sequence[Block]) -> list[Floats]:
    """For each column, how its cells share the rows, as far as it was measured alone."""
    rows = max(1.0, _total(blocks))
    found = [np.full(size, 1 / size) for size in sizes]
    for each in blocks:
        if len(each.axes) == 1:
            (axis,) = each.axes
            size = sizes[axis]
            centred = (
                np.array([1.0, -1.0]) * each.numbers[0] / 2
                if each.is_parity
                else each.numbers / size
            )
            own = np.maximum(1 / size + centred / rows, 0.01 / size)
            found[axis] = own / own.sum()
    return found


def _gain(codes: Integers, gains: _Prices) -> Floats:
    found = np.zeros(len(codes))
    for axes, table in gains:
        found += table[tuple(codes[:, axis] for axis in axes)]
    return found


def _climbed(codes: Integers, sizes: Sequence[int], gains: _Prices) -> Integers:
    """Each combination, changed one column at a time to the cell that gains most."""
    about: list[list[tuple[tuple[int, ...], Floats]]] = [[] for _ in sizes]
    for axes, table in gains:
        for place, axis in enumerate(axes):
            others = tuple(other for other in axes if other != axis)
            about[axis].append((others, np.moveaxis(table, place, -1)))
    codes = codes.copy()
    for _ in range(SWEEPS):
        for axis, size in enumerate(sizes):
            gained = np.zeros((len(codes), size))
            for others, table in about[axis]:
                gained += table[tuple(codes[:, other] for other in others)]
            codes[:, axis] = np.argmax(gained, axis=1)
    return codes
