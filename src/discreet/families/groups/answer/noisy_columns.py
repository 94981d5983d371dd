"""A column measured in every group: its counts, sums and means over any set of groups, with intervals.

Every answer is a known combination of independent draws. A mean is a ratio, so its interval inverts
tests (Fieller's way): where t is the mean, the sum of (value - t) is 0 before noise, so what was measured
of it is noise alone, whose law is known. The values t that pass hold the mean with the stated
confidence, however small the group is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.measurement import Measurement
from discreet.errors import BadRelease
from discreet.families.groups.queries.group_sums import GroupCounts, GroupEnds, GroupSums
from discreet.families.shared.estimate.combination import half_width
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema

Weights = tuple[float, ...]
"""One weight for each measured vector of a column."""

STEPS = 256
"""The weights of a mean's noise are rounded up to so many steps, for each has a quantile of its own."""
ROUNDS = 4
"""An interval is narrowed so often: the noise that a mean can have depends on where it can be."""


class Form(Protocol):
    """How the vectors of a column are combined."""

    @property
    def origin(self) -> float:
        """From where `moment` measures values."""
        ...

    @property
    def count(self) -> Weights | None:
        """How many rows have a value; None where that was not measured."""
        ...

    @property
    def total(self) -> Weights:
        """The sum of the values."""
        ...

    @property
    def moment(self) -> Weights:
        """The sum of (value - origin)."""
        ...

    def noise(self, low: float, high: float) -> Weights:
        """Weights at least as large as those of the sum of (value - t), for any t between two numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Ends:
    """How `GroupEnds` are read: sums from the low bound up, and from the high bound down."""

    low: float
    high: float
    steps: int
    """The width of the bounds, in steps of the grid."""

    @property
    def _step(self) -> float:
        return (self.high - self.low) / self.steps

    @property
    def origin(self) -> float:
        return self.low

    @property
    def count(self) -> Weights:
        return (1 / self.steps, 1 / self.steps)

    @property
    def total(self) -> Weights:
        return (self.high / self.steps, self.low / self.steps)

    @property
    def moment(self) -> Weights:
        return (self._step, 0.0)

    def noise(self, low: float, high: float) -> Weights:
        """The sum of (value - t) is (1 - p) times the first less p times the second, p = (t - low) / width."""
        width = self.high - self.low
        if not width:  # every value is t
            return (0.0, 0.0)
        first = math.ceil((self.high - low) / width * STEPS - 1e-9) / STEPS
        second = math.ceil((high - self.low) / width * STEPS - 1e-9) / STEPS
        return (first * self._step, second * self._step)


@dataclass(frozen=True, slots=True)
class Centred:
    """How `GroupSums` from a centre are read, with `GroupCounts` beside them."""

    center: float
    step: float
    reach: float
    """How far a value can be from the centre."""

    @property
    def origin(self) -> float:
        return self.center

    @property
    def count(self) -> Weights:
        return (0.0, 1.0)

    @property
    def total(self) -> Weights:
        return (self.step, self.center)

    @property
    def moment(self) -> Weights:
        return (self.step, 0.0)

    def noise(self, low: float, high: float) -> Weights:
        if not self.reach:
            return (self.step, 0.0)
        farthest = max(abs(low - self.center), abs(high - self.center)) / self.reach
        return (self.step, math.ceil(farthest * STEPS - 1e-9) / STEPS * self.reach)


@dataclass(frozen=True, slots=True)
class Plain:
    """How `GroupSums` from 0 are read, with nothing beside them."""

    step: float

    @property
    def origin(self) -> float:
        return 0.0

    @property
    def count(self) -> None:
        return None

    @property
    def total(self) -> Weights:
        return (self.step,)

    @property
    def moment(self) -> Weights:
        return (self.step,)

    def noise(self, low: float, high: float) -> Weights:
        return (self.step,)


@dataclass(frozen=True, slots=True, eq=False)
class GroupedColumn:
    """What was measured of one column in every group."""

    column: str
    groups: tuple[str, ...]
    form: Form
    vectors: tuple[Integers, ...]
    """Noisy numbers, one axis a group column."""
    laws: tuple[NoiseLaw, ...]
    bounds: tuple[float, float]
    step: float
    """What a value was rounded to; 0 where none was."""

    def over(self, mask: Bools, axes: tuple[int, ...]) -> Sums:
        """Sums over the groups in `mask`, one for each combination of cells of the columns on `axes`."""
        many = taken_by(mask.astype(np.float64), axes).astype(np.int64)
        taken = (np.where(mask, each, 0).astype(np.float64) for each in self.vectors)
        return Sums(self, tuple(taken_by(each, axes) for each in taken), many)


def taken_by(numbers: Floats, axes: tuple[int, ...]) -> Floats:
    """Numbers of groups added up over all axes but some, flat, in the order of these."""
    rest = [axis for axis in range(numbers.ndim) if axis not in axes]
    moved = numbers.transpose([*axes, *rest])
    flat = moved.reshape(math.prod(moved.shape[: len(axes)]), -1)
    return np.asarray(flat.sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The vectors of a column added up over some sets of groups."""

    measured: GroupedColumn
    sums: tuple[Floats, ...]
    many: Integers
    """How many groups each set has."""

    def linear(self, weights: Weights, confidence: Fraction) -> tuple[Floats, Floats, Floats]:
        """A combination of the vectors: its value, half-width and standard deviation."""
        value = np.zeros(len(self.many))
        for weight, each in zip(weights, self.sums, strict=True):
            value = value + weight * each
        return value, self._widths([weights] * len(self.many), confidence), self._std(weights)

    def _std(self, weights: Weights) -> Floats:
        pairs = zip(weights, self.measured.laws, strict=True)
        variance = math.fsum(weight * weight * law.variance for weight, law in pairs)
        return np.asarray(np.sqrt(variance * self.many))

    def _widths(self, weights: Sequence[Weights], confidence: Fraction) -> Floats:
        laws = self.measured.laws
        return np.array(
            [
                noise_width(each, laws, int(many), confidence)
                for each, many in zip(weights, self.many, strict=True)
            ]
        )

    def means(self, confidence: Fraction) -> tuple[Floats, Floats, Floats, Floats]:
        """Estimate, lower and upper end, and standard deviation of the mean of each set."""
        form, (low, high) = self.measured.form, self.measured.bounds
        assert form.count is not None
        rows = sum(w * each for w, each in zip(form.count, self.sums, strict=True))
        moment = sum(w * each for w, each in zip(form.moment, self.sums, strict=True))
        usable = np.asarray(rows > 0)
        divisor = np.where(usable, rows, 1.0)
        slack = self.measured.step / 2
        low, high = low - slack, high + slack  # of values after rounding
        lower, upper = np.full(len(self.many), low), np.full(len(self.many), high)
        for _ in range(ROUNDS):
            weights = [form.noise(a, b) for a, b in zip(lower, upper, strict=True)]
            width = self._widths(weights, confidence)
            least = np.maximum(lower, form.origin + (moment - width) / divisor)
            most = np.minimum(upper, form.origin + (moment + width) / divisor)
            # An empty set has the probability of a miss; the whole range is the honest answer then.
            holds = usable & (least <= most)
            lower, upper = np.where(holds, least, low), np.where(holds, most, high)
        low, high = self.measured.bounds
        lower, upper = np.clip(lower - slack, low, high), np.clip(upper + slack, low, high)
        estimate = np.where(usable, form.origin + moment / divisor, (low + high) / 2)
        estimate = np.clip(estimate, lower, upper)
        std = np.array(
            [
                float(np.sqrt(many * _variance(form.noise(at, at), self.measured.laws)))
                for at, many in zip(estimate, self.many, strict=True)
            ]
        )
        return (
            estimate,
            lower,
            upper,
            np.where(usable, np.minimum(std / divisor, high - low), np.inf),
        )


