"""Query classes: what a release must be useful for, as the custodian names it.

`marginals(age, sex)` is one contingency table, `marginals(age, sex; sex, city * 3)` are two, the second
of three times the weight, `marginals(2)` are all tables of two columns, `means(income)` and `sums(income)` one number each. Adding a class is a dataclass and a line
in `CLASSES`; what releases it is a line in the table of `releases`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import ClassVar, NamedTuple, Protocol

from discreet.errors import BadInput, did_you_mean
from discreet.families.halfspaces.queries.halfspaces import parse_halfspaces
from discreet.families.predicates.queries.predicates import parse_predicates
from discreet.families.ranges.queries.ranges import Intervals, Rectangles, parse_unions
from discreet.families.tables.queries.parities import parse_parities, parse_split_parities
from discreet.queries.measurable import Marginal
from discreet.questions.spelling import checked_weight, quoted
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


MOST_OF_ALL = 1 << 22
"""Cells of a table up to which it is among all tables of so many columns."""


@dataclass(frozen=True, slots=True)
class Marginals:
    """Contingency tables: all of `degree` columns, the one over `columns`, or those over `tables`.

    Thread safe: it never changes.
    """

    degree: int | None = None
    columns: tuple[str, ...] | None = None
    weight: Fraction = Fraction(1)
    tables: tuple[tuple[str, ...], ...] | None = None
    table_weights: tuple[Fraction, ...] | None = None
    """How much each of `tables` matters beside the others."""
    name: ClassVar[str] = "marginals"

    def __init__(
        self,
        *what: int | str,
        weight: Fraction | int = 1,
        degree: int | None = None,
        columns: Sequence[str] | None = None,
        tables: Sequence[Sequence[str]] | None = None,
        table_weights: Sequence[Fraction | int] | None = None,
    ) -> None:
        if what and isinstance(what[0], int):
            degree = what[0]
        elif what:
            columns = [str(name) for name in what]
        if (degree, columns, tables).count(None) != 2:
            raise BadInput(
                "Marginals take a number of columns, as in marginals(2), or their names."
            )
        if degree is not None and degree < 0:
            raise BadInput(f"marginals({degree}): the number of columns cannot be negative.")
        if columns is not None and len(set(columns)) != len(columns):
            raise BadInput(f"marginals({', '.join(columns)}) names a column twice.")
        if tables is not None:
            if len(tables) < 2:
                raise BadInput("marginals(...; ...) takes two tables or more; one needs no `;`.")
            if any(len(set(each)) != len(each) for each in tables):
                raise BadInput("A table of marginals(...; ...) names a column twice.")
            given = [1] * len(tables) if table_weights is None else list(table_weights)
            if len(given) != len(tables):
                raise BadInput("marginals(...; ...) takes one weight for each table.")
            object.__setattr__(self, "tables", tuple(map(tuple, tables)))
            object.__setattr__(self, "table_weights", tuple(map(checked_weight, given)))
        else:
            object.__setattr__(self, "tables", None)
            object.__setattr__(self, "table_weights", None)
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "columns", None if columns is None else tuple(columns))
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        if self.tables is not None:
            assert self.table_weights is not None
            spelt = [
                ", ".join(map(quoted, each)) + ("" if weight == 1 else f" * {weight}")
                for each, weight in zip(self.tables, self.table_weights, strict=True)
            ]
            return f"marginals({'; '.join(spelt)})"
        inside = str(self.degree) if self.columns is None else ", ".join(map(quoted, self.columns))
        return f"marginals({inside})"

    def sets(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The column sets, in schema order."""
        names = [column.name for column in schema.columns]
        named = self.tables if self.columns is None else (self.columns,)
        if named is not None:
            chosen = [{schema.column(name).name for name in each} for each in named]
            return tuple(tuple(sorted(each, key=names.index)) for each in chosen)
        assert self.degree is not None
        large = set(self.left_out(schema))
        return tuple(each for each in combinations(names, self.degree) if each not in large)

    def left_out(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """Sets too large to decide how all others are released; none where every set is that large."""
        if self.degree is None:
            return ()
        sizes = {column.name: column.cells for column in schema.columns}
        every = list(combinations(sizes, self.degree))
        large = [each for each in every if prod(sizes[name] for name in each) > MOST_OF_ALL]
        return tuple(large) if len(large) < len(every) else ()

    def weights(self, schema: Schema) -> tuple[Fraction, ...]:
        """How much each of `sets` matters."""
        return self.table_weights or (Fraction(1),) * len(self.sets(schema))

    def check(self, schema: Schema) -> None:
        if self.columns is not None:
            named = tuple(schema.column(name).name for name in self.columns)
            Marginal(named).size(schema)  # refuses two spellings of one column as well
            return
        if self.tables is not None:
            for each in self.tables:
                Marginal(tuple(schema.column(name).name for name in each)).size(schema)
            if len(set(self.sets(schema))) != len(self.tables):
                raise BadInput(f"{self.text} lists a table twice; give it a weight instead.")
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
    """The mean of a numeric column over its non-null rows, values clamped to the schema's bounds.

    Thread safe: it never changes.
    """

    name: ClassVar[str] = "means"


@dataclass(frozen=True, slots=True, init=False)
class Sums(_OneNumber):
    """The sum of a numeric column, values clamped to the schema's bounds.

    Thread safe: it never changes.
    """

    name: ClassVar[str] = "sums"


def _marginals(arguments: list[str]) -> Marginals:
    if len(arguments) == 1 and arguments[0].isdecimal():
        return Marginals(int(arguments[0]))
    return Marginals(columns=arguments)


class _Argument(NamedTuple):
    name: str
    weight: str | None
    """What stands behind a quoted name after `*`; an unquoted one still holds its own."""
    is_quoted: bool


def _tables(groups: list[list[_Argument]]) -> Marginals:
    """`age, sex; sex, city * 3`: tables, each with a weight behind its last column."""
    tables: list[list[str]] = []
    weights: list[Fraction] = []
    for group in groups:
        if not group:
            raise BadInput("A table of marginals(...; ...) names no column.")
        last = group[-1]
        found = None if last.is_quoted else _WEIGHTED.fullmatch(last.name)
        name, weight = (last.name, last.weight) if found is None else (found[1], found[2])
        tables.append([*_names(group[:-1]), name])
        weights.append(Fraction(weight or 1))
    return Marginals(tables=tables, table_weights=weights)


def _names(group: Sequence[_Argument]) -> list[str]:
    if any(each.weight for each in group):
        raise BadInput("A weight stands behind a whole table, or behind the whole class.")
    return [each.name for each in group]


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

INCOMPLETE = (
    "The query class {!r} is not complete: write {}(...), as many brackets closed as opened."
)
_CALL = re.compile(
    r"\s*([A-Za-z_]+)\s*\((.*)\)\s*(?:\*\s*(\d+(?:\.\d+)?|\d+/[1-9]\d*))?\s*", re.DOTALL
)
_WEIGHT = r"(\d+(?:\.\d+)?|\d+/[1-9]\d*)"
_ARGUMENT = re.compile(
    r'\s*(?:"((?:[^"]|"")*)"(?:\s*\*\s*' + _WEIGHT + r')?|([^,;"]+?))\s*(?:(,|;)|$)'
)
_WEIGHTED = re.compile(r"(.*\S)\s*\*\s*" + _WEIGHT, re.DOTALL)
GROUPED: dict[str, Callable[[list[list[_Argument]]], QueryClass]] = {
    "marginals": _tables,
    "conjunctions": _tables,
    "parities": lambda groups: parse_split_parities([_names(group) for group in groups]),
}
"""Classes that take several lists, with `;` between them."""


def parse_class(text: str) -> QueryClass:
    """`marginals(2)`, `histogram(age)`, `means("net income")`; `* 3` behind it is a weight."""
    call = _CALL.fullmatch(text)
    if call is None or call[1].lower() not in CLASSES:
        named = call[1] if call is not None else text.partition("(")[0].strip()
        if named.lower() in CLASSES:
            raise BadInput(INCOMPLETE.format(text, named))
        raise BadInput(
            f"The query class {text!r} is not known.{did_you_mean(named, CLASSES)} Classes: "
            + ", ".join(f"{name}(...)" for name in CLASSES)
            + "."
        )
    bare = re.sub(r'"(?:[^"]|"")*"', "", text)
    if bare.count("(") != bare.count(")"):
        raise BadInput(INCOMPLETE.format(text, call[1]))
    name, groups = call[1].lower(), _arguments(call[2], text)
    if len(groups) == 1:
        parsed = CLASSES[name](_names(groups[0]))
    elif name in GROUPED:
        parsed = GROUPED[name](groups)
    else:
        raise BadInput(f"{name}(...) takes one list, without `;`.")
    if call[3]:
        object.__setattr__(parsed, "weight", checked_weight(Fraction(call[3])))
    return parsed


def _arguments(inside: str, text: str) -> list[list[_Argument]]:
    """What stands between the brackets: lists with `;` between them, of names with `,` between."""
    groups: list[list[_Argument]] = [[]]
    position = 0
    while position < len(inside):
        argument = _ARGUMENT.match(inside, position)
        if argument is None:
            raise BadInput(f'The columns of {text!r} are not readable; quote odd names as "...".')
        named, weight, plain, separator = argument.groups()
        name = plain if named is None else named.replace('""', '"')
        groups[-1].append(_Argument(name, weight, named is not None))
        if separator == ";":
            groups.append([])
        position = argument.end()
    return groups
