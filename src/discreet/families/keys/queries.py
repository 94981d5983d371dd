"""`keys(city)`: the values of an undeclared column that enough people hold, and how many rows each has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discreet.errors import BadInput, BadRelease
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_disjoint_counts
from discreet.queries.measurable import Counts
from discreet.queries.tallies import FoundKeys, Present, Rows, Tally
from discreet.questions.spelling import checked_weight, quoted, sql_name
from discreet.schema import Schema
from discreet.schema.columns.named import CategoryColumn

if TYPE_CHECKING:
    from discreet.artifacts.release import Part


@dataclass(frozen=True, slots=True, init=False)
class Keys:
    """The rows of each value of a column whose values nobody can list: `Keys("city")`.

    Thread safe: it never changes.
    """

    column: str
    weight: Fraction
    name: ClassVar[str] = "keys"

    def __init__(self, column: str, *, weight: Fraction | int = 1) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        """The class as it is written on the command line and in release files."""
        return f"keys({quoted(self.column)})"

    def check(self, schema: Schema) -> None:
        """Raise `BadInput` unless the column is a category without declared values."""
        column = schema.column(self.column)
        if column.undeclared:
            return
        hint = (
            f"its values are declared, so marginals({quoted(column.name)}) counts them without a delta"
            if isinstance(column, CategoryColumn)
            else "only a category has values to name"
        )
        raise BadInput(
            f"{self.text}: column {column.name!r} is of kind {column.kind} and not `undeclared = true`; {hint}. "
            "Nothing was read or charged."
        )


def key_questions(part: Part, schema: Schema) -> list[str]:
    """The values that most rows hold."""
    asked = part.query_class
    assert isinstance(asked, Keys)
    name = sql_name(schema.column(asked.column).name)
    table = sql_name(schema.dataset)
    return [f"SELECT {name}, count(*) FROM {table} GROUP BY {name} ORDER BY count(*) DESC LIMIT 10"]


MOST_KEYS = 100_000
"""Values that one release publishes of a column: of more, the first in their order."""


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """Rows of each found value, rows of all other values together, and, if nulls have a cell, of nulls.

    A row is in one of these numbers at most, so they move like the cells of a table. Which rows of a person
    are used depends on that person's rows alone and is the same for all three tallies. Where a person is seen
    in fewer groups than they have rows, rows of further found values count among the others.
    """

    column: str
    texts: tuple[str, ...]
    kind: ClassVar[str] = "key-counts"

    def __post_init__(self) -> None:
        if len(self.texts) > MOST_KEYS:
            raise BadInput(f"At most {MOST_KEYS:,} found values are counted.")
        if any(one >= other for one, other in pairwise(self.texts)):
            raise BadInput("Found values are counted in their order, each once.")

    def tallies(self, schema: Schema) -> tuple[Tally, ...]:
        counted = (Tally(Present(self.column)), Tally(Rows()))
        if not self.texts:
            return counted
        found = FoundKeys((self.column,), tuple((text,) for text in self.texts))
        return (*counted, Tally(Rows(), found=found))

    def size(self, schema: Schema) -> int:
        column = schema.column(self.column)
        if not column.undeclared:
            raise BadInput(f"Column {self.column!r} is no category with undeclared values.")
        return len(self.texts) + column.cells

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def answered(self, tallied: Sequence[Counts], schema: Schema) -> Counts:
        present, rows = int(tallied[0][0]), int(tallied[1][0])
        found = tallied[2] if self.texts else np.zeros(0, dtype=np.int64)
        rest = [present - int(found.sum(dtype=np.int64)), rows - present]
        beside = np.array(rest[: self.size(schema) - len(self.texts)], dtype=np.int64)
        return np.concatenate([found, beside])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column, "texts": list(self.texts)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        texts = data["texts"]
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            raise BadRelease("its found values are not readable.")
        return cls(str(data["column"]), tuple(texts))
