"""From a unit to the code of its cell, and to the value that a sum adds: the third layer.

Everything is total by construction: a unit is clamped into the declared range before any
arithmetic, so nothing overflows whichever branch of a CASE is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.syntax import Sql
from discreet.engines.unit_lines import steps
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import DoubleFormula, IntegerColumn, NumberColumn
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.temporal import TemporalColumn
from discreet.schema.columns.values import MICROSECONDS_PER_DAY, double_of

_MOST_COMPARED = 16
"""Up to so many edges, comparisons are faster than a look at a list of edges."""
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


def code(
    column: Column, unit: Sql, unit_type: str, dialect: Dialect, *, declared: str, guessed: Sql
) -> Sql:
    """The code of a unit; null where the row has no cell.

    `declared` is the name of what a dialect told its database of the column beforehand, `guessed` the
    layer of `Dialect.guess`, or of what is joined.
    """
    nulls = (s.is_null(unit), _cell(column.null_cell))
    if isinstance(column, CategoryColumn):
        place = _category_place(column, unit, unit_type, dialect, declared, guessed)
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
        result = s.choose(cases, _ordered_place(column, unit, dialect, guessed, declared))
    else:
        result = s.choose([nulls], dialect.whole_of_boolean(unit))
    return dialect.fitted(result, code_type(column))


def place(
    column: Column, unit: Sql, unit_type: str, dialect: Dialect, *, declared: str, guessed: Sql
) -> Sql:
    """The number of a unit's value cell, in 64 bits without a sign; null where it lies in none."""
    if isinstance(column, CategoryColumn):
        found = _category_place(column, unit, unit_type, dialect, declared, guessed)
        return dialect.fitted(found, "UBIGINT")
    if not isinstance(column, OrderedColumn):
        return dialect.fitted(dialect.whole_of_boolean(unit), "UBIGINT")
    cases = [(s.is_null(unit), s.null())]
    if column.outside != "edge":
        low, high = ends(column)
        cases.append((s.either(s.less(unit, low), s.less(high, unit)), s.null()))
    found = _ordered_place(column, unit, dialect, guessed, declared)
    return s.choose(cases, dialect.fitted(found, "UBIGINT"))


def place_of_code(column: Column, cell: Sql, dialect: Dialect) -> Sql:
    """The same, from the code of a cell that is kept."""
    inside = s.less(cell, s.cast(s.whole(column.value_cells), code_type(column)))
    if column.cells == column.value_cells:
        return dialect.fitted(cell, "UBIGINT")
    return s.choose([(inside, dialect.fitted(cell, "UBIGINT"))], s.null())


def value(column: Column, unit: Sql, cell: Sql, dialect: Dialect) -> Sql:
    """What a sum adds for the row: its clamped unit; null unless its cell is a value cell."""
    type_ = value_type(column)
    assert type_ is not None
    if isinstance(column, OrderedColumn):
        found = s.clamp(unit, *ends(column))
    else:
        found = dialect.whole_of_boolean(unit)
    counted = s.call(
        "coalesce", s.less(cell, s.whole(column.value_cells)), s.cast(s.whole(0), "BOOLEAN")
    )
    return s.choose([(counted, dialect.fitted(found, type_))], s.null())


def fixed_point(
    kept: Sql, column: Column, scale: int, lowest: int, highest: int, dialect: Dialect
) -> Sql:
    """`round(clamp(value) * scale)`: rounding never changes an order, so it may come first."""
    if column.kind == "number":
        product = dialect.rounded_product(kept, scale)
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


def has_listed_edges(column: Column) -> bool:
    """Whether a number's cell is found among a list of edges of equal cells."""
    if not isinstance(column, NumberColumn) or column.bits is None:
        return False
    return column.inner_edges is not None and len(column.inner_edges) > _MOST_COMPARED


def _category_place(
    column: CategoryColumn, unit: Sql, unit_type: str, dialect: Dialect, declared: str, joined: Sql
) -> Sql:
    if unit_type == "VARCHAR" and column.values:
        return dialect.place_of_text(column, unit, declared, joined)
    places: dict[float, int] = {}
    for place, value in enumerate(column.values):
        number = double_of(value)
        if number is not None:
            places.setdefault(number, place)
    return dialect.place_of_number(places, unit) if places else s.cast(s.null(), "BIGINT")


