"""`means(income)` and `sums(income)`: one number about one column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from discreet.errors import BadInput
from discreet.questions.spelling import checked_weight, quoted, sql_name
from discreet.schema import Schema

if TYPE_CHECKING:
    from discreet.artifacts.release import Part


@dataclass(frozen=True, slots=True)
class _OneNumber:
    """A class about one numeric column."""

    column: str
    weight: Fraction = Fraction(1)
    name: ClassVar[str] = ""
    function: ClassVar[Literal["avg", "sum"]]

    def __init__(self, column: str, *, weight: Fraction | int = 1) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        """The class as it is written on the command line and in release files."""
        return f"{self.name}({quoted(self.column)})"

    def check(self, schema: Schema) -> None:
        """Raise `BadInput` if the class does not fit the schema."""
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
    function: ClassVar[Literal["avg", "sum"]] = "avg"


@dataclass(frozen=True, slots=True, init=False)
class Sums(_OneNumber):
    """The sum of a numeric column, values clamped to the schema's bounds.

    Thread safe: it never changes.
    """

    name: ClassVar[str] = "sums"
    function: ClassVar[Literal["avg", "sum"]] = "sum"


def questions(part: Part, schema: Schema) -> list[str]:
    """The number itself."""
    asked = part.query_class
    assert isinstance(asked, _OneNumber)
    return [f"SELECT {asked.function}({sql_name(asked.column)}) FROM {sql_name(schema.dataset)}"]
