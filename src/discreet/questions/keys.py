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
from itertools import pairwise, product
from math import inf, nextafter, prod

from discreet.errors import BadQuestion, NotAnswerable
from discreet.questions.cells.halving import (
    MOST_LOOKS,
    boxes,
    halved_units,
    joined_stretches,
    reach_of_cells,
    reach_outside,
    special_cells,
    stretches,
)
from discreet.questions.cells.periods import period_of
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
from discreet.schema import CategoryColumn, Column, NumberColumn, OrderedColumn, Schema
from discreet.schema.columns.column import NULL_LABEL, OTHER_LABEL
from discreet.schema.columns.values import day_of

MOST_VALUES = 1 << 12
"""Values that a computed key may have."""
MOST_BINS = 1 << 12
MOST_TOGETHER = 1 << 12
"""Groups that are looked at one by one, whether a condition rules them out."""
MOST_KEY_CELLS = 1 << 20
"""Combinations of cells of a key over several columns."""


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
        _, origin = _period(self.expression, column)
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
                where = {
                    name: _unclamped(each, schema.column(name)) for name, each in where.items()
                }
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


def possible_groups(
    keys: Sequence[Key], condition: Expression, schema: Schema, *, raw: bool = True
) -> list[tuple[int, ...]]:
    """The groups of some keys together that some row could be in and satisfy a condition, as rows of codes."""
    possible = [possible_codes(key, condition, schema, raw=raw) for key in keys]
    rows = list(product(*possible))
    together = possible_together(keys, rows, condition, schema, raw=raw)
    return [row for row, is_possible in zip(rows, together, strict=True) if is_possible]


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
        for code, pieces in enumerate(_cell_reaches(column, raw=raw))
        if any(
            True in reach_of(condition, elsewhere | {column.name: each}).options for each in pieces
        )
    ]


def possible_together(
    keys: Sequence[Key],
    rows: Sequence[Sequence[int]],
    condition: Expression,
    schema: Schema,
    *,
    raw: bool = True,
) -> list[bool]:
    """For each row of codes, one a key, whether some row of the table could be in that group and satisfy a condition.

    `WHERE a = 1 AND b = 2 OR a = 3 AND b = 4` leaves two groups, although each value of both keys is possible.
    """
    named = set(columns_of(condition))
    plain = [
        (place, key) for place, key in enumerate(keys) if isinstance(key, str) and key in named
    ]
    if len(plain) < 2 or len(rows) > MOST_TOGETHER:
        return [True] * len(rows)
    elsewhere = anywhere(condition)
    names = [key for _, key in plain]
    reaches = [_cell_reaches(schema.column(key), raw=raw) for key in names]

    def is_possible(codes: Sequence[int]) -> bool:
        pieces = [own[codes[place]] for own, (place, _) in zip(reaches, plain, strict=True)]
        return any(
            True in reach_of(condition, elsewhere | dict(zip(names, each, strict=True))).options
            for each in product(*pieces)
        )

    return [is_possible(codes) for codes in rows]


def _cell_reaches(column: Column, *, raw: bool) -> list[tuple[Reach, ...]]:
    return raw_reaches(column) if raw else [(reach,) for reach in _each_cell(column)]


