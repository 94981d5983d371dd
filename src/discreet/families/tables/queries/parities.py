"""Parities of binary columns: the Fourier (Walsh and Hadamard) coefficients of a contingency table.

The parity of a set of columns is the number of rows with an even number of ones in it, less the
number with an odd one. All parities up to k columns determine all marginals up to k columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import comb
from typing import Any, ClassVar, assert_never

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.families.tables.queries.marginals import Marginals, check_many
from discreet.privacy.adjacency import Adjacency, Sensitivity
from discreet.schema import Schema, keeps_every_row

Counts = npt.NDArray[np.int64]
MOST_COLUMNS = 20


def signs(columns: int) -> Counts:
    """+1 for an even number of ones, -1 for an odd one, in each cell of so many binary columns."""
    one = np.array([1, -1], dtype=np.int64)
    return np.asarray(reduce(np.multiply.outer, [one] * columns, np.ones((), dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Parity:
    """Rows with an even number of ones among `columns`, less the others: one number.

    A row adds 1 or -1, or nothing if a column gives it no cell; a changed row may go from one to the
    other, which is 2. Over no columns it is the number of rows, which a changed row leaves alone.
    """

    columns: tuple[str, ...]
    kind: ClassVar[str] = "parity"

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns) or len(self.columns) > MOST_COLUMNS:
            raise BadInput(f"A parity names up to {MOST_COLUMNS} columns, each once.")

    def size(self, schema: Schema) -> int:
        for name in self.columns:
            if schema.column(name).cells != 2:
                raise BadInput(
                    f"Column {name} has {schema.column(name).cells:,} cells; parities are of columns "
                    "with two. A null or other value takes a cell, unless it is excluded."
                )
        return 1

    def sensitivity(self, schema: Schema) -> Sensitivity:
        rows = schema.unit.max_rows
        match schema.adjacency:
            case Adjacency.ADD_REMOVE:
                moved = rows
            case Adjacency.CHANGE_ONE:
                moved = 2 * rows if self.columns else rows
            case _ as unknown:
                assert_never(unknown)
        return Sensitivity(l1=moved, l2_squared=moved * moved)

    def evaluate(self, counts: Counts) -> Counts:
        table = counts.reshape([2] * len(self.columns))
        return np.array([(table * signs(len(self.columns))).sum(dtype=np.int64)], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Parity:
        return cls(columns=tuple(data["columns"]))


@dataclass(frozen=True, slots=True)
class Parities:
    """All parities of at most `degree` of the schema's columns with two cells, or of named ones."""

    degree: int | None = None
    columns: tuple[str, ...] | None = None
    weight: Fraction = Fraction(1)
    splits: tuple[str, ...] | None = None
    """Conditions on one column or more, each of which splits the rows in two: those that satisfy it
    count as ones, all others (nulls too) as zeros. The parities are then of at most `degree` splits."""
    name: ClassVar[str] = "parities"

    def __post_init__(self) -> None:
        if (self.degree is None) == (self.columns is None):
            raise BadInput("Parities take a number of columns, as in parities(2), or their names.")
        if self.splits is not None:
            if self.degree is None or not 1 <= self.degree <= len(self.splits):
                raise BadInput(
                    f"Parities of {len(self.splits)} splits take a number of them from 1 to that, as in "
                    "parities(2; age >= 40, member)."
                )
            if len(set(self.splits)) != len(self.splits) or not all(map(str.strip, self.splits)):
                raise BadInput("parities(...) lists a split twice, or an empty one.")

    @property
    def text(self) -> str:
        if self.splits is not None:
            listed = ", ".join('"' + each.replace('"', '""') + '"' for each in self.splits)
            return f"parities({self.degree}; {listed})"

        return Marginals(degree=self.degree, columns=self.columns).text.replace(
            "marginals", "parities", 1
        )

    def sets(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The largest sets whose parities are asked for; their subsets' are too. Of splits, none."""
        if self.splits is not None:
            return ()
        if self.columns is not None:
            chosen = {schema.column(name).name for name in self.columns}
            return (tuple(c.name for c in schema.columns if c.name in chosen),)
        assert self.degree is not None
        names = [column.name for column in schema.columns if column.cells == 2]
        return tuple(combinations(names, min(self.degree, len(names))))

    def split_sets(self) -> tuple[tuple[str, ...], ...]:
        """Every set of splits whose parity is asked for, the smallest first; not the empty one."""
        assert self.splits is not None and self.degree is not None
        sizes = range(1, self.degree + 1)
        return tuple(each for size in sizes for each in combinations(self.splits, size))

    def check(self, schema: Schema) -> None:
        if self.splits is not None:
            from discreet.families.predicates.queries.predicates import (
                cell_mask,
                columns_of,
                read_conditions,
            )

            conditions = read_conditions(schema, self.splits)
            for name in columns_of(schema, conditions):
                if not keeps_every_row(schema.column(name)):
                    raise BadInput(
                        f"Column {name!r} leaves rows out (nulls or other values have no cell), so they have no "
                        "parity of splits. Give them a cell in the schema. Nothing was read or charged."
                    )
            for condition in conditions:
                cell_mask(schema, condition, columns_of(schema, [condition]))
            return
        if self.degree is not None:
            binary = sum(column.cells == 2 for column in schema.columns)
            check_many(self.text[:200], comb(binary, min(self.degree, binary)))
        sets = self.sets(schema)
        if not any(sets):
            raise BadInput(f"{self.text}: the schema has no column with exactly two cells.")
        for columns in sets:
            Parity(columns).size(schema)


def parse_parities(arguments: Sequence[str]) -> Parities:
    if len(arguments) == 1 and arguments[0].isdecimal():
        return Parities(degree=int(arguments[0]))
    return Parities(columns=tuple(arguments))


def parse_split_parities(groups: Sequence[Sequence[str]]) -> Parities:
    """`2; age >= 40, sex = 'f', member`: how many at most, and the splits."""
    if len(groups) != 2 or len(groups[0]) != 1 or not groups[0][0].isdecimal():
        raise BadInput(
            "parities(...; ...) takes a number, then splits, as in parities(2; age >= 40, member)."
        )
    return Parities(degree=int(groups[0][0]), splits=tuple(groups[1]))
