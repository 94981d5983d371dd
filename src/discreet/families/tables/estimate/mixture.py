"""A mixture of products: P(x) = 1/K sum over k of prod over columns of theta_k(x_column).

Every marginal is a product of small matrices, so a model of hundreds of columns is fitted to noisy
residuals in seconds and rows are drawn from it directly. The fit starts from independent columns
and follows Adam on the logits until the residuals are explained up to their noise (the discrepancy
principle): what noise alone could have made is not fitted, which is all the regularisation there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers, Singles

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


COMPONENTS = 300
SCATTER = 0.3
"""How far apart the components start, in logits."""
LARGEST_GRAM = 4096
"""Cells of all columns together up to which all pairs are computed in one product."""
LARGEST_AT_ONCE = 1024
"""Cells of all columns together up to which all targets that keep their cells are compared in one step."""
RATE, LAST_RATE = 0.2, 0.02
CHECK_EVERY = 10


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A measured residual of one or two columns: a centred table of shares, and its noise.

    `bins` are matrices that add cells up to bins, or `None` where a column keeps its cells.
    """

    columns: tuple[int, ...]
    bins: tuple[Singles | None, ...]
    table: Singles
    std: float
    """Standard deviation of one number, as a share of all rows."""

    @property
    def freedom(self) -> int:
        return prod(size - 1 for size in self.table.shape)


@dataclass(frozen=True, slots=True, eq=False)
class PairsAtOnce:
    """Targets of two columns that keep their cells, side by side in one table of all pairs of cells.

    Several targets of one pair are their mean, weighted by precision; what they differ by among themselves
    is `differing`, which no model mends. A component's shares of a column add to 1, so a pair's table is
    centred if each component's shares are, by taking off their mean: `even`.
    """

    table: Singles
    weight: Singles
    """1 / variance of each cell; 0 where nothing was measured."""
    even: Singles
    differing: float

    @classmethod
    def of(cls, targets: Sequence[Target], sizes: Sequence[int], edges: Integers) -> PairsAtOnce:
        cells = int(edges[-1])
        table, weight = (np.zeros((cells, cells), dtype=np.float32) for _ in range(2))
        differing = 0.0
        for target in targets:
            one, other = (slice(int(edges[c]), int(edges[c + 1])) for c in target.columns)
            added, held = 1 / target.std**2, float(weight[one.start, other.start])
            apart = target.table - table[one, other]
            differing += held * added / (held + added) * float(np.vdot(apart, apart))
            table[one, other] += np.float32(added / (held + added)) * apart
            weight[one, other] = held + added
            table[other, one], weight[other, one] = table[one, other].T, held + added
        even = np.repeat(1 / np.array(sizes), sizes).astype(np.float32)
        return cls(table, weight, even, differing)

    def pull(self, theta: Singles) -> tuple[Singles, float]:
        """Weighted errors of a model's tables, and their squares summed."""
        centred = theta - self.even
        missing = centred.T @ centred
        missing /= np.float32(len(theta))
        missing -= self.table
        pull = missing * self.weight
        return pull, float(np.vdot(pull, missing)) / 2 + self.differing


