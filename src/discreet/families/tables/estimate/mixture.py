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
LARGEST_AT_ONCE = 1024
"""Cells, or bins, of all columns together up to which targets are compared in one step."""
PAIRS_FOR_ONE = 3600
"""Comparing one target by itself takes about as long as so many pairs of cells of all columns, in one step."""
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
class Block:
    """The cells of a column, or bins of these, among those of other columns."""

    cells: slice
    matrix: Singles | None
    """Adds cells up to bins; `None` where the cells are kept."""
    place: slice


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """All the ways in which some targets count columns, side by side."""

    blocks: dict[tuple[int, bytes | None], Block]
    width: int

    @classmethod
    def of(cls, targets: Sequence[Target], model: Mixture) -> Blocks:
        found: dict[tuple[int, bytes | None], Block] = {}
        start = 0
        for target in targets:
            for key, matrix in zip(_keys(target), target.bins, strict=True):
                if key not in found:
                    end = start + (model.sizes[key[0]] if matrix is None else len(matrix))
                    found[key] = Block(model.cells_of(key[0]), matrix, slice(start, end))
                    start = end
        return cls(found, start)

    def even(self) -> Singles:
        """The share of each cell or bin if all of a column were alike."""
        sizes = [block.place.stop - block.place.start for block in self.blocks.values()]
        return np.repeat(1 / np.array(sizes), sizes).astype(np.float32)

    def fill(self, shares: Singles, theta: Singles) -> None:
        """Each component's shares of all cells and bins."""
        for each in self.blocks.values():
            own = theta[:, each.cells]
            shares[:, each.place] = own if each.matrix is None else own @ each.matrix.T

    def give_back(self, pull: Singles, total: Singles) -> None:
        """Add to `total`, for the cells of columns, what pulls at cells and bins."""
        for each in self.blocks.values():
            own = pull[:, each.place]
            total[:, each.cells] += own if each.matrix is None else own @ each.matrix


