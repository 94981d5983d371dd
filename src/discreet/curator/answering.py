"""From noisy tallies to answers with intervals: post-processing, the same every time it is done.

What was measured is recorded; the answer is computed from the record, so the same question can be
shown again at another confidence, at no cost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.curator.intervals import (
    QuantileBand,
    mean_std,
    ratio_interval,
    variance_interval,
)
from discreet.curator.planning import Needed, Planned, bounds_of, center_of
from discreet.errors import LedgerDamaged
from discreet.families.shared.estimate.combination import halved
from discreet.families.shared.estimate.rounding import plausible_counts
from discreet.privacy.laws import NoiseLaw, law_from_dict
from discreet.queries.tallies import Cells, Key, Squares, Total, keys_touched
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.temporal import TemporalColumn

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """All that left the core for a question."""

    values: tuple[Counts, ...]
    laws: tuple[NoiseLaw, ...]
    chosen: tuple[int, ...] = ()
    public_rows: int | None = None
    keys: tuple[Key, ...] | None = None
    """Those that were found and named, in order."""

    def payload(self) -> bytes:
        """For the ledger: canonical, so that equal measurements give equal bytes."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "values": [each.tolist() for each in self.values],
            "laws": [law.to_dict() for law in self.laws],
            "chosen": list(self.chosen),
            "public_rows": self.public_rows,
            "keys": None if self.keys is None else [list(key) for key in self.keys],
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_payload(cls, payload: bytes) -> Measured:
        data = json.loads(payload)
        if data.get("format") != FORMAT:
            raise LedgerDamaged(
                "The recorded answer was written by another version of discreet. Nothing was charged."
            )
        return cls(
            values=tuple(np.array(each, dtype=np.int64) for each in data["values"]),
            laws=tuple(law_from_dict(law) for law in data["laws"]),
            chosen=tuple(data["chosen"]),
            public_rows=data["public_rows"],
            keys=None if data.get("keys") is None else tuple(map(tuple, data["keys"])),
        )


def answers_from(
    planned: Planned, measured: Measured, *, confidence: float, notes: tuple[str, ...] = ()
) -> Answers:
    """The answers to a question, from what was measured for it."""
    schema = planned.schema
    if planned.choice is not None:
        return _chosen(planned, measured, confidence, notes)
    groups, unlisted, keys = planned.groups, planned.question.unlisted, measured.keys or ()
    shape = tuple(schema.column(name).cells for name in groups)
    shape = (len(keys), *shape) if unlisted else shape
    codes = np.indices(shape, dtype=np.int64).reshape(len(shape), prod(shape)).T
    reader = _Reader(planned, measured, Fraction(str(confidence)), prod(shape))
    columns = tuple(reader.column(each) for each in planned.needed)

    def label(axis: int, code: int) -> str:
        if axis < len(unlisted):
            return keys[code][axis]
        return schema.column(groups[axis - len(unlisted)]).label(code)

    if unlisted:  # one number for the key, spelled out in as many columns as it has texts
        codes = codes[:, [0] * len(unlisted) + list(range(1, len(shape)))]
    return Answers(
        groups=(*unlisted, *groups),
        codes=codes,
        label=label,
        columns=columns,
        confidence=confidence,
        question=planned.question.text,
        notes=(*notes, *reader.notes()),
    )


def _chosen(
    planned: Planned, measured: Measured, confidence: float, notes: tuple[str, ...]
) -> Answers:
    """The chosen cells, and how many rows each may lie behind the best that was left."""
    (each,) = planned.needed
    aggregate, chooser = each.aggregate, planned.chooser
    assert chooser is not None and planned.choice is not None and aggregate.column is not None
    column = planned.schema.column(aggregate.column)
    times = len(measured.chosen)
    behind = chooser.shortfall(
        planned.choice.sensitivity(planned.schema),
        candidates=planned.choice.candidates(planned.schema),
        beta=(1 - confidence) / times,
    )
    zeros = np.zeros(times)
    return Answers(
        groups=(aggregate.name,),
        codes=np.array(measured.chosen, dtype=np.int64).reshape(-1, 1),
        label=lambda axis, code: column.label(code),
        columns=(
            AnswerColumn(
                name="rows behind the best",
                estimate=zeros,
                lower=zeros,
                upper=np.full(times, float(np.floor(behind))),
                std=zeros,
                covers=Covers.NOISE,
            ),
        ),
        confidence=confidence,
        question=planned.question.text,
        notes=(
            *notes,
            "Chosen by the exponential mechanism. The number says how many rows a chosen cell "
            "may lie behind the fullest cell that was not chosen before it.",
        ),
    )