def _ordered_place(
    column: OrderedColumn, unit: Sql, dialect: Dialect, guessed: Sql, declared: str
) -> Sql:
    inside = s.clamp(unit, *ends(column))
    if isinstance(column, NumberColumn):
        if column.double_formula is not None:
            return place_by(column.double_formula, inside, dialect)
        if has_listed_edges(column):
            return dialect.place_among_edges(column, unit, declared, guessed)
        edges = column.inner_edges or ()
        return _halving(edges, unit, 0, len(edges), column.closed == "left")
    first = int(column.extent(0)[0])
    is_wide, passed = _passed(column, s.cast(inside, "BIGINT"), first)
    if isinstance(column, IntegerColumn):
        return _divided(passed, column.width, dialect, is_wide)
    assert isinstance(column, TemporalColumn)
    return _granule(column, passed, first, dialect)


def _passed(column: OrderedColumn, inside: Sql, first: int) -> tuple[bool, Sql]:
    """Units from the first one to a unit inside the range, in 64 bits: 128 are several times as slow.

    And whether they take 64 bits without a sign, as far as from -2^63 to 2^63 - 1.
    """
    span = int(column.extent(column.value_cells - 1)[1]) - first
    if span < 2**63 and first > -(2**63):
        return False, s.subtract(inside, s.cast(s.whole(first), "BIGINT"))
    # From 0 on in two steps, which both fit.
    zero, before = s.cast(s.whole(0), "BIGINT"), s.cast(s.whole(-1), "BIGINT")
    above = s.cast(s.call("greatest", inside, zero), "UBIGINT")
    below = s.subtract(s.call("least", inside, before), s.cast(s.whole(first), "BIGINT"))
    return True, s.choose(
        [(s.less(inside, zero), s.cast(below, "UBIGINT"))],
        s.add(above, s.cast(s.whole(-first), "UBIGINT")),
    )


def _divided(value: Sql, by: int, dialect: Dialect, is_wide: bool = False) -> Sql:
    return value if by == 1 else dialect.quotient(value, by, wide=is_wide)


def _granule(column: TemporalColumn, passed: Sql, first: int, dialect: Dialect) -> Sql:
    """`passed` units after the start of cell 0, as a cell."""
    step = steps(column)
    if step is not None:
        return _divided(passed, step, dialect)
    per_day = 1 if column.kind == "date" else MICROSECONDS_PER_DAY
    days = s.add(_divided(passed, per_day, dialect), s.whole(first // per_day))
    day = dialect.day(days)
    year, month = dialect.part_of_day("year", day), dialect.part_of_day("month", day)
    if column.granularity == "year":
        granule = year
    else:
        months = s.subtract(month, s.whole(1))
        of_year, within = (
            (12, months) if column.granularity == "month" else (4, _divided(months, 3, dialect))
        )
        granule = s.add(s.multiply(year, s.whole(of_year)), within)
    return s.subtract(granule, s.whole(column.first_granule))


def place_by(formula: DoubleFormula, inside: Sql, dialect: Dialect) -> Sql:
    """The cell of a number in the range, by a formula in doubles."""
    place = dialect.scaled(s.subtract(inside, s.double(formula.low)), formula.scale)
    if formula.closed == "left":
        place = s.call("floor", place)
    else:
        place = s.subtract(s.call("ceil", place), s.double(1.0))
    return s.cast(s.clamp(place, s.double(0.0), s.double(float(formula.cells - 1))), "BIGINT")


def guessed(column: Column, unit: Sql, dialect: Dialect) -> Sql | None:
    """For a number among many listed edges, the cell or a neighbour of it; in a layer of its own.

    The cells are equal, so doubles are off by at most one, which the two edges around it put right.
    """
    if not isinstance(column, NumberColumn) or not has_listed_edges(column):
        return None
    count, span = column.value_cells, column.high - column.low
    formula = DoubleFormula(column.low, column.high, count / span, count, "left")
    return place_by(formula, s.clamp(unit, *ends(column)), dialect)


def _halving(edges: Sequence[float], unit: Sql, low: int, high: int, closed_left: bool) -> Sql:
    """How many edges lie at or below (closed right: below), as nested comparisons."""
    if low == high:
        return s.whole(low)
    middle = (low + high) // 2
    edge = s.double(edges[middle])
    beyond = s.at_most(edge, unit) if closed_left else s.less(edge, unit)
    above = _halving(edges, unit, middle + 1, high, closed_left)
    return s.choose([(beyond, above)], _halving(edges, unit, low, middle, closed_left))
