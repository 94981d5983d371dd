"""The counts that pairs of cells should have among synthetic rows.

A model says them. Where measurements say them too, two estimates are averaged, for their errors differ:

- The model's table, moved towards the measured one as far as the distance between them exceeds what noise explains.
- The counts that are likely given the measured ones (`likely_counts`), where columns are expected to be independent. For a single column
  all values are expected to be as frequent. If the model makes the measured counts of a column far more likely than that does (it may
  know from other tables what noise hides here), it is left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Protocol

import numpy as np

from discreet.arrays import Floats, Singles
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.likely_counts import LikelyCounts, fitted_weights, likely

LARGEST = 5792
"""Cells of all columns together up to which rows are settled: the wanted counts are that squared."""
RAKINGS, LEAST, TINY = 4, 1e-6, 1e-30
NOT_VALUES = 0.02
"""The part of the rows that is expected in a cell for nulls or for other values."""
HELD_COLUMN, HELD_PAIR = 2.0, 10.0
"""See `fitted_weights`."""
BELIEVED, DOUBT = 16.0, 2.0
"""How far the logarithm of a model's evidence must be above that of the likely counts for it to be believed alone, and how sharply
that decides. The model was fitted to the same counts, so it is above in most cases."""


class Tables(Protocol):
    """A model: shares of the cells of any columns."""

    def marginal(self, columns: Sequence[int]) -> Floats: ...

    def pair(self, one: int, other: int) -> Floats | Singles: ...


def wanted_pairs(
    model: Tables,
    measured: ConsistentTables,
    names: Sequence[str],
    values: Sequence[int],
    *,
    rows: float,
    drawn: float,
) -> Singles | None:
    """The counts that all pairs of cells should have among `drawn` rows, side by side.

    `values`: how many cells of each column hold values. Those after them are for nulls and for other values. `rows`: the rows that the
    model stands for.
    """
    sizes = list(measured.sizes(tuple(names)))
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if edges[-1] > LARGEST or len(sizes) < 2:
        return None
    wanted = np.zeros((int(edges[-1]),) * 2, dtype=np.float32)
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    singles = wanted_columns(model, measured, names, values, rows)
    for part, single in zip(parts, singles, strict=True):
        np.fill_diagonal(wanted[part, part], single)
    for one, other in combinations(range(len(names)), 2):
        own, pair = (singles[one], singles[other]), (names[one], names[other])
        shares: Floats | Singles = model.pair(one, other)
        if measured.determines(pair):
            noisy, variance = measured.table(pair), measured.cell_variance(pair)
            expected = rows * np.outer(*own)
            counts = likely(noisy.ravel(), expected.ravel(), variance, HELD_PAIR)
            shares = raked(shrunk(shares, noisy / rows, variance / rows**2), *own)
            shares = (shares + raked(counts.reshape(noisy.shape) / rows, *own)) / 2
        else:
            shares = raked(shares, *own)
        wanted[parts[one], parts[other]] = shares
        wanted[parts[other], parts[one]] = shares.T
    wanted *= np.float32(drawn)
    return wanted


def wanted_columns(
    model: Tables,
    measured: ConsistentTables,
    names: Sequence[str],
    values: Sequence[int],
    rows: float,
) -> list[Floats]:
    """The shares of the cells of each column."""
    found = [model.marginal([place]) for place in range(len(names))]
    tables = {
        place: (measured.table((name,)), measured.cell_variance((name,)))
        for place, name in enumerate(names)
        if measured.determines((name,))
    }
    others = {
        place: _as_expected(noisy[values[place] :], NOT_VALUES * rows, variance)
        for place, (noisy, variance) in tables.items()
    }
    # Most columns have hardly a null, or another value: all of them together say whether this one is such.
    rare = fitted_weights(list(others.values()), HELD_COLUMN)
    for place, (noisy, variance) in tables.items():
        many, shares, other = values[place], found[place], others[place]
        own = _as_expected(noisy[:many], rows / max(many, 1), variance)
        usual = fitted_weights([own], HELD_COLUMN)
        modelled = LikelyCounts.of(noisy, rows * shares, variance)
        above = modelled.evidence(fitted_weights([modelled], HELD_COLUMN))
        above -= own.evidence(usual) + other.evidence(rare) + BELIEVED
        trust = 0.5 / (1 + math.exp(min(above / DOUBT, 100.0)))
        shares = shrunk(shares, noisy / rows, variance / rows**2)
        counts = np.append(own.given(usual), other.given(rare))
        if counts.sum() > 0:
            shares = shares + trust * (counts / counts.sum() - shares)
        found[place] = shares
    return found


def _as_expected(noisy: Floats, expected: float, variance: float) -> LikelyCounts:
    return LikelyCounts.of(noisy, np.full(len(noisy), expected), variance)


def raked(table: Floats | Singles, first: Floats, second: Floats) -> Floats | Singles:
    """The table scaled along both axes until its sums are nearly the given ones."""
    kind = table.dtype
    found = np.asarray(table + (LEAST * first).astype(kind)[:, None] * second.astype(kind))
    # Now no line is empty.
    rows, columns = np.ones(len(first), dtype=kind), np.ones(len(second), dtype=kind)
    for _ in range(RAKINGS):
        rows = (first / np.maximum(found @ columns, TINY)).astype(kind)
        columns = (second / np.maximum(rows @ found, TINY)).astype(kind)
    found *= rows[:, None]
    found *= columns
    return found


def shrunk(model: Floats | Singles, noisy: Floats, variance: float) -> Floats:
    """Between a model's shares and measured ones: by how much more they differ than noise makes them."""
    differ = float(np.mean((noisy - model) ** 2))
    beyond = max(differ - variance, 0.0)
    trust = beyond / differ if differ > 0 else 0.0
    return nearest_counts(model + trust * (noisy - model), 1.0)
