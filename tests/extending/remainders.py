"""A family that `src` does not know: all of it is in this file.

`remainders(age, 3)` counts rows by the remainder of their value's cell number, divided by 3. It answers
every condition over the column that takes all values of a remainder, or none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from discreet.answering.asking import Asking
from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.answering.usefulness import UNION
from discreet.artifacts.release import Part, Release
from discreet.charts.figure import Figure, Table
from discreet.errors import BadInput, NotAnswerable
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.shared.answer.library import Library
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.noise_choice import simultaneous_bound
from discreet.families.shared.release.protocol import ClassError
from discreet.privacy.adjacency import Sensitivity, sensitivity_of_disjoint_counts
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.registry import ClassReader, Family
from discreet.questions.cells.boxes import boxes_of
from discreet.questions.conditions import asks_for_a_value
from discreet.questions.spelling import checked_weight, quoted, sql_name, sql_value
from discreet.schema import IntegerColumn, Schema


@dataclass(frozen=True, slots=True)
class Remainders:
    """Counts of rows by remainder."""

    column: str
    by: int
    weight: Fraction = Fraction(1)
    name: ClassVar[str] = "remainders"

    @property
    def text(self) -> str:
        return f"remainders({quoted(self.column)}, {self.by})"

    def check(self, schema: Schema) -> None:
        column = schema.column(self.column)
        if not isinstance(column, IntegerColumn) or not 2 <= self.by <= column.value_cells:
            raise BadInput(f"{self.text}: give an integer column, and 2 or more, up to its cells.")


def parse_remainders(arguments: list[str]) -> Remainders:
    if len(arguments) != 2 or not arguments[1].isdecimal():
        raise BadInput("remainders(...) takes a column and a whole number.")
    return Remainders(arguments[0], int(arguments[1]), checked_weight(1))


@dataclass(frozen=True, slots=True)
class RemainderCounts:
    """The integer query: a row is in one of the counts at most."""

    columns: tuple[str, ...]
    by: int
    values: int
    """Value cells of the column; nulls and other cells are in no count."""
    kind: ClassVar[str] = "remainder-counts"

    def size(self, schema: Schema) -> int:
        if schema.column(self.columns[0]).value_cells != self.values or self.by > self.values:
            raise BadInput("The counts of remainders do not fit the schema.")
        return self.by

    def sensitivity(self, schema: Schema) -> Sensitivity:
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)

    def evaluate(self, counts: np.ndarray) -> np.ndarray:
        values = counts.reshape(-1)[: self.values]
        sums = [values[place :: self.by].sum(dtype=np.int64) for place in range(self.by)]
        return np.array(sums, dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "columns": list(self.columns), "by": self.by, "values": self.values
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RemainderCounts:
        return cls(tuple(data["columns"]), data["by"], data["values"])


class NoisyRemainders:
    """The algorithm: one draw of noise for each count."""

    name: ClassVar[str] = "noisy-remainders"
    kind: ClassVar[str] = "remainders"

    def refusal(self, query_class: Any, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: Any, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedRemainders:
        column = schema.column(query_class.column)
        query = RemainderCounts((column.name,), query_class.by, column.value_cells)
        return PreparedRemainders.noisy(
            self, query_class, schema, [(query, share)], share=share, accounting=accounting
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRemainders(MeasuredAtOnce):
    alone: ClassVar[str] = "exact quantile of the noise law of one count"
    together: ClassVar[str] = "independent draws: product of the counts' exact noise laws"

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        return ClassError.in_rows(
            rows,
            queries=self.query_class.by,
            expected=self.law.mean_absolute(),
            half_width=float(self.law.half_width(confidence)),
            simultaneous=float(simultaneous_bound([(self.law, self.query_class.by)], confidence)),
        )


class RemainderSource(Source):
    """Answers from the counts of one part."""

    def __init__(self, part: Part, place: int, schema: Schema) -> None:
        (self.measured,), self._places, self._schema = part.noisy, frozenset({place}), schema

    @property
    def query(self) -> Any:
        return self.measured.query

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        (name,) = self.query.columns
        if not region.is_one_count or region.has_inequality or region.names != {name}:
            return None
        if not asks_for_a_value(region.condition, name):
            return None  # nulls were not counted
        found = boxes_of(region.condition, self._schema, (name,))
        taken = np.zeros(self.query.values, dtype=bool)
        for first, last in zip(found.inner.first[:, 0], found.inner.last[:, 0], strict=True):
            taken[int(first) : int(last) + 1] = True
        groups = [taken[place :: self.query.by] for place in range(self.query.by)]
        if not found.is_exact or any(group.any() != group.all() for group in groups):
            return None
        kept = np.array([group.all() for group in groups])
        value = float(self.measured.values[kept].sum())
        terms = ((1.0, self.measured.law, int(kept.sum())),)
        reading = Reading.of(value, terms, self._places)
        return Estimates.of_reading(
            reading, confidence, is_direct=True, readings=(reading,), parts=self._places
        )


class RemainderRows:
    """Synthetic values: a remainder as often as it was counted, then any value that has it."""

    def __init__(self, measured: Any) -> None:
        self._query, self._counts = measured.query, np.maximum(measured.values, 0)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._query.columns)

    @property
    def rows(self) -> float:
        return float(self._counts.sum())

    def draw(self, many: int, public: Any) -> np.ndarray:
        weights = self._counts + 1e-9
        left = public.choice(self._query.by, size=many, p=weights / weights.sum())
        cells = -(-(self._query.values - left) // self._query.by)
        return (left + self._query.by * public.integers(0, cells)).reshape(-1, 1)


def remainders_of(part: Part, place: int, release: Release) -> Evidence:
    source = RemainderSource(part, place, release.schema)
    return Evidence(sources=[source], drawn=[RemainderRows(source.measured)])


def bound_of(
    library: Library, asking: Asking, query_class: Remainders, delta: Fraction
) -> tuple[float, str]:
    for source in library.evidence.sources:
        if isinstance(source, RemainderSource) and source.query.by == query_class.by:
            half = source.measured.law.half_width(1 - delta / query_class.by)
            return float(half), UNION
    raise NotAnswerable(library.lacks(query_class.text))


def questions_of(part: Part, schema: Schema) -> list[str]:
    """The rows of remainder 0."""
    (measured,) = part.noisy
    assert isinstance(measured.query, RemainderCounts)
    column = schema.column(measured.query.columns[0])
    assert isinstance(column, IntegerColumn)
    cells = range(0, column.value_cells, measured.query.by)
    listed = ", ".join(sql_value(column, cell) for cell in cells)
    where = f"{sql_name(column.name)} IN ({listed})"
    return [f"SELECT count(*) FROM {sql_name(schema.dataset)} WHERE {where}"]


def figures_of(reader: Any, confidence: float) -> Iterator[Figure]:
    for part in reader.release.parts:
        if part.kind == NoisyRemainders.kind:
            rows = [(str(left), str(value)) for left, value in enumerate(part.noisy[0].values)]
            yield Figure(
                f"Rows by remainder of {part.query_class.column}",
                "Each count has noise of its own.",
                Markup(""),
                table=Table(("remainder", "rows"), rows, right=(1,)),
            )


def examples_of(schema: Schema) -> Sequence[str]:
    return [f"remainders({quoted(name)}, {by})" for name in schema.names for by in (2, 3)]


FAMILY = Family(
    name="remainders",
    readers={"remainders": ClassReader(parse_remainders)},
    queries=(RemainderCounts,),
    algorithms={"remainders": (f"{__name__}:NoisyRemainders",)},
    sources={NoisyRemainders.kind: f"{__name__}:remainders_of"},
    usefulness={"remainders": f"{__name__}:bound_of"},
    counts=frozenset({"remainders"}),
    figures=(f"{__name__}:figures_of",),
    questions={"remainders": f"{__name__}:questions_of"},
    examples=examples_of,
)
