"""Computed keys of GROUP BY: `date_trunc('month', day)`, `FLOOR(price/500)*500`, `CASE WHEN age < 18 ...`.

A key is a public map from what a row can be, by the schema, to the key's values. The line of an ordered
column is cut into bins wherever the key changes, so a key may be finer than the declared cells. Keys of
categories, booleans or several columns are maps of their cells. Groups stay disjoint, and no row has a
say in which groups there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise, product
from math import inf, nextafter

from discreet.questions.cells.halving import (
    reach_of_cells,
    reach_outside,
    special_cells,
)
from discreet.questions.cells.periods import period_of, repeats_after
from discreet.questions.cells.reach import NULL, Reach, Scalar, numbers
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.cells.values import cell_value
from discreet.questions.conditions import anything, anywhere, both, opposite
from discreet.questions.expressions import (
    TYPE_OF_KIND,
    Bins,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Unit,
    columns_of,
)
from discreet.schema import CategoryColumn, Column, OrderedColumn, Schema
from discreet.schema.columns.column import NULL_LABEL, OTHER_LABEL
from discreet.schema.columns.values import day_of

MOST_VALUES = 1 << 12
"""Values that a computed key may have."""


@dataclass(frozen=True, slots=True)
class ComputedKey:
    """A key of GROUP BY that is no plain column."""

    name: str
    """What the answer's column is called."""
    expression: Expression
    values: tuple[Scalar, ...]
    """The key's value in each group: days for a date, microseconds for a datetime."""
    bins: Bins
    other: int | None = None
    """The group of undeclared values, on which the key may be anything."""

    def label(self, code: int) -> str:
        """The key for people to read."""
        if code == self.other:
            return OTHER_LABEL
        value = self.value(code)
        if value is None:
            return NULL_LABEL
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"{value:.15g}" if isinstance(value, float) else str(value)

    def value(self, code: int) -> object:
        """The key as a Python value."""
        value = self.values[code]
        if self.expression.type == "date" and isinstance(value, int):
            return day_of(value)
        if self.expression.type == "datetime" and isinstance(value, int):
            return datetime(1970, 1, 1) + timedelta(microseconds=value)
        return value

    def first_units(self, column: OrderedColumn) -> tuple[Unit, ...]:
        """The first units of the bins of one ordered column; of bins that repeat, those of one period."""
        if not self.bins.period:
            return self.bins.starts
        _, origin = repeats_after(self.expression, column)
        return tuple(start + origin for start in self.bins.starts)

    def condition(self, code: int, schema: Schema) -> Expression:
        """What the rows of a group satisfy."""
        declared = [schema.column(name) for name in self.bins.columns]
        inside = [] if self.other is None else [_inside(one) for one in declared if one.has_other]
        if code == self.other:
            return opposite(both(*inside))
        wanted = Constant(self.values[code], self.expression.type)
        differs = Call("distinct", (self.expression, wanted), "boolean")
        return both(*inside, opposite(differs))

    def possible(self, condition: Expression, schema: Schema, *, raw: bool = False) -> list[int]:
        """The groups of which some row could satisfy a condition; the schema decides that, and no row.

        A condition on `raw` values looks at them before they are clamped.
        """
        if not set(columns_of(condition)) & set(self.bins.columns):
            return list(range(self.bins.size))
        elsewhere = anywhere(condition)
        found: set[int] = set()
        for code, where in self._reaches(schema, period_of(condition)):
            if raw:
                where = {name: unclamped(each, schema.column(name)) for name, each in where.items()}
            if code not in found and True in reach_of(condition, elsewhere | dict(where)).options:
                found.add(code)
        return sorted(found - {-1})

    def _reaches(self, schema: Schema, period: int) -> Iterator[tuple[int, Mapping[str, Reach]]]:
        """For each bin its group, and where the columns are, for a condition that repeats after `period`."""
        bins = self.bins
        declared = [schema.column(name) for name in bins.columns]
        if bins.starts:
            (column,) = declared
            assert isinstance(column, OrderedColumn)
            repeats = bins.period and not (period and bins.period % period == 0)
            everywhere = reach_of_cells(column, 0, column.value_cells)
            spans = _spans(self.first_units(column), column, bins.period)
            for (first, last), code in zip(spans, bins.codes, strict=True):
                # A bin of every period may be anywhere, unless the condition repeats with the key.
                yield code, {column.name: everywhere if repeats else numbers(first, last)}
            yield bins.other, {column.name: reach_outside(column)}
            yield bins.null, {column.name: NULL}
            return
        sides = [[*_each_cell(column)] for column in declared]
        for reaches, code in zip(product(*sides), bins.codes, strict=True):
            yield code, dict(zip(bins.columns, reaches, strict=True))


Key = str | ComputedKey
"""A key of GROUP BY: a plain column, by its name, or a computed one."""


