"""`marginals(...)`: contingency tables, as the custodian names them.

`marginals(age, sex)` is one table. `marginals(age, sex; sex, city * 3)` are two tables, the second with
three times the weight. `marginals(2)` are all tables of two columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import ClassVar

from discreet.errors import BadInput
from discreet.queries.class_arguments import WEIGHTED, Argument, plain_names
from discreet.queries.measurable import Marginal
from discreet.questions.spelling import checked_weight, quoted
from discreet.schema import Schema
from discreet.schema.completed import declared_schema

MOST_OF_ALL = 1 << 22
"""Cells of a table up to which it is among all tables of so many columns."""
MOST_TABLES = 100_000
"""Tables, or parities, of one class: a release file has no more arrays. The tables of 30 of 60 columns would fill any memory."""


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
    """How much each of `tables` matters compared with the others."""
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
        """The class as it is written on the command line and in release files."""
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
        """Column sets that are left out because they are too large; none if every set is that large."""
        if self.degree is None:
            return ()
        sizes = {column.name: column.cells for column in declared_schema(schema).columns}
        every = list(combinations(sizes, self.degree))
        large = [each for each in every if prod(sizes[name] for name in each) > MOST_OF_ALL]
        return tuple(large) if len(large) < len(every) else ()

    def weights(self, schema: Schema) -> tuple[Fraction, ...]:
        """How much each of `sets` matters."""
        return self.table_weights or (Fraction(1),) * len(self.sets(schema))

    def check(self, schema: Schema) -> None:
        """Raise `BadInput` if the class does not fit the schema."""
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
        check_many(self.text, comb(len(schema.columns), self.degree))
        for columns in self.sets(schema):
            Marginal(columns).size(schema)


def check_many(text: str, many: int) -> None:
    """Refuse a class of more tables than can be listed, before they are."""
    if many > MOST_TABLES:
        counted = f"{many:,}" if many < 10**12 else "more than 10^12"
        raise BadInput(
            f"{text} has {counted} tables; at most {MOST_TABLES:,} are released. Ask for tables of fewer columns, or name "
            "those that matter. Nothing was read or charged."
        )


def parse_marginals(arguments: list[str]) -> Marginals:
    if len(arguments) == 1 and arguments[0].isdecimal():
        return Marginals(int(arguments[0]))
    return Marginals(columns=arguments)


def parse_tables(groups: list[list[Argument]]) -> Marginals:
    """`age, sex; sex, city * 3`: tables, each with a weight behind its last column."""
    tables: list[list[str]] = []
    weights: list[Fraction] = []
    for group in groups:
        if not group:
            raise BadInput("A table of marginals(...; ...) names no column.")
        last = group[-1]
        found = None if last.is_quoted else WEIGHTED.fullmatch(last.name)
        name, weight = (last.name, last.weight) if found is None else (found[1], found[2])
        tables.append([*plain_names(group[:-1]), name])
        weights.append(Fraction(weight or 1))
    return Marginals(tables=tables, table_weights=weights)
