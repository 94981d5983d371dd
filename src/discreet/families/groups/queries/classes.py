"""Classes by group: `means(income by region)`, `sums(...)`, `intervals(age by sex)`, `quantiles(...)`.

Behind `by` stand the columns that make the groups, one or several. Every combination of their cells
is a group, cells of nulls and of other values included; rows without a cell in one of them are in none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, ClassVar, TypeVar

from discreet.errors import BadInput
from discreet.queries.tree import MOST_BITS, bits_of
from discreet.questions.spelling import checked_weight, quoted, sql_name, sql_value
from discreet.schema import OrderedColumn, Schema
from discreet.schema.limits import MOST_CELLS

if TYPE_CHECKING:
    from discreet.artifacts.release import Part

MOST_COLUMNS = 6
"""Columns behind `by`."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, init=False)
class ByGroup:
    """Some measured columns, and the columns that make the groups."""

    columns: tuple[str, ...]
    by: tuple[str, ...]
    weight: Fraction
    name: ClassVar[str] = ""
    """Under which the registry knows the class."""
    word: ClassVar[str] = ""
    """The word that stands before the brackets."""
    is_mean: ClassVar[bool] = False
    """Whether each number is a sum that is divided by a count."""

    def __init__(self, *columns: str, by: str | Sequence[str], weight: Fraction | int = 1) -> None:
        groups = (by,) if isinstance(by, str) else tuple(by)
        if not columns or not groups:
            raise BadInput(
                f"{self.word}(... by ...) takes columns before `by`, and at least one after it."
            )
        if len({*columns, *groups}) < len(columns) + len(groups):
            raise BadInput(f"{self.word}(... by ...) names a column twice.")
        if len(groups) > MOST_COLUMNS:
            raise BadInput(
                f"{self.word}(... by ...) takes at most {MOST_COLUMNS} columns after `by`."
            )
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "by", groups)
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        """The class as it is written on the command line and in release files."""
        return f"{self.word}({_listed(self.columns)} by {_listed(self.by)})"

    def measured(self, schema: Schema) -> tuple[str, ...]:
        """The measured columns as the schema spells them."""
        return tuple(schema.column(name).name for name in self.columns)

    def groups(self, schema: Schema) -> tuple[str, ...]:
        """The group columns as the schema spells them, in its order: another order is the same class of groups."""
        named = {schema.column(name).name for name in self.by}
        return tuple(name for name in schema.names if name in named)

    def cells(self, schema: Schema) -> int:
        """How many groups there are."""
        return prod(schema.column(name).cells for name in self.by)

    def check(self, schema: Schema) -> None:
        """Raise `BadInput` if the class does not fit the schema."""
        named = [schema.column(name).name for name in (*self.columns, *self.by)]
        if len(set(named)) < len(named):
            raise BadInput(f"{self.text} names a column twice.")
        if self.cells(schema) > MOST_CELLS:
            raise BadInput(
                f"{self.text}: {', '.join(self.by)} have {self.cells(schema):,} combinations of cells; at most "
                f"{MOST_CELLS:,} are listed. Group by fewer columns, or declare wider cells."
            )
        for name in self.columns:
            self._check_measured(name, schema)

    def _check_measured(self, name: str, schema: Schema) -> None:
        column = schema.column(name)
        if column.value_bounds is None:
            raise BadInput(
                f"{self.text}: column {name} is of kind {column.kind}; "
                "only integer and number columns have sums and means."
            )


@dataclass(frozen=True, slots=True, init=False)
class GroupedMeans(ByGroup):
    """The mean of numeric columns in each group: `GroupedMeans("income", by="region")`.

    Values are clamped to the schema's bounds; nulls are left out. Thread safe: it never changes.
    """

    name: ClassVar[str] = "means-by-group"
    word: ClassVar[str] = "means"
    is_mean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, init=False)
class GroupedSums(ByGroup):
    """The sum of numeric columns in each group: `GroupedSums("income", by="region")`.

    Values are clamped to the schema's bounds; a null adds nothing. Thread safe: it never changes.
    """

    name: ClassVar[str] = "sums-by-group"
    word: ClassVar[str] = "sums"


@dataclass(frozen=True, slots=True, init=False)
class GroupedIntervals(ByGroup):
    """How many rows between a and b in each group, for every a and b: `GroupedIntervals("age", by="sex")`.

    Thread safe: it never changes.
    """

    name: ClassVar[str] = "intervals-by-group"
    word: ClassVar[str] = "intervals"

    def _check_measured(self, name: str, schema: Schema) -> None:
        column = schema.column(name)
        if not column.is_ordered:
            raise BadInput(
                f"{self.text}: column {name} is of kind {column.kind}, which has no order; ranges and quantiles "
                "are over integers, numbers, dates and datetimes."
            )
        if bits_of(column.value_cells) > MOST_BITS:
            raise BadInput(
                f"{self.text}: column {name} has more than 2^{MOST_BITS} cells; declare wider cells."
            )


@dataclass(frozen=True, slots=True, init=False)
class GroupedQuantiles(GroupedIntervals):
    """The median and any other quantile in each group: `GroupedQuantiles("income", by="region")`.

    Its errors are counted in rows: how far the rank of an answer is from the one asked for. Thread safe:
    it never changes.
    """

    name: ClassVar[str] = "quantiles-by-group"
    word: ClassVar[str] = "quantiles"


def grouped(make: Callable[..., T]) -> Callable[[list[str], list[str]], T]:
    """The reader of a class by group."""

    def parse(columns: list[str], by: list[str]) -> T:
        return make(*columns, by=by)

    return parse


def number_questions(part: Part, schema: Schema) -> list[str]:
    """The number of each group."""
    asked = part.query_class
    assert isinstance(asked, ByGroup)
    function = "avg" if asked.is_mean else "sum"
    groups = ", ".join(sql_name(name) for name in asked.groups(schema))
    return [
        f"SELECT {groups}, {function}({sql_name(name)}) FROM {sql_name(schema.dataset)} GROUP BY {groups}"
        for name in asked.measured(schema)
    ]


def range_questions(part: Part, schema: Schema) -> list[str]:
    """The rows above the first quarter of the cells, or the median, of each group."""
    asked = part.query_class
    assert isinstance(asked, GroupedIntervals)
    groups = ", ".join(sql_name(name) for name in asked.groups(schema))
    table = sql_name(schema.dataset)
    found = []
    for name in asked.measured(schema):
        column = schema.column(name)
        assert isinstance(column, OrderedColumn)
        if isinstance(asked, GroupedQuantiles):
            found.append(
                f"SELECT {groups}, median({sql_name(name)}) FROM {table} GROUP BY {groups}"
            )
            continue
        above = f"{sql_name(name)} >= {sql_value(column, column.value_cells // 4)}"
        found.append(f"SELECT {groups}, count(*) FROM {table} WHERE {above} GROUP BY {groups}")
    return found


def _listed(names: tuple[str, ...]) -> str:
    """A column that is called `by` stands in quotes, so that it is not taken for the word."""
    return ", ".join('"by"' if name.lower() == "by" else quoted(name) for name in names)
