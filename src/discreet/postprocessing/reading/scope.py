"""Where an expression of a statement stands, and which questions it has asked for.

A SELECT from rows of the table selects from the dataset, or from a subquery without aggregates. Such a subquery only filters and renames. It is folded into the SELECT around it, so that one question
asks the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from discreet.errors import BadQuestion, did_you_mean
from discreet.questions.spelling import no_such_table
from discreet.schema.columns.column import folded

MOST_WRITTEN_OUT = 10_000
"""Parts of an expression once the columns of subqueries are written out: a column that is used twice in each of thirty
subqueries would be written out a billion times."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the dataset that meet some conditions, with columns that may be computed."""

    tables: tuple[str, ...]
    """The names that a column may stand behind."""
    conditions: tuple[Any, ...] = ()
    columns: tuple[tuple[str, Any], ...] | None = None
    """Names and expressions; `None` for the dataset's own columns."""

    def resolved(self, node: Any) -> Any:
        """An expression over the dataset's own columns."""
        from sqlglot import exp

        written_out = 0

        def replaced(each: Any) -> Any:
            nonlocal written_out
            if type(each) is not exp.Column:
                return each
            table = each.args.get("table")
            if table is not None and folded(table.name) not in self.tables:
                raise BadQuestion(no_such_table(table.name))
            if type(each.this) is not exp.Identifier:
                return each
            if self.columns is None:
                return exp.Column(this=each.this.copy())
            named = [
                expression for name, expression in self.columns if folded(name) == folded(each.name)
            ]
            if len(named) > 1:
                raise BadQuestion(
                    f"The subquery has several columns {each.name!r}. Give each a name of its own, or use * EXCLUDE or * REPLACE."
                )
            found = named[0] if named else None
            if found is None:
                names = [name for name, _ in self.columns]
                raise BadQuestion(
                    f"There is no column {each.name!r} in the subquery.{did_you_mean(each.name, names)}"
                )
            if type(found) is exp.Column:
                return found.copy()
            written_out += sum(1 for _ in found.walk())
            if written_out > MOST_WRITTEN_OUT:
                raise BadQuestion(
                    f"An expression has more than {MOST_WRITTEN_OUT:,} parts once the columns of subqueries are written "
                    "out in it. Use each of them less often."
                )
            return exp.Paren(this=found.copy())

        return node.transform(replaced)


ROWS_ARE_NOT_SHOWN = (
    "Rows are never shown, only counts, sums and other aggregates of them. Add GROUP BY and an aggregate "
    "such as count(*), or draw synthetic rows with synthesize."
)


class Dialect(Protocol):
    """Whom questions are put to: a release, or a curator."""

    shape: ClassVar[str]
    names: tuple[str, ...]
    """What the dataset may be called."""
    functions: ClassVar[tuple[str, ...]]
    """Aggregates that are written as functions of their own."""
    is_free: ClassVar[bool]
    """Whether a question costs nothing, so that one more is asked where it is more exact."""
    splits_sums: ClassVar[bool]
    """Whether sums are of plain columns only."""

    def question(self, select: Any) -> Any:
        """The question that a plain SELECT asks."""

    def names_of(self, question: Any) -> Sequence[str]:
        """What its aggregates are called."""


@dataclass(slots=True)
class Pending:
    """A question in the making."""

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    conditions: tuple[Any, ...]
    aggregates: list[Any] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Columns:
    """What a SELECT over results can name: columns, and for each the tables that it may stand behind."""

    names: tuple[str, ...] = ()
    tables: tuple[tuple[str, ...], ...] = ()
    merged: frozenset[int] = frozenset()
    """Columns that USING made one with an earlier one."""

    @classmethod
    def of(cls, names: tuple[str, ...], tables: tuple[str, ...] = ()) -> Columns:
        return cls(names, (tables,) * len(names))

    def beside(self, other: Columns, merged: Iterable[int] = ()) -> Columns:
        """Those of two results side by side; `merged` are places among the other's."""
        first = len(self.names)
        hidden = self.merged | {first + each for each in (*other.merged, *merged)}
        return Columns(self.names + other.names, self.tables + other.tables, hidden)

    def places(self, name: str, table: str | None = None) -> list[int]:
        """Where the columns of a name are, behind a table's name if one is given; both folded."""
        return [
            place
            for place, each in enumerate(self.names)
            if folded(each) == name
            and (place not in self.merged if table is None else table in self.tables[place])
        ]

    def has_table(self, name: str) -> bool:
        return any(name in each for each in self.tables)


@dataclass(slots=True, eq=False)
class Scope:
    """Where an expression stands: in a SELECT over rows, or over another result."""

    items: dict[str, Any]
    """What SELECT gives a name to."""
    keys: dict[str, int]
    """What the rows are grouped by, as texts."""
    rows: Rows | None = None
    present: tuple[int, ...] = ()
    """The keys that these rows are told apart by; the others are null (ROLLUP)."""
    key_nodes: tuple[Any, ...] = ()
    key_names: tuple[str, ...] = ()
    fields: Columns = Columns()
    is_grouped: bool = True
    has_having: bool = False
    questions: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    resolving: set[str] = field(default_factory=set)
