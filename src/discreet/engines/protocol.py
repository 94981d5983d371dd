"""`Engine`: what the core asks of a database, and nothing that only one database can do.

An engine turns the rows of one table into cells, as the schema says, and counts them. Its verbs
return exact integers about raw rows, so only the vault may call them.

Invariants, for every engine:
  - no row can make a verb fail, and nothing about a row appears in an error: cells come from total
    expressions, and an engine's own messages are never passed on;
  - with an identifier as the unit, every verb sees the same bounded table (see `bounding_key`);
  - what is done, in which order and in how many passes, depends on the schema and the request only;
    and where memory is the limit on the number of rows, which the time of any scan shows as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.queries.tallies import Key, Tally
from discreet.questions.expressions import Expression
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

Counts = NDArray[np.int64]
Progress = Callable[[float], None]
"""Called with the fraction of the running verb that is done, from 0 to 1."""

LARGEST_MARGINAL = 2**26
"""Cells of one marginal: an array of half a gigabyte."""
LARGEST_EXACT_DOUBLE = 2**53
LARGEST_FIXED_POINT = 2**62


@dataclass(frozen=True, slots=True)
class SumRequest:
    """The sum over rows of `round(clamp(value) * scale)`, each term an integer.

    `value` is what the row counts as in units of the column (days for dates), clamped to the
    column's own bounds, then to `low` and `high`; rounding is half to even; a `number` is
    multiplied by `scale` in double precision. A row adds something only where its cell is a value
    cell: nulls, and outside values that the schema puts in `other` or excludes, add nothing.
    """

    column: str
    scale: int
    low: Fraction
    high: Fraction

    @property
    def lowest(self) -> int:
        """The least that a row can add."""
        return round(Fraction(self.low) * self.scale)

    @property
    def highest(self) -> int:
        """The most that a row can add."""
        return round(Fraction(self.high) * self.scale)


class Engine(Protocol):
    """Counts rows by cell. Every count is exact, an int64, and private until noise is added.

    Thread safe: any verb may be called while others run, and sees its own results alone.
    """

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[Counts]:
        """For each set, rows per combination of cells, shaped (cells of column 1, ...).

        A row that some column of a set excludes is in no cell of that set.
        """
        ...

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        """For each node (a row of `nodes`), the rows whose `code >> shift` equals it in every column.

        Only value cells count. The domain may have 2^64 cells: time and memory follow the number
        of nodes and rows, never the size of the domain.
        """
        ...

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        """Exact fixed-point sums, the same whatever the order of the rows."""
        ...

    def tally(self, tallies: Sequence[Tally]) -> list[Counts]:
        """For each tally, its integers, flat; those of one condition and grouping from one scan.

        A row that some group column excludes is in no group. Totals are clamped to +-2^61.
        """
        ...

    def held_keys(self, columns: Sequence[str], condition: Expression) -> tuple[list[Key], Counts]:
        """The distinct texts of some category columns, declared or not, and how many units hold each.

        In order. A unit holds a key once, and at most `max_groups` of its keys, those whose MD5
        beside its identifier comes first. What keys there are is itself a secret: only partition
        selection may look at it.
        """
        ...

    def row_count(self) -> int:
        """How many rows the (bounded) table has."""
        ...

    def close(self) -> None:
        """Lets go of the source and removes every temporary file. Closing twice is harmless."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def bounding_key(identifier: str, codes: Sequence[int | None]) -> str:
    """What an identifier's rows are ordered by before the first `max_rows` are kept.

    The MD5, in hexadecimal, of the identifier's text and the row's codes in the order of the
    schema, joined with colons, nothing where a row has no cell. It depends on the row alone, never
    on where it stands in the file, so a permuted table is bounded to the same rows. Rows with
    equal codes are then ordered by the values that `sums` adds; those still equal are the same.
    MD5 only shuffles here: that someone can choose which of their own rows are kept harms nobody.
    """
    parts = [identifier, *("" if code is None else str(code) for code in codes)]
    return hashlib.md5(":".join(parts).encode(), usedforsecurity=False).hexdigest()


def checked_columns(schema: Schema, names: Sequence[str]) -> list[Column]:
    """The columns of a request; refuses unknown names, none, and repeated ones."""
    columns = [schema.column(name) for name in names]
    if not columns:
        raise BadInput("A request names no column; name at least one.")
    if len({column.name for column in columns}) < len(columns):
        raise BadInput(f"A column is named twice in {tuple(names)!r}; name each once.")
    return columns


def checked_marginal(schema: Schema, names: Sequence[str]) -> tuple[int, ...]:
    """The shape of a marginal; refuses one too large for an array."""
    shape = tuple(column.cells for column in checked_columns(schema, names))
    if prod(shape) > LARGEST_MARGINAL:
        raise BadInput(
            f"The marginal of {tuple(names)!r} has {prod(shape)} cells, more than the "
            f"{LARGEST_MARGINAL} that fit an array. No row was read. Declare coarser columns."
        )
    return shape


def checked_nodes(
    schema: Schema, names: tuple[str, ...], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
) -> list[Column]:
    """The columns of a node request whose parts fit together."""
    columns = checked_columns(schema, names)
    if len(shifts) != len(columns) or nodes.ndim != 2 or nodes.shape[1] != len(columns):
        raise BadInput("A node needs one coordinate, and one shift, for each column.")
    if nodes.dtype != np.uint64 or any(not 0 <= shift <= 64 for shift in shifts):
        raise BadInput("Nodes are 64-bit unsigned integers, and shifts lie between 0 and 64.")
    return columns


def checked_sum(schema: Schema, request: SumRequest) -> Column:
    """The column of a sum whose every term is exact in the arithmetic that engines share."""
    column = schema.column(request.column)
    if column.value_bounds is None:
        raise BadInput(f"Column {column.name!r} ({column.kind}) has no numbers to sum.")
    if request.low > request.high:
        raise BadInput(f"A sum's bounds run from {request.low} to {request.high}: reversed.")
    limit = LARGEST_EXACT_DOUBLE if column.kind == "number" else LARGEST_FIXED_POINT
    largest = max(abs(request.lowest), abs(request.highest), request.scale)
    if isinstance(request.scale, bool) or request.scale < 1 or largest > limit:
        raise BadInput(
            f"The sum of {column.name!r} on a grid of 1/{request.scale} between {request.low} and "
            f"{request.high} leaves the exact integers, up to {limit}; take a coarser grid."
        )
    return column
