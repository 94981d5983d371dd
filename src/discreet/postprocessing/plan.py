"""A statement as plain data: the questions that are measured, and the work on their answers.

The questions are known before anything is measured, so what a statement costs does not depend on any
answer. An expression is evaluated for each row of a result; a row is a group of a question's answer, or
what became of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.questions.expressions import TRUE
from discreet.questions.expressions import Expression as RowExpression


@dataclass(frozen=True, slots=True)
class Measure:
    """A noisy number: an aggregate of one of the statement's questions."""

    question: int
    """Which of the statement's questions."""
    place: int
    """Which of its aggregates."""


@dataclass(frozen=True, slots=True)
class Key:
    """What the rows are grouped by: the key at a place of GROUP BY."""

    place: int


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the table that is selected from, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Literal:
    """The same value in every row."""

    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the values in a row; see `functions.FUNCTIONS`."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Scalar:
    """The only value of a table of one row and one column."""

    table: Table


@dataclass(frozen=True, slots=True)
class Lookup:
    """The last column of the row of another table whose first columns are the given keys."""

    table: Table
    keys: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Across:
    """An aggregate over the rows of a result: SUM, AVG, COUNT, MIN, MAX, MEDIAN, STDDEV.

    `present` counts the rows whose number is above 0, `mode` is the value of the row with the largest one.
    """

    function: str
    argument: Expression | None
    """`None` counts rows."""
    condition: Expression | None = None
    level: float = 0.5
    is_distinct: bool = False
    weight: Expression | None = None
    """What `mode` takes the largest of."""


@dataclass(frozen=True, slots=True)
class Order:
    """One sort key."""

    key: Expression
    is_descending: bool = False
    nulls_first: bool = False


RANGE, ROWS, WHOLE = "range", "rows", "whole"
"""The frames of a window: up to the last row that is alike in the order, up to the row itself, or all rows."""


@dataclass(frozen=True, slots=True)
class Over:
    """A window function: the rows with the same partition, in some order."""

    function: str
    arguments: tuple[Expression, ...]
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    frame: str = RANGE
    """Up to which row a row sees: `RANGE`, `ROWS` or `WHOLE`."""
    around: tuple[int | None, int | None] | None = None
    """Rows before and after the current one, `None` for all of them; `None` where the frame does not move."""


Expression = Measure | Key | Field | Literal | Call | Case | Scalar | Lookup | Across | Over


@dataclass(frozen=True, slots=True)
class Measured:
    """The groups of some questions to the table, a row each."""

    keys: tuple[str, ...]
    """The names that the questions' answers give to the keys."""
    questions: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]
    """For each question, which of the keys it is grouped by. The first has all of them."""
    condition: RowExpression | None = None
    """WHERE, if every question has a condition of its own beside it: groups that all of these rule out are there too."""


@dataclass(frozen=True, slots=True)
class Declared:
    """All combinations of the declared cells of some columns. Nothing is measured."""

    keys: tuple[str, ...]
    condition: RowExpression = TRUE
    """What the rows of a group must be able to meet, by the schema."""


@dataclass(frozen=True, slots=True)
class OneRow:
    """What a SELECT without FROM selects from."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a result."""

    name: str
    value: Expression
    is_hidden: bool = False
    """Whether only ORDER BY needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """One SELECT over measured groups or over another result."""

    source: Measured | Declared | OneRow | Table
    outputs: tuple[Output, ...]
    where: Expression | None = None
    """Only over another result; of rows it is a part of the questions."""
    keys: tuple[Expression, ...] | None = None
    """Only over another result: GROUP BY. `None` where rows stay as they are."""
    having: Expression | None = None
    qualify: Expression | None = None
    is_distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """The rows of several results, one after the other."""

    tables: tuple[Table, ...]
    is_distinct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """The rows of two results side by side, where their keys are equal."""

    left: Table
    right: Table
    keys: tuple[tuple[Expression, Expression], ...] = ()
    """Each of the left result's rows, and of the right one's. Without keys every row meets every other one."""
    nulls_meet: tuple[bool, ...] = ()
    """For each key, whether two nulls are equal, as in IS NOT DISTINCT FROM."""
    merged: tuple[tuple[int, int], ...] = ()
    """Columns of the left and of the right result that USING makes one."""
    keeps_left: bool = False
    """Whether rows that meet no other one stay, beside nulls."""
    keeps_right: bool = False


Table = Select | Union | Join


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """All that a text asks for."""

    questions: tuple[Any, ...]
    """Each in the words of whom it is put to: a release or a curator."""
    table: Table
    text: str
    is_plain: bool = False
    """Whether the one question's answer is the answer, and nothing is left to do."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how the statement was read."""

    @property
    def measures_only(self) -> bool:
        """Whether the result shows the answers of one question as they are, perhaps sorted or filtered."""
        if self.is_plain:
            return True
        table = self.table
        return (
            len(self.questions) == 1
            and isinstance(table, Select)
            and isinstance(table.source, Measured)
            and all(isinstance(each.value, Measure | Key) for each in table.outputs)
        )
