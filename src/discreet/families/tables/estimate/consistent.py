"""Every measurement of a release that a table can be put together from, combined by inverse variance.

A table with noise of its own on each cell holds an estimate of the residual of every subset of its
columns: its own marginal, centred. So does a measured residual. For each subset the estimates are
combined by the inverse of their variances, and every table is put together from the same combined
residuals: smaller tables agree however they are computed, and no answer has more noise than the one
that the best single measurement would give. (Residuals of one table lie in orthogonal spaces, in
which its noise has equal variances: combining them one by one is least squares over all of it.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput
from discreet.families.shared.estimate.combination import inverse_variance_weights
from discreet.families.tables.estimate.drawn_cells import DrawnCells, Draws
from discreet.families.tables.estimate.residuals import ResidualTables, centred
from discreet.families.tables.queries.residuals import subsets
from discreet.privacy.laws import NoiseLaw

LEAST_STD = 0.01
LARGEST_KURTOSIS = 1e200
"""That of noise too rare for its variance to be a float is infinite, and infinity times no weight is no number."""
Columns = tuple[str, ...]
Coefficients = list[tuple[NoiseLaw, Floats, int]]
"""Law, coefficients of draws, and how many draws have each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class DirectTable:
    """A table over columns that give every row a cell, with a draw of `law` on each of its cells."""

    columns: Columns
    counts: Integers
    law: NoiseLaw
    key: Hashable = None
    """Tells it from other tables that were measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """What a model says of a residual that nobody measured."""

    table: Floats
    find_std: Callable[[], float]
    """How far it may be off in a cell. It is called when that is asked for: it takes longer than the table itself."""


@dataclass(frozen=True, slots=True, eq=False)
class _Combined:
    """The residual of one set, and the weight of each of its sources."""

    table: Floats
    own: float
    """The weight of the measured residual, or of the public number of rows."""
    direct: dict[int, float]
    noise: float
    """The variance of what was measured, as if each cell of the residual had noise of its own."""
    filled: Filled | None = None
    """Where a model says it."""

    @property
    def variance(self) -> float:
        return self.noise if self.filled is None else self.filled.find_std() ** 2


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """The draws of one measurement in a weighted sum of cells."""

    key: object
    law: NoiseLaw
    row: Floats
    """Their coefficients: those of a residual, or over `columns` those of each cell of a table."""
    columns: Columns
    place: int | None
    """The place of the table with noise on each cell; `None` for a residual."""


class ConsistentTables:
    """Measured residuals and directly measured tables, and every marginal that they determine."""

    def __init__(
        self,
        residuals: ResidualTables,
        direct: Sequence[DirectTable],
        filled: Mapping[Columns, Filled] = MappingProxyType({}),
    ) -> None:
        """`filled`: what a model says of residuals that nobody measured."""
        self._residuals, self._direct, self._filled = residuals, tuple(direct), filled
        self._kept: dict[Columns, _Combined | None] = {}
        self._rows = residuals.rows

    def sizes(self, columns: Columns) -> tuple[int, ...]:
        return self._residuals.sizes(columns)

    def declared_cells(self, columns: Columns) -> tuple[slice, ...]:
        return self._residuals.declared_cells(columns)

    def everywhere(self, columns: Columns, weights: Floats) -> Floats:
        """Weights on the declared cells of a table as weights on all of its cells: none on the others."""
        shape = self.sizes(columns)
        if shape == weights.shape:
            return weights
        found = np.zeros(shape)
        found[self.declared_cells(columns)] = weights
        return found

    def determines(self, columns: Columns) -> bool:
        """Whether each residual of the marginal over `columns` was measured, or is 0 in any case."""
        measured = bool(self._direct) or bool(self._residuals.pieces)
        return measured and all(
            1 in self.sizes(each) or self._is_known(each) for each in subsets(columns)
        )

    def can_fill(self, columns: Columns) -> bool:
        """Whether a model says what was not measured of the marginal over `columns`."""
        return all(
            1 in self.sizes(each) or self._is_known(each) or each in self._filled
            for each in subsets(columns)
        )

    def _is_known(self, own: Columns) -> bool:
        if own in self._residuals.pieces or (not own and self._rows is not None):
            return True
        return any(set(own) <= set(table.columns) for table in self._direct)

    def _piece(self, own: Columns) -> _Combined | None:
        if own not in self._kept:
            self._kept[own] = self._combined(own)
        return self._kept[own]

    def _combined(self, own: Columns) -> _Combined | None:
        shape = self.sizes(own)
        if 1 in shape:
            return None
        if not own and self._rows is not None:
            return _Combined(np.array(float(self._rows)), 1.0, {}, 0.0)
        estimates: list[Floats] = []
        variances: list[float] = []
        piece = self._residuals.pieces.get(own)
        if piece is not None:
            # A parity's one draw moves all cells; noise of its own on each would have to be this.
            scale = piece.scale**2 if piece.signs is None else piece.scale
            estimates.append(piece.table)
            variances.append(piece.draw_variance / scale)
        places = [
            place for place, table in enumerate(self._direct) if set(own) <= set(table.columns)
        ]
        for place in places:
            table = self._direct[place]
            estimates.append(centred(summed_to(table, own)))
            variances.append(table.law.variance * table.counts.size / max(1, prod(shape)))
        if not estimates:
            said = self._filled.get(own)
            return None if said is None else _Combined(said.table, 0.0, {}, 0.0, said)
        weights = inverse_variance_weights(variances)
        total = sum(w * each for w, each in zip(weights, estimates, strict=True))
        mine = weights[0] if piece is not None else 0.0
        others = weights[1:] if piece is not None else weights
        used = {place: w for place, w in zip(places, others, strict=True) if w}
        left = sum(w * w * variance for w, variance in zip(weights, variances, strict=True))
        return _Combined(np.asarray(total, dtype=np.float64), mine, used, left)

    def residual(self, own: Columns) -> tuple[Floats, float]:
        """The estimated residual of one set, and a standard deviation as if each of its cells had noise of its own.

        A public number of rows has none; it is given that of a hundredth of a row, for whoever weighs by it.
        """
        piece = self._piece(own)
        if piece is None:
            raise BadInput(f"No residual of {', '.join(own) or 'all rows'} was measured.")
        return piece.table, max(math.sqrt(piece.variance), LEAST_STD)

    def variances(self, columns: Columns) -> dict[frozenset[str], float]:
        """For each residual of the marginal its variance, as if each of its cells had noise of its own."""
        pieces = {own: self._piece(own) for own in subsets(columns)}
        return {frozenset(own): piece.variance for own, piece in pieces.items() if piece}

    def cell_variance(self, columns: Columns) -> float:
        """The variance of any one cell: by symmetry all are alike."""
        shape = dict(zip(columns, self.sizes(columns), strict=True))
        total = 0.0
        for own, variance in self.variances(columns).items():
            outside = prod(d for name, d in shape.items() if name not in own)
            kept = prod((shape[name] - 1) / shape[name] for name in own)
            total += kept / outside**2 * variance
        return total

    def tail(self) -> float:
        """The largest excess kurtosis of a single draw."""
        laws = [law for piece in self._residuals.pieces.values() for _, law in piece.noise]
        laws += [table.law for table in self._direct]
        return max((min(law.excess_kurtosis, LARGEST_KURTOSIS) for law in laws), default=0.0)

    def table(self, columns: Columns) -> Floats:
        """The estimated marginal: unbiased, so cells may be negative or fractional."""
        shape = self.sizes(columns)
        found = np.zeros(shape)
        for own in subsets(columns):
            piece = self._piece(own)
            if piece is None:
                continue
            outside = prod(shape) // max(1, prod(self.sizes(own)))
            found += _spread(piece.table, own, columns, shape) / outside
        return found

    def coefficients(self, columns: Columns, weights: Floats) -> Coefficients:
        """For each measurement, the coefficients of its draws in a weighted sum of cells."""
        found: Coefficients = []
        for each in self._drawn(columns, weights):
            many = 1
            if each.place is not None:
                size = self._direct[each.place].counts.size
                many = size // max(1, prod(self.sizes(each.columns)))
            found.append((each.law, each.row.reshape(-1), many))
        return found

    def draws(self, columns: Columns, weights: Floats) -> list[Draws]:
        """The same for every single draw, each measurement told from others by a key."""
        found: list[Draws] = []
        for each in self._drawn(columns, weights):
            key: Hashable = ("residual", each.key)
            row = each.row.reshape(-1)
            if each.place is not None:
                table = self._direct[each.place]
                cells = DrawnCells(table.key, table.columns, table.counts.shape)
                key, row = table.key, cells.spread(each.row, each.columns)
            found.append((key, each.law, row))
        return found

    def draws_behind(self, columns: Columns) -> int:
        """At most how many draws are in one weighted sum."""
        pieces = [own for own in subsets(columns) if own in self._residuals.pieces]
        tables = sum(table.counts.size for table in self._direct)
        return tables + sum(prod(self.sizes(own)) for own in pieces)

    def covariance(
        self, columns: Columns, weights: Floats, others: Columns, other_weights: Floats
    ) -> float:
        """The covariance of the noise in two weighted sums of cells: both use the draws of the measurements that they share."""
        theirs = {each.key: each for each in self._drawn(others, other_weights)}
        total = 0.0
        for mine in self._drawn(columns, weights):
            other = theirs.get(mine.key)
            if other is None:
                continue
            if mine.place is None:
                shared = float((mine.row * other.row).sum())
            else:
                table = self._direct[mine.place].columns
                rows = [_beside(each.row, each.columns, table) for each in (mine, other)]
                product = rows[0] * rows[1]
                times = self._direct[mine.place].counts.size // product.size
                shared = float(product.sum()) * times
            total += mine.law.variance * shared
        return total

    def _drawn(self, columns: Columns, weights: Floats) -> list[_Drawn]:
        """The coefficients of the draws of each measurement that a weighted sum of cells has draws of."""
        shape = self.sizes(columns)
        whole = prod(shape)
        inside: dict[Columns, Floats] = {}
        found: list[_Drawn] = []
        for own in subsets(columns):
            combined = self._piece(own)
            if combined is None:
                continue
            axes = tuple(place for place, name in enumerate(columns) if name not in own)
            summed = np.asarray(weights.sum(axis=axes) if axes else weights, dtype=np.float64)
            inside[own] = centred(summed) * prod(self.sizes(own)) / whole
            piece = self._residuals.pieces.get(own)
            if piece is None or not combined.own:
                continue
            if piece.signs is None:
                row = inside[own] / piece.scale
            else:
                row = np.asarray((inside[own] * piece.signs).sum() / piece.scale)
            for place, (weight, law) in enumerate(piece.noise):
                found.append(_Drawn((own, place), law, combined.own * weight * row, own, None))
        for place, table in enumerate(self._direct):
            common = tuple(name for name in columns if name in table.columns)
            row = self._of_direct(place, common, inside)
            if np.any(row):
                found.append(_Drawn(place, table.law, row, common, place))
        return found

    def _of_direct(self, place: int, common: Columns, inside: dict[Columns, Floats]) -> Floats:
        shape = self.sizes(common)
        row = np.zeros(shape)
        for own in subsets(common):
            combined = self._piece(own)
            weight = 0.0 if combined is None else combined.direct.get(place, 0.0)
            if weight and own in inside:
                row += weight * _spread(inside[own], own, common, shape)
        return row


def summed_to(table: DirectTable, own: Columns) -> Floats:
    """The counts of a table over some of its columns."""
    axes = tuple(place for place, name in enumerate(table.columns) if name not in own)
    kept = [name for name in table.columns if name in own]
    reduced = table.counts.sum(axis=axes, dtype=np.int64).astype(np.float64)
    return np.transpose(reduced, [kept.index(name) for name in own])


def _beside(row: Floats, own: Columns, columns: Columns) -> Floats:
    """`row` over `own` with the axes of `columns`: of length 1 where it does not depend on a column."""
    axes = dict(zip(own, row.shape, strict=True))
    ordered = [name for name in columns if name in axes]
    moved = np.transpose(row, [own.index(name) for name in ordered])
    return moved.reshape([axes.get(name, 1) for name in columns])


def _spread(values: Floats, own: Columns, columns: Columns, shape: tuple[int, ...]) -> Floats:
    """`values` over `own`, to be added to a table over `columns`, both in one order."""
    sides = [d if name in own else 1 for name, d in zip(columns, shape, strict=True)]
    return np.broadcast_to(values.reshape(sides), shape)
