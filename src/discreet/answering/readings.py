"""One number read off several sources: their combination by inverse variance, and its interval.

A reading is unbiased, and says how much noise is in it: as the draws themselves, where each is known,
or as a variance and a kurtosis. Readings are combined only if no draw is in two of them: each names
the parts of the release that it was read off, and of two that name the same part the less noisy stays.
Which one that is, and every weight, follows from noise laws and shapes, never from a noisy value, so
the interval of the combination holds like that of one reading.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.families.shared.estimate.combination import (
    Terms,
    half_width,
    inverse_variance_weights,
    scaled,
    variance_of,
)
from discreet.privacy.exact import Exactable
from discreet.privacy.laws import miss_probability
from discreet.privacy.laws.exact_sums import kurtosis_of
from discreet.privacy.laws.sums import spread_factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An unbiased number, and the noise in it."""

    value: float
    variance: float
    kurtosis: float
    """Excess kurtosis of the noise."""
    terms: Terms | None = None
    """The draws, where each is known: intervals are then exact."""
    parts: frozenset[int] = frozenset()
    """The places of the parts of the release that its noise comes from."""
    sources: int = 1
    """How many sources with noise of their own were combined."""

    @classmethod
    def of(cls, value: float, terms: Terms, parts: frozenset[int] = frozenset()) -> Reading:
        variance, kurtosis = variance_of(terms), kurtosis_of(terms)
        return cls(value=value, variance=variance, kurtosis=kurtosis, terms=terms, parts=parts)

    def half_width(self, confidence: Exactable) -> float:
        if self.terms is not None:
            return half_width(self.terms, confidence)
        factor = spread_factor(miss_probability(confidence), self.kurtosis)
        return float(factor) * math.sqrt(self.variance)


def independent(readings: Sequence[Reading]) -> list[tuple[float, Reading]]:
    """Those readings whose noises are independent, each with its weight by inverse variance."""
    kept: list[Reading] = []
    for each in sorted(readings, key=lambda reading: reading.variance):
        if not any(each.parts & other.parts for other in kept):
            kept.append(each)
    weights = inverse_variance_weights([each.variance for each in kept])
    return [(weight, each) for weight, each in zip(weights, kept, strict=True) if weight]


def combined(readings: Sequence[Reading]) -> Reading:
    """The inverse-variance combination of those readings whose noises are independent."""
    used = independent(readings)
    variance = math.fsum(weight**2 * each.variance for weight, each in used)
    fourth = math.fsum(weight**4 * each.kurtosis * each.variance**2 for weight, each in used)
    terms: Terms | None = ()
    for weight, each in used:
        terms = None if terms is None or each.terms is None else terms + scaled(each.terms, weight)
    return Reading(
        value=math.fsum(weight * each.value for weight, each in used),
        variance=variance,
        kurtosis=fourth / variance**2 if variance else 0.0,
        terms=terms,
        parts=frozenset().union(*(each.parts for _, each in used)),
        sources=sum(each.sources for _, each in used),
    )