def raw_reaches(column: Column) -> list[tuple[Reach, ...]]:
    """What a row's raw value may be in each cell, in pieces. The cells at the ends of a line hold what lies beyond it, too."""
    special: dict[int, tuple[Reach, ...]] = {
        code: (reach,) for code, reach in special_cells(column)
    }
    if isinstance(column, OrderedColumn) and column.other_cell is not None:
        special[column.other_cell] = _beyond(column)
    return [
        special[code]
        if code in special
        else (_unclamped(reach_of_cells(column, code, code + 1), column),)
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


def computed_key(expression: Expression, name: str, schema: Schema) -> ComputedKey:
    """The key as a map of bins, or a refusal with what would serve."""
    names = set(columns_of(expression))
    columns = [column for column in schema.columns if column.name in names]
    for column in columns:
        if isinstance(column, CategoryColumn) and column.undeclared:
            raise BadQuestion(
                f"Column {column.name!r} declares no values, so nothing can be computed of it for a "
                "group; GROUP BY the plain column."
            )
    try:
        if len(columns) == 1 and isinstance(columns[0], OrderedColumn):
            return _on_a_line(expression, name, columns[0])
        return _on_cells(expression, name, columns)
    except NotAnswerable as error:
        raise BadQuestion(f"GROUP BY {name}: {error}") from None


def _on_a_line(expression: Expression, name: str, column: OrderedColumn) -> ComputedKey:
    period, origin = _period(expression, column)
    found = joined_stretches(
        _settled(
            halved_units(expression, column, origin, origin + period - 1, _is_one, MOST_LOOKS)
            if period
            else stretches(expression, column, _is_one, MOST_LOOKS),
            _too_many(name, [column]),
        )
    )
    seen = [reach.only for _, _, reach in found]
    null = reach_of(expression, {column.name: NULL}).only
    outside = reach_of(expression, {column.name: reach_outside(column)})
    if column.nulls == "cell":
        seen.append(null)
    if column.has_other and outside.is_one:
        seen.append(outside.only)
    values, other = _listed(seen, column.has_other and not outside.is_one)
    place = {_typed(value): code for code, value in enumerate(values) if code != other}
    out = other if other is not None else place.get(_typed(outside.only), -1)
    bins = Bins(
        columns=(column.name,),
        codes=tuple(place[_typed(reach.only)] for _, _, reach in found),
        size=len(values),
        starts=tuple(first - origin for first, _, _ in found),
        period=period,
        other=out if column.has_other and out is not None else -1,
        null=place[_typed(null)] if column.nulls == "cell" else -1,
    )
    return _checked(ComputedKey(name, expression, values, bins, other), [column])


def _settled(
    found: Iterator[tuple[Unit, Unit, Reach]], refusal: BadQuestion
) -> Iterator[tuple[Unit, Unit, Reach]]:
    """The stretches, as long as the key has one value on each, and not too many: the first other one ends the search."""
    bins, before = 0, None
    for first, last, reach in found:
        bins, before = bins + (reach != before), reach
        if not reach.is_one or bins > MOST_BINS:
            raise refusal
        yield first, last, reach


def _is_one(reach: Reach) -> bool:
    return reach.is_one


def _period(expression: Expression, column: OrderedColumn) -> tuple[int, int]:
    """After how many units the key repeats, and a unit from which it starts; zeros if it does not."""
    low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    period = 0 if isinstance(column, NumberColumn) else period_of(expression)
    if column.kind == "integer" and low < 0:
        period = 0  # a rest has the sign of what is divided
    if period < 2 or high - low < 3 * period:
        return 0, 0
    return period, int(low) - int(low) % period + period


def _on_cells(expression: Expression, name: str, columns: Sequence[Column]) -> ComputedKey:
    shape = [column.cells for column in columns]
    if prod(shape) > MOST_KEY_CELLS:
        raise BadQuestion(
            f"GROUP BY {name} looks at {prod(shape):,} combinations of cells; at most "
            f"{MOST_KEY_CELLS:,} are mapped. Compute it of one column, or declare wider cells."
        )
    found: dict[tuple[int, ...], Reach | None] = {}
    outside: list[tuple[int, ...]] = []
    for chosen in product(*([None, *special_cells(column)] for column in columns)):
        pairs = list(zip(columns, chosen, strict=True))
        free = [column for column, cell in pairs if cell is None]
        others = {column.name: cell[1] for column, cell in pairs if cell is not None}
        is_other = any(cell is not None and cell[0] == column.other_cell for column, cell in pairs)
        for ranges, reach in boxes(expression, free, lambda one: one.is_one, others):
            if not reach.is_one and not is_other:
                raise _too_many(name, columns)
            left = iter(ranges)
            sides = [range(*next(left)) if cell is None else (cell[0],) for _, cell in pairs]
            for place in product(*sides):
                found[place] = reach if reach.is_one else None
                if is_other:
                    outside.append(place)
    if any(reach is None for reach in found.values()):
        found |= dict.fromkeys(outside)  # together in one group, as it is written: (other)
    seen = [reach.only for reach in found.values() if reach is not None]
    values, other = _listed(seen, any(reach is None for reach in found.values()))
    code_of = {_typed(value): code for code, value in enumerate(values) if code != other}
    code_of_cell = {
        place: other if reach is None else code_of[_typed(reach.only)]
        for place, reach in found.items()
    }
    codes = [code_of_cell[place] for place in product(*map(range, shape))]
    names = tuple(column.name for column in columns)
    bins = Bins(
        columns=names, codes=tuple(code for code in codes if code is not None), size=len(values)
    )
    return _checked(ComputedKey(name, expression, values, bins, other), columns)


def _listed(seen: Sequence[Scalar], has_other: bool) -> tuple[tuple[Scalar, ...], int | None]:
    """The values in their order, then undeclared ones, then null; and the place of the undeclared ones."""
    distinct = {_typed(value): value for value in seen}
    known = sorted(value for value in distinct.values() if value is not None)
    values: list[Scalar] = [*known]
    other = len(values) if has_other else None
    values += [OTHER_LABEL] * has_other
    values += [None] * any(value is None for value in seen)
    return tuple(values), other


def _typed(value: Scalar) -> tuple[str, Scalar]:
    return type(value).__name__, value  # True and 1 are equal, and different keys


def _checked(key: ComputedKey, columns: Sequence[Column]) -> ComputedKey:
    if len(key.values) > MOST_VALUES:
        raise _too_many(key.name, columns)
    return key


def _too_many(name: str, columns: Sequence[Column]) -> BadQuestion:
    named = " and ".join(column.name for column in columns)
    return BadQuestion(
        f"GROUP BY {name} has more than {MOST_VALUES:,} values, or changes inside the cells of {named} more "
        "often than can be followed. Group by something coarser, such as FLOOR(x/500)*500 or "
        "date_trunc('month', d)."
    )


def _unclamped(reach: Reach, column: Column) -> Reach:
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
    return Call("or", (declared, Call("is null", (value,), "boolean")), "boolean")
