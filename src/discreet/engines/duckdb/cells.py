"""From a unit to the code of its cell, and to the value that a sum adds: the third layer.

Everything is total by construction: a unit is clamped into the declared range before any
arithmetic, so nothing overflows whichever branch of a CASE is evaluated.

Categories are looked up by TRY_CAST to an ENUM of the declared values: one hash lookup, and seven times
as fast as a CASE with 50 values. Long lists are joined instead: with 10,000 values that is ten times as
fast, for a cast looks at every row where a dictionary of so many texts would do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb.session import Session
from discreet.engines.duckdb.sql import Sql
from discreet.engines.unit_lines import steps
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import DoubleFormula, IntegerColumn, NumberColumn
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.temporal import TemporalColumn
from discreet.schema.columns.values import MICROSECONDS_PER_DAY, double_of

_MOST_COMPARED = 16
"""Up to so many edges, comparisons are faster than a guess and a look at the listed edges."""
_MOST_ENUMERATED = 1000
"""A category of more values is looked up by a join."""
_CODE_TYPES = ((8, "UTINYINT"), (16, "USMALLINT"), (32, "UINTEGER"), (64, "UBIGINT"))


def unsigned(numbers: int) -> tuple[str, int]:
    """The smallest type for 0 up to, but not including, `numbers`; and its size in bytes."""
    for bits, type_ in _CODE_TYPES:
        if numbers <= 1 << bits:
            return type_, bits // 8
    return "HUGEINT", 16


def code_type(column: Column) -> str:
    """The smallest type that numbers the column's cells."""
    return unsigned(column.cells)[0]


def value_type(column: Column) -> str | None:
    """The type of what a sum adds, or `None` where there is nothing to add."""
    if column.value_bounds is None:
        return None
    return "DOUBLE" if column.kind == "number" else "BIGINT"


def guess(column: Column, unit: Sql) -> Sql | None:
    """For a number among many listed edges, the cell or a neighbour of it; in a layer of its own.

    The cells are equal, so arithmetic in doubles is off by at most one cell (an edge is rounded by
    less than half a cell), which comparing with the two listed edges around it puts right.
    """
    if not isinstance(column, NumberColumn) or not _is_guessed(column):
        return None
    cells = column.value_cells
    scale = cells / (column.high - column.low)
    inside = s.clamp(unit, *ends(column))
    return _place_by(DoubleFormula(column.low, column.high, scale, cells, "left"), inside)


def declare(column: Column, declared: str, session: Session) -> None:
    """Makes `declared` the name of a category's type and table, or of a list of edges.

    They are long, so they are told to DuckDB once instead of in every query.
    """
    if isinstance(column, CategoryColumn) and column.values:
        values = s.render(s.one_of(map(s.text, column.values)))[1:-1]
        session.run(f"CREATE TYPE {declared} AS ENUM ({values})")
        if len(column.values) > _MOST_ENUMERATED:
            listed = f"unnest(enum_range(NULL::{declared}))::VARCHAR AS value"
            places = f"unnest(range({len(column.values)})) AS place"
            session.run(f"CREATE TABLE {declared} AS SELECT {listed}, {places}")
    if isinstance(column, NumberColumn) and _is_guessed(column):
        edges = s.one_of(map(s.double, (-math.inf, *(column.inner_edges or ()), math.inf)))
        session.set_variable(declared, edges)


def code(column: Column, unit: Sql, unit_type: str, *, declared: str, guessed: Sql) -> Sql:
    """The code of a unit; null where the row has no cell.

    `declared` is the name given in `declare`, `guessed` the layer of `guess`, or of what is joined.
    """
    nulls = (s.is_null(unit), _cell(column.null_cell))
    if isinstance(column, CategoryColumn):
        place = _category_place(column, unit, unit_type, declared, guessed)
        result = s.cast(place, "BIGINT")  # null both for a null and for a value not declared
        if column.other_cell is not None:
            result = s.call("coalesce", result, _cell(column.other_cell))
        if column.other_cell is not None or column.null_cell is not None:
            result = s.choose([nulls], result)
    elif isinstance(column, OrderedColumn):
        cases = [nulls]
        if column.outside != "edge":
            low, high = ends(column)
            beyond = s.either(s.less(unit, low), s.less(high, unit))
            cases.append((beyond, _cell(column.other_cell)))
        result = s.choose(cases, _ordered_place(column, unit, guessed, declared))
    else:
        result = s.choose([nulls], s.cast(unit, "BIGINT"))
    return s.try_cast(result, code_type(column))


