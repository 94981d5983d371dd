"""A million simple counts from tables at once: ranges of one column from prefix sums, and single cells."""

from __future__ import annotations

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.public_total import counted_down
from discreet.answering.regions.region import CellRegions, RangeRegions
from discreet.arrays import Floats, Integers
from discreet.errors import BadInput, BadQuestion, NotAnswerable
from discreet.families.shared.estimate.kept import Kept
from discreet.families.tables.answer.counting import around
from discreet.families.tables.answer.cut_cells import partial_cells
from discreet.families.tables.answer.linear_tables import WeightedTable, below_a_ceiling
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.questions.cells.impossible import impossible_rows
from discreet.questions.cells.ordered_pieces import extents
from discreet.schema import NumberColumn, OrderedColumn, keeps_every_row
from discreet.schema.limits import MOST_CELLS


class TableBatches:
    """The tables of one release, asked for whole arrays; derived arrays are kept.

    Thread safe: an array that is kept never changes; a longer one is put in its place.
    """

    def __init__(self, library: TableLibrary) -> None:
        self._library = library
        self._prefixes: Kept[str, Floats] = Kept()
        self._agreed: Kept[str, Floats] = Kept()
        self._extents: Kept[str, tuple[Floats, Floats]] = Kept()
        self._widths: dict[tuple[tuple[str, ...], float], tuple[Floats, Floats]] = {}

    def ranges(self, asked: RangeRegions, confidence: float) -> Estimates:
        """Rows with low <= column <= high, both ends included, as values or as numbers of cells."""
        declared, column = asked.column, asked.column.name
        if not isinstance(declared, OrderedColumn):
            raise BadQuestion(
                f"Column {column!r} is of kind {declared.kind}, which has no order; use count_cells."
            )
        if declared.cells > MOST_CELLS:
            raise NotAnswerable(
                f"Column {column!r} has {declared.cells:,} cells; a release of intervals over it "
                "would be needed."
            )
        table = self._library.table((column,))
        prefix = self._prefixes.get(
            column, lambda: np.concatenate([[0.0], np.cumsum(table.counts)])
        )
        low_array, high_array = asked.numbers()
        cells = declared.value_cells
        beyond: Integers = np.zeros(low_array.shape, dtype=np.int64)
        partial: Floats | None = None
        shown: Floats | None = None
        if asked.are_codes:
            starts = np.clip(np.ceil(low_array), 0, cells).astype(np.int64)
            stops = np.maximum(np.clip(np.floor(high_array) + 1, 0, cells).astype(np.int64), starts)
            first, last = starts, stops
        else:
            begin, end = self._extents.get(column, lambda: extents(declared))
            if not isinstance(declared, NumberColumn):
                if max(abs(begin[0]), abs(end[-1])) >= 2.0**53:
                    raise BadInput(
                        f"Column {column!r} holds numbers that a double cannot tell apart; "
                        "give numbers of cells, with codes=True."
                    )
                low_array, high_array = np.ceil(low_array), np.floor(high_array)
            starts = np.searchsorted(begin, low_array, side="left")
            stops = np.maximum(np.searchsorted(end, high_array, side="right"), starts)
            first = np.searchsorted(end, low_array, side="left")
            last = np.maximum(np.searchsorted(begin, high_array, side="right"), first)
            empty = low_array > high_array
            first, last = np.where(empty, 0, first), np.where(empty, 0, last)
            starts, stops = np.where(empty, 0, starts), np.where(empty, 0, stops)
            cut = begin, end, low_array, high_array, (first, last), (starts, stops)
            partial = partial_cells(declared, table.counts, *cut)
            if table.whole is not None:
                shown = partial_cells(declared, table.whole.counts, *cut)
            if declared.other_cell is not None:
                outside = ((low_array < begin[0]) | (high_array > end[-1])) & ~empty
                beyond = outside.astype(np.int64)
        inner = stops - starts
        outer = last - first + beyond
        inner_sum = prefix[stops] - prefix[starts]
        outer_sum = prefix[last] - prefix[first]
        if declared.other_cell is not None:
            outer_sum = outer_sum + beyond * table.counts[declared.other_cell]
        found = self._finish(table, inner_sum, inner, outer_sum, outer, partial, confidence)
        if table.whole is None:
            return found
        agreed = table.whole.counts
        sums = self._agreed.get(column, lambda: np.concatenate([[0.0], np.cumsum(agreed)]))
        counts = sums[stops] - sums[starts]
        return around(found, counts if shown is None else counts + shown, table.whole)

    def cells(self, asked: CellRegions, confidence: float) -> Estimates:
        """Rows in single cells."""
        schema, names = self._library.schema, asked.names
        ordered = tuple(column.name for column in schema.columns if column.name in names)
        table = self._library.table(ordered)
        codes = [asked.codes[:, names.index(name)] for name in ordered]
        found = table.counts[tuple(codes)]
        one = np.ones(len(asked.codes), dtype=np.int64)
        most = table.ceilings_of_cells(codes, confidence)
        counted = self._finish(
            table, found, one, found, one, None, confidence, most=most, codes=codes
        )
        for each in self._library.summed:
            counted = each.with_cells(counted, names, asked.codes, confidence)
        if table.whole is not None:
            counted = around(counted, table.whole.counts[tuple(codes)], table.whole)
        as_measured = table.whole is not None and table.whole.as_measured
        nothing = impossible_rows(schema, names, asked.codes)
        if as_measured or not nothing.any():
            return counted
        return counted.replaced(nothing, CERTAIN)

    def _finish(
        self,
        table: WeightedTable,
        inner_sum: Floats,
        inner: Integers,
        outer_sum: Floats,
        outer: Integers,
        partial: Floats | None,
        confidence: float,
        *,
        most: Floats | None = None,
        codes: list[Integers] | None = None,
    ) -> Estimates:
        """`most`: what the counts cannot exceed, if that took a part of the risk. `codes`: of single cells."""
        exact = inner == outer
        schema, rows = self._library.schema, self._library.tabled_rows
        if table.has_own_draws:
            if not all(keeps_every_row(schema.column(name)) for name in table.columns):
                rows = None
            total = float(table.counts.sum())
            inner_sum, inner = counted_down(rows, table.cells, total, inner_sum, inner)
            outer_sum, outer = counted_down(rows, table.cells, total, outer_sum, outer)
        cells = int(max(inner.max(initial=0), outer.max(initial=0)))
        level = confidence if most is None else float(table.model_level(confidence))
        own = None if codes is None else table.cell_widths(codes, level)
        if own is not None:
            below, above, deviation = own
        else:
            wide, std = self._first_cells(table, cells, level)
            below, above, deviation = wide[inner], wide[outer], std[outer]
        middle = inner_sum if partial is None else inner_sum + partial
        ends = inner_sum - below, outer_sum + above
        if most is not None:
            ends = below_a_ceiling(*ends, below, most)
        return Estimates(middle, ends[0], ends[1], deviation, exact, is_model=table.is_model)

    def _first_cells(
        self, table: WeightedTable, most: int, confidence: float
    ) -> tuple[Floats, Floats]:
        """Half-widths and deviations of 0, 1, ..., at least `most` cells."""
        kept = self._widths.get((table.columns, confidence))
        if kept is None or len(kept[0]) <= most:
            kept = self._widths[table.columns, confidence] = table.first_cells(most, confidence)
        return kept


CERTAIN = Estimates(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1))
