"""How long and how deep an expression is once a database is told it, before it is told.

An engine writes some operations out: a text that is read as a date stands in the SQL 32 times. Inside one another they
multiply, so that ten of them would fill the memory after the charge. `tests/engines/test_deep_expressions.py` compares the
numbers below with every dialect.
"""

from __future__ import annotations

from discreet.questions.expressions import DATE_PARTS, Call, Expression

MOST_WRITTEN = 20_000
"""Operations in all, each as often as it is written."""
MOST_LEVELS = 120
"""Operations one inside another: an engine takes two calls for each, of the thousand that Python allows."""
_OF_A_TEXT, _OF_A_DATE = 32, 14


def written_size(expression: Expression) -> tuple[int, int]:
    """How many operations are written out, and how many lie one inside another."""
    known: dict[int, tuple[int, int]] = {}  # a part that stands in several places is one object

    def size(part: Expression) -> tuple[int, int]:
        if not isinstance(part, Call):
            return 1, 0
        if id(part) not in known:
            inside = [size(each) for each in part.arguments]
            written = sum(
                copies(part, each) * n for each, (n, _) in zip(part.arguments, inside, strict=True)
            )
            known[id(part)] = 1 + written, 1 + max((levels for _, levels in inside), default=0)
        return known[id(part)]

    return size(expression)


def copies(call: Call, argument: Expression) -> int:
    """How often an argument is written, in the dialect that writes it most often."""
    if call.name == "cast" and argument.type == "text" and call.type != "text":
        return _OF_A_TEXT
    if call.name == "cast" and argument.type == "date" and call.type == "text":
        return _OF_A_DATE
    if call.name in ("date_trunc", "year"):
        return 6
    if call.name in DATE_PARTS or call.name in ("nullif", "cast"):
        return 2
    return 1
