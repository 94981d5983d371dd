"""Regions: the rows that a question selects, or many boxes of cells at once.

A question becomes regions, one for each aggregate of its list. A region knows nothing of other regions, so
an answer does not depend on what else is asked, nor in which order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.answering.regions.ends import whole_codes
from discreet.arrays import Codes, Floats, Integers
from discreet.errors import BadInput, BadQuestion
from discreet.questions.conditions import both, columns_named, normal_form, null_test, opposite
from discreet.questions.expressions import (
    TRUE,
    TYPE_OF_KIND,
    Call,
    ColumnValue,
    Constant,
    Expression,
)
from discreet.questions.groups_together import possible_groups
from discreet.questions.inequality import has_inequality
from discreet.questions.keys import ComputedKey
from discreet.questions.question import Aggregate, AggregateKind, Question
from discreet.schema import Column, OrderedColumn, Schema

MOST_COMPUTED = 1 << 12
"""Groups of computed keys: each is read for itself."""
MOST_LISTED = 1 << 17
"""Combinations of the values of computed keys that are looked at, whether a row could be in them."""


@dataclass(frozen=True)
class Region:
    """The rows that satisfy a condition, and what is asked of them; one number for each group."""

    condition: Expression = TRUE
    groups: tuple[str, ...] = ()
    kind: AggregateKind = "count"
    column: str | None = None
    """The column that is summed or averaged; of a count, the column that must not be null."""
    level: Fraction | None = None
    """The level, for a quantile."""
    second: str | None = None
    """The other column of a moment."""
    expression: Expression | None = None
    """What a total adds up."""
    centres: tuple[float, ...] = ()
    """The centre that is subtracted from each column of a moment; by default its middle."""

    @classmethod
    def of(cls, aggregate: Aggregate, condition: Expression, groups: tuple[str, ...]) -> Region:
        return cls(
            condition,
            groups,
            aggregate.kind,
            aggregate.column,
            aggregate.level,
            aggregate.second,
            aggregate.expression,
            aggregate.centres,
        )

    @cached_property
    def has_inequality(self) -> bool:
        return has_inequality(self.condition)

    @cached_property
    def takes_all(self) -> bool:
        """Whether every row satisfies the condition."""
        return normal_form(self.condition) is True

    @property
    def is_one_count(self) -> bool:
        """Whether it is one number of rows, whatever their values."""
        return self.kind == "count" and self.column is None and not self.groups

    @cached_property
    def names(self) -> frozenset[str]:
        """The columns of the condition and of the groups."""
        return columns_named(self.condition) | frozenset(self.groups)

    @cached_property
    def counted(self) -> Expression:
        """The condition of the rows that are counted."""
        if self.column is None:
            return self.condition
        return both(self.condition, opposite(null_test(self.column)))


@dataclass(frozen=True, slots=True, eq=False)
class RangeRegions:
    """Many ranges of one column, both ends included: as values, or as numbers of cells."""

    column: Column
    low: npt.NDArray[np.generic]
    high: npt.NDArray[np.generic]
    are_codes: bool

    @classmethod
    def of(
        cls, column: Column, low: npt.ArrayLike, high: npt.ArrayLike, *, codes: bool
    ) -> RangeRegions:
        first, last = np.atleast_1d(np.asarray(low)), np.atleast_1d(np.asarray(high))
        if first.shape != last.shape or first.ndim != 1:
            raise BadInput("low and high must be two lists of the same length.")
        return cls(column, first, last, codes)

    def numbers(self) -> tuple[Floats, Floats]:
        """The ends as numbers."""
        return _numbers(self.low, "low"), _numbers(self.high, "high")

    def __len__(self) -> int:
        return len(self.low)

    def regions(self) -> list[Region]:
        """One by one, for a source that has no faster way."""
        found: list[Region] = []
        for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True):
            ends = (low, high) if not self.are_codes else _values(self.column, low, high)
            found.append(Region(_between(self.column, ends)))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CellRegions:
    """Many single cells over some columns: a row of codes a question."""

    columns: tuple[Column, ...]
    codes: Integers

    @classmethod
    def of(cls, columns: tuple[Column, ...], codes: npt.ArrayLike) -> CellRegions:
        names = tuple(column.name for column in columns)
        if len(set(names)) != len(names):
            raise BadInput(f"A column is named twice: {', '.join(names)}.")
        wanted = np.asarray(codes)
        if wanted.ndim == 1 and len(names) == 1:
            wanted = wanted.reshape(-1, 1)
        if wanted.ndim != 2 or wanted.shape[1] != len(names) or wanted.dtype.kind not in "iu":
            raise BadInput(f"codes must be whole numbers, {len(names)} a question.")
        shape = np.array([column.cells for column in columns], dtype=np.int64)
        if wanted.size and ((wanted < 0) | (wanted >= shape)).any():
            raise BadInput("A code lies outside its column's cells.")
        return cls(columns, wanted.astype(np.int64))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, slots=True, eq=False)
class BoxRegions:
    """Many boxes of cells of values, first to last in each column, both included."""

    columns: tuple[str, ...]
    first: Codes
    last: Codes

    @classmethod
    def of(
        cls, columns: tuple[Column, ...], first: npt.ArrayLike, last: npt.ArrayLike
    ) -> BoxRegions:
        """Cell numbers as given, cut to the domain."""
        names, low, high = tuple(each.name for each in columns), np.asarray(first), np.asarray(last)
        if low.shape != high.shape or low.ndim != 2 or low.shape[1] != len(names):
            raise BadInput(
                f"first and last must have {len(names)} whole numbers for each question."
            )
        sides = [
            whole_codes(low[:, axis], high[:, axis], column.value_cells)
            for axis, column in enumerate(columns)
        ]
        begin, end = (np.concatenate([side[at] for side in sides], axis=1) for at in (0, 1))
        return cls(names, begin, end)


def _between(column: Column, ends: tuple[int | float, int | float] | None) -> Expression:
    if ends is None:
        return Constant(False, "boolean")
    type_ = TYPE_OF_KIND[column.kind]
    value = ColumnValue(column.name, type_)
    low, high = (Constant(end, type_) for end in ends)
    return both(Call(">=", (value, low), "boolean"), Call("<=", (value, high), "boolean"))


def _values(column: Column, low: int, high: int) -> tuple[int | float, int | float] | None:
    """The values at the ends of a range of cells; `None` where it is empty."""
    assert isinstance(column, OrderedColumn)
    first, last = max(low, 0), min(high, column.value_cells - 1)
    return None if first > last else (column.extent(first)[0], column.extent(last)[1])


def _numbers(array: npt.NDArray[np.generic], name: str) -> Floats:
    if array.dtype.kind not in "iufb":
        raise BadInput(f"{name} must be numbers; count dates by their cells, with codes=True.")
    found = array.astype(np.float64)
    if np.isnan(found).any():
        raise BadInput(f"{name} holds a NaN.")
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """One question as regions: one for each aggregate, for each combination of computed keys."""

    question: Question
    keys: tuple[tuple[int, ...], ...]
    """The numbers of the computed keys' values; one empty combination where there are no such keys."""
    regions: tuple[tuple[Region, ...], ...]

    @classmethod
    def of(cls, question: Question, schema: Schema) -> Asked:
        plain = plain_groups(question)
        for name in plain:
            schema.column(name)
        computed = [key for key in question.group_by if isinstance(key, ComputedKey)]
        listed = prod(len(key.values) for key in computed)
        codes: tuple[tuple[int, ...], ...] = ()
        if listed <= MOST_LISTED:
            codes = tuple(possible_groups(computed, question.condition, schema, raw=False))
        if listed > MOST_LISTED or len(codes) > MOST_COMPUTED:
            raise BadQuestion(
                f"GROUP BY makes more than {MOST_COMPUTED:,} groups of computed keys; group by fewer, or "
                "by coarser ones."
            )
        regions = []
        for each in codes:
            parts = [key.condition(code, schema) for key, code in zip(computed, each, strict=True)]
            condition = both(question.condition, *parts)
            regions.append(tuple(Region.of(one, condition, plain) for one in question.aggregates))
        return cls(question, codes, tuple(regions))


def plain_groups(question: Question) -> tuple[str, ...]:
    """The columns of GROUP BY, without the computed keys."""
    return tuple(key for key in question.group_by if isinstance(key, str))
