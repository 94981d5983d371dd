"""The collector: takes reports as they come, keeps only counts of them, and estimates at any time."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.local.collector.frequencies import Frequencies, frequencies
from discreet.local.collector.means import Mean, Moments, mean_of
from discreet.local.question import Question


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
