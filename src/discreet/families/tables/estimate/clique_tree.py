"""The most even model of rows that has given tables of two columns: a graphical model on a tree of cliques.

Columns that are tied by a table are neighbours in a graph. Filled up until every long circle has a short
cut, the graph falls apart into cliques that form a tree, and the model is a table over each clique. It
adds no dependence that the given tables do not imply (maximum entropy), so tables of three columns that
nobody measured come out better than from a mixture of products, which may invent some.

Only some tables fit into cliques of bounded size. A spanning tree of the strongest ties comes first (of
pairs that are not too wide), then the other ties, the strongest first, as long as there is room. How strong a tie is: the mutual information of
its table. Rows are drawn clique by clique, each group of known values in exact shares up to one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log, prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

Columns = tuple[int, ...]
MOST_CELLS = 1 << 17
"""Cells of all cliques together, beyond those of the spanning tree: more gained nothing on known tables."""
LARGEST_PAIR = 1 << 17
"""Cells of a pair that may become a clique."""
TRIED = 20_000
"""Ties that are tried, times the columns: what looking for cliques takes grows with both."""
SWEEPS, ROUNDS = 24, 3
"""Visits of all cliques, at most; and how often a visit scales a clique to each of its pairs."""
NEAR = 1e-5
"""The total variation of a clique's pairs, summed, below which it needs no more visits."""
SLOWEST = 0.8
"""No more visits if the last one left more than this part of what the pairs were off: tables that disagree are met no better."""
TOGETHER = 256
"""Cells of a clique's last columns. What is wanted of these is met together: see `_steps`."""
LEAST = 1e-300