def _keys(target: Target) -> list[tuple[int, bytes | None]]:
    return [
        (column, None if matrix is None else matrix.tobytes())
        for column, matrix in zip(target.columns, target.bins, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class PairsAtOnce:
    """Targets of two columns, side by side in one table of all pairs of their blocks.

    Several targets of one pair are their mean, weighted by precision; what they differ by among themselves
    is `differing`, which no model mends. A component's shares of a column add to 1, so a pair's table is
    centred if each component's shares are, by taking off their mean: `even`.
    """

    blocks: Blocks
    table: Singles
    weight: Singles
    """1 / variance of each cell; 0 where nothing was measured."""
    even: Singles
    differing: float
    room: tuple[Singles, ...]
    """Memory for what each step computes: to ask for it anew takes as long as to compute."""

    @classmethod
    def of(cls, targets: Sequence[Target], blocks: Blocks, components: int) -> PairsAtOnce:
        square = blocks.width, blocks.width
        table, weight = (np.zeros(square, dtype=np.float32) for _ in range(2))
        differing = 0.0
        for target in targets:
            one, other = (blocks.blocks[key].place for key in _keys(target))
            added, held = 1 / target.std**2, float(weight[one.start, other.start])
            apart = target.table - table[one, other]
            differing += held * added / (held + added) * float(np.vdot(apart, apart))
            table[one, other] += np.float32(added / (held + added)) * apart
            weight[one, other] = held + added
            table[other, one], weight[other, one] = table[one, other].T, held + added
        shapes = [(components, blocks.width)] * 2 + [square] * 2
        room = tuple(np.empty(shape, dtype=np.float32) for shape in shapes)
        return cls(blocks, table, weight, blocks.even(), differing, room)

    def pull(self, theta: Singles, total: Singles) -> float:
        """The weighted squared errors of a model's tables; their gradient for each component's shares is added to `total`."""
        shares, moved, missing, pull = self.room
        self.blocks.fill(shares, theta)
        np.subtract(shares, self.even, out=moved)
        np.matmul(moved.T, moved, out=missing)
        missing *= np.float32(1 / len(theta))
        missing -= self.table
        np.multiply(missing, self.weight, out=pull)
        np.matmul(shares, pull, out=moved)
        self.blocks.give_back(moved, total)
        return float(np.vdot(pull, missing)) / 2 + self.differing


@dataclass(frozen=True, slots=True, eq=False)
class PairsApart:
    """Targets of two columns, compared one by one. The shares of a column that several need are found once."""

    blocks: Blocks
    targets: tuple[tuple[slice, slice, Target], ...]
    even: Singles
    """See `PairsAtOnce`."""
    room: tuple[Singles, Singles]

    @classmethod
    def of(cls, targets: Sequence[Target], blocks: Blocks, components: int) -> PairsApart:
        placed = []
        for target in targets:
            one, other = (blocks.blocks[key].place for key in _keys(target))
            placed.append((one, other, target))
        shares, moved = (np.empty((components, blocks.width), dtype=np.float32) for _ in range(2))
        return cls(blocks, tuple(placed), blocks.even(), (shares, moved))

    def pull(self, theta: Singles, total: Singles) -> float:
        """As `PairsAtOnce.pull`."""
        shares, moved = self.room
        self.blocks.fill(shares, theta)
        shares -= self.even
        moved[:] = 0
        loss = 0.0
        for one, other, target in self.targets:
            first, second = shares[:, one], shares[:, other]
            missing = first.T @ second
            missing *= np.float32(1 / len(theta))
            missing -= target.table
            weight = 1 / target.std**2
            loss += weight * float(np.vdot(missing, missing))
            missing *= np.float32(weight)
            moved[:, one] += second @ missing.T
            moved[:, other] += first @ missing
        self.blocks.give_back(moved, total)
        return loss


class Mixture:
    """The model: one row of probabilities for each component and column."""

    def __init__(self, sizes: Sequence[int], logits: Singles) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.edges = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self._owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._logits = logits
        self.theta, self._room = np.empty_like(logits), np.empty_like(logits)
        self._moved()

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

    def cells_of(self, column: int) -> slice:
        """Where a column's cells are among those of all columns."""
        return slice(int(self.edges[column]), int(self.edges[column + 1]))

    def _spread(self, numbers: Singles) -> Singles:
        """For each cell the number of its column, until the next call."""
        return np.take(numbers, self._owner, axis=1, out=self._room, mode="clip")

    def _moved(self) -> None:
        """The probabilities of the present logits."""
        starts, theta = self.edges[:-1], self.theta
        np.subtract(
            self._logits,
            self._spread(np.maximum.reduceat(self._logits, starts, axis=1)),
            out=theta,
        )
        np.exp(theta, out=theta)
        theta /= self._spread(np.add.reduceat(theta, starts, axis=1))
        self._alone = theta.mean(axis=0)

    def shares_of(self, column: int) -> Singles:
        """The shares of a column's cells, one row a component."""
        return self.theta[:, self.cells_of(column)]

    def set_shares(self, theta: Singles) -> None:
        """Shares of all columns' cells, side by side."""
        self._logits = np.log(np.maximum(theta, 1e-30)).astype(np.float32)
        self._moved()

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The model's shares over some columns, in the order given."""
        found = np.ones((len(self.theta), 1))
        for column in columns:
            own = self.theta[:, self.cells_of(column)].astype(np.float64)
            if column == columns[-1]:
                found = found.T @ own / len(self.theta)
            else:
                found = (found[:, :, None] * own[:, None, :]).reshape(len(own), -1)
        if not columns:
            return np.ones(())
        return found.reshape([self.sizes[column] for column in columns])

    def pair(self, one: int, other: int) -> Singles:
        """The same for two columns, in single precision."""
        table = self.shares_of(one).T @ self.shares_of(other)
        table *= np.float32(1 / len(self.theta))
        return np.asarray(table)

    def fit(self, targets: Sequence[Target], *, rows: float, steps: int, fitted: float) -> None:
        """Descend until the targets' squared errors are `fitted` times what noise explains."""
        order = [target for target in targets if target.table.size]
        first, second, room, gradient = (np.zeros_like(self._logits) for _ in range(4))
        starts, goal = self.edges[:-1], 0.0
        alone = [target for target in order if len(target.columns) == 1]
        pairs = self._compared(order)
        for step in range(steps):
            self._moved()
            loss = self._gradient(alone, pairs, gradient)
            if step % CHECK_EVERY == 0:
                goal = fitted * self._unexplained(order, rows)
            if loss < goal:
                break
            down = np.multiply(self.theta, gradient, out=gradient)
            spread = self._spread(np.add.reduceat(down, starts, axis=1))
            spread *= self.theta
            down -= spread
            np.subtract(down, first, out=room)
            room *= 0.1
            first += room
            np.multiply(down, down, out=room)
            room -= second
            room *= 0.01
            second += room
            rate = RATE * (LAST_RATE / RATE) ** (step / max(1, steps - 1))
            np.divide(second, 1 - 0.99 ** (step + 1), out=room)
            np.sqrt(room, out=room)
            room += 1e-12
            np.divide(first, room, out=room)
            room *= rate / (1 - 0.9 ** (step + 1))
            self._logits -= room
        self._moved()

    def _table(self, target: Target) -> Singles:
        if len(target.columns) == 1:
            (matrix,), alone = target.bins, self._alone[self.cells_of(target.columns[0])]
            return np.asarray(alone if matrix is None else matrix @ alone)
        one, other = (
            own if matrix is None else own @ matrix.T
            for own, matrix in zip(map(self.shares_of, target.columns), target.bins, strict=True)
        )
        table = one.T @ other
        table *= np.float32(1 / len(one))
        return np.asarray(table)

    def _compared(self, targets: Sequence[Target]) -> list[PairsAtOnce | PairsApart]:
        """How targets of two columns are compared: one by one; or, if they are so many that it is faster, all their columns at once."""
        apart: list[Target] = []
        alike: dict[int, list[Target]] = {}
        for each in targets:
            if len(each.columns) < 2:
                continue
            if all(matrix is None for matrix in each.bins):
                alike.setdefault(0, []).append(each)
            else:  # pairs are counted as coarsely in both columns, so that bins of about one number go together
                alike.setdefault((max(each.table.shape) - 1).bit_length(), []).append(each)
        found: list[PairsAtOnce | PairsApart] = []
        for together in alike.values():
            blocks = Blocks.of(together, self)
            if blocks.width**2 <= min(PAIRS_FOR_ONE * len(together), LARGEST_AT_ONCE**2):
                found.append(PairsAtOnce.of(together, blocks, len(self.theta)))
            else:
                apart += together
        if apart:
            found.append(PairsApart.of(apart, Blocks.of(apart, self), len(self.theta)))
        return found

    def _gradient(
        self,
        alone: Sequence[Target],
        pairs: Sequence[PairsAtOnce | PairsApart],
        total: Singles,
    ) -> float:
        """The summed squared errors, in units of their noise; `total` becomes their gradient for each component's shares."""
        loss = 0.0
        row = np.zeros(total.shape[1], dtype=np.float32)  # the same for all components
        for target in alone:
            own = self._table(target)
            missing = own - own.mean() - target.table
            weight, (matrix,) = 1 / target.std**2, target.bins
            loss += weight * float(missing @ missing)
            pull = missing * np.float32(weight)  # centred already: both tables are
            row[self.cells_of(target.columns[0])] += pull if matrix is None else pull @ matrix
        total[:] = row
        for each in pairs:
            loss += each.pull(self.theta, total)
        return loss

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
            edges = np.cumsum(self.theta[:, self.cells_of(column)].astype(np.float64), axis=1)
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
