"""`Estimates`: what a source says about some rows, each number with an interval.

The one result of every source. The ends are those of the noise, the cells and the model; that a count is
whole, not negative and not above a public total is seen to at the end, once, by `plausible`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.answering.readings import Reading
from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import SharedDraws, taken_draws
from discreet.families.shared.estimate.rounding import plausible_counts
from discreet.privacy.exact import Exactable

NO_GROUPS = np.zeros((1, 0), dtype=np.int64)
"""The codes of the one group that there is without GROUP BY."""
NUMBERS = ("estimate", "lower", "upper", "std", "is_exact", "is_model")
COMBINED = "measurements whose noises are independent, by the inverse of their variances."


def combined_note(sources: int) -> str:
    return f"The answer combines {sources} {COMBINED}"


def is_combined(note: str) -> bool:
    return note.endswith(COMBINED)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Numbers with intervals, one for each group or question."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    """The standard deviation of the noise alone."""
    is_exact: Bools | bool = True
    """Whether the interval owes nothing to discretisation, for all numbers or for each."""
    is_model: Bools | bool = False
    """Whether a model filled the table in: the interval then covers what it left out, too."""
    is_count: bool = True
    """Whether the numbers are counts of rows."""
    is_settled: bool = False
    """Whether the numbers stay as they are: they add up, which whole counts of at least 0 would not."""
    adds_up: bool = False
    """Whether the numbers agree with all answers from tables, however they are summed."""
    includes_ranges: bool = False
    """Whether they do so with what trees over just these columns say, too."""
    is_direct: bool = False
    """Whether just this was measured, as it was declared to be asked."""
    codes: Integers | None = None
    """The cells of each group; `None` without groups."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""
    leaves_no_row_out: bool = False
    """Whether rows without a value count all the same; a note then says as what."""
    is_of_fewer_rows: bool = False
    """Whether rows are missing because a column that the question does not name leaves them out."""
    unit: Unit = Unit.NUMBER
    readings: tuple[Reading, ...] = ()
    """The same number without bias, for a combination with other sources."""
    draws: Callable[[], SharedDraws | None] | None = None
    """Works out the draws in the numbers, for a combination of several of them."""
    parts: frozenset[int] = frozenset()
    """The places of the parts of the release that the noise comes from."""
    includes: frozenset[int] = frozenset()
    """The places of parts that are taken into account already: their own answers add nothing to this."""

    @classmethod
    def single(
        cls, estimate: float, lower: float, upper: float, std: float, **more: Any
    ) -> Estimates:
        """One number."""
        one = [np.array([each], dtype=np.float64) for each in (estimate, lower, upper, std)]
        return cls(one[0], one[1], one[2], one[3], **more)

    @classmethod
    def of_reading(
        cls, reading: Reading, confidence: Exactable, *notes: str, **more: Any
    ) -> Estimates:
        """A count that is known without bias."""
        width, value = reading.half_width(confidence), reading.value
        said = (combined_note(reading.sources),) if reading.sources > 1 else ()
        ends = value - width, value + width, math.sqrt(reading.variance)
        return cls.single(value, *ends, notes=(*notes, *said), **more)

    @property
    def covers(self) -> Covers:
        if np.any(self.is_model):
            return Covers.NOISE_AND_MODEL
        return Covers.NOISE if np.all(self.is_exact) else Covers.NOISE_AND_CELLS

    @property
    def is_certain(self) -> bool:
        """Whether no noise is in it: what is public, or declared to be empty."""
        return self.covers is Covers.NOISE and self.is_count and not self.std.any()

    @property
    def noise(self) -> float:
        """Decided by noise laws and the question, never by a noisy number."""
        return float(self.std.sum())

    def plausible(self, rows: int | None, *, whole: bool = True) -> Estimates:
        """Counts made whole, not negative, and not above a public total; other numbers as they are."""
        if not self.is_count or self.is_settled:
            return self
        ends = plausible_counts(self.estimate, self.lower, self.upper, rows=rows, whole=whole)
        return replace(self, estimate=ends[0], lower=ends[1], upper=ends[2])

    def emptied(self, nothing: Bools) -> Estimates:
        """0, exactly, where no row can be by declaration."""
        if not nothing.any():
            return self
        numbers = (
            np.where(nothing, 0.0, each)
            for each in (self.estimate, self.lower, self.upper, self.std)
        )
        estimate, lower, upper, std = numbers
        return replace(self, estimate=estimate, lower=lower, upper=upper, std=std, draws=None)

    def noted(self, *notes: str) -> Estimates:
        return replace(self, notes=tuple(dict.fromkeys([*self.notes, *notes])))

    def taken(self, places: Integers) -> Estimates:
        """The numbers at some places."""
        found: dict[str, Any] = {
            name: np.broadcast_to(getattr(self, name), self.estimate.shape)[places]
            for name in NUMBERS
        }
        draws = self.draws
        own = None if draws is None else lambda: taken_draws(draws(), places)
        return replace(self, draws=own, **found)

    def replaced(self, where: Bools | Integers, other: Estimates) -> Estimates:
        """These numbers, with `other`'s at the places `where`."""
        found: dict[str, Any] = {}
        for name in NUMBERS:
            own = np.broadcast_to(getattr(self, name), self.estimate.shape).copy()
            own[where] = getattr(other, name)
            found[name] = own
        return replace(self, draws=None, **found)


def joined(parts: list[Estimates]) -> Estimates:
    """Pieces of one long list, put together again; no pieces make an empty list."""
    if not parts:
        nothing = np.zeros(0)
        return Estimates(nothing, nothing, nothing, nothing)
    if len(parts) == 1:
        return parts[0]
    found: dict[str, Any] = {}
    for name in NUMBERS:
        own = [np.broadcast_to(getattr(each, name), each.estimate.shape) for each in parts]
        found[name] = np.concatenate(own)
    return replace(parts[0], draws=None, **found)


@dataclass(frozen=True, slots=True, eq=False)
class ManyCounts:
    """Counts as arrays, one number a question. Thread safe: it never changes."""

    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    """The standard deviation of the noise alone."""
    is_exact: Bools
    """Whether the question follows the cells: its interval then covers `noise` only."""
    confidence: float
    is_model: Bools | None = None
    """Whether a model filled the table in; `None` where none did."""

    def __len__(self) -> int:
        return len(self.estimate)

    def covers(self, place: int) -> Covers:
        if self.is_model is not None and self.is_model[place]:
            return Covers.NOISE_AND_MODEL
        return Covers.NOISE if self.is_exact[place] else Covers.NOISE_AND_CELLS


def many_counts(found: Estimates, confidence: float) -> ManyCounts:
    """Estimates as arrays of the same length."""
    shape = found.estimate.shape
    models = np.broadcast_to(found.is_model, shape) if np.any(found.is_model) else None
    exact = np.broadcast_to(found.is_exact, shape)
    numbers = found.estimate, found.lower, found.upper, found.std
    return ManyCounts(*numbers, exact, confidence, models)