def strength(table: Floats) -> float:
    """The mutual information of a table of shares."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    there = (table > 0) & (expected > 0)
    return float((table[there] * np.log(table[there] / expected[there])).sum())


def beyond_pairs(table: Floats) -> float:
    """What a table of three columns and more says beyond the strongest tree of its pairs: the rest of its mutual information."""
    axes = range(table.ndim)
    alone = [table.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes]
    there = table > 0
    whole = float((table[there] * np.log(table[there])).sum())
    whole -= sum(float((each[each > 0] * np.log(each[each > 0])).sum()) for each in alone)
    ties: dict[Columns, float] = {
        pair: strength(table.sum(axis=tuple(a for a in axes if a not in pair)))
        for pair in combinations(axes, 2)
    }
    return whole - sum(ties[pair] for pair in _spanning(len(alone), ties))


def _spanning(many: int, ties: Mapping[Columns, float]) -> list[Columns]:
    """The tree of the strongest ties; several trees, if not all columns are tied."""
    group = list(range(many))
    kept: list[Columns] = []
    for one, other in _strongest_first(ties):
        if group[one] != group[other]:
            kept.append((one, other))
            gone = group[one]
            group = [group[other] if each == gone else each for each in group]
    return kept


def _strongest_first(ties: Mapping[Columns, float]) -> list[Columns]:
    return sorted((each for each in ties if ties[each] > 0), key=lambda each: -ties[each])


def chosen_ties(
    sizes: Sequence[int],
    ties: Mapping[Columns, float],
    most: int = MOST_CELLS,
    wider: Mapping[Columns, float] | None = None,
) -> list[Columns]:
    """The pairs that the cliques are made of: a spanning tree, and what else there is room for.

    `wider`: what tables of more columns say beyond their pairs. All columns of such a table are tied to one another, the strongest first.
    """
    kept = _spanning(len(sizes), ties)
    most += cells_of(sizes, cliques_of(sizes, kept))
    tree = set(kept)
    groups: list[list[Columns]] = [
        [*combinations(columns, 2)] for columns in _strongest_first(wider or {})
    ]
    groups += [[pair] for pair in _strongest_first(ties) if pair not in tree]
    for group in groups[: TRIED // max(len(sizes), 1)]:
        together = [*kept, *(pair for pair in group if pair not in kept)]
        if cells_of(sizes, cliques_of(sizes, together)) <= most:
            kept = together
    return kept


def cliques_of(sizes: Sequence[int], ties: Iterable[Columns]) -> list[Columns]:
    """The largest cliques, once columns are taken out one by one, the one with the smallest clique first."""
    beside: dict[int, set[int]] = {column: {column} for column in range(len(sizes))}
    for one, other in ties:
        beside[one].add(other)
        beside[other].add(one)
    logs = [log(size) for size in sizes]
    left = set(beside)
    cells = {column: sum(logs[c] for c in clique) for column, clique in beside.items()}
    found: list[set[int]] = []
    while left:
        first = min(left, key=lambda column: (cells[column], column))
        clique = beside[first]
        if not any(clique <= other for other in found):
            found.append(set(clique))
        left.discard(first)
        for column in clique - {first}:
            beside[column] = (beside[column] | clique) - {first}
            cells[column] = sum(logs[c] for c in beside[column])
    return [tuple(sorted(each)) for each in found]


def cells_of(sizes: Sequence[int], cliques: Iterable[Columns]) -> int:
    return sum(prod(sizes[column] for column in clique) for clique in cliques)


@dataclass(eq=False)
class CliqueTree:
    """A table of shares over each clique. The model is their product, divided by the tables of shared columns."""

    sizes: tuple[int, ...]
    cliques: list[Columns]
    tables: list[Floats] = field(init=False)
    order: list[tuple[int, int]] = field(init=False)
    """Each clique with the one before it in the tree; the first has -1."""
    shared: list[Columns] = field(init=False)
    """The columns that each clique shares with the one before it."""

    def __post_init__(self) -> None:
        shapes = [[self.sizes[c] for c in clique] for clique in self.cliques]
        self.tables = [np.full(shape, 1 / prod(shape)) for shape in shapes]
        self.order = self._joined()
        before = dict(self.order)
        self.shared = [
            self._common(place, before[place]) if before[place] >= 0 else ()
            for place in range(len(self.cliques))
        ]
        self._edges = [
            self.summed(table, place, self.shared[place]) for place, table in enumerate(self.tables)
        ]
        """The table of the shared columns, as both cliques last agreed on it."""

    def _joined(self) -> list[tuple[int, int]]:
        """From the first clique on, always the one that shares most columns with those already there."""
        waiting = {place: (len(self._common(place, 0)), 0) for place in range(1, len(self.cliques))}
        found = [(0, -1)]
        while waiting:
            place = max(waiting, key=lambda each: waiting[each][0])
            found.append((place, waiting.pop(place)[1]))
            for other, (most, _) in waiting.items():
                if len(self._common(other, place)) > most:
                    waiting[other] = len(self._common(other, place)), place
        return found

    def _common(self, one: int, other: int) -> Columns:
        return tuple(c for c in self.cliques[one] if c in self.cliques[other])

    def summed(self, table: Floats, place: int, columns: Columns) -> Floats:
        """A clique's table summed to some of its columns."""
        gone = tuple(a for a, c in enumerate(self.cliques[place]) if c not in columns)
        return np.asarray(table.sum(axis=gone))

    def _scale(self, place: int, columns: Columns, wanted: Floats, held: Floats) -> None:
        """Multiply a clique's table so that `columns` have what is wanted instead of what they held."""
        shape = [self.sizes[c] if c in columns else 1 for c in self.cliques[place]]
        self.tables[place] *= _ratio(wanted, held).reshape(shape)

    def _tell(self, child: int, source: int, target: int) -> None:
        """Carry what one clique has learnt over the columns that `child` shares with the one before it."""
        columns = self.shared[child]
        learnt = self.summed(self.tables[source], source, columns)
        self._scale(target, columns, learnt, self._edges[child])
        self._edges[child] = learnt

    def fit(self, wanted: Mapping[Columns, Floats]) -> None:
        """Scale the cliques in turn to the wanted tables inside them (iterative proportional fitting).

        `wanted` are tables of shares over one column or two, in increasing order of the columns. The
        cliques are visited along the tree, and each is told on the way what has changed before it.
        """
        inside = [
            _steps(self.sizes, clique, [each for each in wanted if set(each) <= set(clique)])
            for clique in self.cliques
        ]
        tour = self._tour()
        furthest = np.inf
        for _ in range(SWEEPS):
            last, furthest = furthest, self._met(0, inside[0], wanted)
            for child, source, target in tour:
                self._tell(child, source, target)
                if target == child:
                    furthest = max(furthest, self._met(child, inside[child], wanted))
            if furthest < NEAR or furthest > SLOWEST * last:
                break
        for place, before in self.order[1:]:
            self._tell(place, before, place)

    def _tour(self) -> list[tuple[int, int, int]]:
        """From the first clique through the tree and back: each step with its child, and from where to where."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for place, before in self.order[1:]:
            below[before].append(place)
        found: list[tuple[int, int, int]] = []
        waiting = [(child, 0, child) for child in reversed(below[0])]
        while waiting:
            child, source, target = waiting.pop()
            found.append((child, source, target))
            if target == child:
                waiting.append((child, child, source))
                waiting += [(each, child, each) for each in reversed(below[child])]
        return found

    def _met(self, place: int, steps: Sequence[_Step], wanted: Mapping[Columns, Floats]) -> float:
        """Scale a clique to the tables inside it; how far they were off."""
        off = 0.0
        for turn in range(ROUNDS if sum(len(sets) for _, sets in steps) > 1 else 1):
            for columns, sets in steps:
                held = self.summed(self.tables[place], place, columns)
                found = held
                for each in sets:
                    gone = tuple(a for a, c in enumerate(columns) if c not in each)
                    own = np.asarray(found.sum(axis=gone))
                    if turn == 0:
                        off += float(np.abs(own - wanted[each]).sum()) / 2
                    shape = [self.sizes[c] if c in each else 1 for c in columns]
                    found = found * _ratio(wanted[each], own).reshape(shape)
                self._scale(place, columns, found, held)
        return off

    def sample(self, rows: int, generator: Generator) -> Integers:
        """Rows of cell codes."""
        drawn = np.zeros((rows, len(self.sizes)), dtype=np.int64)
        for place, _ in self.order:
            known = self.shared[place]
            new = tuple(c for c in self.cliques[place] if c not in known)
            if not new or not rows:
                continue
            axes = [self.cliques[place].index(c) for c in (*known, *new)]
            groups = prod(self.sizes[c] for c in known)
            shares = self.tables[place].transpose(axes).reshape(groups, -1)
            group = np.zeros(rows, dtype=np.int64)
            for column in known:
                group = group * self.sizes[column] + drawn[:, column]
            cell = _in_shares(shares, group, generator)
            for column in reversed(new):
                drawn[:, column] = cell % self.sizes[column]
                cell //= self.sizes[column]
        return drawn[generator.permutation(rows)]


_Step = tuple[Columns, list[Columns]]
"""Some columns of a clique, and the wanted tables inside them."""


def _steps(sizes: Sequence[int], clique: Columns, sets: Sequence[Columns]) -> list[_Step]:
    """What a visit of a clique scales together: first to last.

    Summing a large table to columns that lie far apart in memory is slow. So all tables that touch the last columns are met in a sum
    over the others, which is small, and one factor for each cell of that sum carries it to the large table.
    """
    first, cells = len(clique), 1
    while first and cells * sizes[clique[first - 1]] <= TOGETHER:
        first -= 1
        cells *= sizes[clique[first]]
    last = clique[first:]
    found: dict[Columns, list[Columns]] = {}
    for each in sets:
        columns = each
        if not set(last).isdisjoint(each):
            columns = (*(column for column in each if column not in last), *last)
        found.setdefault(columns, []).append(each)
    return list(found.items())


def _ratio(wanted: Floats, held: Floats) -> Floats:
    return np.divide(wanted, held, out=np.zeros_like(held), where=held > LEAST)


def _in_shares(shares: Floats, group: Integers, generator: Generator) -> Integers:
    """For each row a cell: within each group of rows the cells have their shares, up to one row."""
    groups, cells = shares.shape
    rows = len(group)
    edges = np.cumsum(shares, axis=1)
    whole = edges[:, -1:]
    edges = np.divide(edges, whole, out=np.ones_like(edges), where=whole > 0)
    many = np.bincount(group, minlength=groups)[:, np.newaxis]
    # Rows of a group stand together and in random order; the first of them get the first cells.
    shuffled = generator.permutation(rows)
    narrow = group.astype(np.uint16) if groups <= 1 << 16 else group
    order = shuffled[np.argsort(narrow[shuffled], kind="stable")]
    edges *= many
    edges -= np.asarray(generator.random(groups))[:, np.newaxis]
    upto = np.clip(np.ceil(edges, out=edges), 0, many).astype(np.int64)
    upto[:, -1:] = many
    counts = np.diff(upto, prepend=0, axis=1)
    found = np.empty(rows, dtype=np.int64)
    found[order] = np.repeat(np.tile(np.arange(cells), groups), counts.ravel())
    return found


def most_even_rows(
    sizes: Sequence[int], wanted: Mapping[Columns, Floats], rows: int, generator: Generator
) -> Integers:
    """Rows of the most even model with the wanted tables of two columns and more that there is room for."""
    small = {columns: table for columns, table in wanted.items() if table.size <= LARGEST_PAIR}
    ties: dict[Columns, float] = {
        each: strength(table) for each, table in small.items() if len(each) == 2
    }
    wider = {each: beyond_pairs(table) for each, table in small.items() if len(each) > 2}
    cliques = cliques_of(sizes, chosen_ties(sizes, ties, wider=wider))
    tree = CliqueTree(tuple(sizes), cliques)
    tree.fit(wanted)
    return tree.sample(rows, generator)
