"""Rows whose counts come as near to wanted tables of two columns as whole rows can.

Rows drawn from a model meet its tables up to the chance of drawing only; and the model meets what
was measured up to its own bias. Both are repaired here: single values of single rows are set to
others while that brings the counts of pairs nearer to the wanted ones. The wanted table of a
measured pair lies between the model's and the measured one, as far towards the latter as the
distance between them exceeds what noise explains (empirical Bayes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.arrays import Floats, Integers, Singles
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.estimate.residuals import ResidualTables

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


LARGEST = 4096
"""Cells of all columns together up to which rows are settled: the wanted counts are that squared."""
RAKINGS, LEAST, TINY = 4, 1e-6, 1e-300
LOOKED_AT = 512
"""Rows that are looked at in one step."""
FIRST_MOVED = 32
"""Rows that are moved in the first step: all that would gain, at once, would overshoot."""
PASSES, STEPS = 60, 2000
"""Steps for each column, and in all, at most."""
CHECK_EVERY, WORTH = 10, 0.01
"""After so many, this share of the squared distance must be gone, or it is near its least."""
MOST_COUNTED = 1 << 28
"""Rows times pairs of columns up to which rows are settled; where there are more, what drawing
leaves to chance is far below any noise."""


class Tables(Protocol):
    """A model: shares of the cells of any columns."""

    def marginal(self, columns: Sequence[int]) -> Floats: ...


def wanted_pairs(
    model: Tables, measured: ResidualTables, names: Sequence[str], rows: float
) -> Floats | None:
    """The counts that all pairs of cells should have among `rows` rows, side by side."""
    sizes = [measured.schema.column(name).cells for name in names]
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if edges[-1] > LARGEST or len(sizes) < 2:
        return None
    wanted = np.zeros((int(edges[-1]),) * 2)
    order = {column.name: place for place, column in enumerate(measured.schema.columns)}
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    total = float(measured.table(())) if measured.determines(()) else 0.0
    singles = []
    for place, name in enumerate(names):
        shares = model.marginal([place])
        if total > 1 and measured.determines((name,)):
            variance = measured.cell_variance((name,)) / total**2
            shares = shrunk(shares, measured.table((name,)) / total, variance)
        wanted[parts[place], parts[place]] = np.diag(shares)
        singles.append(shares)
    for one, other in combinations(range(len(names)), 2):
        if order[names[one]] > order[names[other]]:
            one, other = other, one
        shares, pair = model.marginal([one, other]), (names[one], names[other])
        if total > 1 and measured.determines(pair):
            variance = measured.cell_variance(pair) / total**2
            shares = shrunk(shares, measured.table(pair) / total, variance)
        shares = raked(shares, singles[one], singles[other])
        wanted[parts[one], parts[other]] = shares
        wanted[parts[other], parts[one]] = shares.T
    return rows * wanted


def raked(table: Floats, first: Floats, second: Floats) -> Floats:
    """The table scaled along both axes until its sums are nearly the given ones."""
    found = table + LEAST * np.outer(first, second)  # so that no row or column is empty
    for _ in range(RAKINGS):
        found *= (first / np.maximum(found.sum(axis=1), TINY))[:, None]
        found *= (second / np.maximum(found.sum(axis=0), TINY))[None, :]
    return found


def shrunk(model: Floats, noisy: Floats, variance: float) -> Floats:
    """Between a model's shares and measured ones: by how much more they differ than noise makes them."""
    differ = float(np.mean((noisy - model) ** 2))
    beyond = max(differ - variance, 0.0)
    trust = beyond / differ if differ > 0 else 0.0
    return nearest_counts(model + trust * (noisy - model), 1.0)


