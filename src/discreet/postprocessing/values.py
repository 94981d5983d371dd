"""What a column of a result holds: numbers with intervals, or exact values.

An interval is kept at several levels at once: at the stated confidence, and at the higher ones that an
expression of several noisy numbers needs, so that all of them hold together (union bound). `Levels` says
which. Estimates are the same at every level.

A number may also know its noise: a weighted sum of independent draws from known laws. The interval of a
further weighted sum then comes from the law of that sum, which is exact, and needs no union bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Floats
from discreet.artifacts.answer import Covers, Unit
from discreet.families.shared.estimate.combination import half_width
from discreet.postprocessing.joint_noise import JointNoise
from discreet.privacy.laws import NoiseLaw

Objects = npt.NDArray[np.object_]
Origin = tuple[int, int, str]
"""A noisy number: which question, which of its aggregates, and of which rows ("" is the row's own)."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The confidence of a result, and how many noisy numbers must hold together at each level."""

    confidence: Fraction
    shared: tuple[int, ...] = (1,)

    def at(self, level: int) -> Fraction:
        """The confidence of each noisy number at a level: the misses of all add to the stated one."""
        return 1 - (1 - self.confidence) / self.shared[level]

    def __len__(self) -> int:
        return len(self.shared)


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """A number without bias, and its noise: weight times the sum of so many draws, for each term."""

    value: Floats
    terms: Mapping[Origin, tuple[float, NoiseLaw, int]]
    """Origins are independent of each other."""
    slack: float = 0.0
    """How far rounding may have moved the number, beside the noise."""

    @property
    def estimate(self) -> Floats:
        return self.value

    def widths(self, confidence: Fraction) -> Floats:
        """Half the width of each number's interval: all rows have the same noise."""
        return np.full(len(self.value), self.width(confidence))

    def width(self, confidence: Fraction) -> float:
        return half_width(self.terms.values(), confidence) + self.slack

    @property
    def known(self) -> int:
        """Tells numbers with different noise apart."""
        return hash(frozenset((place, each[0]) for place, each in self.terms.items()))

    def shifted(self, by: Floats) -> Noise:
        return replace(self, value=self.value + by)

    def taken(self, places: npt.NDArray[Any]) -> Noise:
        return replace(self, value=self.value[places])

    @property
    def std(self) -> float:
        parts = [abs(weight) * law.std * n**0.5 for weight, law, n in self.terms.values()]
        return math.hypot(*parts)  # no square overflows

    def times(self, factor: float) -> Noise:
        scaled = {
            place: (weight * factor, law, n) for place, (weight, law, n) in self.terms.items()
        }
        return Noise(self.value * factor, scaled, self.slack * abs(factor))

    def plus(self, other: Noise) -> Noise | None:
        """The sum; `None` where both hold the same draws, but of other rows: they are not independent."""
        terms = dict(self.terms)
        rows = {place[:2]: place[2] for place in terms}
        if any(rows.get(place[:2], place[2]) != place[2] for place in other.terms):
            return None
        for place, (weight, law, n) in other.terms.items():
            if place not in terms:
                terms[place] = (weight, law, n)
            elif terms[place][1:] != (law, n):
                return None
            else:
                terms[place] = (terms[place][0] + weight, law, n)
        return Noise(self.value + other.value, terms, self.slack + other.slack)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """One number for each row, with its interval at every level. NaN stands for null."""

    estimate: Floats
    lower: Floats
    """One row a level, one column a row of the result."""
    upper: Floats
    std: Floats
    covers: Covers = Covers.NOISE
    unit: Unit = Unit.NUMBER
    origins: Mapping[Origin, int] = field(default_factory=dict)
    """The noisy numbers that one of these rests on, and how many of each."""
    noise: Noise | JointNoise | None = None

    @classmethod
    def exact(cls, values: npt.ArrayLike, levels: int) -> Numbers:
        """Numbers without noise."""
        found = np.asarray(values, dtype=np.float64)
        ends = np.broadcast_to(found, (levels, len(found)))
        return cls(found, ends, ends, np.zeros(len(found)))

    @property
    def is_exact(self) -> bool:
        return not self.origins and bool(np.array_equal(self.lower, self.upper, equal_nan=True))

    @property
    def shared(self) -> int:
        """How many noisy numbers must hold together for the interval to hold."""
        return max(1, sum(self.origins.values()))

    @property
    def plain(self) -> Floats:
        """The values without their intervals, one for each row."""
        return self.estimate

    @property
    def keys(self) -> list[Any]:
        """The values for comparison: all nulls are equal."""
        return [None if each != each else each for each in self.estimate.tolist()]

    @property
    def is_null(self) -> Bools:
        return np.isnan(self.estimate)

    def taken(self, places: npt.NDArray[Any]) -> Numbers:
        """The rows at some places."""
        noise = self.noise and self.noise.taken(places)
        return replace(
            self,
            estimate=self.estimate[places],
            lower=self.lower[:, places],
            upper=self.upper[:, places],
            std=self.std[places],
            noise=noise,
        )

    def __len__(self) -> int:
        return len(self.estimate)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """One exact value for each row: a text, a date, a truth value, a cell; `None` for null.

    Where the value was decided by comparing noisy numbers, `unsure` says where the intervals leave it
    open: one row a level, as in `Numbers`.
    """

    values: Objects
    unsure: Bools | None = None
    origins: Mapping[Origin, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values: list[Any], unsure: Bools | None = None) -> Labels:
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return cls(found, unsure)

    @property
    def plain(self) -> Objects:
        return self.values

    @property
    def keys(self) -> list[Any]:
        return list(self.values)

    @property
    def is_null(self) -> Bools:
        return np.array([each is None for each in self.values], dtype=np.bool_)

    def taken(self, places: npt.NDArray[Any]) -> Labels:
        return replace(
            self,
            values=self.values[places],
            unsure=None if self.unsure is None else self.unsure[:, places],
        )

    def __len__(self) -> int:
        return len(self.values)


Value = Numbers | Labels


_CHOSEN = ">of "


def chosen_among(value: Value, rows: int) -> Value:
    """The values of rows that noisy numbers chose among so many: HAVING, LIMIT, FILTER.

    What was chosen for being large is large by its noise, too. So a sum over such rows is not without bias, and its noise is
    not that of so many draws: only intervals that hold for all rows at once, also those left out, give one.
    """
    origins = {
        (question, place, f"{own}{_CHOSEN}{rows}"): many
        for (question, place, own), many in value.origins.items()
    }
    return replace(value, origins=origins)


def chosen_from(*values: Value) -> int:
    """Among how many rows noisy numbers chose these; 1 where they did not."""
    tags = [tag for value in values for _, _, tag in value.origins]
    return max((int(n.split(">")[0]) for tag in tags for n in tag.split(_CHOSEN)[1:]), default=1)


def choice_tag(*values: Value) -> str:
    """What the origin of a number keeps of how its rows were chosen."""
    rows = chosen_from(*values)
    return f"{_CHOSEN}{rows}" if rows > 1 else ""


def is_own_row(tag: str) -> bool:
    """Whether an origin is of the row itself, chosen or not."""
    return not tag or tag.startswith(_CHOSEN)


def joined_origins(*values: Value) -> dict[Origin, int]:
    """The noisy numbers behind several values. The same origin is the same numbers."""
    found: dict[Origin, int] = {}
    for each in values:
        for place, count in each.origins.items():
            found[place] = max(found.get(place, 0), count)
    return found
