"""The place of a value in a list in order, found by halves, for databases that look up nothing faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql


def searched(
    value: Sql,
    options: Sequence[tuple[Sql, int]],
    render: Callable[[Sql], str],
    *,
    most: int,
    suffix: str = "",
) -> Sql:
    """The number of the option that equals a value, by halves of halves; they are in order.

    Of `most` options and fewer each is compared; `suffix` is written behind a number. The whole is written as a text
    at once: thousands of options would be a tree that takes seconds to copy.
    """
    if not options:
        return s.cast(s.null(), "BIGINT")
    written = render(value)
    listed = [(render(option), place) for option, place in options]

    def search(low: int, high: int) -> str:
        if high - low <= most:
            equal = (f" WHEN {written} = {text} THEN {n}{suffix}" for text, n in listed[low:high])
            return f"CASE{''.join(equal)} END"
        middle = (low + high) // 2
        is_below = f"{written} < {listed[middle][0]}"
        return f"CASE WHEN {is_below} THEN {search(low, middle)} ELSE {search(middle, high)} END"

    return exp.Paren(this=exp.Var(this=search(0, len(listed))))
