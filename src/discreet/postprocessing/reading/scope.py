"""Where an expression of a statement stands, and which questions it has asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from discreet.postprocessing.reading.row_sources import Rows
from discreet.schema.columns.column import folded

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
