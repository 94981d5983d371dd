"""A million simple counts at once: intervals of one column from prefix sums, and single cells.

Every answer equals the one that `ask` gives to the same question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.answers.buckets import BucketSource
from discreet.answers.cut_cells import complement, partial_cells
from discreet.answers.joined_ranges import JoinedSource
from discreet.answers.linear_tables import ModelTable, WeightedTable, below_a_ceiling
from discreet.answers.range_ends import Ends, value_codes, whole_codes
from discreet.answers.ranges import CountedRanges, count_between
from discreet.answers.sources import Library
from discreet.artifacts.answer import Covers
from discreet.errors import BadInput, BadQuestion, NotAnswerable
from discreet.inference.combination import half_widths
from discreet.inference.kept import Kept
from discreet.inference.rounding import plausible_counts
from discreet.queries.impossible import covers_box, impossible_rows, rules_over
from discreet.queries.measurable import MOST_CELLS
from discreet.queries.pieces import extents
from discreet.schema import NumberColumn, OrderedColumn
from discreet.schema.completeness import keeps_every_row

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ManyCounts:
    """Counts as arrays, one number a question. Thread safe: it never changes."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    is_exact: npt.NDArray[np.bool_]
    """Whether the question follows the cells: its interval then covers `noise` only."""
    confidence: float
    is_model: npt.NDArray[np.bool_] | None = None
    """Whether a model filled the table in; `None` where none did."""

    def __len__(self) -> int:
        return len(self.estimate)

    def covers(self, place: int) -> Covers:
        if self.is_model is not None and self.is_model[place]:
            return Covers.NOISE_AND_MODEL
        return Covers.NOISE if self.is_exact[place] else Covers.NOISE_AND_CELLS


