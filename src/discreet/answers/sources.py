"""What a release offers to answer from: noisy tables, noisy sums, noisy counts.

`ANSWERERS` says what each kind of part contributes; a new kind is one function and one line. The
contributions of all parts are then put together: where several tables can answer a question,
their inverse-variance combination does.

May import errors, privacy, schema, queries, artifacts, inference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.answers.buckets import BucketSource
from discreet.answers.cell_ranges import CellRangeSource
from discreet.answers.joining import joined_sources
from discreet.answers.linear_tables import LinearTable, ModelTable, WeightedTable
from discreet.answers.ranges import RangeSource
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease, NotAnswerable
from discreet.inference.combination import Terms, inverse_variance_weights
from discreet.inference.consistent import ConsistentTables, DirectTable
from discreet.inference.kept import Kept
from discreet.inference.mixture import Mixture, model_counts
from discreet.inference.residuals import ResidualTables
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import Marginals
from discreet.queries.measurable import CellCount, ClampedSum, Marginal, PresentCount
from discreet.queries.parities import Parity
from discreet.queries.residuals import ModelDistance, Residual
from discreet.schema import Schema
from discreet.schema.completeness import keeps_every_row

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """Every cell of a marginal, each with its own draw of `law`."""

    columns: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    law: NoiseLaw


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
    count: NoisyCount | None
    """The noisy count measured beside it, if the mean is to be divided by that."""


@dataclass(frozen=True, slots=True)
class NoisyCount:
    """How many rows have a value in the domain of `column`: those that a sum adds up."""

    column: str
    value: int
    law: NoiseLaw


@dataclass(slots=True)
class Sources:
    """All that the parts of a release contribute."""

    tables: list[NoisyTable] = field(default_factory=list)
    sums: list[NoisySum] = field(default_factory=list)
    counts: list[NoisyCount] = field(default_factory=list)
    ranges: list[RangeSource | BucketSource] = field(default_factory=list)
    residuals: list[Measurement] = field(default_factory=list)
    models: list[ModelTable] = field(default_factory=list)
    spreads_evenly: bool = False


def _measured(part: Part, schema: Schema) -> Sources:
    """What the additive measurements of a part say, whatever algorithm made them."""
    found = Sources()
    sums: list[Measurement] = []
    for measurement in part.measurements:
        if not isinstance(measurement, Measurement):
            continue
        query = measurement.query
        if isinstance(query, Marginal):
            counts = measurement.values.reshape(query.shape(schema))
            found.tables.append(NoisyTable(query.columns, counts, measurement.law))
        elif isinstance(query, ClampedSum):
            sums.append(measurement)
        elif isinstance(query, Residual | Parity):
            found.residuals.append(measurement)
        elif (column := _counted_column(query, schema)) is not None:
            found.counts.append(NoisyCount(column, int(measurement.values[0]), measurement.law))
    for measurement in sums:
        query = measurement.query
        assert isinstance(query, ClampedSum)
        beside = [count for count in found.counts if count.column == query.column]
        whole = schema.column(query.column).kind in ("integer", "boolean")
        found.sums.append(
            NoisySum(
                column=query.column,
                grid=query.grid,
                center=query.center,
                value=int(measurement.values[0]),
                law=measurement.law,
                rounds=not whole or (query.grid * query.center).denominator != 1,
                count=beside[0] if beside else None,
            )
        )
    return found


def _counted_column(query: object, schema: Schema) -> str | None:
    """The column whose values in the domain a one-number query counts."""
    if isinstance(query, PresentCount):
        return schema.column(query.column).name
    if isinstance(query, CellCount) and len(query.columns) == 1:
        column = schema.column(query.columns[0])
        if set(query.cells) == set(range(column.value_cells)):
            return column.name
    return None


def _residuals(part: Part, schema: Schema) -> Sources:
    found = _measured(part, schema)
    found.spreads_evenly = "rows without a cell" in part.facts
    return found


def _model(part: Part, schema: Schema) -> Sources:
    """Residuals where they were measured, and the model's tables with their measured distances."""
    found = _residuals(part, schema)
    model, names, rows = published_model(part, schema)
    audits = [each for each in part.measurements if isinstance(each, Measurement)]
    audits = audits[len(audits) - int(part.facts["audits"]) :]
    for each in audits:
        if not isinstance(each.query, ModelDistance):
            raise BadRelease("The model of a part lacks the measurements of its own error.")
        columns = each.query.columns
        counts = model_counts(model, [names.index(name) for name in columns], rows)
        table = ModelTable(columns, counts.astype(np.float64), float(each.values[0]), each.law)
        if all(keeps_every_row(schema.column(name)) for name in columns):
            table.total, table.total_law = _total(found.residuals, rows)
        found.models.append(table)
    return found