def settle(drawn: Integers, sizes: Sequence[int], wanted: Floats, generator: Generator) -> None:
    """Move values of single rows, in place, so that counts of pairs come nearer to `wanted`.

    Setting a value to another lowers the squared distance by the difference of the missing counts
    that the row would meet, less one for each column. Of some rows those that gain most are moved,
    more at a time while that works and fewer whenever it overshoots.
    """
    columns, rows = len(sizes), len(drawn)
    if rows == 0 or columns < 2 or rows * columns**2 > 2 * MOST_COUNTED:
        return
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = drawn + edges[:-1]
    missing = wanted - _counts(drawn, edges)
    batch = np.full(columns, FIRST_MOVED)
    distance = np.inf
    for sweep in range(min(PASSES, math.ceil(STEPS / columns))):
        if sweep % CHECK_EVERY == 0:
            before, distance = distance, float(np.vdot(missing, missing))
            if distance > (1 - WORTH) * before:
                break
        for column in range(columns):
            if sizes[column] < 2:
                continue
            own = slice(int(edges[column]), int(edges[column + 1]))
            block = np.ascontiguousarray(missing[:, own])
            looked = _some(rows, generator)
            others = np.delete(places[looked], column, axis=1)
            here, every = places[looked, column] - own.start, np.arange(len(looked))
            meets = _met(block, others) + np.diagonal(block[own])
            there = meets.argmax(axis=1)
            gain = meets[every, there] - meets[every, here] - columns
            better = np.flatnonzero(gain + 0.5 * generator.random(len(gain)) > 0.5)
            many = min(int(batch[column]), len(better))
            if not many:
                continue
            chosen = better[np.argpartition(-gain[better], many - 1)[:many]]
            gone, came = others[chosen], own.start + there[chosen]
            after = block + _tally(block, gone, own.start + here[chosen], own.start)
            after -= _tally(block, gone, came, own.start)
            if _distance(after, own) < _distance(block, own):
                missing[:, own], missing[own, :] = after, after.T
                places[looked[chosen], column] = came
                batch[column] = min(2 * batch[column], LOOKED_AT)  # no more are looked at
            else:
                batch[column] = max(1, batch[column] // 4)
    drawn[:] = places - edges[:-1]


def _some(rows: int, generator: Generator) -> Integers:
    """Some rows, each at most once: neighbours will do, for the rows are in no order."""
    if rows <= LOOKED_AT:
        return np.arange(rows)
    start = int(generator.integers(rows))
    return (start + np.arange(LOOKED_AT)) % rows


def _met(block: Floats, others: Integers) -> Singles:
    """For each row and each value of a column, the missing counts of its other values with it."""
    single = block.astype(np.float32)
    found = single[others[:, 0]]
    for column in range(1, others.shape[1]):
        found += single[others[:, column]]
    return found


def _tally(block: Floats, others: Integers, places: Integers, start: int) -> Floats:
    """How often values of a column come together with others, and with themselves, among some rows."""
    values = places - start
    keys = np.concatenate([others, places[:, None]], axis=1) * block.shape[1] + values[:, None]
    return np.bincount(keys.ravel(), minlength=block.size).reshape(block.shape).astype(np.float64)


def _distance(block: Floats, own: slice) -> float:
    """Squared: pairs count twice in the whole, once for each of their columns."""
    inside = block[own]
    return 2 * float(np.vdot(block, block)) - float(np.vdot(inside, inside))


def _counts(drawn: Integers, edges: Integers) -> Floats:
    """The counts of all pairs of cells among rows, side by side."""
    found = np.zeros((int(edges[-1]),) * 2)
    sizes = np.diff(edges).tolist()
    for one, other in combinations(range(len(sizes)), 2):
        keys = drawn[:, one] * sizes[other] + drawn[:, other]
        counted = np.bincount(keys, minlength=sizes[one] * sizes[other])
        table = counted.reshape(sizes[one], sizes[other])
        found[edges[one] : edges[one + 1], edges[other] : edges[other + 1]] = table
        found[edges[other] : edges[other + 1], edges[one] : edges[one + 1]] = table.T
    for column, size in enumerate(sizes):
        own = np.bincount(drawn[:, column], minlength=size)
        place = np.arange(edges[column], edges[column + 1])
        found[place, place] = own
    return found
