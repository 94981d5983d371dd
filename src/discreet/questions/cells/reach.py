"""Between which values an expression lies while its columns move within given stretches.

A stretch of a column is a `Reach`: a least and a greatest number, or a set of texts or truth values, and
whether null is among them. The reach of an expression holds every value that it can take there; it may
hold more, never less. Of single values it is the single value itself, so this is also what an expression
means for one row (see `expressions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from discreet.questions.cells.functions import (
    day_part,
    first_day,
    half_away,
    lowered,
    matches,
    uppered,
)
from discreet.questions.expressions import (
    COMPARED,
    LARGEST_INTEGER,
    MIRRORED,
    SMALLEST_INTEGER,
    SMALLEST_POSITIVE,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.schema.columns.values import (
    MICROSECONDS_PER_DAY,
    day_of,
    double_of,
    integer_of,
    microseconds_of,
)

Number = int | float
Scalar = int | float | str | bool | None

MOST_OPTIONS = 64
"""Texts that are followed one by one; a set with more of them stands for any text."""
GREATEST = 1.7976931348623157e308
LONGEST_TEXT = 2**31


class Reach(NamedTuple):
    """What an expression may be: numbers from `low` to `high`, `options`, any text at all, or null."""

    null: bool = False
    low: Number | None = None
    high: Number | None = None
    options: frozenset[str | bool] = frozenset()
    any_text: bool = False
    but: frozenset[str] = frozenset()
    """With any text: those that it is not."""

    @property
    def has_value(self) -> bool:
        return self.low is not None or bool(self.options) or self.any_text

    @property
    def is_one(self) -> bool:
        """Whether there is just one value, or just null."""
        if self.any_text:
            return False
        return self.null + (self.low is not None) + len(self.options) == 1 and self.low == self.high

    @property
    def only(self) -> Scalar:
        """The one value."""
        return self.low if self.low is not None else next(iter(self.options), None)


NULL = Reach(null=True)
TRUTHS = {
    (True, False): frozenset([True]),
    (False, True): frozenset([False]),
    (True, True): frozenset([True, False]),
    (False, False): frozenset[bool](),
}


def one(value: Scalar) -> Reach:
    if value is None:
        return NULL
    if isinstance(value, (str, bool)):
        return Reach(options=frozenset([value]))
    return Reach(low=value, high=value)


def texts(values: frozenset[str | bool], *, null: bool = False) -> Reach:
    if len(values) > MOST_OPTIONS:
        return Reach(null, any_text=True)
    return Reach(null, options=values)


def numbers(low: Number, high: Number, *, null: bool = False) -> Reach:
    return Reach(null, low, high)


def joined(parts: Sequence[Reach]) -> Reach:
    """Everything that is in one of the parts."""
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    options = frozenset[str | bool]().union(*(part.options for part in parts))
    null = any(part.null for part in parts)
    if any(part.any_text for part in parts) or len(options) > MOST_OPTIONS:
        return Reach(null, any_text=True)
    return Reach(null, min(lows, default=None), max(highs, default=None), options)


def value_of(expression: Expression, row: Mapping[str, Scalar]) -> Scalar:
    """The value of an expression for one row of values."""
    return reach_of(expression, {name: one(value) for name, value in row.items()}).only


def reach_of(node: Expression, where: Mapping[str, Reach]) -> Reach:
    """What `node` may be while its columns are where `where` says."""
    if isinstance(node, Constant):
        return one(node.value)
    if isinstance(node, ColumnValue):
        return where[node.column]
    if node.name == "case":
        return _case(node, where)
    parts = [reach_of(argument, where) for argument in node.arguments]
    whole = _WHOLE.get(node.name)
    if whole is not None:
        return whole(node, parts)
    # Everything else is null where an argument is, and has a value only where all of them have one.
    null = any(part.null for part in parts)
    if not all(part.has_value for part in parts):
        return NULL
    found = _STRICT[node.name](node, parts)
    return found if found.null or not null else found._replace(null=True)


def _truth(true: bool, false: bool, *, null: bool = False) -> Reach:
    return Reach(null, options=TRUTHS[true, false])


def _compared(node: Call, parts: list[Reach]) -> Reach:
    left, right = alike(node.arguments[0].type, node.arguments[1].type, *parts)
    name = node.name
    if left.low is None or right.low is None:
        return _compared_texts(name, left, right)
    if name in (">", ">="):
        left, right, name = right, left, MIRRORED[name]
    assert left.low is not None and left.high is not None
    assert right.low is not None and right.high is not None
    if name in ("=", "!="):
        may = left.low <= right.high and right.low <= left.high
        must = may and left.low == left.high == right.low == right.high
        return _truth(may, not must) if name == "=" else _truth(not must, may)
    if name == "<":
        return _truth(left.low < right.high, left.high >= right.low)
    return _truth(left.low <= right.high, left.high > right.low)


def _compared_texts(name: str, left: Reach, right: Reach) -> Reach:
    if left.any_text or right.any_text:
        differ = (left.any_text and not right.any_text and right.options <= left.but) or (
            right.any_text and not left.any_text and left.options <= right.but
        )
        if differ and name in ("=", "!="):
            return _truth(name == "!=", name == "=")
        return _truth(True, True)
    found = {_HOLDS[name](one, other) for one, other in product(left.options, right.options)}
    return _truth(True in found, False in found)


_HOLDS: dict[str, Callable[[object, object], bool]] = {
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: str(one) < str(other),
    "<=": lambda one, other: str(one) <= str(other),
    ">": lambda one, other: str(one) > str(other),
    ">=": lambda one, other: str(one) >= str(other),
}


def alike(one: Type, other: Type, left: Reach, right: Reach) -> tuple[Reach, Reach]:
    """Both in the units in which they are compared: doubles, or microseconds."""
    if {one, other} == {"integer", "number"}:
        return _doubles(left), _doubles(right)
    if {one, other} == {"date", "datetime"}:
        return (
            _microseconds(left) if one == "date" else left,
            _microseconds(right) if other == "date" else right,
        )
    return left, right


def _doubles(part: Reach) -> Reach:
    if part.low is None or part.high is None:
        return part
    return part._replace(low=float(part.low), high=float(part.high))


def _midnights(part: Reach) -> Reach:
    """Moments of dates; null beyond 64 bits."""
    if part.low is None or part.high is None:
        return part
    found = _microseconds(part)
    assert found.low is not None and found.high is not None
    closed = _closed(found.low, found.high, "datetime")
    return closed if closed.null or not part.null else closed._replace(null=True)


def _microseconds(part: Reach) -> Reach:
    if part.low is None or part.high is None:
        return part
    return part._replace(low=part.low * MICROSECONDS_PER_DAY, high=part.high * MICROSECONDS_PER_DAY)


def _listed(node: Call, parts: list[Reach]) -> Reach:
    """`value IN (...)`: an OR of equalities."""
    value = parts[0]
    if not value.has_value:
        return NULL
    true = surely = False
    null = value.null
    for argument, part in zip(node.arguments[1:], parts[1:], strict=True):
        if not part.has_value:
            null = True
            continue
        equal = Call("=", (node.arguments[0], argument), "boolean")
        found = _compared(equal, [value, part]).options
        true = true or True in found
        surely = surely or found == {True}
    listed_null = any(part.null for part in parts[1:])
    if surely:
        return _truth(True, False, null=value.null)
    return _truth(true, not listed_null, null=null)


def _distinct(node: Call, parts: list[Reach]) -> Reach:
    left, right = parts
    true = (left.null and right.has_value) or (right.null and left.has_value)
    false = left.null and right.null
    if left.has_value and right.has_value:
        unequal = _compared(Call("!=", node.arguments, "boolean"), parts).options
        true, false = true or True in unequal, false or False in unequal
    return _truth(true, false)


def _and(node: Call, parts: list[Reach]) -> Reach:
    true = all(True in part.options for part in parts)
    false = any(False in part.options for part in parts)
    null = any(part.null for part in parts) and all(
        part.null or True in part.options for part in parts
    )
    return _truth(true, false, null=null)


def _or(node: Call, parts: list[Reach]) -> Reach:
    turned = _and(node, [_not(node, [part]) for part in parts])
    return _not(node, [turned])


def _not(node: Call, parts: list[Reach]) -> Reach:
    (part,) = parts
    return _truth(False in part.options, True in part.options, null=part.null)


def _is(truth: bool) -> Callable[[Call, list[Reach]], Reach]:
    def tested(node: Call, parts: list[Reach]) -> Reach:
        (part,) = parts
        return _truth(truth in part.options, part.null or (not truth) in part.options)

    return tested


def _case(node: Call, where: Mapping[str, Reach]) -> Reach:
    found: list[Reach] = []
    pairs = node.arguments[:-1]
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        truth = reach_of(condition, where)
        if True in truth.options:
            found.append(_fitted(reach_of(value, where), value.type, node.type))
        if truth.options == {True} and not truth.null:
            return joined(found)
    otherwise = node.arguments[-1]
    return joined([*found, _fitted(reach_of(otherwise, where), otherwise.type, node.type)])


def _fitted(part: Reach, type_: Type, wanted: Type) -> Reach:
    """An integer among numbers is a number, and a date among moments one."""
    if (type_, wanted) == ("integer", "number"):
        return _doubles(part)
    return _midnights(part) if (type_, wanted) == ("date", "datetime") else part


def _all_fitted(node: Call, parts: list[Reach]) -> list[Reach]:
    return [
        _fitted(part, argument.type, node.type)
        for argument, part in zip(node.arguments, parts, strict=True)
    ]


def _coalesce(node: Call, parts: list[Reach]) -> Reach:
    found: list[Reach] = []
    for part in _all_fitted(node, parts):
        found.append(part._replace(null=False))
        if not part.null:
            return joined(found)
    return joined(found)._replace(null=True)


def _nullif(node: Call, parts: list[Reach]) -> Reach:
    value, other = parts
    if not value.has_value or not other.has_value:
        return value
    equal = _compared(Call("=", node.arguments, "boolean"), parts).options
    if equal == {True} and not other.null:
        return NULL
    return value._replace(null=value.null or True in equal)


def _extreme(node: Call, parts: list[Reach]) -> Reach:
    """GREATEST and LEAST: a part that may be null may be left out."""
    parts = _all_fitted(node, parts)
    pick = max if node.name == "greatest" else min
    null = all(part.null for part in parts)
    valued = [part for part in parts if part.has_value]
    if not valued:
        return NULL
    if any(part.low is None for part in valued):
        if (
            any(part.any_text for part in valued)
            or math.prod(len(part.options) + part.null for part in valued)
            > MOST_OPTIONS * MOST_OPTIONS
        ):
            return Reach(null, any_text=True)
        sides = [[*part.options, *([None] if part.null else [])] for part in valued]
        made = frozenset(
            pick(kept, key=str)
            for each in product(*sides)
            if (kept := [value for value in each if value is not None])
        )
        return texts(made, null=null)
    sure = [part for part in valued if not part.null]
    lows = [part.low for part in valued if part.low is not None]
    highs = [part.high for part in valued if part.high is not None]
    # A part that must be there bounds the result on one side; of those that may be, any may be alone.
    if node.name == "greatest":
        low = max((part.low for part in sure if part.low is not None), default=min(lows))
        return numbers(low, max(highs), null=null)
    high = min((part.high for part in sure if part.high is not None), default=max(highs))
    return numbers(min(lows), high, null=null)


def _closed(low: Number, high: Number, type_: Type) -> Reach:
    """Numbers of a type: what lies beyond the type is null."""
    least: Number = -GREATEST if type_ == "number" else SMALLEST_INTEGER
    most: Number = GREATEST if type_ == "number" else LARGEST_INTEGER
    if low > most or high < least:
        return NULL
    return Reach(low < least or high > most, max(low, least), min(high, most))


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
    return _closed(a + c, b + d, node.type)


def _subtracted(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = _ends(node, parts)
    return _closed(a - d, b - c, node.type)


def _multiplied(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = _ends(node, parts)
    corners = (a * c, a * d, b * c, b * d)
    return _closed(min(corners), max(corners), node.type)


def _divided(node: Call, parts: list[Reach]) -> Reach:
    (a, b), (c, d) = ((float(low), float(high)) for low, high in _ends(node, parts))
    if c == d == 0:
        return NULL
    if c <= 0 <= d:
        return numbers(-GREATEST, GREATEST, null=True)
    corners = [x / y for x in (a, b) for y in (c, d)]
    return _closed(min(corners), max(corners), "number")


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
    return _closed(-high, -low, node.type)


def _absolute(node: Call, parts: list[Reach]) -> Reach:
    ((low, high),) = _ends(node, parts)
    least = 0 * low if low <= 0 <= high else min(abs(low), abs(high))
    return _closed(least, max(abs(low), abs(high)), node.type)


def _monotone(step: Callable[[Number], Number]) -> Callable[[Call, list[Reach]], Reach]:
    def moved(node: Call, parts: list[Reach]) -> Reach:
        ((low, high),) = _ends(node, parts[:1])
        return _closed(step(low), step(high), node.type)

    return moved


def _real(function: Callable[[float], float], least: float) -> Callable[[Call, list[Reach]], Reach]:
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


def _texts(change: Callable[[str], str]) -> Callable[[Call, list[Reach]], Reach]:
    def changed(node: Call, parts: list[Reach]) -> Reach:
        (part,) = parts[:1]
        if part.any_text:
            return Reach(any_text=True)
        return texts(frozenset(change(str(value)) for value in part.options))

    return changed


def _substring(node: Call, parts: list[Reach]) -> Reach:
    start, length = (int(part.low or 0) for part in parts[1:])
    return _texts(lambda text: text[start - 1 : start - 1 + length])(node, parts)


def _concatenated(node: Call, parts: list[Reach]) -> Reach:
    if (
        any(part.any_text for part in parts)
        or math.prod(len(part.options) for part in parts) > MOST_OPTIONS
    ):
        return Reach(any_text=True)
    made = ("".join(map(str, each)) for each in product(*(part.options for part in parts)))
    return texts(frozenset(made))


def _length(node: Call, parts: list[Reach]) -> Reach:
    if parts[0].any_text:
        return numbers(0, LONGEST_TEXT)
    sizes = [len(str(value)) for value in parts[0].options]
    return numbers(min(sizes), max(sizes))


def _fits(ignores_case: bool) -> Callable[[Call, list[Reach]], Reach]:
    def matched(node: Call, parts: list[Reach]) -> Reach:
        value, pattern = parts
        if value.any_text:
            return _truth(True, True)
        text = str(pattern.only)
        found = {matches(text, str(each), ignores_case) for each in value.options}
        return _truth(True in found, False in found)

    return matched


def _cast(node: Call, parts: list[Reach]) -> Reach:
    (part,), source, wanted = parts, node.arguments[0].type, node.type
    if source == wanted:
        return part
    if source == "text":
        if part.any_text:
            least, most = _WIDEST[wanted]
            return numbers(least, most, null=True)
        return joined([one(_read(str(text), wanted)) for text in part.options])
    if wanted == "text":
        return _spelled(part, source)
    if source == "boolean":
        return joined([one(int(bool(truth))) for truth in part.options])
    assert part.low is not None and part.high is not None
    match source, wanted:
        case "number", "integer":
            return _closed(round(part.low), round(part.high), "integer")
        case "integer", "number":
            return _doubles(part)
        case "date", "datetime":
            return _midnights(part)
    days = (int(end) // MICROSECONDS_PER_DAY for end in (part.low, part.high))
    return numbers(*days)


_WIDEST: dict[Type, tuple[Number, Number]] = {
    "integer": (SMALLEST_INTEGER, LARGEST_INTEGER),
    "number": (-GREATEST, GREATEST),
    "date": (-(2**31), 2**31),
    "datetime": (SMALLEST_INTEGER, LARGEST_INTEGER),
}


def _read(text: str, wanted: Type) -> Scalar:
    if wanted == "number":
        return double_of(text)
    if wanted == "integer":
        found = integer_of(text)
        inside = found is not None and SMALLEST_INTEGER <= found <= LARGEST_INTEGER
        return found if inside else None
    moment = microseconds_of(text)
    if moment is None or wanted == "datetime":
        return moment
    return moment // MICROSECONDS_PER_DAY


def _spelled(part: Reach, source: Type) -> Reach:
    if source == "boolean":
        return texts(frozenset("true" if truth else "false" for truth in part.options))
    assert part.low is not None and part.high is not None
    if part.high - part.low >= MOST_OPTIONS:
        return Reach(source == "date", any_text=True)
    return joined(
        [one(_digits(number, source)) for number in range(int(part.low), int(part.high) + 1)]
    )


def _digits(value: int, source: Type) -> str | None:
    if source != "date":
        return str(value)
    try:
        return day_of(value).isoformat()
    except (ValueError, OverflowError):  # beyond the years 1 to 9999
        return None


_CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_PERIODS = {"hour": 24, "minute": 60, "second": 60}
_WITHIN = {
    "quarter": ("year", 1, 4), "month": ("year", 1, 12), "dayofyear": ("year", 1, 366),
    "week": ("week", 1, 53), "day": ("month", 1, 31), "dayofweek": ("sunday", 0, 6),
    "isodow": ("week", 1, 7),
}  # fmt: skip
"""Within which period a part of a date never decreases, and between which numbers it lies."""


def _part(node: Call, parts: list[Reach]) -> Reach:
    (part,), name = parts, node.name
    assert part.low is not None and part.high is not None
    first, last = int(part.low), int(part.high)
    is_date = node.arguments[0].type == "date"
    if name in _CLOCK:
        if is_date:
            return numbers(0, 0)
        size, count = _CLOCK[name], _PERIODS[name]
        if first // size // count == last // size // count:
            return numbers(first // size % count, last // size % count)
        return numbers(0, count - 1)
    if not is_date:
        first, last = first // MICROSECONDS_PER_DAY, last // MICROSECONDS_PER_DAY
    if name == "year":
        return numbers(day_part(name, first), day_part(name, last))
    period, least, most = _WITHIN[name]
    if last - first > 400:
        return numbers(least, most)
    shift = 1 if period == "sunday" else 0
    period = "week" if period == "sunday" else period
    if first_day(period, first + shift) == first_day(period, last + shift):
        return numbers(day_part(name, first), day_part(name, last))
    return numbers(least, most)


def _truncated(node: Call, parts: list[Reach]) -> Reach:
    unit, part = str(parts[0].only), parts[1]
    is_date = node.arguments[1].type == "date"
    assert part.low is not None and part.high is not None

    def moved(value: int) -> int:
        if unit in _CLOCK:
            return value if is_date else value - value % _CLOCK[unit]
        if is_date:
            return first_day(unit, value)
        return first_day(unit, value // MICROSECONDS_PER_DAY) * MICROSECONDS_PER_DAY

    return _closed(moved(int(part.low)), moved(int(part.high)), node.type)


_WHOLE: dict[str, Callable[[Call, list[Reach]], Reach]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "in": _listed,
    "distinct": _distinct,
    "is null": lambda node, parts: _truth(parts[0].null, parts[0].has_value),
    "is true": _is(True),
    "is false": _is(False),
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme,
    "least": _extreme,
}
"""Operations that say for themselves what a null does."""

_STRICT: dict[str, Callable[[Call, list[Reach]], Reach]] = {
    **dict.fromkeys(COMPARED, _compared),
    "like": _fits(False),
    "ilike": _fits(True),
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
    "lower": _texts(lowered),
    "upper": _texts(uppered),
    "trim": _texts(lambda text: text.strip(" ")),
    "ltrim": _texts(lambda text: text.lstrip(" ")),
    "rtrim": _texts(lambda text: text.rstrip(" ")),
    "substr": _substring,
    "concat": _concatenated,
    "length": _length,
    "cast": _cast,
    **dict.fromkeys(
        (
            "year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear",
            "hour", "minute", "second",
        ),
        _part,
    ),
    "date_trunc": _truncated,
}  # fmt: skip
