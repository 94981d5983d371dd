"""A client that remembers: the same answer to the same question is reported once, and then repeated.

Fresh noise for every repetition would average away. With memory, any number of repetitions of one answer costs
epsilon once. If the true answer changes, the new one is drawn afresh, and costs epsilon too: `spent` says how much in all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from threading import Lock
from typing import Any

from discreet.local.clients.perturbing import perturb
from discreet.local.question import Question
from discreet.samplers.entropy import EntropySource

Report = int | tuple[int, ...]


class Client:
    """One person's side: remembers the report of every answer that it has ever given. Thread safe."""

    def __init__(self, remembered: dict[str, Report] | None = None) -> None:
        self._reports: dict[str, Report] = dict(remembered or {})
        self._lock = Lock()

    def answer(
        self, question: Question, true: object, *, entropy: EntropySource | None = None
    ) -> Report:
        """The report of this answer: the one given before, else a new one."""
        key = json.dumps([question.to_dict(), str(true)], sort_keys=True)
        with self._lock:
            if key not in self._reports:
                self._reports[key] = _plain(perturb(question, [true], entropy=entropy)[0])
            return self._reports[key]

    def spent(self) -> Fraction:
        """The epsilon of all different answers so far, by basic composition."""
        with self._lock:
            keys = list(self._reports)
        return sum((Fraction(json.loads(key)[0]["epsilon"]) for key in keys), Fraction(0))

    def remembered(self) -> dict[str, Report]:
        """For storing. The memory holds true answers: it stays with the person."""
        with self._lock:
            return dict(self._reports)

    @classmethod
    def restored(cls, stored: Mapping[str, Any]) -> Client:
        """From what `remembered` gave."""
        return cls({str(key): _plain(report) for key, report in stored.items()})


def _plain(report: Any) -> Report:
    return int(report) if not hasattr(report, "__len__") else tuple(int(bit) for bit in report)