class Mixture:
    """The model: one row of probabilities for each component and column."""

    def __init__(self, sizes: Sequence[int], logits: Singles) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.edges = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self._owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._logits = logits
        self.theta = self._probabilities()
        self._gram: Singles | None = None

    @classmethod
    def independent(cls, shares: Sequence[Floats], generator: Generator) -> Mixture:
        """Components scattered around independent columns with these shares."""
        sizes = [len(share) for share in shares]
        logits = (SCATTER * generator.standard_normal((COMPONENTS, sum(sizes)))).astype(np.float32)
        logits += np.log(np.maximum(np.concatenate(shares), 1e-6)).astype(np.float32)
        return cls(sizes, logits)

    @classmethod
    def of(cls, sizes: Sequence[int], theta: Singles) -> Mixture:
        """A model from its published probabilities."""
        return cls(sizes, np.log(np.maximum(theta, 1e-30)).astype(np.float32))

    def _slice(self, column: int) -> slice:
        return slice(int(self.edges[column]), int(self.edges[column + 1]))

    def _spread(self, numbers: Singles) -> Singles:
        return np.take(numbers, self._owner, axis=1)

    def _probabilities(self) -> Singles:
        starts = self.edges[:-1]
        shifted = self._logits - self._spread(np.maximum.reduceat(self._logits, starts, axis=1))
        np.exp(shifted, out=shifted)
        shifted /= self._spread(np.add.reduceat(shifted, starts, axis=1))
        return shifted

    def shares_of(self, column: int) -> Singles:
        """The shares of a column's cells, one row a component."""
        return self.theta[:, self._slice(column)]

    def set_shares(self, theta: Singles) -> None:
        """Shares of all columns' cells, side by side."""
        self._logits = np.log(np.maximum(theta, 1e-30)).astype(np.float32)
        self.theta = self._probabilities()
        self._gram = None

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The model's shares over some columns, in the order given."""
        found = np.ones((len(self.theta), 1))
        for column in columns:
            own = self.theta[:, self._slice(column)].astype(np.float64)
            if column == columns[-1]:
                found = found.T @ own / len(self.theta)
            else:
                found = (found[:, :, None] * own[:, None, :]).reshape(len(own), -1)
        if not columns:
            return np.ones(())
        return found.reshape([self.sizes[column] for column in columns])

    def fit(self, targets: Sequence[Target], *, rows: float, steps: int, fitted: float) -> None:
        """Descend until the targets' squared errors are `fitted` times what noise explains."""
        order = [target for target in targets if target.table.size]
        first = np.zeros_like(self._logits)
        second = np.zeros_like(self._logits)
        starts, goal = self.edges[:-1], 0.0
        apart, at_once = self._at_once(order)
        for step in range(steps):
            self.theta = self._probabilities()
            self._gram = None
            gradient, loss = self._gradient(apart, at_once)
            if step % CHECK_EVERY == 0:
                goal = fitted * self._unexplained(order, rows)
            if loss < goal:
                break
            down = self.theta * gradient
            down -= self.theta * self._spread(np.add.reduceat(down, starts, axis=1))
            first += 0.1 * (down - first)
            second += 0.01 * (down * down - second)
            rate = RATE * (LAST_RATE / RATE) ** (step / max(1, steps - 1))
            move = (first / (1 - 0.9 ** (step + 1))) / (
                np.sqrt(second / (1 - 0.99 ** (step + 1))) + 1e-12
            )
            self._logits -= rate * move
        self.theta = self._probabilities()
        self._gram = None

    def _pair(self, one: int, other: int) -> Singles:
        if self.edges[-1] > LARGEST_GRAM:
            left, right = self.theta[:, self._slice(one)], self.theta[:, self._slice(other)]
            return np.asarray(left.T @ right / len(self.theta))
        if self._gram is None:
            self._gram = np.asarray(self.theta.T @ self.theta, dtype=np.float32)
            self._gram /= np.float32(len(self.theta))
        return self._gram[self._slice(one), self._slice(other)]

    def _table(self, target: Target) -> Singles:
        if len(target.columns) == 1:
            table = self.theta[:, self._slice(target.columns[0])].mean(axis=0)
        else:
            table = self._pair(*target.columns)
        for axis, matrix in enumerate(target.bins):
            if matrix is not None:
                table = matrix @ table if axis == 0 else table @ matrix.T
        return np.asarray(table)

    def _at_once(self, targets: Sequence[Target]) -> tuple[list[Target], PairsAtOnce | None]:
        """Targets to be compared one by one, and the others."""
        alike = [
            each for each in targets if len(each.bins) == 2 and all(b is None for b in each.bins)
        ]
        if not alike or self.edges[-1] > LARGEST_AT_ONCE:
            return list(targets), None
        alone = {id(each) for each in alike}
        apart = [each for each in targets if id(each) not in alone]
        return apart, PairsAtOnce.of(alike, self.sizes, self.edges)

    def _gradient(
        self, targets: Sequence[Target], at_once: PairsAtOnce | None
    ) -> tuple[Singles, float]:
        """The gradient of the summed squared errors, in units of their noise, for each component's shares."""
        loss = 0.0
        single = np.zeros(int(self.edges[-1]), dtype=np.float32)
        total = np.zeros_like(self.theta)
        small = self.edges[-1] <= LARGEST_GRAM
        if at_once is not None:
            paired, loss = at_once.pull(self.theta)
        else:
            paired = np.zeros((len(single), len(single)) if small else (0, 0), dtype=np.float32)
        for target in targets:
            missing = _centred(self._table(target)) - target.table
            weight = 1 / target.std**2
            flat = missing.ravel()
            loss += weight * float(flat @ flat)
            pull = missing * np.float32(weight)  # centred already: both tables are
            for axis, matrix in enumerate(target.bins):
                if matrix is not None:
                    pull = matrix.T @ pull if axis == 0 else pull @ matrix
            if len(target.columns) == 1:
                single[self._slice(target.columns[0])] += pull
                continue
            one, other = map(self._slice, target.columns)
            if small:
                paired[one, other] += pull
                paired[other, one] += pull.T
            else:
                total[:, one] += self.theta[:, other] @ pull.T
                total[:, other] += self.theta[:, one] @ pull
        if small:
            total += self.theta @ paired
        return total + single, loss

    def _unexplained(self, targets: Sequence[Target], rows: float) -> float:
        """Squared error to expect of noise alone: freedoms, less the cells that stand out and are fitted."""
        freedom = sum(target.freedom for target in targets)
        prominent: dict[tuple[int, ...], int] = {}
        for target in targets:
            if len(target.columns) == 2:
                above = min(int((self._table(target) > target.std).sum()), target.freedom)
                prominent[target.columns] = max(prominent.get(target.columns, 0), above)
        return float(max(freedom - sum(prominent.values()), 0))

    def sample(self, rows: int, generator: Generator) -> Integers:
        """Rows of cell codes, stratified: components in equal parts, and cells in their exact shares
        within each, up to one row; so sampling adds far less error than independent draws would."""
        parts = len(self.theta)
        component = np.arange(rows, dtype=np.int64) * parts // max(rows, 1)
        many = np.bincount(component, minlength=parts)
        start = np.cumsum(many) - many
        drawn = np.empty((rows, len(self.sizes)), dtype=np.int64)
        for column, size in enumerate(self.sizes):
            edges = np.cumsum(self.theta[:, self._slice(column)].astype(np.float64), axis=1)
            edges /= edges[:, -1:]
            edges[:, -1] = 1.0 + 1e-9
            order = np.argsort(component + generator.random(rows))
            rank = np.empty(rows)
            rank[order] = np.arange(rows) - start[component[order]]
            place = (rank + generator.random(parts)[component]) / np.maximum(many, 1)[component]
            flat = (edges + 2.0 * np.arange(parts)[:, None]).ravel()
            found = np.searchsorted(flat, place + 2 * component, side="right") - component * size
            drawn[:, column] = np.minimum(found, size - 1)
        return drawn[generator.permutation(rows)]


