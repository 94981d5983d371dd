"""The reach of arithmetic and of functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.questions.cells.functions import half_away
from discreet.questions.cells.reach import GREATEST, NULL, Number, Operation, Reach, numbers
from discreet.questions.cells.reaching.units import closed
from discreet.questions.expressions import SMALLEST_POSITIVE, Call, Type


def _ends(node: Call, parts: list[Reach]) -> list[tuple[Number, Number]]:
    """The ends of each part, as doubles where the result is one."""
    found: list[tuple[Number, Number]] = []
    for part in parts:
        assert part.low is not None and part.high is not None
        if node.type == "number":
            found.append((float(part.low), float(part.high)))
        else:
            found.append((part.low, part.high))
    return found


def _added(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = _ends(node, parts)
    return closed(a + c, b + d, node.type)


def _subtracted(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = _ends(node, parts)
    return closed(a - d, b - c, node.type)


def _multiplied(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = _ends(node, parts)
    corners = (a * c, a * d, b * c, b * d)
    return closed(min(corners), max(corners), node.type)


def _divided(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = ((float(low), float(high)) for low, high in _ends(node, parts))
    if c == d == 0:
        return NULL
    if c <= 0 <= d:
        return numbers(-GREATEST, GREATEST, null=True)
    corners = [x / y for x in (a, b) for y in (c, d)]
    return closed(min(corners), max(corners), "number")


def _rest(node: Call, parts: list[Reach]) -> Reach:
    """%: increasing between two multiples of the divisor, with the sign of the dividend."""
    (a, b), (c, d) = _ends(node, parts)
    if c == d == 0:
        return NULL
    null = c <= 0 <= d
    if c == d and (a >= 0 or b <= 0) and b - a < abs(c):
        # At most one multiple of the divisor lies between the ends, and passing it the rest falls.
        low, high = (_remainder(end, c, node.type) for end in (a, b))
        if low <= high:
            return numbers(low, high)
    most = max(abs(c), abs(d))
    if node.type == "integer":
        most -= 1
    return numbers(max(-most, a) if a < 0 else 0, min(most, b) if b > 0 else 0, null=null)


def _remainder(dividend: Number, divisor: Number, type_: Type) -> Number:
    if type_ == "number":
        return math.fmod(dividend, divisor)
    rest = abs(dividend) % abs(divisor)
    return rest if dividend >= 0 else -rest


def _negative(node: Call, parts: list[Reach]) -> Reach:
    ((low, high),) = _ends(node, parts)
    return closed(-high, -low, node.type)


def _absolute(node: Call, parts: list[Reach]) -> Reach:
    ((low, high),) = _ends(node, parts)
    least = 0 * low if low <= 0 <= high else min(abs(low), abs(high))
    return closed(least, max(abs(low), abs(high)), node.type)


def _monotone(step: Callable[[Number], Number]) -> Operation:
    def moved(node: Call, parts: list[Reach]) -> Reach:
        ((low, high),) = _ends(node, parts[:1])
        return closed(step(low), step(high), node.type)

    return moved


def _real(function: Callable[[float], float], least: float) -> Operation:
    """A rising function of doubles that numbers below `least` have no value of.

    Of two ends the result goes a little further, for databases round the last digit in their own way.
    """

    def moved(node: Call, parts: list[Reach]) -> Reach:
        ((low, high),) = _ends(node, parts)
        if high < least:
            return NULL
        first, last = function(max(float(low), least)), function(float(high))
        if low != high:
            first, last = first - abs(first) * 2**-48, last + abs(last) * 2**-48
        return numbers(first, last, null=low < least)

    return moved


def _floor(value: Number) -> Number:
    return value if isinstance(value, int) else float(math.floor(value))


def _ceil(value: Number) -> Number:
    return value if isinstance(value, int) else float(math.ceil(value))


def _rounded(node: Call, parts: list[Reach]) -> Reach:
    if node.type == "integer":
        return parts[0]
    digits = parts[1].low if len(parts) > 1 else 0
    assert digits is not None
    scale = 10.0 ** abs(int(digits))
    return _monotone(lambda value: half_away(float(value), scale, digits < 0))(node, parts)


STRICT: dict[str, Operation] = {
    "+": _added,
    "-": _subtracted,
    "*": _multiplied,
    "/": _divided,
    "%": _rest,
    "negative": _negative,
    "abs": _absolute,
    "floor": _monotone(_floor),
    "ceil": _monotone(_ceil),
    "round": _rounded,
    "sqrt": _real(math.sqrt, 0.0),
    "ln": _real(math.log, SMALLEST_POSITIVE),
}
