"""Exact inference in a graphical model on a junction tree, in plain numpy: what AIM needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

Columns = tuple[int, ...]


def triangulated(sizes: Sequence[int], cliques: Iterable[Columns]) -> list[Columns]:
    """The maximal cliques after eliminating the cheapest column first."""
    neighbours = {column: {column} for column in range(len(sizes))}
    for clique in cliques:
        for column in clique:
            neighbours[column] |= set(clique)
    left = set(neighbours)
    found: list[set[int]] = []
    while left:
        cheapest = min(left, key=lambda c: sum(math.log(sizes[d]) for d in neighbours[c]))
        near = neighbours[cheapest]
        if not any(near <= other for other in found):
            found.append(set(near))
        left.discard(cheapest)
        for column in near - {cheapest}:
            neighbours[column] = (neighbours[column] | near) - {cheapest}
    maximal = [c for c in found if not any(c < other for other in found)]
    return [tuple(sorted(each)) for each in maximal]


def megabytes(sizes: Sequence[int], cliques: Iterable[Columns]) -> float:
    """What the tables of a triangulated model take."""
    cells = sum(math.prod(sizes[c] for c in clique) for clique in triangulated(sizes, cliques))
    return cells * 8 / 2**20


class JunctionTree:
    """Tables on cliques, joined by separators; potentials are logarithms."""

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Columns]) -> None:
        self.sizes = [int(size) for size in sizes]
        self.cliques = triangulated(sizes, cliques)
        self.potentials = [np.zeros(self._shape(clique)) for clique in self.cliques]
        self.neighbours: list[list[int]] = [[] for _ in self.cliques]
        self._join()
        self.order = [(0, -1)]
        for clique, parent in self.order:  # grows while it is read: breadth first
            self.order += [(c, clique) for c in self.neighbours[clique] if c != parent]
        self._homes: dict[Columns, int | None] = {}

    def _shape(self, columns: Iterable[int]) -> list[int]:
        return [self.sizes[column] for column in columns]

    def _join(self) -> None:
        """A maximum spanning tree over the sizes of the separators."""
        many = len(self.cliques)
        edges = []
        for one in range(many):
            for other in range(one):
                shared = set(self.cliques[one]) & set(self.cliques[other])
                edges.append((-len(shared), math.prod(self._shape(shared)), one, other))
        group = list(range(many))
        for _, _, one, other in sorted(edges):
            if group[one] != group[other]:
                self.neighbours[one].append(other)
                self.neighbours[other].append(one)
                gone = group[one]
                group = [group[other] if each == gone else each for each in group]

    def separator(self, one: int, other: int) -> Columns:
        return tuple(sorted(set(self.cliques[one]) & set(self.cliques[other])))

    def summed(self, table: np.ndarray, clique: int, columns: Sequence[int]) -> np.ndarray:
        """A clique's table summed to some of its columns."""
        axes = tuple(a for a, c in enumerate(self.cliques[clique]) if c not in columns)
        return table.sum(axis=axes)

    def widened(self, table: np.ndarray, clique: int, columns: Sequence[int]) -> np.ndarray:
        """A table over some columns, shaped to multiply a clique's."""
        shape = [self.sizes[c] if c in columns else 1 for c in self.cliques[clique]]
        return table.reshape(shape)

    def home(self, columns: Columns) -> int | None:
        """The smallest clique that holds the columns."""
        if columns not in self._homes:
            holding = [k for k, c in enumerate(self.cliques) if set(columns) <= set(c)]
            self._homes[columns] = min(
                holding, key=lambda k: math.prod(self._shape(self.cliques[k])), default=None
            )
        return self._homes[columns]

    def beliefs(self, potentials: list[np.ndarray], total: float) -> list[np.ndarray]:
        """The expected counts of every clique: one pass to the root, one back."""
        tables = [np.exp(each - each.max()) for each in potentials]
        upward: dict[int, np.ndarray] = {}
        for clique, parent in reversed(self.order):
            if parent >= 0:
                shared = self.separator(clique, parent)
                message = self.summed(tables[clique], clique, shared)
                upward[clique] = message / message.sum()
                tables[parent] *= self.widened(upward[clique], parent, shared)
        tables[0] *= total / tables[0].sum()
        for clique, parent in self.order[1:]:
            shared = self.separator(clique, parent)
            message = self.summed(tables[parent], parent, shared)
            sent = upward[clique]
            ratio = np.divide(message, sent, out=np.zeros_like(message), where=sent > 1e-300)
            tables[clique] *= self.widened(ratio, clique, shared)
            whole = tables[clique].sum()
            if whole > 0:
                tables[clique] *= total / whole
        return tables

    def marginal(self, tables: list[np.ndarray], columns: Columns) -> np.ndarray | None:
        home = self.home(columns)
        return None if home is None else self.summed(tables[home], home, columns)

    def pairs(
        self, tables: list[np.ndarray], wanted: Iterable[Columns]
    ) -> dict[Columns, np.ndarray]:
        """Tables of two columns, also where no clique holds both: carried along the tree."""
        found: dict[Columns, np.ndarray] = {}
        missing: dict[int, set[int]] = {}
        for pair in wanted:
            table = self.marginal(tables, pair)
            if table is None:
                missing.setdefault(pair[0], set()).add(pair[1])
            else:
                found[pair] = table
        for first, others in missing.items():
            found |= self._carried(tables, first, others)
        return found

    def _given(
        self, table: np.ndarray, clique: int, known: Columns, new: Columns
    ) -> tuple[Columns, np.ndarray]:
        """P(new | known) over the sorted union of both."""
        union = tuple(sorted({*known, *new}))
        joint = self.summed(table, clique, union)
        axes = tuple(a for a, c in enumerate(union) if c not in known)
        below = joint.sum(axis=axes, keepdims=True)
        return union, np.divide(joint, below, out=np.zeros_like(joint), where=below > 0)

    def _carried(
        self, tables: list[np.ndarray], first: int, others: set[int]
    ) -> dict[Columns, np.ndarray]:
        found: dict[Columns, np.ndarray] = {}
        waiting = set(others)
        stack: list[tuple[int, int, Columns, np.ndarray]] = []
        for clique in range(len(self.cliques)):
            if first not in self.cliques[clique]:
                continue
            for beyond in self.neighbours[clique]:
                if first not in self.cliques[beyond]:
                    shared = self.separator(clique, beyond)
                    union = tuple(sorted((*shared, first)))
                    joint = self.summed(tables[clique], clique, union)
                    stack.append(
                        (beyond, clique, shared, np.moveaxis(joint, union.index(first), 0))
                    )
        top = len(self.sizes)  # a label for the axis of `first`, beyond all columns
        while stack and waiting:
            clique, parent, shared, joint = stack.pop()
            for column in self.cliques[clique]:
                if column not in waiting:
                    continue
                waiting.discard(column)
                if column in shared:
                    axes = tuple(1 + a for a, c in enumerate(shared) if c != column)
                    found[first, column] = joint.sum(axis=axes)
                    continue
                union, given = self._given(tables[clique], clique, shared, (column,))
                found[first, column] = np.einsum(
                    joint, [top, *shared], given, list(union), [top, column], optimize=True
                )
            for beyond in self.neighbours[clique]:
                if beyond != parent:
                    further = self.separator(clique, beyond)
                    union, given = self._given(tables[clique], clique, shared, further)
                    carried = np.einsum(
                        joint, [top, *shared], given, list(union), [top, *further], optimize=True
                    )
                    stack.append((beyond, clique, further, carried))
        return found

    def sample(
        self, tables: list[np.ndarray], rows: int, generator: np.random.Generator
    ) -> np.ndarray:
        """Rows, each new set of columns drawn given the separator, in exact shares up to one row."""
        drawn = np.zeros((rows, len(self.sizes)), dtype=np.int64)
        for clique, parent in self.order:
            known = self.separator(clique, parent) if parent >= 0 else ()
            new = tuple(c for c in self.cliques[clique] if c not in known)
            if not new:
                continue
            axes = [self.cliques[clique].index(c) for c in (*known, *new)]
            groups = math.prod(self._shape(known))
            shares = tables[clique].transpose(axes).reshape(groups, -1)
            edges = np.cumsum(shares, axis=1)
            whole = edges[:, -1:]
            edges = np.divide(edges, whole, out=np.ones_like(edges), where=whole > 0)
            group = np.zeros(rows, dtype=np.int64)
            for column in known:
                group = group * self.sizes[column] + drawn[:, column]
            order = np.lexsort((generator.random(rows), group))
            many = np.bincount(group, minlength=groups)
            start = np.cumsum(many) - many
            rank = np.empty(rows)
            rank[order] = np.arange(rows) - start[group[order]]
            place = (rank + generator.random(groups)[group]) / many[group] * 0.9999999
            flat = (edges + 2.0 * np.arange(groups)[:, None]).ravel()
            cell = np.searchsorted(flat, place + 2 * group, side="right") - group * edges.shape[1]
            cell = np.minimum(cell, edges.shape[1] - 1)
            for column in reversed(new):
                drawn[:, column] = cell % self.sizes[column]
                cell //= self.sizes[column]
        return drawn