def place(column: Column, unit: Sql, unit_type: str, *, declared: str, guessed: Sql) -> Sql:
    """The number of a unit's value cell, in 64 bits without a sign; null where it lies in none."""
    if isinstance(column, CategoryColumn):
        return s.try_cast(_category_place(column, unit, unit_type, declared, guessed), "UBIGINT")
    if not isinstance(column, OrderedColumn):
        return s.try_cast(s.cast(unit, "BIGINT"), "UBIGINT")
    cases = [(s.is_null(unit), s.null())]
    if column.outside != "edge":
        low, high = ends(column)
        cases.append((s.either(s.less(unit, low), s.less(high, unit)), s.null()))
    found = _ordered_place(column, unit, guessed, declared)
    return s.choose(cases, s.try_cast(found, "UBIGINT"))


def place_of_code(column: Column, cell: Sql) -> Sql:
    """The same, from the code of a cell that is kept."""
    inside = s.less(cell, s.cast(s.whole(column.value_cells), code_type(column)))
    if column.cells == column.value_cells:
        return s.try_cast(cell, "UBIGINT")
    return s.choose([(inside, s.try_cast(cell, "UBIGINT"))], s.null())


def value(column: Column, unit: Sql, cell: Sql) -> Sql:
    """What a sum adds for the row: its clamped unit; null unless its cell is a value cell."""
    type_ = value_type(column)
    assert type_ is not None
    if isinstance(column, OrderedColumn):
        found = s.clamp(unit, *ends(column))
    else:
        found = s.cast(unit, "BIGINT")
    counted = s.call(
        "coalesce", s.less(cell, s.whole(column.value_cells)), s.cast(s.whole(0), "BOOLEAN")
    )
    return s.choose([(counted, s.try_cast(found, type_))], s.null())


def fixed_point(kept: Sql, column: Column, scale: int, lowest: int, highest: int) -> Sql:
    """`round(clamp(value) * scale)`: rounding never changes an order, so it may come first."""
    if column.kind == "number":
        product = s.call("round_even", s.multiply(kept, s.double(float(scale))), s.whole(0))
        clamped = s.clamp(product, s.double(float(lowest)), s.double(float(highest)))
    else:
        wide = s.cast(s.whole(scale), "HUGEINT")
        product = s.multiply(s.cast(kept, "HUGEINT"), wide)
        clamped = s.clamp(product, s.whole(lowest), s.whole(highest))
    return s.choose([(s.is_null(kept), s.null())], s.cast(clamped, "BIGINT"))


def _cell(cell: int | None) -> Sql:
    return s.null() if cell is None else s.whole(cell)


def ends(column: OrderedColumn) -> tuple[Sql, Sql]:
    """The first and the last unit inside the declared range."""
    if isinstance(column, NumberColumn):
        return s.double(column.low), s.double(column.high)
    low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    return s.cast(s.whole(int(low)), "BIGINT"), s.cast(s.whole(int(high)), "BIGINT")


def is_joined(column: Column, unit_type: str) -> bool:
    """Whether the place of a value is looked up in the declared table, in the layer of `guess`."""
    listed = isinstance(column, CategoryColumn) and len(column.values) > _MOST_ENUMERATED
    return listed and unit_type == "VARCHAR"


def _category_place(
    column: CategoryColumn, unit: Sql, unit_type: str, enum: str, joined: Sql
) -> Sql:
    if is_joined(column, unit_type):
        return joined
    if unit_type == "VARCHAR" and column.values:
        return s.call("enum_code", s.try_cast(unit, enum))
    codes: dict[float, int] = {}
    for place, declared in enumerate(column.values):
        number = double_of(declared)
        if number is not None:
            codes.setdefault(number, place)
    if not codes:
        return s.cast(s.null(), "BIGINT")
    numbers = s.one_of(s.double(number) for number in codes)
    position = s.call("list_position", numbers, unit)
    return s.call("list_extract", s.one_of(map(s.whole, codes.values())), position)


