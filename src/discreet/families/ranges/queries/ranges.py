"""Ranges of ordered columns: `intervals(age)`, `rectangles(lat, lon)`, `unions(age, 3)`, and their tree.

A range selects the rows whose cell lies between two cells, in each of its columns. The tree halves
one column at a time, round and round, so that a node is about as long in each column, relative to
the whole; it is measured every four or five halvings, the fan-out at which a hierarchy of counts
answers random ranges best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import BadInput
from discreet.queries.tree import MOST_BITS, Tree, bits_of, halvings
from discreet.questions.spelling import checked_weight, quoted, sql_name, sql_value
from discreet.schema import OrderedColumn, Schema

if TYPE_CHECKING:
    from discreet.artifacts.release import Part

STEP_BITS, DEEP_STEP_BITS = 4, 5
"""Halvings between two measured levels, in domains up to `DEEP` bits and beyond."""
DEEP = 32
MOST_COLUMNS = 4
"""The most columns of a rectangle; trees for halfspaces have more."""
MOST_PIECES = 1000
"""Ranges in one union."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """All ranges over `columns`: an interval in each."""

    columns: tuple[str, ...]
    weight: Fraction = Fraction(1)
    name: ClassVar[str] = "ranges"

    @property
    def text(self) -> str:
        return f"{self.name}({', '.join(map(quoted, self.columns))})"

    def check(self, schema: Schema) -> None:
        for name in self.columns:
            column = schema.column(name)
            if not column.is_ordered:
                raise BadInput(
                    f"{self.text}: column {name} is of kind {column.kind}, which has no order; ranges "
                    "are over integers, numbers, dates and datetimes."
                )
            if bits_of(column.value_cells) > MOST_BITS:
                raise BadInput(
                    f"{self.text}: column {name} has more than 2^{MOST_BITS} cells; declare wider cells."
                )

    @property
    def pieces(self) -> int:
        """How many ranges one query puts together."""
        return 1

    def named(self, schema: Schema) -> tuple[str, ...]:
        """The columns as the schema spells them."""
        return tuple(schema.column(name).name for name in self.columns)


@dataclass(frozen=True, slots=True, init=False)
class Intervals(Ranges):
    """How many rows between a and b, for every a and b of one column."""

    name: ClassVar[str] = "intervals"

    def __init__(self, column: str, *, weight: Fraction | int = 1) -> None:
        _set(self, (column,), weight)


@dataclass(frozen=True, slots=True, init=False)
class Quantiles(Ranges):
    """The median and every other quantile of one column: `Quantiles("income")`.

    Its errors are counted in rows: how far the rank of an answer is from the one asked for.
    """

    name: ClassVar[str] = "quantiles"

    def __init__(self, column: str, *, weight: Fraction | int = 1) -> None:
        _set(self, (column,), weight)


@dataclass(frozen=True, slots=True, init=False)
class Rectangles(Ranges):
    """How many rows in a box of two to four columns, for every box."""

    name: ClassVar[str] = "rectangles"

    def __init__(self, *columns: str, weight: Fraction | int = 1) -> None:
        if not 2 <= len(columns) <= MOST_COLUMNS:
            raise BadInput(
                f"rectangles(...) takes 2 to {MOST_COLUMNS} columns, not {len(columns)}; "
                "one column is intervals(...)."
            )
        if len(set(columns)) != len(columns):
            raise BadInput(f"rectangles({', '.join(columns)}) names a column twice.")
        _set(self, tuple(columns), weight)


@dataclass(frozen=True, slots=True, init=False)
class Unions(Ranges):
    """How many rows in any of up to t disjoint ranges of one to four columns: `Unions("age", 3)`."""

    most: int = 1
    name: ClassVar[str] = "unions"

    def __init__(self, *arguments: str | int, weight: Fraction | int = 1) -> None:
        *columns, most = arguments if arguments else ("",)
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_PIECES:
            raise BadInput(
                f"unions(...) takes columns and, last, how many ranges are put together, 1 to {MOST_PIECES}, "
                "as in unions(age, 3)."
            )
        names = tuple(str(name) for name in columns)
        if not 1 <= len(names) <= MOST_COLUMNS or len(set(names)) != len(names):
            raise BadInput(f"unions(...) takes 1 to {MOST_COLUMNS} different columns.")
        _set(self, names, weight)
        object.__setattr__(self, "most", most)

    @property
    def text(self) -> str:
        return f"{self.name}({', '.join(map(quoted, self.columns))}, {self.most})"

    @property
    def pieces(self) -> int:
        return self.most


def parse_unions(arguments: list[str]) -> Unions:
    """`unions(lat, lon, 2)`: columns, then how many ranges."""
    *columns, most = arguments or [""]
    return Unions(*columns, int(most) if most.isdecimal() else most)


def _set(made: Ranges, columns: tuple[str, ...], weight: Fraction | int) -> None:
    object.__setattr__(made, "columns", columns)
    object.__setattr__(made, "weight", checked_weight(weight))


def measured_cuts(bits: int) -> tuple[int, ...]:
    """After how many halvings a level is measured: 0 (the root) first, `bits` last."""
    size = STEP_BITS if bits <= DEEP else DEEP_STEP_BITS
    steps = max(1, round(bits / size)) if bits else 0
    return tuple(round(step * bits / steps) for step in range(steps + 1)) if steps else (0,)


def range_tree(columns: Sequence[str], schema: Schema, *, every: bool = False) -> Tree:
    """The tree over the cells of `columns`, from the whole domain to single cells.

    `every`: with all halvings as levels, among which are those of the usual tree.
    """
    bits = [bits_of(schema.column(name).value_cells) for name in columns]
    order = halvings(bits)
    depths = []
    for cut in range(len(order) + 1) if every else measured_cuts(len(order)):
        depths.append(tuple(order[:cut].count(axis) for axis in range(len(bits))))
    return Tree(columns=tuple(columns), depths=tuple(depths))


def measured_tree(
    columns: Sequence[str], schema: Schema, depths: Iterable[tuple[int, ...]]
) -> Tree:
    """The tree of which whole levels are measured: its root, and these levels; no others.

    They alone decide in which order its nodes are listed, so that who reads a release, and knows
    what was measured, lists them alike.
    """
    every = range_tree(columns, schema, every=True)
    found = {every.depths[0], *depths}
    if not found <= set(every.depths) or every.depths[-1] not in found:
        raise BadInput("The measured levels are not those of a tree down to single cells.")
    return Tree(every.columns, tuple(depth for depth in every.depths if depth in found))


def questions(part: Part, schema: Schema) -> list[str]:
    """How many rows lie above the first quarter of each column's cells."""
    asked = part.query_class
    assert isinstance(asked, Ranges)
    if isinstance(asked, Quantiles):
        (name,) = asked.named(schema)
        return [f"SELECT median({sql_name(name)}) FROM {sql_name(schema.dataset)}"]
    above = []
    for name in asked.named(schema):
        column = schema.column(name)
        assert isinstance(column, OrderedColumn)
        above.append(f"{sql_name(name)} >= {sql_value(column, column.value_cells // 4)}")
    return [f"SELECT count(*) FROM {sql_name(schema.dataset)} WHERE {' AND '.join(above)}"]
