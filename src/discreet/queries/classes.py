"""Query classes: what a release must be useful for, as the custodian names it.

The classes themselves belong to the families (see `registry`), each with a reader of its text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import ClassVar, Protocol, runtime_checkable

from discreet.errors import BadInput, did_you_mean
from discreet.queries.class_arguments import arguments_in, halves_at_by, plain_names
from discreet.queries.class_tables import class_readers
from discreet.queries.registry import ClassReader
from discreet.questions.spelling import checked_weight
from discreet.schema import Schema

_CALL = re.compile(
    r"\s*([A-Za-z_]+)\s*\((.*)\)\s*(?:\*\s*(\d+(?:\.\d+)?|\d+/[1-9]\d*))?\s*", re.DOTALL
)
NO_WEIGHT = "The weight in {0!r} is {2!r}; write a number above 0, as in {1}(...) * 3."
INCOMPLETE = (
    "The query class {!r} is not complete: write {}(...), as many brackets closed as opened."
)


class QueryClass(Protocol):
    """A named family of queries."""

    name: ClassVar[str]

    @property
    def weight(self) -> Fraction:
        """How much this class matters beside the others of the same release."""
        ...

    @property
    def text(self) -> str:
        """As the command line spells it; `parse_class` is its inverse."""
        ...

    def check(self, schema: Schema) -> None:
        """Refuse columns that the schema lacks, or whose kind does not fit."""
        ...


@runtime_checkable
class NamesTables(Protocol):
    """A class whose queries are cells of contingency tables, or sums of them."""

    def sets(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The columns of each table."""
        ...


def parse_class(text: str) -> QueryClass:
    """`marginals(2)`, `histogram(age)`, `means("net income")`; `* 3` behind it is a weight."""
    readers = class_readers()
    call = _CALL.fullmatch(text)
    if call is None or call[1].lower() not in readers:
        named = call[1] if call is not None else text.partition("(")[0].strip()
        if named.lower() in readers:
            weight = re.search(r"\)\s*\*\s*([^()]*?)\s*$", text)
            said = INCOMPLETE if weight is None else NO_WEIGHT
            raise BadInput(said.format(text, named, weight and weight[1]))
        raise BadInput(
            f"The query class {text!r} is not known.{did_you_mean(named, readers)} Classes: "
            + ", ".join(f"{name}(...)" for name in readers)
            + "."
        )
    bare = re.sub(r'"(?:[^"]|"")*"', "", text)
    if bare.count("(") != bare.count(")"):
        raise BadInput(INCOMPLETE.format(text, call[1]))
    name, reader = call[1].lower(), readers[call[1].lower()]
    halves = halves_at_by(call[2]) if reader.by_group is not None else None
    groups = arguments_in(call[2], text) if halves is None else []
    if halves is not None:
        parsed = _by_group(reader, halves, text)
    elif len(groups) == 1:
        parsed = reader.of_one_list(plain_names(groups[0]))
    elif reader.of_several_lists is not None:
        parsed = reader.of_several_lists(groups)
    else:
        raise BadInput(f"{name}(...) takes one list, without `;`.")
    if call[3]:
        object.__setattr__(parsed, "weight", checked_weight(Fraction(call[3])))
    return parsed


def _by_group(reader: ClassReader, halves: tuple[str, str], text: str) -> QueryClass:
    """A class with columns before and after the word `by`."""
    lists = [arguments_in(each, text) for each in halves]
    if any(len(each) > 1 for each in lists):
        raise BadInput(f"{text}: a class by group takes one list before `by` and one after it.")
    assert reader.by_group is not None
    columns, by = (plain_names(each[0]) for each in lists)
    return reader.by_group(columns, by)
