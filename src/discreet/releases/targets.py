"""Target errors, and the least epsilon or the fewest rows that meet them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count, takewhile
from typing import Protocol

from discreet.errors import BadInput
from discreet.families.shared.release.protocol import Prepared
from discreet.privacy.exact import confidence_level
from discreet.queries.classes import QueryClass, parse_class
from discreet.releases.algorithms import algorithm_for
from discreet.releases.preparing import Prospect
from discreet.schema import Schema

SMALLEST_POWER, LARGEST_POWER = -6, 1
"""Epsilon is searched from 1e-6 to 99.9."""
MOST_ROWS = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetError:
    """An error that a class must not exceed: absolute (`half_width`), or `relative`.

    Relative means: counts to the number of rows, means to the width of the bounds, sums to the
    largest sum that so many rows could have. `simultaneous` asks it of all queries of the class
    at once.
    """

    query_class: QueryClass | str
    half_width: float | None = None
    relative: float | None = None
    confidence: float = 0.95
    simultaneous: bool = False

    def __post_init__(self) -> None:
        if (self.half_width is None) == (self.relative is None):
            raise BadInput("A target error is either a half_width or relative: give exactly one.")
        if not 0 < self._limit < math.inf:
            raise BadInput(f"A target error is {self._limit}; it must be positive and finite.")
        confidence_level(self.confidence)

    @property
    def _limit(self) -> float:
        limit = self.half_width if self.relative is None else self.relative
        assert limit is not None
        return limit

    @property
    def text(self) -> str:
        asked = self.query_class
        return parse_class(asked).text if isinstance(asked, str) else asked.text

    def is_met(self, part: Prepared, *, rows: int | None) -> bool:
        error = part.error(rows=rows, confidence=self.confidence)
        reached = error.simultaneous if self.simultaneous else error.half_width
        if error.is_foreseen:
            reached = None
        if reached is not None and self.relative is not None:
            reached = None if error.scale is None else reached / error.scale
        if reached is None and rows is None:
            raise BadInput(
                f"The error of {self.text} depends on the number of rows; give `rows`, or `people` in the schema."
            )
        known = error.half_width is not None and not error.is_foreseen
        if reached is None and self.simultaneous and known:
            raise BadInput(
                f"{self.text} is released by {part.algorithm!r} here, for which no bound of all queries at once is "
                "known before the rows are read. Ask for the error of single queries, without --simultaneous "
                "(simultaneous=True), or name another algorithm."
            )
        if reached is None:
            raise BadInput(
                f"{self.text} is released by {part.algorithm!r} here, whose errors follow from noisy numbers: "
                "no error can be solved for. Name another algorithm, or ask for fewer tables."
            )
        return reached <= self._limit


def target_part(prospect: Prospect, target: TargetError) -> Prepared:
    """The class that the target speaks of."""
    for part in prospect.parts:
        if part.query_class.text == target.text:
            return part
    listed = ", ".join(part.query_class.text for part in prospect.parts)
    raise BadInput(f"The target is about {target.text}, and the workload has {listed}.")


def least_epsilon(
    at: Callable[[Fraction], Prospect], target: TargetError, *, rows: int | None
) -> Prospect:
    """The release with the least epsilon of three digits that meets the target.

    Bisection over the decimals 1.00e-6, 1.01e-6, ...: exact numbers, so the epsilon that is
    returned is one whose error was computed, not one that was rounded afterwards.
    """

    def prospect(place: int) -> Prospect:
        power, digits = divmod(place, 900)
        return at(Fraction(100 + digits) * Fraction(10) ** (SMALLEST_POWER + power - 2))

    def is_met(place: int) -> bool:
        return target.is_met(target_part(prospect(place), target), rows=rows)

    low, high = -1, 900 * (LARGEST_POWER - SMALLEST_POWER + 1) - 1
    if not is_met(high):
        raise BadInput(
            f"No epsilon below {10 ** (LARGEST_POWER + 1)} meets the target for {target.text}: ask for less, "
            "drop a class, or find more rows."
        )
    while high - low > 1:
        middle = (low + high) // 2
        try:
            met = is_met(middle)
        except BadInput:
            met = (
                False  # all else was accepted above: so small an epsilon needs noise beyond 64 bits
            )
        low, high = (low, middle) if met else (middle, high)
    return prospect(high)


class Prepares(Protocol):
    """A release at an epsilon, with algorithms by class."""

    def __call__(self, epsilon: Fraction, named: Mapping[str, str] | None) -> Prospect: ...


def best_epsilon(
    at: Prepares,
    target: TargetError,
    schema: Schema,
    *,
    rows: int | None,
    algorithms: Mapping[str, str] | None,
) -> tuple[Prospect, str | None]:
    """The least epsilon that meets the target, and the algorithm that it holds for where one must be named.

    An algorithm that chooses among others may choose one whose error nobody knows beforehand. So each
    of those that it names as solvable is tried as well, unless the caller has named one.
    """
    query_class = parse_class(target.text)
    taken = {parse_class(text).text for text in (algorithms or {})}
    names: list[str | None] = [None]
    if target.text not in taken:
        chooser = algorithm_for(query_class, schema)
        names += list(getattr(chooser, "solvable", ()))
    found: list[tuple[Fraction, Prospect, str | None]] = []
    reasons: list[BadInput] = []
    for name in names:
        given = (
            dict(algorithms or {}) if name is None else {**(algorithms or {}), target.text: name}
        )
        try:
            made = least_epsilon(partial(at, named=given or None), target, rows=rows)
        except BadInput as error:
            reasons.append(error)
            continue
        found.append((made.charge.epsilon, made, name))
    if not found:
        raise reasons[0]
    _, made, name = min(found, key=lambda each: each[0])  # of equal ones the one without a name
    return made, name


def least_rows(part: Prepared, target: TargetError) -> int:
    """The fewest rows with which the target is met."""
    if target.is_met(part, rows=1):
        return 1
    low, high = 1, MOST_ROWS
    if not target.is_met(part, rows=MOST_ROWS):
        # What can be drawn for so many rows may promise nothing, and yet be enough for fewer: the general mechanism.
        powers = takewhile(lambda rows: rows < MOST_ROWS, (1 << bits for bits in count(1)))
        high = next((rows for rows in powers if target.is_met(part, rows=rows)), 0)
        low = high // 2
    if not high:
        raise BadInput(
            f"No number of rows meets the target for {target.text}: its absolute error does not depend on "
            "them, or the budget is too small. Leave the budget out, to find the epsilon that "
            "it needs."
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if target.is_met(part, rows=middle) else (middle, high)
    return high