def _ordered_place(column: OrderedColumn, unit: Sql, guessed: Sql, declared: str) -> Sql:
    inside = s.clamp(unit, *ends(column))
    if isinstance(column, NumberColumn):
        if column.double_formula is not None:
            return _place_by(column.double_formula, inside)
        closed_left = column.closed == "left"
        if _is_guessed(column):
            return _corrected(declared, unit, guessed, closed_left)
        edges = column.inner_edges or ()
        return _halving(edges, unit, 0, len(edges), closed_left)
    first = int(column.extent(0)[0])
    passed = _passed(column, s.cast(inside, "BIGINT"), first)
    if isinstance(column, IntegerColumn):
        return _divided(passed, column.width)
    assert isinstance(column, TemporalColumn)
    return _granule(column, passed, first)


def _passed(column: OrderedColumn, inside: Sql, first: int) -> Sql:
    """Units from the first one to a unit inside the range, in 64 bits: 128 are several times as slow."""
    span = int(column.extent(column.value_cells - 1)[1]) - first
    if span < 2**63 and first > -(2**63):
        return s.subtract(inside, s.cast(s.whole(first), "BIGINT"))
    # As far as from -2^63 to 2^63 - 1, so without a sign; from 0 on in two steps, which both fit.
    zero, before = s.cast(s.whole(0), "BIGINT"), s.cast(s.whole(-1), "BIGINT")
    above = s.cast(s.call("greatest", inside, zero), "UBIGINT")
    below = s.subtract(s.call("least", inside, before), s.cast(s.whole(first), "BIGINT"))
    return s.choose(
        [(s.less(inside, zero), s.cast(below, "UBIGINT"))],
        s.add(above, s.cast(s.whole(-first), "UBIGINT")),
    )


def _divided(value: Sql, by: int) -> Sql:
    return value if by == 1 else s.divide_whole(value, s.whole(by))


def _granule(column: TemporalColumn, passed: Sql, first: int) -> Sql:
    """`passed` units after the start of cell 0, as a cell."""
    step = steps(column)
    if step is not None:
        return _divided(passed, step)
    per_day = 1 if column.kind == "date" else MICROSECONDS_PER_DAY
    days = s.add(_divided(passed, per_day), s.whole(first // per_day))
    epoch = s.cast(s.text("1970-01-01"), "DATE")
    day = s.add(epoch, s.cast(days, "INTEGER"))
    year, month = s.call("year", day), s.call("month", day)
    if column.granularity == "year":
        granule = year
    else:
        months = s.subtract(month, s.whole(1))
        of_year, within = (
            (12, months) if column.granularity == "month" else (4, _divided(months, 3))
        )
        granule = s.add(s.multiply(year, s.whole(of_year)), within)
    return s.subtract(granule, s.whole(column.first_granule))


def _place_by(formula: DoubleFormula, inside: Sql) -> Sql:
    place = s.multiply(s.subtract(inside, s.double(formula.low)), s.double(formula.scale))
    if formula.closed == "left":
        place = s.call("floor", place)
    else:
        place = s.subtract(s.call("ceil", place), s.double(1.0))
    return s.cast(s.clamp(place, s.double(0.0), s.double(float(formula.cells - 1))), "BIGINT")


def _is_guessed(column: NumberColumn) -> bool:
    edges = column.inner_edges
    return edges is not None and column.bits is not None and len(edges) > _MOST_COMPARED


def _corrected(declared: str, unit: Sql, guessed: Sql, closed_left: bool) -> Sql:
    listed = s.call("getvariable", s.text(declared))
    under = s.call("list_extract", listed, s.add(guessed, s.whole(1)))
    over = s.call("list_extract", listed, s.add(guessed, s.whole(2)))
    before = s.less(unit, under) if closed_left else s.at_most(unit, under)
    after = s.at_most(over, unit) if closed_left else s.less(over, unit)
    return s.add(s.subtract(guessed, s.cast(before, "BIGINT")), s.cast(after, "BIGINT"))


def _halving(edges: Sequence[float], unit: Sql, low: int, high: int, closed_left: bool) -> Sql:
    """How many edges lie at or below (closed right: below), as nested comparisons."""
    if low == high:
        return s.whole(low)
    middle = (low + high) // 2
    edge = s.double(edges[middle])
    beyond = s.at_most(edge, unit) if closed_left else s.less(edge, unit)
    above = _halving(edges, unit, middle + 1, high, closed_left)
    return s.choose([(beyond, above)], _halving(edges, unit, low, middle, closed_left))
