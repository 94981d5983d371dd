"""A client that remembers: a question is answered once, and then the same report is given again.

Fresh noise for every repetition would average away. With memory, any number of repetitions of one question costs
epsilon once.

A changed answer is not reported. If it were drawn anew, a report that differs from the one before would prove that the
answer has changed, whatever the epsilon. To ask again after some time, the collector asks another question (another name, such
as `smoker 2027`), which every client answers with fresh noise, changed or not. That costs epsilon again.

Guarantee: the reports of one client, over all times, are epsilon-DP for their whole history of true answers, where
           epsilon is the sum over the different questions.
Proof:     The reports on one question are a function of one report, which is epsilon-DP for the answer at
           that time (post-processing). Different questions compose.
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
    """One person's side: remembers its report on every question that it was asked. Thread safe."""

    def __init__(self, remembered: dict[str, Report] | None = None) -> None:
        self._reports: dict[str, Report] = dict(remembered or {})
        self._lock = Lock()

    def answer(
        self, question: Question, true: object, *, entropy: EntropySource | None = None
    ) -> Report:
        """The report on this question: the one given before, else a new one about `true`."""
        key = json.dumps(question.to_dict(), sort_keys=True)
        with self._lock:
            if key not in self._reports:
                self._reports[key] = _plain(perturb(question, [true], entropy=entropy)[0])
            return self._reports[key]

    def spent(self) -> Fraction:
        """The epsilon of all different questions so far, by basic composition."""
        with self._lock:
            keys = list(self._reports)
        return sum((Fraction(json.loads(key)["epsilon"]) for key in keys), Fraction(0))

    def remembered(self) -> dict[str, Report]:
        """For storing: the questions and the reports, which the collector has seen. No true answer is in it."""
        with self._lock:
            return dict(self._reports)

    @classmethod
    def restored(cls, stored: Mapping[str, Any]) -> Client:
        """From what `remembered` gave."""
        return cls({str(key): _plain(report) for key, report in stored.items()})


def _plain(report: Any) -> Report:
    return int(report) if not hasattr(report, "__len__") else tuple(int(bit) for bit in report)
