"""One line of JSON for each request: who, which route, which status. Never a question, a value or an answer."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO


class RequestLog:
    """Writes to standard error, one whole line at a time. Thread safe."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._lock = threading.Lock()

    def write(self, event: str, **facts: Any) -> None:
        """One line. The facts are names and numbers of the service's own, no texts of requests."""
        line = {"at": round(self._clock(), 3), "event": event, **facts}
        text = json.dumps(line, ensure_ascii=True, separators=(",", ":"))
        with self._lock:
            self._stream.write(text + "\n")
            self._stream.flush()
