"""Dates written as texts: `strftime(d, '%Y-%m')`, `to_char(d, 'YYYY-MM')`, `dayname(d)`, `monthname(d)`.

Each becomes an expression of a date's parts, which every engine computes already. So no engine's own
names of days and months, nor its language, has a say in an answer.
"""

from __future__ import annotations

import re

from discreet.errors import BadQuestion
from discreet.questions.expressions import Call, Constant, Expression, Type
from discreet.questions.literals import folded_constant

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""From Monday on, as `isodow` counts them."""
SHORT = 3
LONGEST_PATTERN = 40
_TWO_DIGITS = {"m": "month", "d": "day", "H": "hour", "M": "minute", "S": "second"}


def day_name(moment: Expression, letters: int | None = None) -> Expression:
    return _named("isodow", DAYS, moment, letters)


def month_name(moment: Expression, letters: int | None = None) -> Expression:
    return _named("month", MONTHS, moment, letters)


def formatted(pattern: str, moment: Expression) -> Expression:
    """A date or time in a pattern of `strftime`."""
    if len(pattern) > LONGEST_PATTERN:
        raise BadQuestion(f"strftime() takes a pattern of at most {LONGEST_PATTERN} letters.")
    pieces: list[Expression] = []
    rest = iter(pattern)
    for letter in rest:
        if letter != "%":
            pieces.append(Constant(letter, "text"))
            continue
        pieces.append(_piece(next(rest, ""), moment))
    if "%" not in pattern:
        raise BadQuestion("strftime() takes a pattern with a part of the date, such as '%Y-%m'.")
    return pieces[0] if len(pieces) == 1 else _call("concat", tuple(pieces), "text")


_LETTERS = {
    "YYYY": "Y", "MM": "m", "DD": "d", "HH24": "H", "MI": "M", "SS": "S", "FMMonth": "B", "Month": "B", "Mon": "b",
    "FMDay": "A", "Day": "A", "Dy": "a", "Q": "q",
}  # fmt: skip
"""The patterns of `to_char`, by the letters of `strftime`. A name is not filled up with blanks."""
_IN_PATTERNS = re.compile(rf'"([^"]*)"|({"|".join(_LETTERS)})|([^A-Za-z"]+)|(.)', re.DOTALL)


def formatted_by_letters(pattern: str, moment: Expression) -> Expression:
    """A date or time in a pattern of `to_char`."""
    if len(pattern) > LONGEST_PATTERN:
        raise BadQuestion(f"to_char() takes a pattern of at most {LONGEST_PATTERN} letters.")
    pieces: list[Expression] = []
    for quoted, letters, signs, unknown in _IN_PATTERNS.findall(pattern):
        if unknown:
            raise BadQuestion(
                f"to_char() takes a date and a pattern in quotes of {', '.join(_LETTERS)}, such as 'YYYY-MM'."
            )
        pieces.append(
            _piece(_LETTERS[letters], moment) if letters else Constant(quoted + signs, "text")
        )
    if all(isinstance(each, Constant) for each in pieces) and not isinstance(moment, Constant):
        raise BadQuestion("to_char() takes a pattern with a part of the date, such as 'YYYY-MM'.")
    return pieces[0] if len(pieces) == 1 else _call("concat", tuple(pieces), "text")


def _piece(letter: str, moment: Expression) -> Expression:
    if letter == "%":
        return Constant("%", "text")
    if letter == "Y":
        return _text(_part("year", moment))
    if letter == "q":
        return _text(_part("quarter", moment))
    if letter in ("A", "a"):
        return day_name(moment, SHORT if letter == "a" else None)
    if letter in ("B", "b"):
        return month_name(moment, SHORT if letter == "b" else None)
    if letter not in _TWO_DIGITS:
        raise BadQuestion(
            "strftime() takes a pattern in quotes of %Y, %m, %d, %H, %M, %S, %A, %a, %B and %b, such as '%Y-%m'. For "
            "quarters and weeks, group by date_trunc('quarter', d) or extract(week FROM d)."
        )
    part = _part(_TWO_DIGITS[letter], moment)
    is_short = _call("<", (part, Constant(10, "integer")), "boolean")
    padded = _call("concat", (Constant("0", "text"), _text(part)), "text")
    return _call("case", (is_short, padded, _text(part)), "text")


def _named(
    part: str, names: tuple[str, ...], moment: Expression, letters: int | None
) -> Expression:
    """The name for each number of a part, from 1 on; null stays null."""
    place = _part(part, moment)
    inside: list[Expression] = []
    for number, name in enumerate(names, start=1):
        inside.append(_call("=", (place, Constant(number, "integer")), "boolean"))
        inside.append(Constant(name[:letters], "text"))
    return _call("case", (*inside, Constant(None, "null")), "text")


def _part(name: str, moment: Expression) -> Expression:
    return _call(name, (moment,), "integer")


def _text(number: Expression) -> Expression:
    return _call("cast", (number,), "text")


def _call(name: str, arguments: tuple[Expression, ...], type_: Type) -> Expression:
    return folded_constant(Call(name, arguments, type_))
