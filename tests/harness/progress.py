"""How far a long audit has come: a line now and then, so that a run that was stopped tells what it did.

The lines go to standard error, and so never mix with findings. A terminal gets one every few seconds,
a file or a pipe one every half minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

ON_A_TERMINAL = 3.0
ELSEWHERE = 30.0
"""Seconds between two lines."""


class Progress:
    """Counts what is done, and says so at most once in a while."""

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._total = what, total
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._every = ON_A_TERMINAL if self._stream.isatty() else ELSEWHERE
        self._started = self._said = clock()
        self.done = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._clock() - self._started

    def advance(self, by: int = 1, *, last: str = "") -> None:
        """So many more are done; `last` names the latest."""
        self.done += by
        if self._clock() - self._said >= self._every:
            self._said = self._clock()
            of = "" if self._total is None else f" of {self._total:,}"
            latest = f", the latest {last}" if last else ""
            self._stream.write(
                f"{self._what}: {self.done:,}{of} done, {self.seconds:.0f} s{latest}\n"
            )
            self._stream.flush()
