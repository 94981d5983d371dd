"""From an expression in GROUP BY to a computed key: the line of a column is cut wherever the key changes, or cells are mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from discreet.errors import BadQuestion, NotAnswerable
from discreet.questions.cells.halving import (
    MOST_LOOKS,
    boxes,
    halved_units,
    joined_stretches,
    reach_outside,
    special_cells,
    stretches,
)
from discreet.questions.cells.periods import repeats_after
from discreet.questions.cells.reach import NULL, Reach, Scalar
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.expressions import Bins, Expression, Unit, columns_of
from discreet.questions.keys import MOST_VALUES, ComputedKey
from discreet.schema import Column, OrderedColumn, Schema
from discreet.schema.columns.column import OTHER_LABEL

MOST_BINS = 1 << 12
MOST_KEY_CELLS = 1 << 20
"""Combinations of cells of a key over several columns."""


def computed_key(expression: Expression, name: str, schema: Schema) -> ComputedKey:
    """The key as a map of bins, or a refusal with what would serve."""
    names = set(columns_of(expression))
    columns = [column for column in schema.columns if column.name in names]
    for column in columns:
        if column.undeclared:
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
    period, origin = repeats_after(expression, column)
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


def _on_cells(expression: Expression, name: str, columns: Sequence[Column]) -> ComputedKey:
    shape = [column.cells for column in columns]
    if prod(shape) > MOST_KEY_CELLS:
        raise BadQuestion(
            f"GROUP BY {name} looks at {prod(shape):,} combinations of cells; the most "
            f"is {MOST_KEY_CELLS:,}. Compute it from one column, or declare wider cells."
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
