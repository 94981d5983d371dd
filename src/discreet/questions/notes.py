"""Notes on a question: undeclared values in it, and declared cells that it divides.

A text that the schema does not declare is most often a slip of the pen: the note names the declared value
that is nearest. A condition that falls inside a cell widens the interval: the note names the edges of
the cell. Values of rows play no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from discreet.errors import NotAnswerable, did_you_mean
from discreet.questions.cells.truths import has_one_truth, truth_boxes
from discreet.questions.conditions import atoms, normal_form, simple_of
from discreet.questions.expressions import Call, ColumnValue, Constant, Expression, columns_of
from discreet.questions.keys import ComputedKey, Key
from discreet.schema import OrderedColumn, Schema
from discreet.schema.columns.column import OTHER_LABEL
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.temporal import DateColumn, DatetimeColumn
from discreet.schema.columns.values import MICROSECONDS_PER_DAY

MOST_NOTED = 3
MOST_LISTED = 6
"""Declared values that a note names."""


def undeclared_values(condition: Expression, schema: Schema) -> tuple[str, ...]:
    """A note for each undeclared value in a condition."""
    return _undeclared(_equated(condition), schema)


def _equated(condition: Expression) -> Iterator[tuple[str, object]]:
    if not isinstance(condition, Call):
        return
    if condition.name in ("=", "!=", "in"):
        columns = [one.column for one in condition.arguments if isinstance(one, ColumnValue)]
        for one in condition.arguments:
            if len(columns) == 1 and isinstance(one, Constant) and one.type == "text":
                yield columns[0], one.value
    for argument in condition.arguments:
        yield from _equated(argument)


def _undeclared(compared: Iterable[tuple[str, object]], schema: Schema) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for name, literal in compared:
        column = schema.column(name)
        if not isinstance(column, CategoryColumn) or column.undeclared or column.declares(literal):
            continue
        near = did_you_mean(str(literal), column.values)
        if not near and column.values:
            more = f" and {len(column.values) - MOST_LISTED:,} more" * (
                len(column.values) > MOST_LISTED
            )
            near = f" Declared are {', '.join(map(repr, column.values[:MOST_LISTED]))}{more}."
        notes[f"{literal!r} is not a declared value of column {name!r}.{near}"] = None
        if len(notes) == MOST_NOTED:
            break
    return tuple(notes)


def unsettled_groups(keys: Sequence[Key]) -> tuple[str, ...]:
    """A note for each computed key that undeclared values have no known group of."""
    return tuple(
        f"Rows with an undeclared value of {' or '.join(key.bins.columns)} are in the group {OTHER_LABEL} of {key.name}, "
        "whatever the expression gives for them."
        for key in keys
        if isinstance(key, ComputedKey) and key.other is not None
    )


_FLIPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def beyond_bounds(condition: Expression, schema: Schema) -> tuple[str, ...]:
    """A note for each column whose condition asks for values beyond the bounds, where no row is counted."""
    notes: dict[str, None] = {}
    for name, sign, number in _ordered(condition):
        column = schema.column(name)
        bounds = column.value_bounds
        if bounds is None or getattr(column, "outside", None) != "edge":
            continue
        low, high = (float(each) for each in bounds)
        shown = f"{low:.15g} to {high:.15g}"
        if isinstance(column, DateColumn | DatetimeColumn):
            shown = f"{column.low} to {column.high}"
        above = number > high or (sign == ">" and number == high)
        below = number < low or (sign == "<" and number == low)
        if (above and sign in (">", ">=")) or (below and sign in ("<", "<=")):
            notes[
                f"Column {name!r} has the bounds {shown}. Values beyond them are counted as the nearest "
                "bound, so none is counted as beyond."
            ] = None
    return tuple(notes)


def _ordered(condition: Expression) -> Iterator[tuple[str, str, float]]:
    """Columns that are compared with a number: the sign reads from the column to the number."""
    if not isinstance(condition, Call):
        return
    if condition.name in _FLIPPED and len(condition.arguments) == 2:
        left, right = condition.arguments
        sign = condition.name
        if isinstance(left, Constant):
            left, right, sign = right, left, _FLIPPED[sign]
        number = right.value if isinstance(right, Constant) else None
        if isinstance(left, ColumnValue) and isinstance(number, int | float | Fraction | Decimal):
            is_day = left.type == "datetime" and right.type == "date"
            yield left.column, sign, float(number) * (MICROSECONDS_PER_DAY if is_day else 1)
    for argument in condition.arguments:
        yield from _ordered(argument)


def divided_cells(condition: Expression, keys: Sequence[Key], schema: Schema) -> tuple[str, ...]:
    """A note for each ordered column of which a condition or a computed key divides a cell."""
    found: dict[str, str] = {}
    for atom in atoms(normal_form(condition)):
        names = set(columns_of(atom))
        column = schema.column(next(iter(names)))
        if len(names) > 1 or column.name in found or not isinstance(column, OrderedColumn):
            continue
        cell = _divided(atom, column)
        if cell is not None:
            found[column.name] = _note("The condition", column, cell)
    for key in keys:
        if isinstance(key, ComputedKey) and key.bins.starts:
            column = schema.column(key.bins.columns[0])
            assert isinstance(column, OrderedColumn)
            cell = next(
                (
                    code
                    for start in key.first_units(column)
                    if column.extent(code := column.code_of_unit(start))[0] != start
                ),
                None,
            )
            if cell is not None:
                found.setdefault(column.name, _note(f"GROUP BY {key.name}", column, cell))
    return tuple(found.values())[:MOST_NOTED]


def _divided(atom: Expression, column: OrderedColumn) -> int | None:
    """The first cell that an atom divides."""
    asked = simple_of(atom)
    if asked is None:
        try:
            halved = truth_boxes(atom, (column,))
            return next(
                (ranges[0][0] for ranges, truth in halved if not has_one_truth(truth)), None
            )
        except NotAnswerable:
            return None
    if not asked.literals:
        return None
    sign = asked.sign
    chosen = column.codes_where(sign, list(asked.literals) if sign == "in" else asked.literals[0])
    inside = {code for pair in chosen.inner for code in pair}
    edges = sorted({code for pair in chosen.outer for code in pair} ^ inside)
    return next((code for code in _between(edges, column, chosen.inner, chosen.outer)), None)


def _between(
    edges: Sequence[int],
    column: OrderedColumn,
    inner: Sequence[tuple[int, int]],
    outer: Sequence[tuple[int, int]],
) -> Iterator[int]:
    """Cells beside the edges that may satisfy an atom and may not."""
    for edge in edges:
        for code in (edge - 1, edge):
            surely = any(start <= code < stop for start, stop in inner)
            perhaps = any(start <= code < stop for start, stop in outer)
            if perhaps and not surely and 0 <= code < column.value_cells:
                yield code


def _note(what: str, column: OrderedColumn, cell: int) -> str:
    low, high = column.bounds(cell)
    return (
        f"{what} divides the cell {column.label(cell)} of column {column.name!r}; its nearest edges are "
        f"{low} and {high}."
    )


def counted_rows_note(schema: Schema, *, in_groups: bool = False) -> tuple[str, ...]:
    """The sentence, where a person may have several rows; `in_groups`: where groups are bounded too."""
    unit = schema.unit
    if unit.identifier is None:
        return ()
    rows = "1 row" if unit.max_rows == 1 else f"{unit.max_rows} rows"
    are = "is" if unit.max_rows == 1 else "are"
    note = f"At most {rows} of each {unit.identifier} {are} counted"
    if in_groups and unit.groups < unit.max_rows:
        note += f", in at most {unit.groups} of the groups"
    which = "that one" if unit.max_rows == 1 else "those"
    return (f"{note}: the answer and its interval are about {which}.",)
