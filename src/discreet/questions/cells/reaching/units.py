"""Numbers in the units and within the limits of a type: doubles, 64 bits, microseconds."""

from __future__ import annotations

from discreet.questions.cells.reach import GREATEST, NULL, Number, Reach
from discreet.questions.expressions import LARGEST_INTEGER, SMALLEST_INTEGER, Type
from discreet.schema.columns.values import MICROSECONDS_PER_DAY


def alike(one: Type, other: Type, left: Reach, right: Reach) -> tuple[Reach, Reach]:
    """Both in the units in which they are compared: doubles, or microseconds."""
    if {one, other} == {"integer", "number"}:
        return doubles(left), doubles(right)
    if {one, other} == {"date", "datetime"}:
        return (
            microseconds(left) if one == "date" else left,
            microseconds(right) if other == "date" else right,
        )
    return left, right


def doubles(part: Reach) -> Reach:
    if part.low is None or part.high is None:
        return part
    return part._replace(low=float(part.low), high=float(part.high))


def midnights(part: Reach) -> Reach:
    """Moments of dates; null beyond 64 bits."""
    if part.low is None or part.high is None:
        return part
    found = microseconds(part)
    assert found.low is not None and found.high is not None
    kept = closed(found.low, found.high, "datetime")
    return kept if kept.null or not part.null else kept._replace(null=True)


def microseconds(part: Reach) -> Reach:
    if part.low is None or part.high is None:
        return part
    return part._replace(low=part.low * MICROSECONDS_PER_DAY, high=part.high * MICROSECONDS_PER_DAY)


def fitted(part: Reach, type_: Type, wanted: Type) -> Reach:
    """An integer among numbers is a number, and a date among moments one."""
    if (type_, wanted) == ("integer", "number"):
        return doubles(part)
    return midnights(part) if (type_, wanted) == ("date", "datetime") else part


def closed(low: Number, high: Number, type_: Type) -> Reach:
    """Numbers of a type: what lies beyond the type is null."""
    least: Number = -GREATEST if type_ == "number" else SMALLEST_INTEGER
    most: Number = GREATEST if type_ == "number" else LARGEST_INTEGER
    if low > most or high < least:
        return NULL
    return Reach(low < least or high > most, max(low, least), min(high, most))