def _variance(weights: Weights, laws: Sequence[NoiseLaw]) -> float:
    return math.fsum(w * w * law.variance for w, law in zip(weights, laws, strict=True))


@lru_cache(maxsize=1 << 14)
def noise_width(
    weights: Weights, laws: tuple[NoiseLaw, ...], many: int, confidence: Fraction
) -> float:
    """A bound that the noise of a combination of vectors over `many` groups rarely exceeds."""
    return half_width(
        [(abs(weight), law, many) for weight, law in zip(weights, laws, strict=True)], confidence
    )


def noisy_columns(measured: Sequence[Measurement], schema: Schema) -> list[GroupedColumn]:
    """The columns of a part, from its measurements in their order."""
    found: list[GroupedColumn] = []
    left = list(measured)
    while left:
        first = left.pop(0)
        query = first.query
        counts = left.pop(0) if left and isinstance(left[0].query, GroupCounts) else None
        if not isinstance(query, GroupEnds | GroupSums):
            raise BadRelease("a release by group holds something else than sums of its groups.")
        if counts is not None and _named(counts.query) != _named(query):
            raise BadRelease("a count by group is of other rows than the sum beside it.")
        found.append(_noisy_column(query, first, counts, schema))
    return found


def _named(query: object) -> tuple[str, tuple[str, ...]]:
    assert isinstance(query, GroupEnds | GroupSums | GroupCounts)
    return query.column, query.groups


def _noisy_column(
    query: GroupEnds | GroupSums, first: Measurement, counts: Measurement | None, schema: Schema
) -> GroupedColumn:
    column = schema.column(query.column)
    bounds = column.value_bounds
    if bounds is None:
        raise BadRelease("a release by group sums a column without numbers.")
    low, high = float(bounds[0]), float(bounds[1])
    shape = tuple(schema.column(name).cells for name in query.groups)
    if first.values.shape != (query.size(schema),):
        raise BadRelease("a release by group has not as many numbers as groups.")
    vectors: tuple[Integers, ...] = (
        (first.values.reshape(shape),)
        if not isinstance(query, GroupEnds)
        else tuple(first.values.reshape(2, *shape))
    )
    laws: tuple[NoiseLaw, ...] = (first.law,) * len(vectors)
    form = form_of(query, schema, counted=counts is not None)
    if counts is not None:
        if counts.values.size != math.prod(shape):
            raise BadRelease("a release by group has not as many numbers as groups.")
        vectors, laws = (*vectors, counts.values.reshape(shape)), (*laws, counts.law)
    rounds = column.kind == "number"
    return GroupedColumn(
        column=column.name,
        groups=query.groups,
        form=form,
        vectors=vectors,
        laws=laws,
        bounds=(low, high),
        step=1 / query.grid if rounds else 0.0,
    )


def form_of(query: GroupEnds | GroupSums, schema: Schema, *, counted: bool) -> Form:
    """How the vectors of a query are combined."""
    if isinstance(query, GroupEnds):
        if counted:
            raise BadRelease("a release by group counts rows that it has counted already.")
        low, high = query.bounds(schema)
        return Ends(low / query.grid, high / query.grid, query.width(schema))
    center, step = query.center / query.grid, 1 / query.grid
    if not counted:
        if query.center:
            raise BadRelease(
                "a release by group has sums from a centre, and no counts beside them."
            )
        return Plain(step)
    bounds = schema.column(query.column).value_bounds
    assert bounds is not None
    reach = max(abs(float(bounds[0]) - center), abs(float(bounds[1]) - center))
    return Centred(center, step, max(reach, step))
