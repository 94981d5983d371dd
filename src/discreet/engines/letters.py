"""Letters in the other case, each by itself: what databases make of letters outside ASCII hangs on their settings."""

from __future__ import annotations

from functools import cache


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
