"""A log-linear model on the whole domain, where that is small: the most even table for its pairs.

log P(x) is a sum of one term for each measured residual, so the model adds no dependence that was
not measured (maximum entropy); a mixture of products may. The domain is split into two halves of
columns; with one row a cell of each half, a table over the whole domain is a matrix, and all tables
of two columns come from three small matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.families.tables.estimate.mixture import Target
from discreet.families.tables.estimate.residuals import centred

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


LARGEST_DOMAIN = 1 << 18
SCALINGS, LEAST_SCALINGS, SCALED = 10, 3, 1 << 27
"""How often a table is scaled to each of several others, at most and at least: one is met at once. And how many cells are scaled in all."""
LEAST_PENALTY = 0.1
"""The penalty on a number's term, as a part of its noise. Terms of empty cells reach about -5, so this moves a number by half
its noise at most; with the square of a small noise alone, residuals that noise has made and no table
has would ask for terms in the thousands, and descent would not get there."""


class LogLinear:
    """P(x) proportional to exp of pairwise terms, over all cells of a small domain."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.edges = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        half = _half(self.sizes)
        self._middle = int(self.edges[half])
        """The values of the left half's columns come first, side by side; then those of the right half."""
        self._left, self._right = self._cells(0, half), self._cells(half, len(self.sizes))
        self.table = np.full((prod(self.sizes[:half]), prod(self.sizes[half:])), 1.0)
        self.table /= self.table.size

    def _cells(self, first: int, last: int) -> Floats | None:
        """One row a cell of some columns, with a 1 for the value of each column.

        None for a single column: its cells are its values, so the matrix would be the identity, and products with
        it would take as long as all the rest.
        """
        sizes = self.sizes[first:last]
        if len(sizes) == 1:
            return None
        grid = np.indices(sizes).reshape(len(sizes), -1)
        found = np.zeros((grid.shape[1], int(self.edges[last] - self.edges[first])))
        for column, values in enumerate(grid, start=first):
            found[np.arange(len(values)), self.edges[column] - self.edges[first] + values] = 1.0
        return found

    def _pairs(self, table: Floats) -> Floats:
        """All tables of two columns, side by side."""
        left, right, middle = self._left, self._right, self._middle
        both = table if left is None else left.T @ table
        both = both if right is None else both @ right
        found = np.empty((int(self.edges[-1]),) * 2)
        found[:middle, middle:], found[middle:, :middle] = both, both.T
        found[:middle, :middle] = _inside(left, table.sum(axis=1))
        found[middle:, middle:] = _inside(right, table.sum(axis=0))
        return found

    def _exponential(self, terms: Floats) -> tuple[Floats, float]:
        """The table with these terms, and the log of what it was divided by."""
        left, right, middle = self._left, self._right, self._middle
        log = terms[:middle, middle:] + terms[middle:, :middle].T
        log = log if left is None else left @ log
        log = log if right is None else log @ right.T
        log += _own_terms(left, terms[:middle, :middle])[:, None]
        log += _own_terms(right, terms[middle:, middle:])[None, :]
        largest = float(log.max())
        log -= largest
        np.exp(log, out=log)
        total = float(log.sum())
        log /= total
        return np.asarray(log), largest + math.log(total)

    def fit(self, targets: Sequence[Target], *, steps: int) -> None:
        """The table of least relative entropy to the even one plus squared errors in units of noise.

        Through its convex dual, log Z(theta) - theta.y + sum of penalty * theta^2 / 2, whose gradient is
        the model's residuals less the measured ones, plus penalty * theta (Dudik, Phillips, Schapire
        2007). The penalty is sigma^2, or a tenth of a small sigma.
        """
        from scipy.optimize import minimize  # slow to import, and few need it

        shapes = [target.table.shape for target in targets]
        cuts = np.cumsum([0, *(prod(shape) for shape in shapes)])
        wanted = np.concatenate([target.table.ravel() for target in targets]).astype(np.float64)
        penalty = np.concatenate(
            [
                np.full(target.table.size, max(target.std**2, LEAST_PENALTY * target.std))
                for target in targets
            ]
        )

        def split(flat: Floats) -> list[Floats]:
            return [
                centred(flat[start:stop].reshape(shape))
                for start, stop, shape in zip(cuts, cuts[1:], shapes, strict=False)
            ]

        def dual(flat: Floats) -> tuple[float, Floats]:
            own = split(flat)
            self.table, log_total = self._exponential(self._joined(targets, own))
            pairs = self._pairs(self.table)
            model = np.concatenate([self._residual(pairs, target).ravel() for target in targets])
            kept = np.concatenate([each.ravel() for each in own])
            value = log_total - float(kept @ wanted) + float(penalty @ (kept * kept)) / 2
            return value, model - wanted + penalty * kept

        best = minimize(
            dual, np.zeros(int(cuts[-1])), jac=True, method="L-BFGS-B", options={"maxiter": steps}
        )
        self.table, _ = self._exponential(self._joined(targets, split(best.x)))

    def _joined(self, targets: Sequence[Target], own: Sequence[Floats]) -> Floats:
        """All terms side by side, as they act on pairs of cells."""
        terms = np.zeros((int(self.edges[-1]),) * 2)
        for target, pull in zip(targets, own, strict=True):
            for axis, matrix in enumerate(target.bins):
                if matrix is not None:
                    pull = matrix.T @ pull if axis == 0 else pull @ matrix
            first, last = self._slices(target)
            terms[first, last] += np.diag(pull) if len(target.columns) == 1 else pull
        return terms

    def _residual(self, pairs: Floats, target: Target) -> Floats:
        first, last = self._slices(target)
        table = pairs[first, last]
        if len(target.columns) == 1:
            table = np.diagonal(table)
        for axis, matrix in enumerate(target.bins):
            if matrix is not None:
                table = matrix @ table if axis == 0 else table @ matrix.T
        return centred(np.asarray(table, dtype=np.float64))

    def _slices(self, target: Target) -> tuple[slice, slice]:
        found = [slice(*self.edges[column : column + 2]) for column in target.columns]
        return found[0], found[-1]

    def scaled_to(self, tables: Mapping[tuple[int, ...], Floats]) -> LogLinear:
        """The table nearest to this one with the given shares over some columns, in their order (iterative proportional fitting)."""
        if not tables:
            return self
        found = copy(self)
        whole = self.table.reshape(self.sizes).copy()
        work = max(1, whole.size * len(tables))
        for _ in range(min(SCALINGS, max(LEAST_SCALINGS, SCALED // work))):
            for columns, wanted in tables.items():
                rest = tuple(c for c in range(len(self.sizes)) if c not in columns)
                held = whole.sum(axis=rest, keepdims=True)
                goal = wanted.reshape(held.shape)
                whole *= np.divide(goal, held, out=np.zeros(held.shape), where=held > 0)
        found.table = (whole / whole.sum()).reshape(self.table.shape)
        return found

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The model's shares over some columns, in the order given."""
        whole = self.table.reshape(self.sizes)
        found = whole.sum(axis=tuple(c for c in range(len(self.sizes)) if c not in columns))
        kept = sorted(columns)
        return np.asarray(np.transpose(found, [kept.index(column) for column in columns]))

    def pair(self, one: int, other: int) -> Floats:
        """The same for two columns."""
        return self.marginal((one, other))

    def sample(self, rows: int, generator: Generator) -> Integers:
        """Rows of cell codes: each cell gets its share of the rows, up to one."""
        if rows == 0:
            return np.zeros((0, len(self.sizes)), dtype=np.int64)
        shares = self.table.ravel()
        order = generator.permutation(len(shares))
        edges = np.cumsum(shares[order])
        edges /= edges[-1]
        places = (np.arange(rows) + generator.random()) / rows
        cells = order[np.minimum(np.searchsorted(edges, places, side="right"), len(order) - 1)]
        drawn = np.stack(np.unravel_index(cells, self.sizes), axis=1).astype(np.int64)
        return drawn[generator.permutation(rows)]


def _inside(cells: Floats | None, shares: Floats) -> Floats:
    """All tables of two columns of one half, from the shares of its cells."""
    return np.diag(shares) if cells is None else (cells * shares[:, None]).T @ cells


def _own_terms(cells: Floats | None, terms: Floats) -> Floats:
    """What the terms of one half's columns give each of its cells."""
    if cells is None:
        return np.diagonal(terms)
    return np.asarray(np.einsum("ij,jk,ik->i", cells, terms, cells, optimize=True))


def fits_whole_domain(sizes: Sequence[int]) -> bool:
    return len(sizes) > 1 and prod(sizes) <= LARGEST_DOMAIN


def _half(sizes: Sequence[int]) -> int:
    """Where to cut the columns so that both sides have about as many cells."""
    return min(range(1, len(sizes)), key=lambda cut: max(prod(sizes[:cut]), prod(sizes[cut:])))
