"""Marginals put together from measured residuals: consistent, unbiased, with known variance.

Over columns A with d_i cells, the marginal is the sum over B within A of the residual of B, spread
evenly over the columns it lacks. A residual is measured as y = (product of d over B) x + Z with
independent draws Z; projecting y onto centred tables loses nothing of x, so the estimate of any
weighted sum of cells is linear in the draws, with coefficients in closed form: those of the draws
of B are the weights, summed over the columns outside B, centred, over the product of d over A.
Where noise was put on the cells instead, y = x' + Z with x' uncentred, (product of d over B) y is such a measurement:
centring takes out what is not x.
Every marginal comes from the same residuals, so smaller ones agree however they are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.families.shared.estimate.combination import inverse_variance_weights
from discreet.families.tables.queries.parities import Parity, signs
from discreet.families.tables.queries.residuals import BinnedTable, Residual, subsets
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema
from discreet.schema.completed import declared_cells


@dataclass(frozen=True, eq=False)
class Piece:
    """The estimated residual of one set: a centred table, and the noise of each number behind it."""

    compute: Callable[[], Floats]
    """Gives the table. It is called when the table is first asked for: plans ask for the noise alone."""
    noise: tuple[tuple[float, NoiseLaw], ...]
    """(weight, law) of the independent measurements that were combined."""
    scale: int
    """What the residual was multiplied by to be an integer."""

    signs: Floats | None = None
    """For a parity: one draw moves every cell by its sign. `None`: each number has draws of its own."""

    @cached_property
    def table(self) -> Floats:
        return self.compute()

    @property
    def draw_variance(self) -> float:
        return sum(weight * weight * law.variance for weight, law in self.noise)


class ResidualTables:
    """The residuals of a release, and every marginal that they determine."""

    def __init__(
        self,
        schema: Schema,
        measurements: Iterable[Measurement],
        *,
        rows: int | None = None,
    ) -> None:
        self.schema, self.rows = schema, rows
        found: dict[tuple[str, ...], list[Measurement]] = {}
        kinds = Residual | BinnedTable | Parity
        kept = [each for each in measurements if isinstance(each.query, kinds)]
        self.measured = tuple(kept)
        parities: dict[tuple[str, ...], list[Measurement]] = {}
        for each in kept:
            if isinstance(each.query, Parity):
                parities.setdefault(each.query.columns, []).append(each)
            elif isinstance(each.query, Residual | BinnedTable) and each.query.bins is None:
                found.setdefault(each.query.columns, []).append(each)
        self.pieces = {columns: self._parity(columns, own) for columns, own in parities.items()}
        self.pieces |= {columns: self._piece(columns, own) for columns, own in found.items()}
        if self.pieces and rows is not None:
            self.pieces[()] = Piece(lambda: np.array(float(rows)), (), 1)

    def _piece(self, columns: tuple[str, ...], measured: list[Measurement]) -> Piece:
        shape = self.sizes(columns)
        times = [_times(each, self.schema) for each in measured]
        variances = [
            many**2 * each.law.variance for many, each in zip(times, measured, strict=True)
        ]
        weights = [
            weight * many
            for weight, many in zip(inverse_variance_weights(variances), times, strict=True)
        ]

        def table() -> Floats:
            mixed = sum(
                weight * each.values.astype(np.float64)
                for weight, each in zip(weights, measured, strict=True)
            )
            return centred(np.asarray(mixed).reshape(shape)) / prod(shape)

        noise = tuple((w, each.law) for w, each in zip(weights, measured, strict=True) if w)
        return Piece(table, noise, prod(shape))

    def _parity(self, columns: tuple[str, ...], measured: list[Measurement]) -> Piece:
        """A parity f over binary columns is the residual of f * sign / 2^columns."""
        pattern = signs(len(columns)).astype(np.float64)
        weights = inverse_variance_weights([each.law.variance for each in measured])
        value = sum(w * float(each.values[0]) for w, each in zip(weights, measured, strict=True))
        noise = tuple((w, each.law) for w, each in zip(weights, measured, strict=True) if w)
        return Piece(lambda: pattern * value / pattern.size, noise, pattern.size, pattern)

    def sizes(self, columns: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self.schema.column(name).cells for name in columns)

    def declared_cells(self, columns: tuple[str, ...]) -> tuple[slice, ...]:
        """Where the declared cells of a table lie, in the order of its columns."""
        return declared_cells(self.schema, columns)

    def determines(self, columns: tuple[str, ...]) -> bool:
        """Whether each residual of the marginal over `columns` was measured, or is 0 in any case."""
        return bool(self.pieces) and all(
            each in self.pieces or 1 in self.sizes(each) for each in subsets(columns)
        )

    def parts_of(self, columns: tuple[str, ...]) -> Mapping[tuple[str, ...], Piece]:
        return {each: self.pieces[each] for each in subsets(columns) if each in self.pieces}

    def table(self, columns: tuple[str, ...]) -> Floats:
        """The estimated marginal: unbiased, so cells may be negative or fractional."""
        shape = self.sizes(columns)
        found = np.zeros(shape)
        for own, piece in self.parts_of(columns).items():
            spread = [d if name in own else 1 for name, d in zip(columns, shape, strict=True)]
            outside = prod(d for name, d in zip(columns, shape, strict=True) if name not in own)
            found += piece.table.reshape(spread) / outside
        return found

    def shown(self, columns: tuple[str, ...]) -> Floats:
        """The same in the declared cells alone."""
        return np.asarray(self.table(columns)[self.declared_cells(columns)])

    def shown_of(
        self, tables: Callable[[tuple[str, ...]], Floats]
    ) -> Callable[[tuple[str, ...]], Floats]:
        """Other tables over the same columns, in the declared cells alone."""
        return lambda columns: np.asarray(tables(columns)[self.declared_cells(columns)])

    def coefficients(
        self, columns: tuple[str, ...], weights: Floats
    ) -> list[tuple[NoiseLaw, Floats]]:
        """For each measurement, the coefficients of its draws in a weighted sum of cells.

        `weights` has the marginal's axes last; axes before them are different questions.
        """
        ahead = weights.ndim - len(columns)
        shape = self.sizes(columns)
        whole = prod(shape)
        found: list[tuple[NoiseLaw, Floats]] = []
        for own, piece in self.parts_of(columns).items():
            axes = tuple(ahead + place for place, name in enumerate(columns) if name not in own)
            inside = weights.sum(axis=axes) if axes else weights
            if piece.signs is None:
                inside = centred(inside, first=ahead) / whole
            else:
                over = tuple(range(ahead, inside.ndim))
                inside = np.asarray((inside * piece.signs).sum(axis=over) / whole)[..., None]
            for weight, law in piece.noise:
                found.append((law, weight * inside.reshape(*inside.shape[:ahead], -1)))
        return found

    def cell_variance(self, columns: tuple[str, ...]) -> float:
        """The variance of any one cell: by symmetry all are alike."""
        shape = dict(zip(columns, self.sizes(columns), strict=True))
        total = 0.0
        for own, piece in self.parts_of(columns).items():
            outside = prod(d for name, d in shape.items() if name not in own)
            kept = prod((shape[name] - 1) / shape[name] for name in own)
            if piece.signs is not None:
                kept = 1.0  # one draw in all cells, instead of one that others share
            total += kept / outside**2 * piece.draw_variance / piece.scale**2
        return total


def _times(measured: Measurement, schema: Schema) -> int:
    assert isinstance(measured.query, Residual | BinnedTable)
    return measured.query.times(schema)


def centred(table: Floats, *, first: int = 0) -> Floats:
    """Take off the mean along every axis from `first` on: the projection onto centred tables."""
    for axis in range(first, table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table
