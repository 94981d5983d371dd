"""The reach of functions of texts, and of LIKE."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from discreet.questions.cells.functions import lowered, matches, uppered
from discreet.questions.cells.reach import (
    LONGEST_TEXT,
    MOST_OPTIONS,
    Operation,
    Reach,
    numbers,
    texts,
    truth_of,
)
from discreet.questions.expressions import Call


def _texts(change: Callable[[str], str]) -> Operation:
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


def _fits(ignores_case: bool) -> Operation:
    def matched(node: Call, parts: list[Reach]) -> Reach:
        value, pattern = parts
        if value.any_text:
            return truth_of(True, True)
        text = str(pattern.only)
        found = {matches(text, str(each), ignores_case) for each in value.options}
        return truth_of(True in found, False in found)

    return matched


STRICT: dict[str, Operation] = {
    "like": _fits(False),
    "ilike": _fits(True),
    "lower": _texts(lowered),
    "upper": _texts(uppered),
    "trim": _texts(lambda text: text.strip(" ")),
    "ltrim": _texts(lambda text: text.lstrip(" ")),
    "rtrim": _texts(lambda text: text.rstrip(" ")),
    "substr": _substring,
    "concat": _concatenated,
    "length": _length,
}
