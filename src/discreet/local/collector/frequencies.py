"""Shares of values from reports: unbiased, with intervals that hold about as often as they say.

Among n fixed people of whom the share f has a value, the number of reports that speak for it is a sum of n
independent coins, nf of chance p and n(1-f) of chance q. So its mean is n(q + f(p-q)) and its variance
n(f p(1-p) + (1-f) q(1-q)), both known but for f. The interval holds every f that is not refuted (the score interval of Wilson
1927, with this variance), half a count wider on each side because counts are whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from discreet.arrays import Floats, Integers
from discreet.errors import BadInput
from discreet.local.protocols.protocol import ValueProtocol, variance_of_share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frequencies:
    """The estimated share of every value. Thread safe: it never changes."""

    values: Sequence[str]
    people: int
    shares: Floats
    """Unbiased: one may lie below 0 or above 1."""
    lower: Floats
    upper: Floats
    std: float
    """The standard error of a value that nobody has."""
    confidence: float

    @property
    def counts(self) -> Floats:
        return self.shares * self.people

    def plausible(self) -> Floats:
        """Shares that are not negative and add up to 1: the nearest such to the estimates."""
        ordered = np.sort(self.shares)[::-1]
        excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
        kept = int(np.flatnonzero(ordered > excess)[-1])
        return np.asarray(np.maximum(self.shares - excess[kept], 0.0))

    def to_dict(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "confidence": self.confidence,
            "standard_error": self.std,
            "values": [
                {"value": value, "share": float(share), "lower": float(low), "upper": float(high)}
                for value, share, low, high in zip(
                    self.values, self.shares, self.lower, self.upper, strict=True
                )
            ],
        }


def frequencies(
    protocol: ValueProtocol,
    support: Integers,
    people: int,
    *,
    values: Sequence[str],
    confidence: float = 0.95,
) -> Frequencies:
    """Estimates from `support`: how many of the `people` reports speak for each value."""
    if not 0 < confidence < 1:
        raise BadInput(f"confidence is {confidence}; it lies between 0 and 1.")
    if people < 1:
        raise BadInput("There is no report yet; nothing can be estimated.")
    true, other = float(protocol.speaks_true), float(protocol.speaks_other)
    slope = true - other
    spoken = support / people
    lower, upper = score_interval(spoken, true, other, people, confidence)
    return Frequencies(
        values=values,
        people=people,
        shares=(spoken - other) / slope,
        lower=lower,
        upper=upper,
        std=math.sqrt(variance_of_share(protocol, people)),
        confidence=confidence,
    )


def score_interval(
    spoken: Floats, true: float, other: float, people: int, confidence: float
) -> tuple[Floats, Floats]:
    """All shares f with |spoken - q - f(p-q)| <= z sqrt(variance(f) / n) + 1/(2n), cut to [0, 1]."""
    z = float(ndtri(0.5 + confidence / 2))
    slope = true - other
    none, all_ = other * (1 - other), true * (1 - true)
    half = 0.5 / people
    found = []
    for sign in (-1.0, 1.0):
        # (off - slope f)^2 = z^2 (none + (all_ - none) f) / n, with off on its side of the truth.
        off = spoken - other + sign * half
        a = slope**2
        b = -2 * off * slope - z**2 * (all_ - none) / people
        c = off**2 - z**2 * none / people
        root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
        found.append((-b + sign * root) / (2 * a))
    return np.clip(found[0], 0.0, 1.0), np.clip(found[1], 0.0, 1.0)
