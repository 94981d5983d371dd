"""Letters in the other case, each by itself: what databases make of letters outside ASCII hangs on their settings."""

from __future__ import annotations

from functools import cache

from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql


@cache
def letters(function: str) -> tuple[str, str]:
    """Every character that `lower` or `upper` changes by itself alone, and what it becomes."""
    change = str.lower if function == "lower" else str.upper
    pairs = [
        (one, change(one))
        for one in map(chr, (*range(1, 0xD800), *range(0xE000, 0x1FFFF)))
        if change(one) != one and len(change(one)) == 1
    ]
    return "".join(one for one, _ in pairs), "".join(other for _, other in pairs)


def changed_by_list(text: Sql, function: str) -> Sql:
    """`lower` or `upper` of a text: by the database's own function if it is ASCII, else by the list."""
    before, after = letters(function)
    ascii_only = s.equal(s.call("octet_length", text), s.call("length", text))
    mapped = s.call("translate", text, s.text(before), s.text(after))
    return s.choose([(ascii_only, s.call(function, text))], mapped)