class _Reader:
    """Turns measurements into columns of answers."""

    def __init__(
        self, planned: Planned, measured: Measured, confidence: Fraction, rows: int
    ) -> None:
        self.planned, self.measured = planned, measured
        self.schema, self.confidence, self.rows = planned.schema, confidence, rows

    def _bounded_note(self) -> str:
        unit, planned = self.schema.unit, self.planned
        note = f"At most {unit.max_rows} rows of each {unit.identifier} are counted"
        if (planned.groups or planned.question.unlisted) and unit.groups < unit.max_rows:
            note += f", in at most {unit.groups} of the groups"
        return f"{note}: the answer and its interval are about those."

    def notes(self) -> list[str]:
        kinds = {each.aggregate.kind for each in self.planned.needed}
        found = []
        finder = self.planned.finder
        if finder is not None:
            law = finder.law(keys_touched(self.schema))
            found.append(
                f"The groups were found by partition selection (epsilon {finder.epsilon}, delta "
                f"{finder.delta}): a group of one person is named with probability at most delta, "
                f"a group of {law.even:,} people as likely as not, one of {law.certain:,} people surely."
            )
            if self.rows and len(self.measured.keys or ()) == self.planned.most_keys:
                found.append(
                    "More groups were found than can be answered. The first ones are shown."
                )
        if self.schema.unit.identifier is not None:
            found.append(self._bounded_note())
        if kinds & {"variance", "stddev"}:
            found.append("variance and stddev are those of the counted rows (divided by n).")
        if self.planned.reads_public_rows:
            found.append(
                f"Divided by the public number of rows, {self.measured.public_rows:,}; a null counts "
                "as the middle of the bounds."
            )
        return found

    def column(self, each: Needed) -> AnswerColumn:
        match each.aggregate.kind:
            case "count" | "present" | "persons" | "histogram":
                return self._count(each)
            case "sum":
                return self._sum(each)
            case "avg":
                return self._mean(each)
            case "variance" | "stddev":
                return self._variance(each)
            case _:
                return self._quantile(each)

    def _of(self, term: Any) -> tuple[Floats, NoiseLaw]:
        place = self.planned.place(term)
        return self.measured.values[place].astype(np.float64), self.measured.laws[place]

    def _count(self, each: Needed) -> AnswerColumn:
        """No count is below 0, so neither is an estimate or an end."""
        values, law = self._of(each.terms[0])
        half = law.half_width(self.confidence)
        estimate, lower, upper = plausible_counts(values, values - half, values + half)
        return AnswerColumn(
            name=each.aggregate.name,
            estimate=estimate,
            lower=lower,
            upper=upper,
            std=np.full(len(values), law.std),
            covers=Covers.NOISE,
        )

    def _sum(self, each: Needed) -> AnswerColumn:
        total = each.terms[0]
        assert isinstance(total, Total)
        values, law = self._of(total)
        half = law.half_width(self.confidence) / total.grid + float(total.rounding)
        low, high = bounds_of(total.column, self.schema)
        least = 0.0 if low >= 0 else -np.inf
        most = 0.0 if high <= 0 else np.inf
        found = (values + (0.5 if total.bits else 0.0)) / total.grid
        return AnswerColumn(
            name=each.aggregate.name,
            estimate=np.clip(found, least, most),
            lower=np.clip(found - half, least, most),
            upper=np.clip(found + half, least, most),
            std=np.full(len(values), law.std / total.grid),
            covers=Covers.NOISE,
        )

    def _denominator(self, each: Needed) -> tuple[Floats, NoiseLaw | None]:
        if each.divides_by_rows:
            return np.full(self.rows, float(self.measured.public_rows or 0)), None
        return self._of(each.terms[-1])

    def _centred(
        self, each: Needed, total: Total, confidence: Fraction
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """The mean less the centre: estimate, interval, and standard deviation."""
        values, law = self._of(total)
        count, below = self._denominator(each)
        low, high = (float(bound - center_of(total)) for bound in self._bounds(total))
        numerator = values / total.grid
        lower, upper = ratio_interval(
            numerator,
            count,
            unit=1 / total.grid,
            above=law,
            below=below,
            low=low,
            high=high,
            confidence=confidence,
        )
        safe = np.maximum(count, 1.0)
        estimate = np.clip(numerator / safe, lower, upper)
        std = mean_std(law, 1 / total.grid, estimate, below) / safe
        return estimate, lower, upper, np.minimum(std, high - low)

    def _bounds(self, total: Total) -> tuple[Fraction, Fraction]:
        return bounds_of(total.column, self.schema)

    def _step(self, total: Total) -> float:
        """How far rounding to the grid can move a mean."""
        exact = self.schema.column(total.column).kind != "number"
        return 0.0 if exact else 0.5 / total.grid

    def _mean(self, each: Needed) -> AnswerColumn:
        total = each.terms[0]
        assert isinstance(total, Total)
        estimate, lower, upper, std = self._centred(each, total, self.confidence)
        low, high = map(float, self._bounds(total))
        center, step = float(center_of(total)), self._step(total)
        return AnswerColumn(
            name=each.aggregate.name,
            estimate=np.clip(center + estimate, low, high),
            lower=np.clip(center + lower - step, low, high),
            upper=np.clip(center + upper + step, low, high),
            std=std,
            covers=Covers.NOISE,
        )

    def _variance(self, each: Needed) -> AnswerColumn:
        total, squares = each.terms[0], each.terms[1]
        assert isinstance(total, Total) and isinstance(squares, Squares)
        level = halved(self.confidence)
        mean, mean_low, mean_high, _ = self._centred(each, total, level)
        low, high = (float(bound - center_of(total)) for bound in self._bounds(total))
        unit = float(Fraction(1 << squares.shift, squares.grid**2))
        values, law = self._of(squares)
        count, below = self._denominator(each)
        square_low, square_high = ratio_interval(
            values * unit,
            count,
            unit=unit,
            above=law,
            below=below,
            low=0.0,
            high=max(low * low, high * high),
            confidence=level,
        )
        step = self._step(total)
        slack = 2 * step * (high - low)
        lower, upper = variance_interval(
            (mean_low - step, mean_high + step),
            (square_low - slack, square_high + slack + unit * (squares.shift > 0)),
            widest=(high - low) ** 2 / 4,
        )
        safe = np.maximum(count, 1.0)
        estimate = np.clip(values * unit / safe - mean**2, lower, upper)
        std = mean_std(law, unit, estimate, below) / safe
        std = np.minimum(std, (high - low) ** 2)
        if each.aggregate.kind == "stddev":
            root = np.sqrt(estimate)
            std = np.minimum(std / np.maximum(2 * root, 1e-300), high - low)
            estimate, lower, upper = root, np.sqrt(lower), np.sqrt(upper)
        return AnswerColumn(
            name=each.aggregate.name,
            estimate=estimate,
            lower=lower,
            upper=upper,
            std=std,
            covers=Covers.NOISE,
        )

    def _quantile(self, each: Needed) -> AnswerColumn:
        levels: Sequence[Cells] = [term for term in each.terms if isinstance(term, Cells)]
        finest = levels[-1]
        column = self.schema.column(finest.column)
        assert isinstance(column, OrderedColumn) and each.aggregate.level is not None
        places = [self.planned.place(term) for term in levels]
        law = self.measured.laws[places[0]]
        shifts = [term.shift or 0 for term in levels]
        tables = [
            self.measured.values[place].reshape(self.rows, term.buckets(self.schema))
            for place, term in zip(places, levels, strict=True)
        ]
        found = np.empty((4, self.rows))
        for row in range(self.rows):
            band = QuantileBand([table[row] for table in tables], shifts, law, each.aggregate.level)
            first, last, likeliest = band.interval(self.confidence)
            ends = [_extent(column, bucket, finest) for bucket in (first, last, likeliest)]
            lower, upper = _below(ends[0][0]), -_below(-ends[1][1])
            middle = float(ends[2][0] + (ends[2][1] - ends[2][0]) / 2)
            found[:, row] = middle, lower, upper, (upper - lower) / 4
        return AnswerColumn(
            name=each.aggregate.name,
            estimate=found[0],
            lower=found[1],
            upper=found[2],
            std=found[3],
            covers=Covers.NOISE_AND_CELLS,
            unit=Unit(column.kind) if isinstance(column, TemporalColumn) else Unit.NUMBER,
        )


def _extent(column: OrderedColumn, bucket: int, term: Cells) -> tuple[int | float, int | float]:
    shift = term.shift or 0
    first = bucket << shift
    last = min((bucket + 1) << shift, column.value_cells) - 1
    return column.extent(first)[0], column.extent(last)[1]


def _below(end: int | float) -> float:
    """The end as a double, rounded down: microseconds of far years have more digits than it holds."""
    rounded = float(end)
    return rounded if rounded <= end else math.nextafter(rounded, -math.inf)
