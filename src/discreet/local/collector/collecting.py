"""The collector: takes reports as they come, keeps only counts of them, and estimates at any time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet.errors import BadInput
from discreet.local.collector.frequencies import Frequencies, frequencies
from discreet.local.protocols.piecewise import Piecewise
from discreet.local.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The estimated mean of the people's clamped numbers."""

    people: int
    estimate: float
    lower: float
    upper: float
    std: float
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "mean": self.estimate,
            "lower": self.lower,
            "upper": self.upper,
            "standard_error": self.std,
            "confidence": self.confidence,
        }


@dataclass(frozen=True, slots=True)
class Moments:
    """What the collector keeps of numbers' reports: how many, their sum and the sum of their squares."""

    people: int = 0
    total: int = 0
    squares: int = 0

    def with_reports(self, protocol: Piecewise, reports: npt.NDArray[Any]) -> Moments:
        told = np.asarray(reports, dtype=np.int64)
        if told.size and not (int(told.min()) >= 0 and int(told.max()) < protocol.reports):
            raise BadInput(f"A report lies outside the {protocol.reports:,} possible ones.")
        return Moments(
            self.people + told.size,
            self.total + int(told.sum()),
            self.squares + int((told * told).sum()),
        )


def mean_of(
    protocol: Piecewise, moments: Moments, *, low: float, high: float, confidence: float = 0.95
) -> Mean:
    """The unbiased mean, and a normal interval whose width is the noise's own spread.

    A report's variance depends on the number through its square alone, whose mean the reports tell as well.
    """
    if moments.people < 2:
        raise BadInput("A mean needs at least two reports.")
    slope, middle = float(protocol.slope), float(protocol.middle)
    first = moments.total / moments.people
    second = moments.squares / moments.people
    point = (first - middle) / slope
    c0, c1, c2 = (float(each) for each in protocol.second_moment())
    square = (second - c0 - c1 * point) / c2
    square = min(max(square, point**2), float(protocol.cells) ** 2)
    spread = second - (middle**2 + 2 * middle * slope * point + slope**2 * square)
    std_points = math.sqrt(max(spread, 0.0) / moments.people) / slope
    unit = (high - low) / protocol.cells
    estimate, std = low + point * unit, std_points * unit
    half = float(ndtri(0.5 + confidence / 2)) * std
    return Mean(
        people=moments.people,
        estimate=estimate,
        lower=max(low, min(high, estimate - half)),
        upper=min(high, max(low, estimate + half)),
        std=std,
        confidence=confidence,
    )


class Collector:
    """Reports to one question, added up. Thread safe."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._lock = Lock()
        self._people = 0
        self._support = np.zeros(len(question.values), dtype=np.int64)
        self._moments = Moments()

    def add(self, reports: npt.NDArray[Any]) -> None:
        """More reports. A report that cannot be one is refused, and none of its batch is counted."""
        told = np.asarray(reports)
        if self.question.is_number:
            with self._lock:
                self._moments = self._moments.with_reports(self.question.number_protocol, told)
            return
        support = self.question.value_protocol.support(told)
        with self._lock:
            self._support = self._support + support
            self._people += len(told)

    def estimate(self, *, confidence: float = 0.95) -> Frequencies | Mean:
        """Shares of all values, or the mean."""
        with self._lock:
            support, people, moments = self._support, self._people, self._moments
        if self.question.bounds is not None:
            low, high = (float(end) for end in self.question.bounds)
            return mean_of(
                self.question.number_protocol, moments, low=low, high=high, confidence=confidence
            )
        return frequencies(
            self.question.value_protocol,
            support,
            people,
            values=self.question.values,
            confidence=confidence,
        )


def estimate(
    question: Question, reports: npt.NDArray[Any], *, confidence: float = 0.95
) -> Frequencies | Mean:
    """The estimate from all reports at once."""
    collector = Collector(question)
    collector.add(reports)
    return collector.estimate(confidence=confidence)
