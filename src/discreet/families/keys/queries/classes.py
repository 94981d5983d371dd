"""`keys(city)`: the values of an undeclared column that enough people hold, and how many rows each has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import BadInput
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