class Batch:
    """The vectorised path of one release; derived arrays are kept.

    Thread safe: an array that is kept never changes; a longer one is put in its place.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._prefixes: Kept[str, Floats] = Kept()
        self._extents: Kept[str, tuple[Floats, Floats]] = Kept()
        self._widths: dict[tuple[tuple[str, ...], float], Floats] = {}
        self._weighted: dict[tuple[tuple[str, ...], float], tuple[Floats, Floats]] = {}

    def between(
        self,
        column: str,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        codes: bool,
        confidence: float,
    ) -> ManyCounts:
        """Rows with low <= column <= high, both ends included, as values or as numbers of cells."""
        declared = self._library.schema.column(column)
        column = declared.name
        trees = [source for source in self._library.joined if source.columns == (column,)]
        if trees and (_is_joint(trees[0]) or not self._library.usable((column,))):
            assert isinstance(declared, OrderedColumn)
            return self._from_tree(
                trees[0], declared, low, high, codes=codes, confidence=confidence
            )
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
        low_array, high_array = _numbers(low, "low"), _numbers(high, "high")
        if low_array.shape != high_array.shape or low_array.ndim != 1:
            raise BadInput("low and high must be two lists of the same length.")
        cells = declared.value_cells
        beyond: Integers = np.zeros(low_array.shape, dtype=np.int64)
        partial: Floats | None = None
        if codes:
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
            partial = partial_cells(
                declared, table.counts, begin, end, low_array, high_array,
                (first, last), (starts, stops),
            )  # fmt: skip
            if declared.other_cell is not None:
                outside = ((low_array < begin[0]) | (high_array > end[-1])) & ~empty
                beyond = outside.astype(np.int64)
        inner = stops - starts
        outer = last - first + beyond
        inner_sum = prefix[stops] - prefix[starts]
        outer_sum = prefix[last] - prefix[first]
        if declared.other_cell is not None:
            outer_sum = outer_sum + beyond * table.counts[declared.other_cell]
        return self._finish((column,), inner_sum, inner, outer_sum, outer, partial, confidence)

    def _from_tree(
        self,
        source: JoinedSource | BucketSource,
        column: OrderedColumn,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        codes: bool,
        confidence: float,
    ) -> ManyCounts:
        """Intervals that a released tree answers. Values may cut cells: then from inside and outside."""
        low_array, high_array = np.atleast_1d(np.asarray(low)), np.atleast_1d(np.asarray(high))
        if low_array.shape != high_array.shape or low_array.ndim != 1:
            raise BadInput("low and high must be two lists of the same length.")
        if codes:
            inner = outer = whole_codes(low_array, high_array, column.value_cells)
        else:
            inner, outer = value_codes(column, _numbers(low, "low"), _numbers(high, "high"))
        rows = self._library.release.public_rows
        if inner is outer:
            found = source.count(*inner, confidence=confidence, public_rows=rows)
            return ManyCounts(*found.arrays, confidence=confidence)
        if isinstance(source, JoinedSource):
            found = count_between(source, inner, outer, confidence, rows, whole=True)
        else:
            found = _around(source, inner, outer, confidence, rows)
        same = (inner[0] == outer[0]).all(axis=1) & (inner[1] == outer[1]).all(axis=1)
        return replace(
            ManyCounts(*found.arrays, confidence=confidence), is_exact=found.is_exact & same
        )

    def boxes(
        self,
        columns: tuple[str, ...],
        first: npt.ArrayLike,
        last: npt.ArrayLike,
        *,
        confidence: float,
    ) -> ManyCounts:
        """Rows in boxes of cells first..last, both included: one row a question, one number a column."""
        names = tuple(self._library.schema.column(name).name for name in columns)
        trees = [source for source in self._library.joined if source.columns == names]
        if not trees:
            raise NotAnswerable(
                f"The release cannot answer this: it would have needed ranges over {', '.join(names)}, "
                "in this order."
            )
        low, high = np.asarray(first), np.asarray(last)
        if low.shape != high.shape or low.ndim != 2 or low.shape[1] != len(names):
            raise BadInput(f"first and last must have {len(names)} whole numbers a question.")
        sides = [
            whole_codes(low[:, axis], high[:, axis], self._library.schema.column(name).value_cells)
            for axis, name in enumerate(names)
        ]
        begin = np.concatenate([side[0] for side in sides], axis=1)
        end = np.concatenate([side[1] for side in sides], axis=1)
        found = trees[0].count(
            begin, end, confidence=confidence, public_rows=self._library.release.public_rows
        )
        counted = ManyCounts(*found.arrays, confidence=confidence)
        rules = rules_over(self._library.schema, names)
        if not rules:
            return counted
        nothing = [
            covers_box(rules, {n: (a, b + 1) for n, a, b in zip(names, one, other, strict=True)})
            for one, other in zip(begin.tolist(), end.tolist(), strict=True)
        ]
        return _emptied(counted, np.array(nothing, dtype=np.bool_))

    def cells(
        self, columns: tuple[str, ...], codes: npt.ArrayLike, *, confidence: float
    ) -> ManyCounts:
        """Rows in single cells: one row of `codes` a question, one number a column."""
        schema = self._library.schema
        declared = [schema.column(name) for name in columns]
        names = tuple(column.name for column in declared)
        if len(set(names)) != len(names):
            raise BadInput(f"A column is named twice: {', '.join(names)}.")
        wanted = np.asarray(codes)
        if wanted.ndim == 1 and len(names) == 1:
            wanted = wanted.reshape(-1, 1)
        if wanted.ndim != 2 or wanted.shape[1] != len(names) or wanted.dtype.kind not in "iu":
            raise BadInput(f"codes must be whole numbers, {len(names)} a question.")
        shape = np.array([column.cells for column in declared], dtype=np.int64)
        if wanted.size and ((wanted < 0) | (wanted >= shape)).any():
            raise BadInput("A code lies outside its column's cells.")
        ordered = tuple(column.name for column in schema.columns if column.name in names)
        table = self._library.table(ordered)
        codes = [wanted[:, names.index(name)].astype(np.int64) for name in ordered]
        found = table.counts[tuple(codes)]
        one = np.ones(len(wanted), dtype=np.int64)
        most = None
        if isinstance(table, ModelTable) and table.margins:
            most = table.ceilings_of_cells(codes, confidence)
        counted = self._finish(ordered, found, one, found, one, None, confidence, most=most)
        counted = self._with_trees(counted, names, wanted, confidence)
        return _emptied(counted, impossible_rows(schema, names, wanted.astype(np.int64)))

    def _with_trees(
        self, counted: ManyCounts, names: tuple[str, ...], codes: Integers, confidence: float
    ) -> ManyCounts:
        """Cells of values from trees and tables together, or from a tree rather than a model."""
        trees = [each for each in self._library.joined if set(each.columns) == set(names)]
        if not trees or not isinstance(trees[0], JoinedSource):
            return counted
        is_model = counted.is_model is not None and bool(counted.is_model.any())
        if trees[0].is_lone and not is_model:
            return counted
        schema, order = self._library.schema, [names.index(name) for name in trees[0].columns]
        values = np.array([schema.column(name).value_cells for name in trees[0].columns])
        ordered = codes[:, order].astype(np.uint64)
        there = np.flatnonzero((ordered < values).all(axis=1))
        box = ordered[there]
        found = trees[0].count(
            box, box, confidence=confidence, public_rows=self._library.release.public_rows
        )
        joint = replace(
            counted,
            estimate=counted.estimate.copy(),
            lower=counted.lower.copy(),
            upper=counted.upper.copy(),
            std=counted.std.copy(),
            is_exact=counted.is_exact.copy(),
            is_model=None if counted.is_model is None else counted.is_model.copy(),
        )
        for name in ("estimate", "lower", "upper", "std", "is_exact"):
            getattr(joint, name)[there] = getattr(found, name)
        if joint.is_model is not None:
            joint.is_model[there] = False
        return joint

    def _finish(
        self,
        columns: tuple[str, ...],
        inner_sum: Floats,
        inner: Integers,
        outer_sum: Floats,
        outer: Integers,
        partial: Floats | None,
        confidence: float,
        *,
        most: Floats | None = None,
    ) -> ManyCounts:
        """`most`: what the counts cannot exceed, if that took a part of the risk."""
        table = self._library.table(columns)
        exact = inner == outer
        rows = self._library.release.public_rows
        if isinstance(table, WeightedTable):
            cells = int(max(inner.max(initial=0), outer.max(initial=0)))
            level = confidence
            if most is not None and isinstance(table, ModelTable):
                level = float(table.model_level(confidence))
            wide, std = self._weighted_widths(table, cells, level)
            middle = inner_sum if partial is None else inner_sum + partial
            ends = inner_sum - wide[inner], outer_sum + wide[outer]
            if most is not None:
                ends = below_a_ceiling(*ends, wide[inner], most)
            estimate, lower, upper = plausible_counts(middle, *ends, rows=rows)
            models = np.full(exact.shape, table.is_model)
            return ManyCounts(
                estimate, lower, upper, std[outer], exact, confidence, is_model=models
            )
        schema = self._library.schema
        complete = all(keeps_every_row(schema.column(name)) for name in columns)
        if rows is not None and complete:
            total = float(table.counts.sum())
            inner_sum, inner = complement(table.cells, total, rows, inner_sum, inner)
            outer_sum, outer = complement(table.cells, total, rows, outer_sum, outer)
        widths = self._width_table(
            columns, int(max(inner.max(initial=0), outer.max(initial=0))), confidence
        )
        estimate = inner_sum if partial is None else inner_sum + partial
        estimate, lower, upper = plausible_counts(
            estimate, inner_sum - widths[inner], outer_sum + widths[outer], rows=rows
        )
        return ManyCounts(
            estimate=estimate,
            lower=lower,
            upper=upper,
            std=np.sqrt(table.cell_variance * outer),
            is_exact=exact,
            confidence=confidence,
        )

    def _weighted_widths(
        self, table: WeightedTable, most: int, confidence: float
    ) -> tuple[Floats, Floats]:
        kept = self._weighted.get((table.columns, confidence))
        if kept is None or len(kept[0]) <= most:
            kept = self._weighted[table.columns, confidence] = table.first_cells(most, confidence)
        return kept

    def _width_table(self, columns: tuple[str, ...], most: int, confidence: float) -> Floats:
        """Half-widths of 0, 1, ..., at least `most` cells."""
        kept = self._widths.get((columns, confidence))
        if kept is None or len(kept) <= most:
            table = self._library.table(columns)
            assert not isinstance(table, WeightedTable)
            kept = half_widths(table.noise, np.arange(most + 1, dtype=np.int64), confidence)
            self._widths[columns, confidence] = kept
        return kept


def _around(
    source: BucketSource, inner: Ends, outer: Ends, confidence: float, rows: int | None
) -> CountedRanges:
    """Buckets have one error for all ranges: from inside for the lower end, from outside for the upper."""
    found, around = (
        source.count(*ends, confidence=confidence, public_rows=rows, whole=False)
        for ends in (inner, outer)
    )
    estimate, lower, upper = plausible_counts(
        (found.estimate + around.estimate) / 2, found.lower, around.upper, rows=rows
    )
    return CountedRanges(estimate, lower, upper, np.maximum(found.std, around.std), found.is_exact)


def _is_joint(source: JoinedSource | BucketSource) -> bool:
    return isinstance(source, JoinedSource) and not source.is_lone


def _emptied(counted: ManyCounts, nothing: npt.NDArray[np.bool_]) -> ManyCounts:
    """0, exactly, where the schema declares that no row can be."""
    if not nothing.any():
        return counted
    estimate, lower, upper, std = (
        np.where(nothing, 0.0, each)
        for each in (counted.estimate, counted.lower, counted.upper, counted.std)
    )
    models = None if counted.is_model is None else counted.is_model & ~nothing
    return ManyCounts(
        estimate, lower, upper, std, counted.is_exact | nothing, counted.confidence, models
    )


def _numbers(values: npt.ArrayLike, name: str) -> Floats:
    array = np.atleast_1d(np.asarray(values))
    if array.dtype.kind not in "iufb":
        raise BadInput(f"{name} must be numbers; count dates by their cells, with codes=True.")
    array = array.astype(np.float64)
    if np.isnan(array).any():
        raise BadInput(f"{name} holds a NaN.")
    return array
