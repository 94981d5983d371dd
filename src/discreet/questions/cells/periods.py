"""Where an expression of one column is likely to change, and after how many units it repeats.

`hour(ts)` changes at whole hours and repeats after a day; `x % 10` changes at multiples of 10. Halving at such
places finds the changes with few looks, and a key that repeats needs bins for one period only. Both save
work, and no answer depends on them.
"""

from __future__ import annotations

from math import lcm

from discreet.questions.expressions import DATE_PARTS, Call, ColumnValue, Constant, Expression
from discreet.schema import NumberColumn, OrderedColumn
from discreet.schema.columns.values import MICROSECONDS_PER_DAY

_CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_REPEATS = {"hour": MICROSECONDS_PER_DAY, "minute": _CLOCK["hour"], "second": _CLOCK["minute"]}


def steps_of(expression: Expression) -> tuple[int, ...]:
    """Sizes of steps at whose multiples an expression of whole units may change, the largest first."""
    return tuple(sorted(_steps(expression), reverse=True))


def _steps(node: Expression) -> set[int]:
    if not isinstance(node, Call):
        return set()
    found = set[int]().union(*map(_steps, node.arguments))
    source = node.arguments[-1]
    if source.type == "datetime" and (
        node.name in (*DATE_PARTS, "date_trunc") or node.type == "date"
    ):
        unit = node.arguments[0] if node.name == "date_trunc" else None
        name = str(unit.value) if isinstance(unit, Constant) else node.name
        found |= {MICROSECONDS_PER_DAY, _CLOCK.get(name, MICROSECONDS_PER_DAY)}
    if node.name in ("%", "/") and isinstance(source, Constant):
        size = source.value
        if isinstance(size, (int, float)) and abs(size) >= 2 and size == int(size):
            found.add(abs(int(size)))
    return found


def period_of(node: Expression) -> int:
    """After how many units of its one column an expression repeats; 0 where it need not.

    For `%`, of dividends that are not negative.
    """
    if isinstance(node, ColumnValue):
        return 0
    if isinstance(node, Constant):
        return 1
    inside = node.arguments[0]
    if isinstance(inside, ColumnValue):
        if node.name in _REPEATS and inside.type == "datetime":
            return _REPEATS[node.name]
        if node.name in ("dayofweek", "isodow"):
            return 7 if inside.type == "date" else 7 * MICROSECONDS_PER_DAY
        if node.name == "%" and isinstance(node.arguments[1], Constant):
            divisor = node.arguments[1].value
            return abs(divisor) if node.type == "integer" and isinstance(divisor, int) else 0
    periods = [period_of(argument) for argument in node.arguments]
    return 0 if 0 in periods else lcm(*periods)


def repeats_after(expression: Expression, column: OrderedColumn) -> tuple[int, int]:
    """After how many units a key over a column repeats, and a unit from which it starts; zeros if it does not."""
    low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    period = 0 if isinstance(column, NumberColumn) else period_of(expression)
    if column.kind == "integer" and low < 0:
        period = 0  # a rest has the sign of what is divided
    if period < 2 or high - low < 3 * period:
        return 0, 0
    return period, int(low) - int(low) % period + period
