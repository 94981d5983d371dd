"""The arguments of a query class: lists of columns, with `,` inside and `;` between."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from discreet.errors import BadInput

T = TypeVar("T")
_WEIGHT = r"(\d+(?:\.\d+)?|\d+/[1-9]\d*)"
_ARGUMENT = re.compile(
    r'\s*(?:"((?:[^"]|"")*)"(?:\s*\*\s*' + _WEIGHT + r')?|([^,;"]+?))\s*(?:(,|;)|$)'
)
WEIGHTED = re.compile(r"(.*\S)\s*\*\s*" + _WEIGHT, re.DOTALL)
"""A plain name with a weight behind it."""


class Argument(NamedTuple):
    """One name between the brackets."""

    name: str
    weight: str | None
    """What stands behind a quoted name after `*`; an unquoted one still holds its own."""
    is_quoted: bool


def plain_names(group: Sequence[Argument]) -> list[str]:
    """The names of one list, in which no single column has a weight."""
    if any(each.weight for each in group):
        raise BadInput("A weight follows a whole table, or the whole class.")
    return [each.name for each in group]


def one_column(name: str, make: Callable[[str], T]) -> Callable[[list[str]], T]:
    """The reader of a class that takes one column."""

    def parse(arguments: list[str]) -> T:
        if len(arguments) != 1:
            raise BadInput(f"{name}(...) takes one column, not {len(arguments)}.")
        return make(arguments[0])

    return parse


def arguments_in(inside: str, text: str) -> list[list[Argument]]:
    """The arguments between the brackets: lists separated by `;`, of names separated by `,`."""
    groups: list[list[Argument]] = [[]]
    position = 0
    while position < len(inside):
        argument = _ARGUMENT.match(inside, position)
        if argument is None:
            raise BadInput(f'The columns of {text!r} are not readable; quote odd names as "...".')
        named, weight, plain, separator = argument.groups()
        name = plain if named is None else named.replace('""', '"')
        groups[-1].append(Argument(name, weight, named is not None))
        if separator == ";":
            groups.append([])
        position = argument.end()
    return groups


def halves_at_by(inside: str) -> tuple[str, str] | None:
    """The parts before and after the word `by`, outside quotes; `None` if there is no such word between two parts."""
    for found in re.finditer(r'"(?:[^"]|"")*"|\bby\b', inside, re.IGNORECASE):
        before, after = inside[: found.start()], inside[found.end() :]
        if found[0].lower() == "by" and before.strip() and after.strip():
            return before, after
    return None
