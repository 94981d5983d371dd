"""Alerts: the sparse vector technique for people."""

from __future__ import annotations

import threading
from collections.abc import Callable

from discreet.core.alert import Alert
from discreet.errors import BadInput
from discreet.queries.tallies import Tally


class CuratorAlert:
    """A running watch. Each question is free until the first `above`, which ends it.

    With the confidence that was asked for, over the first `questions` of them, every `below` is
    below threshold + margin and the `above` is above threshold - margin (Dwork and Roth 2014,
    theorem 3.24).

    Thread safe: questions asked at the same time are answered one after the other, and one of them
    at most hears `above`.
    """

    def __init__(
        self,
        watch: Alert,
        count: Callable[[str], Tally],
        *,
        threshold: int,
        margin: float,
        questions: int,
    ) -> None:
        self._watch, self._count = watch, count
        self.threshold, self.margin = threshold, margin
        self._left = questions
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether it has fired."""
        return self._watch.over

    def is_above(self, sql: str) -> bool:
        """Whether a count is, noisily, at or above the threshold. True ends the watch."""
        tally = self._count(sql)
        with self._lock:
            if self._left == 0:
                raise BadInput(
                    "The alert has answered as many questions as its margin was promised for. "
                    "Open another alert to ask more."
                )
            self._left -= 1
        return self._watch.is_above(tally)
