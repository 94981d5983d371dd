"""Query classes: what a release must be useful for, as the custodian names it.

`marginals(age, sex)` is one contingency table, `marginals(2)` are all tables of two columns,
`means(income)` and `sums(income)` one number each. Adding a class is a dataclass and a line
in `CLASSES`; what releases it is a line in the table of `releases`.

May import errors, privacy, schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Protocol

from discreet.errors import BadInput
from discreet.queries.halfspaces import parse_halfspaces
from discreet.queries.measurable import Marginal
from discreet.queries.parities import parse_parities
from discreet.queries.predicates import parse_predicates
from discreet.queries.ranges import Intervals, Rectangles, parse_unions
from discreet.queries.spelling import checked_weight, quoted
from discreet.schema import Schema


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


@dataclass(frozen=True, slots=True)
class Marginals:
    """Contingency tables: all of `degree` columns, or the one over `columns`."""

    degree: int | None = None
    columns: tuple[str, ...] | None = None
    weight: Fraction = Fraction(1)
    name: ClassVar[str] = "marginals"

    def __init__(
        self,
        *what: int | str,
        weight: Fraction | int = 1,
        degree: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        if what and isinstance(what[0], int):
            degree = what[0]
        elif what:
            columns = [str(name) for name in what]
        if (degree is None) == (columns is None):
            raise BadInput(
                "Marginals take a number of columns, as in marginals(2), or their names."
            )
        if degree is not None and degree < 0:
            raise BadInput(f"marginals({degree}): the number of columns cannot be negative.")
        if columns is not None and len(set(columns)) != len(columns):
            raise BadInput(f"marginals({', '.join(columns)}) names a column twice.")
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "columns", None if columns is None else tuple(columns))
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        inside = str(self.degree) if self.columns is None else ", ".join(map(quoted, self.columns))
        return f"marginals({inside})"

    def sets(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The column sets, in schema order."""
        names = [column.name for column in schema.columns]
        if self.columns is not None:
            chosen = {schema.column(name).name for name in self.columns}
            return (tuple(sorted(chosen, key=names.index)),)
        assert self.degree is not None
        return tuple(combinations(names, self.degree))

    def check(self, schema: Schema) -> None:
        if self.columns is not None:
            named = tuple(schema.column(name).name for name in self.columns)
            Marginal(named).size(schema)  # refuses two spellings of one column as well
            return
        assert self.degree is not None
        if self.degree > len(schema.columns):
            raise BadInput(
                f"{self.text} asks for {self.degree} columns and the schema has {len(schema.columns)}."
            )
        for columns in self.sets(schema):
            Marginal(columns).size(schema)


@dataclass(frozen=True, slots=True)
class _OneNumber:
    """A class about one numeric column."""

    column: str
    weight: Fraction = Fraction(1)
    name: ClassVar[str] = ""

    def __init__(self, column: str, *, weight: Fraction | int = 1) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        return f"{self.name}({quoted(self.column)})"

    def check(self, schema: Schema) -> None:
        column = schema.column(self.column)
        if column.value_bounds is None:
            raise BadInput(
                f"{self.text}: column {self.column} is of kind {column.kind}; "
                "only integer and number columns have sums and means."
            )


@dataclass(frozen=True, slots=True, init=False)
class Means(_OneNumber):
    """The mean of a numeric column over its non-null rows, values clamped to the schema's bounds."""

    name: ClassVar[str] = "means"


@dataclass(frozen=True, slots=True, init=False)
class Sums(_OneNumber):
    """The sum of a numeric column, values clamped to the schema's bounds."""

    name: ClassVar[str] = "sums"


def _marginals(arguments: list[str]) -> Marginals:
    if len(arguments) == 1 and arguments[0].isdecimal():
        return Marginals(int(arguments[0]))
    return Marginals(columns=arguments)


def _one(kind: Callable[[str], QueryClass], name: str) -> Callable[[list[str]], QueryClass]:
    def parse(arguments: list[str]) -> QueryClass:
        if len(arguments) != 1:
            raise BadInput(f"{name}(...) takes one column, not {len(arguments)}.")
        return kind(arguments[0])

    return parse


CLASSES: dict[str, Callable[[list[str]], QueryClass]] = {
    "marginals": _marginals,
    "conjunctions": _marginals,  # a conjunction of k values is a cell of a table of k columns
    "parities": parse_parities,
    "histogram": _one(lambda column: Marginals(columns=[column]), "histogram"),
    "means": _one(Means, "means"),
    "sums": _one(Sums, "sums"),
    "intervals": _one(Intervals, "intervals"),
    "rectangles": lambda arguments: Rectangles(*arguments),
    "unions": parse_unions,
    "halfspaces": parse_halfspaces,
    "predicates": parse_predicates,
}

_CALL = re.compile(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*(?:\*\s*(\d+(?:\.\d+)?|\d+/\d+))?\s*", re.DOTALL)
_ARGUMENT = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"]+?))\s*(?:,|$)')


def parse_class(text: str) -> QueryClass:
    """`marginals(2)`, `histogram(age)`, `means("net income")`; `* 3` behind it is a weight."""
    call = _CALL.fullmatch(text)
    if call is None or call[1].lower() not in CLASSES:
        raise BadInput(
            f"The query class {text!r} is not known. Classes: "
            + ", ".join(f"{name}(...)" for name in CLASSES)
            + "."
        )
    arguments: list[str] = []
    position, inside = 0, call[2]
    while position < len(inside):
        argument = _ARGUMENT.match(inside, position)
        if argument is None:
            raise BadInput(f'The columns of {text!r} are not readable; quote odd names as "...".')
        quoted, plain = argument.groups()
        arguments.append(plain if quoted is None else quoted.replace('""', '"'))
        position = argument.end()
    parsed = CLASSES[call[1].lower()](arguments)
    if call[3]:
        object.__setattr__(parsed, "weight", checked_weight(Fraction(call[3])))
    return parsed