def _centred(table: Singles) -> Singles:
    """As `residuals.centred`, for tables of one or two axes and in haste."""
    first = np.add.reduce(table, axis=0, keepdims=True)
    if table.ndim == 1:
        return np.asarray(table - first * np.float32(1 / len(table)))
    rows, columns = table.shape
    second = np.add.reduce(table, axis=1, keepdims=True)
    second -= np.float32(1 / rows) * np.add.reduce(second, axis=0, keepdims=True)
    return np.asarray(table - first * np.float32(1 / rows) - second * np.float32(1 / columns))


def bin_matrix(bins: Sequence[int] | None) -> Singles | None:
    """Adds the cells of a column up to bins."""
    if bins is None:
        return None
    matrix = np.zeros((max(bins) + 1, len(bins)), dtype=np.float32)
    matrix[np.asarray(bins), np.arange(len(bins))] = 1
    return matrix


def even_bins(shares: Floats, most: int) -> tuple[int, ...] | None:
    """Neighbouring cells in at most `most` bins of about equal share; `None` where there are no more cells."""
    if len(shares) <= most:
        return None
    mass = np.maximum(shares, 0) + 1e-12
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    raw = np.minimum((middle * most).astype(np.int64), most - 1)
    return tuple(int(each) for each in np.unique(raw, return_inverse=True)[1])


def smooth_shares(counts: Floats, std: float, rows: float) -> Floats:
    """The shares closest to even ones (in relative entropy) that explain noisy counts up to noise.

    Exponentiated gradient from the even shares, stopped by the discrepancy principle: counts that
    noise alone could have made leave the even shares as they are, and loud ones are fitted.
    """
    cells = len(counts)
    log_shares = np.zeros(cells)
    shares = np.full(cells, 1 / cells)
    goal = max(cells - 1, 1) * std**2
    rate = 1.0 / max(rows, 1.0)
    error = rows * shares - counts
    for _ in range(2000):
        if float(error @ error) <= goal:
            break
        moved = log_shares - rate * error
        moved -= moved.max()
        trial = np.exp(moved)
        trial /= trial.sum()
        missed = rows * trial - counts
        if float(missed @ missed) < float(error @ error):
            if float(error @ error) - float(missed @ missed) < 1e-9 * float(error @ error):
                break
            log_shares, shares, error, rate = moved, trial, missed, rate * 1.2
        else:
            rate /= 2
    return shares


def model_counts(model: Mixture, columns: Sequence[int], rows: float) -> Integers:
    """The model's table over some columns, in whole rows."""
    return np.rint(rows * model.marginal(columns)).astype(np.int64)
