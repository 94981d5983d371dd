"""Which sources of a release speak of the same rows, so that what they say may be combined.

A tree over some columns counts the rows with a value in each of them; a table over the same columns
counts them in its cells of values, whether or not the schema keeps a cell for nulls. Where values
outside the domain have a cell of their own a condition may take that cell too, which a tree has not:
tables answer alone there. So they do where rows without a cell were spread over all cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.arrays import Floats, Integers
from discreet.families.ranges.answer.buckets import BucketSource
from discreet.families.ranges.answer.joined_ranges import JoinedSource, PresentRows, least_squares
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.combination import variance_of
from discreet.families.tables.answer.linear_tables import CombinedTable, LinearTable
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.symmetric_tables import SymmetricTable
from discreet.families.tables.queries.residuals import subsets
from discreet.privacy.laws.exact_sums import kurtosis_of
from discreet.schema import Schema, keeps_every_row

MOST_HALVED = 1 << 16
"""Cells of a column of which trees and tables are made to agree."""
MOST_JOINED = 1 << 22
"""Cells of a table that is joined with a tree."""


class JoinedRanges:
    """The trees of a release, those over the same columns together; other sources of ranges as they are.

    `Library.made(JoinedRanges)` gives those of a release. To tables they are a `SummedCells`.
    """

    def __init__(self, library: Library) -> None:
        self._library, self._schema = library, library.schema
        self._tables = library.made(TableLibrary)
        trees: dict[frozenset[str], list[RangeSource]] = {}
        for source in ranges_of(library):
            if isinstance(source, RangeSource):
                trees.setdefault(frozenset(source.columns), []).append(source)
        self.sources: list[JoinedSource | BucketSource] = []
        for source in ranges_of(library):
            if not isinstance(source, RangeSource):
                self.sources.append(source)
            elif own := trees.pop(frozenset(source.columns), None):
                self.sources.append(self._joined(own))

    def _joined(self, trees: list[RangeSource]) -> JoinedSource:
        columns = trees[0].columns
        present = [
            PresentRows(count.value, count.law)
            for count in self._library.evidence.counts
            if columns == (count.column,) and not self._schema.column(count.column).has_other
        ]
        table = partial(_joinable_table, self._tables, columns)
        return JoinedSource(tuple(trees), tuple(present), table)

    @property
    def halves(self) -> dict[str, Callable[[], list[Floats]]]:
        """For each column that a tree and a table are over: the rows of all its cells, of halves, of halves of halves, from both."""
        return {
            source.columns[0]: partial(_halved, self._tables, source)
            for source in self.sources
            if isinstance(source, JoinedSource)
            and len(source.columns) == 1
            and self._schema.column(source.columns[0]).cells <= MOST_HALVED
            and source.table is not None
        }

    def total(self) -> Reading | None:
        """The number of all rows; `None` where there are no trees to add to what tables say.

        A tree counts the rows with values. The table over its columns says how many have none, and how
        the noise of that is related to the noise of the total.
        """
        tables = self._tables.all_tables
        trees = [
            source
            for source in self.sources
            if isinstance(source, JoinedSource)
            and source.table is not None
            and tables.determines(_in_order(self._schema, source.columns))
        ]
        if not trees or not tables.determines(()):
            return None
        anchors = [
            (_of_residuals(tables, source.columns, _in_order(self._schema, source.columns)), anchor)
            for source in trees
            for anchor in source.whole()
        ]
        nothing = np.zeros((1, 0), dtype=np.uint64)
        found = least_squares(_of_residuals(tables, (), ()), (nothing, nothing), anchors)
        own = parts_of(self._library, [tree for source in trees for tree in source.trees])
        return Reading(
            value=float(found.outer[0]),
            variance=float(found.outer_std[0]) ** 2,
            kurtosis=float(found.kurtosis[0]),
            parts=self._library.table_parts | own,
            sources=int(found.sources[0]),
        )

    def with_cells(
        self, counted: Estimates, names: tuple[str, ...], codes: Integers, confidence: float
    ) -> Estimates:
        """Cells of values from trees and tables together, or from a tree rather than a model."""
        trees = [each for each in self.sources if set(each.columns) == set(names)]
        if not trees or not trees[0].trees:
            return counted
        if trees[0].is_lone and not counted.is_model:
            return counted
        order = [names.index(name) for name in trees[0].columns]
        values = np.array([self._schema.column(name).value_cells for name in trees[0].columns])
        ordered = codes[:, order].astype(np.uint64)
        there = np.flatnonzero((ordered < values).all(axis=1))
        box = ordered[there]
        return counted.replaced(there, trees[0].read_boxes(box, box, confidence))


def ranges_of(library: Library) -> list[RangeSource | BucketSource]:
    """All sources of ranges, each of one part."""
    found = library.evidence.ranges
    return [each for each in found if isinstance(each, RangeSource | BucketSource)]


def _joinable_table(library: TableLibrary, columns: tuple[str, ...]) -> SymmetricTable | None:
    """The table over the columns of a tree, in their order, if the two speak of the same rows."""
    declared = [library.schema.column(name) for name in columns]
    if prod(column.cells for column in declared) > MOST_JOINED:
        return None
    if any(column.has_other for column in declared):
        return None
    if library.spreads_evenly and not all(map(keeps_every_row, declared)):
        return None
    ordered = _in_order(library.schema, columns)
    if not library.has_linear(ordered):
        return None
    table = library.measured(ordered)
    if isinstance(table, LinearTable):
        return _of_residuals(library.consistent, columns, ordered)
    assert isinstance(table, CombinedTable)
    return _with_own_draws(library, table, columns)


def _in_order(schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in schema.names if name in columns)


def _of_residuals(
    tables: ConsistentTables, columns: tuple[str, ...], ordered: tuple[str, ...]
) -> SymmetricTable:
    counts = np.transpose(tables.table(ordered), [ordered.index(name) for name in columns])
    noise = tables.variances(ordered)
    return SymmetricTable(columns, counts, noise, tables.tail(), has_own_draws=False)


def _with_own_draws(
    library: TableLibrary, table: CombinedTable, columns: tuple[str, ...]
) -> SymmetricTable:
    schema = library.schema
    counts = np.transpose(table.counts, [table.columns.index(name) for name in columns])
    variance = variance_of(table.noise)
    size = {name: schema.column(name).cells for name in table.columns}
    noise = {
        frozenset(own): variance * counts.size / prod(size[name] for name in own)
        for own in subsets(table.columns)
    }
    rows = library.release.public_rows
    if rows is not None and all(keeps_every_row(schema.column(name)) for name in table.columns):
        # The total is known, so what all cells are off by together is taken off evenly.
        noise[frozenset()] = 0.0
        counts = counts + (rows - float(counts.sum())) / counts.size
    return SymmetricTable(columns, counts, noise, kurtosis_of(table.noise), has_own_draws=True)


def _halved(library: TableLibrary, source: JoinedSource) -> list[Floats]:
    """What a tree does not count, nulls above all, is the table's."""
    (name,) = source.columns
    column = library.complete.column(name)
    bits = (column.cells - 1).bit_length()
    beside = np.zeros(1 << bits)
    tables = library.consistent
    counts = tables.table((name,)) if tables.determines((name,)) else library.measured((name,)).counts  # fmt: skip
    beside[column.value_cells : column.cells] = counts[column.value_cells :]
    found: list[Floats] = []
    for depth in range(bits + 1):
        width = 1 << (bits - depth)
        first = np.arange(0, 1 << bits, width)
        inside = first < column.value_cells
        last = np.minimum(first + width, column.value_cells) - 1
        ends = (each[inside, None].astype(np.uint64) for each in (first, last))
        sums = beside.reshape(-1, width).sum(axis=1)
        sums[inside] += source.fitted(*ends).estimate
        found.append(sums)
    return found


def moved_ranges(library: Library, tree: RangeSource) -> float:
    """How far the counts that ranges are answered with lie from the tree's own, for any range: 0 where they are the tree's own.

    Both add up, so the farthest range lies between the ends at which they are farthest apart.
    """
    tables = library.made(TableLibrary)
    agreed = tables.agreed_over(tree.columns) if len(tree.columns) == 1 else None
    if agreed is None or not agreed.includes_ranges:
        return 0.0
    last = np.arange(library.schema.column(tree.columns[0]).value_cells, dtype=np.uint64)[:, None]
    apart = np.cumsum(agreed.counts[: len(last)]) - tree.fitted(np.zeros_like(last), last).estimate
    return float(max(0.0, apart.max()) - min(0.0, apart.min()))


def parts_of(library: Library, trees: Sequence[RangeSource]) -> frozenset[int]:
    """The places of the parts that trees were released as."""
    return frozenset(
        place
        for place, part in enumerate(library.release.parts)
        if any(part is tree.part for tree in trees)
    )