def _total(measured: list[Measurement], public: float) -> tuple[float, NoiseLaw | None]:
    """The number of rows with its noise: measured, or public and then what the model stands for."""
    for each in measured:
        if isinstance(each.query, Residual) and each.query.columns == ():
            return float(each.values[0]), each.law
    return public, None


def published_model(part: Part, schema: Schema) -> tuple[Mixture, list[str], float]:
    """The model in a part, the columns that it is about, and the rows that it stands for."""
    try:
        names = [schema.column(str(name)).name for name in part.facts["columns"]]
        rows, theta = float(part.facts["rows"]), part.estimates["theta"]
        sizes = [schema.column(name).cells for name in names]
        if theta.dtype.kind != "f" or theta.ndim != 2 or theta.shape[1] != sum(sizes):
            raise ValueError
        if not (np.isfinite(theta).all() and theta.min() >= 0 and 0 < rows < 1e15):
            raise ValueError
        return Mixture.of(sizes, theta.astype(np.float32)), names, rows
    except (KeyError, TypeError, ValueError):
        raise BadRelease("The model of a part is not readable.") from None


def reduced(table: NoisyTable, columns: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """The table summed to `columns`, in their order."""
    axes = tuple(a for a, name in enumerate(table.columns) if name not in columns)
    kept = [name for name in table.columns if name in columns]
    reduced = table.counts.sum(axis=axes, dtype=np.int64) if axes else table.counts
    return np.transpose(reduced, [kept.index(name) for name in columns])


Answerer = Callable[[Part, Schema], Sources]

ANSWERERS: dict[str, Answerer] = {
    "marginals": _measured,
    "means": _measured,
    "sums": _measured,
    "buckets": lambda part, schema: Sources(ranges=[BucketSource(part, schema)]),
    "ranges": lambda part, schema: Sources(ranges=[RangeSource(part, schema)]),
    "range-cells": lambda part, schema: Sources(ranges=[CellRangeSource(part, schema)]),
    "residuals": _residuals,
    "model": _model,
    "halfspaces": _measured,
    "halfspace-net": _measured,
    "halfspace-tree": lambda part, schema: Sources(ranges=[RangeSource(part, schema)]),
    "predicates": _measured,
    "split-parities": lambda part, schema: Sources(),
}


@dataclass(frozen=True, slots=True, eq=False)
class CombinedTable:
    """One table over exactly some columns; every cell has the same noise, and draws of its own."""

    columns: tuple[str, ...]
    counts: Numbers
    noise: Terms

    @property
    def cells(self) -> int:
        return int(self.counts.size)

    @property
    def cell_variance(self) -> float:
        return sum(weight**2 * law.variance * many for weight, law, many in self.noise)


MOST_KEPT = 64
"""Tables that are kept for further questions."""


class Library:
    """The sources of one release, and tables derived from them, kept. Thread safe: see `Kept`."""

    def __init__(self, release: Release) -> None:
        self.release, self.schema = release, release.schema
        self.tables: list[NoisyTable] = []
        self.sums: list[NoisySum] = []
        self.counts: list[NoisyCount] = []
        self.ranges: list[RangeSource | BucketSource] = []
        residuals: list[Measurement] = []
        self.models: dict[tuple[str, ...], ModelTable] = {}
        self.spreads_evenly = False
        table_parts: set[int] = set()
        for place, part in enumerate(release.parts):
            answerer = ANSWERERS.get(part.kind)
            if answerer is None:
                continue  # made by a newer version: it may be ignored, it must not be guessed at
            found = answerer(part, release.schema)
            self.tables += found.tables
            self.sums += found.sums
            self.counts += found.counts
            self.ranges += found.ranges
            residuals += found.residuals
            if found.tables or found.residuals or found.counts:
                table_parts.add(place)
            self.models |= {model.columns: model for model in found.models}
            self.spreads_evenly |= found.spreads_evenly
        self.table_parts = frozenset(table_parts)
        """The places of the parts whose noise is in tables."""
        self.residuals = ResidualTables(release.schema, residuals, rows=release.public_rows)
        self.consistent = ConsistentTables(self.residuals, self._overlapping(residuals))
        self.joined = joined_sources(self)
        self._kept: Kept[tuple[str, ...], CombinedTable | WeightedTable] = Kept(MOST_KEPT)
        self._margins: Kept[str, LinearTable] = Kept()

    def _overlapping(self, residuals: list[Measurement]) -> list[DirectTable]:
        """Tables that have to agree with one another, or with residuals: columns that they share.

        Tables of columns that leave rows out are not among them, for those do not add up. A lone table,
        or tables without a common column, are answered from as they are.
        """
        complete = self._complete()
        times: dict[str, int] = {}
        for table in complete:
            for name in table.columns:
                times[name] = times.get(name, 0) + 1
        if not residuals and max(times.values(), default=0) < 2:
            return []
        return complete

    def _complete(self) -> list[DirectTable]:
        """Tables that give every row a cell."""
        return [
            DirectTable(table.columns, table.counts, table.law)
            for table in self.tables
            if all(keeps_every_row(self.schema.column(name)) for name in table.columns)
        ]

    @cached_property
    def all_tables(self) -> ConsistentTables:
        """All complete tables together, also where none has to agree with another."""
        if self.consistent.determines(()):
            return self.consistent
        return ConsistentTables(self.residuals, self._complete())

    def usable(self, columns: tuple[str, ...]) -> list[tuple[NoisyTable, int]]:
        """Tables that contain `columns`, with how many of their cells make one cell.

        A further column must give every row a cell: summing over it would lose rows otherwise.
        """
        found: list[tuple[NoisyTable, int]] = []
        for table in self.tables:
            if set(columns) <= set(table.columns):
                extra = [self.schema.column(n) for n in table.columns if n not in columns]
                if all(keeps_every_row(column) for column in extra):
                    found.append((table, prod(column.cells for column in extra)))
        return found

    def has_linear(self, columns: tuple[str, ...]) -> bool:
        """Whether measurements determine the table, so that no model is needed."""
        return self.consistent.determines(columns) or bool(self.usable(columns))

    def table(self, columns: tuple[str, ...]) -> CombinedTable | WeightedTable:
        """The table over `columns` (in the schema's order), or a refusal that names the class."""
        return self._kept.get(columns, lambda: self._combined(columns))

    def _combined(self, columns: tuple[str, ...]) -> CombinedTable | WeightedTable:
        found = self.usable(columns)
        if self.consistent.determines(columns):
            return LinearTable(columns, self.consistent)
        if not found and columns in self.models:
            return self._with_margins(self.models[columns])
        if not found:
            raise NotAnswerable(self.refusal(columns))
        # Every cell over `columns` holds the same number of draws, so these weights are right
        # for any question about it: equal questions get equal answers.
        weights = inverse_variance_weights([table.law.variance * many for table, many in found])
        counts: Numbers | None = None
        noise: list[tuple[float, NoiseLaw, int]] = []
        for (table, many), weight in zip(found, weights, strict=True):
            if weight == 0:
                continue
            share = weight * reduced(table, columns).astype(np.float64)
            counts = share if counts is None else counts + share
            noise.append((weight, table.law, many))
        assert counts is not None
        return CombinedTable(columns, np.ascontiguousarray(counts), tuple(noise))

    def _with_margins(self, model: ModelTable) -> ModelTable:
        for axis, name in enumerate(model.columns):
            if self.consistent.determines((name,)):
                model.margins[axis] = self._margins.get(name, partial(self._margin, name))
        return model

    def _margin(self, name: str) -> LinearTable:
        return LinearTable((name,), self.consistent)

    def _row_count(self) -> str:
        """What would have counted all rows: a table of any column that gives each of them a cell."""
        complete = [column.name for column in self.schema.columns if keeps_every_row(column)]
        such = f", such as {Marginals(columns=complete[:1]).text}" if complete else ""
        return f"a table that counts every row{such}"

    def refusal(self, columns: tuple[str, ...], *, also: str = "") -> str:
        """Why a table over `columns` is not there; `also` names classes that would serve as well."""
        needed = Marginals(columns=columns).text if columns else self._row_count()
        text = self.lacks(needed + also)
        if not columns and self.ranges:
            return (
                f"{text} It counts rows with a value: ask for count({self.ranges[0].columns[0]})."
            )
        return text + self._left_out(columns)

    def lacks(self, needed: str) -> str:
        """The refusal of a question, by the name of what the release would have needed."""
        offered = ", ".join(dict.fromkeys(self.release.workload)) or "nothing"
        return (
            f"The release cannot answer this: it would have needed {needed}, "
            f"and it was made for {offered}."
        )

    def _left_out(self, columns: tuple[str, ...]) -> str:
        """Which larger table would do, if its other columns had a cell for every row."""
        larger = [each.columns for each in self.tables if set(columns) <= set(each.columns)]
        if not larger:
            return ""
        extra = [name for name in min(larger, key=len) if name not in columns]
        losing = [name for name in extra if not keeps_every_row(self.schema.column(name))]
        return (
            f" Its larger table leaves out rows without a cell in {', '.join(losing)}, so it does not "
            "add up to this one; the schema could give nulls and other values cells of their own."
        )
