"""`Answer`: a number that says how sure it is, and what its interval covers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Covers(StrEnum):
    """What an interval accounts for, always after clamping and row bounding."""

    NOISE = "noise"
    NOISE_AND_CELLS = "noise + discretisation"
    NOISE_AND_MODEL = "noise + model"

    def joined(self, other: Covers) -> Covers:
        """What the difference of two answers covers: all that either does."""
        order = (Covers.NOISE, Covers.NOISE_AND_CELLS, Covers.NOISE_AND_MODEL)
        return max(self, other, key=order.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An estimate with a two-sided interval at `confidence`."""

    estimate: float
    lower: float
    upper: float
    confidence: float
    std: float
    covers: Covers

    @property
    def is_vague(self) -> bool:
        """Whether the interval is wider than the estimate: little more than noise is left."""
        return self.upper - self.lower > abs(self.estimate)

    def minus(self, other: Answer) -> Answer:
        """The difference of two answers, with an interval that holds however their errors are related.

        Each interval fails with probability at most 1 - confidence, so both hold together with
        at least 1 - the sum of the two (union bound). Answers of one release share noise, so no
        independence is assumed.
        """
        confidence = 1 - ((1 - self.confidence) + (1 - other.confidence))
        return Answer(
            estimate=self.estimate - other.estimate,
            lower=self.lower - other.upper,
            upper=self.upper - other.lower,
            confidence=confidence,
            std=self.std + other.std,
            covers=self.covers.joined(other.covers),
        )

    def compare(self, other: Answer) -> str:
        """`higher`, `lower`, or `too close to tell`, at the confidence of `minus`."""
        difference = self.minus(other)
        if difference.lower > 0:
            return "higher"
        return "lower" if difference.upper < 0 else "too close to tell"

    def to_dict(self) -> dict[str, Any]:
        return {
            "estimate": _plain(self.estimate),
            "lower": _plain(self.lower),
            "upper": _plain(self.upper),
            "confidence": self.confidence,
            "std": _plain(self.std),
            "covers": self.covers.value,
            "vague": self.is_vague,
        }

    @property
    def shown_estimate(self) -> str:
        return _shown(self.estimate)

    @property
    def shown_interval(self) -> str:
        return f"[{_shown(self.lower)}, {_shown(self.upper)}]"

    def __str__(self) -> str:
        return f"{self.shown_estimate}  {self.shown_interval}"


def _plain(value: float) -> float | None:
    """For JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None


def _shown(value: float) -> str:
    if not math.isfinite(value):
        return "unbounded" if math.isinf(value) else "unknown"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
