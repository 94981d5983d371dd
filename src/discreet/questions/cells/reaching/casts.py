"""The reach of CAST."""

from __future__ import annotations

from discreet.questions.cells.reach import (
    GREATEST,
    MOST_OPTIONS,
    Number,
    Operation,
    Reach,
    Scalar,
    joined,
    numbers,
    one,
    texts,
)
from discreet.questions.cells.reaching.units import closed, doubles, midnights
from discreet.questions.expressions import LARGEST_INTEGER, SMALLEST_INTEGER, Call, Type
from discreet.schema.columns.values import (
    MICROSECONDS_PER_DAY,
    day_of,
    double_of,
    integer_of,
    microseconds_of,
)


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
            return closed(round(part.low), round(part.high), "integer")
        case "integer", "number":
            return doubles(part)
        case "date", "datetime":
            return midnights(part)
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


STRICT: dict[str, Operation] = {"cast": _cast}
