"""How much work a question may make, before it is refused: anybody may ask a public service.

Work is counted in steps, and not in seconds, so that a slow machine refuses what a fast one refuses. A step is about a
microsecond, or less. What was found for an earlier question, and is kept, costs nothing again. Questions of a batch share
the steps of all of them.

How long and how deep an expression is once a database is told it is limited too. An engine writes some operations out: a text that is read as a date stands in the SQL 32 times. Inside one another they
multiply, so that ten of them would fill the memory after the charge. `tests/engines/test_deep_expressions.py` compares the
numbers below with every dialect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.errors import BadQuestion
from discreet.questions.expressions import DATE_PARTS, Call, Expression

MOST_STEPS = 10_000_000
"""Steps that one question may take."""
OF_A_LOOK, OF_AN_OPERATION = 10, 2
"""Steps to look at a box of cells, and for each operation there."""
OF_A_REGION, OF_A_SELECTION = 100, 500
"""Steps to read a region off a source, and to select cells."""
OF_A_WIDTH, OF_SEVERAL_LAWS, OF_A_TERM = 1_500, 8_000, 15
"""Steps for a quantile of noise, for one with several laws, and for each of its terms."""

_left: ContextVar[list[int] | None] = ContextVar("steps left", default=None)


class TooMuchWork(BadQuestion):
    """The question would take too long."""


@contextmanager
def bounded_work(questions: int = 1) -> Iterator[None]:
    """Refuse the work inside once it has taken more steps than this many questions may."""
    token = _left.set([MOST_STEPS * questions])
    try:
        yield
    finally:
        _left.reset(token)


@contextmanager
def tried_work() -> Iterator[None]:
    """Allow the work inside a quarter of a question's steps. Beyond that it is stopped, and does not count."""
    left = _left.get()
    if left is None:
        yield
        return
    own = min(MOST_STEPS // 4, left[0])
    tried = [own]
    token = _left.set(tried)
    try:
        yield
        left[0] -= own - tried[0]
    finally:
        _left.reset(token)


def spend(steps: int) -> None:
    """Note some steps before they are taken."""
    left = _left.get()
    if left is None:
        return
    left[0] -= steps
    if left[0] < 0:
        raise TooMuchWork(
            f"The question takes more than {MOST_STEPS:,} steps of work. Ask for fewer groups, conditions or aggregates "
            "at once."
        )


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
