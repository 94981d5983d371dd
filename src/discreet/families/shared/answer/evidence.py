"""What the parts of a release have measured: tables, sums, counts, residuals, trees, grids and models.

Each part contributes its `Evidence`, as the family of its kind says. The evidence of all parts is put together in a
`Library`, and sources answer from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.privacy.laws import NoiseLaw
from discreet.queries.blocks import GridCounts
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.schema import Schema
from discreet.schema.completed import completed

if TYPE_CHECKING:
    from discreet.answering.named_values import NamedValues
    from discreet.answering.source import Source
    from discreet.answering.synthesis.drawn_rows import DrawsRows

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """Every cell of a marginal, each with its own draw of `law`."""

    columns: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    law: NoiseLaw
    complete_over: tuple[str, ...] = ()
    """The columns that a row needs a cell in to be in this table, or in any smaller one; none: those of each table itself."""


@dataclass(frozen=True, slots=True)
class NoisySum:
    """`value` / grid = the sum of (clamped column - center), each value rounded to 1/grid, plus noise."""

    column: str
    grid: int
    center: Fraction
    value: int
    law: NoiseLaw
    rounds: bool
    """Whether rounding to the grid changes values."""
    count: NoisyCount | None = None
    """The noisy count measured beside it, if the mean is to be divided by that."""

    def beside(self, counts: Sequence[NoisyCount]) -> NoisySum:
        """With the first count of the same column."""
        own = next((count for count in counts if count.column == self.column), None)
        return replace(self, count=own)


@dataclass(frozen=True, slots=True)
class NoisyCount:
    """How many rows have a value in the domain of `column`: those that a sum adds up."""

    column: str
    value: int
    law: NoiseLaw


@dataclass(frozen=True, slots=True, eq=False)
class NoisyGrid:
    """Every block of a grid over some columns, each with its own draw of `law`."""

    query: GridCounts
    counts: npt.NDArray[np.int64]
    law: NoiseLaw
    place: int = 0
    """The place of its part in the release."""


class OverColumns(Protocol):
    """Something over columns. Only the families that make it and read it know more of it."""

    @property
    def columns(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a part says of how its answers add up."""

    sets: tuple[tuple[str, ...], ...]
    """The tables."""
    within: bool = False
    """Whether each table agrees with itself alone."""
    as_measured: bool = False
    together: bool = False
    """Whether they agree with the tables of other parts."""

    def holds(self, columns: tuple[str, ...]) -> bool:
        """Whether some table is over these columns, and perhaps others."""
        wanted = set(columns)
        return not columns or any(wanted.issubset(each) for each in self.sets)


@dataclass(slots=True)
class Evidence:
    """All that a part of a release contributes, or all parts together."""

    tables: list[NoisyTable] = field(default_factory=list)
    sums: list[NoisySum] = field(default_factory=list)
    counts: list[NoisyCount] = field(default_factory=list)
    ranges: list[OverColumns] = field(default_factory=list)
    residuals: list[Measurement] = field(default_factory=list)
    models: list[OverColumns] = field(default_factory=list)
    whole: list[OverColumns] = field(default_factory=list)
    """Tables of whole counts that a part's tables are read from, so that all of them agree."""
    agreement: list[Agreement] = field(default_factory=list)
    """How a part's answers add up, where they are not read from a whole table."""
    grids: list[NoisyGrid] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    """What answers for itself, without the evidence of other parts."""
    drawn: list[DrawsRows] = field(default_factory=list)
    """What synthetic rows are drawn from, beside tables and ranges."""
    named: list[NamedValues] = field(default_factory=list)
    """Values that are published by name, of columns that declare none."""
    spreads_evenly: bool = False

    @property
    def is_of_tables(self) -> bool:
        return bool(self.tables or self.residuals or self.counts)

    def add(self, other: Evidence) -> None:
        for each in fields(self):
            mine, more = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, mine + more if isinstance(mine, list) else mine | more)


def completed_by(parts: Iterable[Part], schema: Schema) -> Schema:
    """The schema with one more cell in the columns in which some parts count rows without a cell."""
    queries = (each.query for part in parts for each in part.noisy)
    return completed(schema, {name for own in queries for name in getattr(own, "completed", ())})


def measured_numbers(part: Part, schema: Schema, place: int = 0) -> Evidence:
    """What the additive measurements of a part say, whatever algorithm made them (`Family.measured`)."""
    found = Evidence()
    places = merged("measured")
    for measurement in part.noisy:
        if measurement.query.kind in places:
            found.add(loaded(places[measurement.query.kind])(measurement, schema, place))
    found.sums = [each.beside(found.counts) for each in found.sums]
    return found


def numbers_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part that is its measured numbers, and nothing else."""
    return measured_numbers(part, release.schema, place)


def reduced(table: NoisyTable, columns: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """The table summed to `columns`, in their order."""
    axes = tuple(a for a, name in enumerate(table.columns) if name not in columns)
    kept = [name for name in table.columns if name in columns]
    reduced = table.counts.sum(axis=axes, dtype=np.int64) if axes else table.counts
    return np.transpose(reduced, [kept.index(name) for name in columns])