def tally_groups(keys: Sequence[Key]) -> tuple[str | Bins, ...]:
    """The keys as the core counts them: without the expressions that they were made from."""
    return tuple(key if isinstance(key, str) else key.bins for key in keys)


def possible_codes(
    key: Key, condition: Expression, schema: Schema, *, raw: bool = True
) -> list[int]:
    """The groups of a key that some row could be in and satisfy a condition; the schema decides, and no row.

    The condition looks at `raw` values, or at values that are clamped to the declared bounds.
    """
    if isinstance(key, ComputedKey):
        return key.possible(condition, schema, raw=raw)
    column = schema.column(key)
    everything = list(range(column.cells))
    if key not in columns_of(condition) or column.cells > MOST_VALUES:
        return everything
    elsewhere = anywhere(condition)
    return [
        code
        for code, pieces in enumerate(cell_reaches(column, raw=raw))
        if any(
            True in reach_of(condition, elsewhere | {column.name: each}).options for each in pieces
        )
    ]


def cell_reaches(column: Column, *, raw: bool) -> list[tuple[Reach, ...]]:
    return raw_reaches(column) if raw else [(reach,) for reach in _each_cell(column)]


def raw_reaches(column: Column) -> list[tuple[Reach, ...]]:
    """The possible raw values of a row in each cell, in pieces. The cells at both ends also hold values beyond them."""
    special: dict[int, tuple[Reach, ...]] = {
        code: (reach,) for code, reach in special_cells(column)
    }
    if isinstance(column, OrderedColumn) and column.other_cell is not None:
        special[column.other_cell] = _beyond(column)
    return [
        special[code]
        if code in special
        else (unclamped(reach_of_cells(column, code, code + 1), column),)
        for code in range(column.cells)
    ]


def _beyond(column: OrderedColumn) -> tuple[Reach, Reach]:
    """Below and above the declared values."""
    low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    everything = anything(TYPE_OF_KIND[column.kind], null=False)
    below = low - 1 if isinstance(low, int) else nextafter(low, -inf)
    above = high + 1 if isinstance(high, int) else nextafter(high, inf)
    return everything._replace(high=below), everything._replace(low=above)


def key_name(key: Key) -> str:
    return key if isinstance(key, str) else key.name


def key_size(key: Key, schema: Schema) -> int:
    """How many groups a key makes."""
    return schema.column(key).cells if isinstance(key, str) else key.bins.size


def is_of_values(key: Key, code: int, schema: Schema) -> bool:
    """Whether a group is of declared values: not of nulls, nor of undeclared values."""
    if isinstance(key, ComputedKey):
        return code != key.other and key.values[code] is not None
    return code < schema.column(key).value_cells


def key_label(key: Key, code: int, schema: Schema) -> str:
    return schema.column(key).label(code) if isinstance(key, str) else key.label(code)


def key_value(key: Key, code: int, schema: Schema) -> object:
    """A group's key as a Python value; for a cell of several values, a `Span` of them."""
    if isinstance(key, ComputedKey):
        return key.value(code)
    return cell_value(schema.column(key), code)


def unclamped(reach: Reach, column: Column) -> Reach:
    """With all values beyond the declared bounds, where the reach touches one of them."""
    if not isinstance(column, OrderedColumn) or reach.low is None or reach.high is None:
        return reach
    least, most = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    everything = anything(TYPE_OF_KIND[column.kind], null=False)
    return reach._replace(
        low=everything.low if reach.low == least else reach.low,
        high=everything.high if reach.high == most else reach.high,
    )


def _spans(starts: Sequence[Unit], column: OrderedColumn, period: int) -> list[tuple[Unit, Unit]]:
    end = starts[0] + period - 1 if period else column.extent(column.value_cells - 1)[1]
    lasts = [
        later - 1 if isinstance(later, int) else nextafter(later, -inf)
        for _, later in pairwise(starts)
    ]
    return list(zip(starts, [*lasts, end], strict=True))


def _each_cell(column: Column) -> Iterator[Reach]:
    for code in range(column.value_cells):
        yield reach_of_cells(column, code, code + 1)
    for _, reach in special_cells(column):
        yield reach


@lru_cache(maxsize=32)
def _inside(column: Column) -> Expression:
    """That a row is null, or has a declared value."""
    type_ = TYPE_OF_KIND[column.kind]
    value = ColumnValue(column.name, type_)
    declared: Expression
    if isinstance(column, OrderedColumn):
        low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
        declared = both(
            Call(">=", (value, Constant(low, type_)), "boolean"),
            Call("<=", (value, Constant(high, type_)), "boolean"),
        )
    else:
        assert isinstance(column, CategoryColumn)
        listed = [Constant(text, "text") for text in column.values]
        declared = Call("in", (value, *listed), "boolean")
    if column.nulls != "cell":
        return declared  # a null has no cell, and a release cannot be asked for any
    return Call("or", (declared, Call("is null", (value,), "boolean")), "boolean")
