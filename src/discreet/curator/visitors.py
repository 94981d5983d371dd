"""The questions that run in a curator: closing lets them end, and later ones are refused.

A question that met a closed table after its charge would have paid for nothing; so would one in a
forked child, where the table cannot be read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import BadInput


class Visitors:
    """Counts the questions that run. Thread safe: it changes under a lock."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._inside = 0
        self._is_closed = False
        self._change = threading.Condition()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """For the length of a question; refused once `close` was called."""
        # Before the lock, which another thread may have held at the fork.
        if os.getpid() != self._owner:
            raise BadInput(
                "The curator was opened before this process was forked, and cannot be asked here. "
                "Nothing was read or charged. Open another in this process."
            )
        with self._change:
            if self._is_closed:
                raise BadInput("The curator is closed. Nothing was read or charged. Open another.")
            self._inside += 1
        try:
            yield
        finally:
            with self._change:
                self._inside -= 1
                self._change.notify_all()

    def close(self) -> None:
        """Refuse new questions, and wait until the running ones have ended.

        In a forked child none are running: they are threads of its parent.
        """
        if os.getpid() != self._owner:
            return
        with self._change:
            self._is_closed = True
            while self._inside:
                self._change.wait()
