"""What is watched: counters in Prometheus' text format, and one line of JSON for each request."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TextIO

_EDGES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Requests by route and status, how long they took, and what was refused. Thread safe; of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, Labels]] = Counter()
        self._slow: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, name: str, **labels: str) -> None:
        """Add one."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that is done."""
        with self._lock:
            labels = (("route", route), ("status", str(status)))
            self._counts["discreet_requests_total", labels] += 1
            place = next((at for at, edge in enumerate(_EDGES) if seconds <= edge), len(_EDGES))
            self._slow[route, place] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self, gauges: Mapping[tuple[str, Labels], float]) -> str:
        """Everything, for Prometheus."""
        with self._lock:
            counts, slow = sorted(self._counts.items()), dict(self._slow)
            seconds = dict(self._seconds)
        lines: list[str] = []
        for name in dict.fromkeys(name for (name, _), _ in counts):
            lines.append(f"# TYPE {name} counter")
            lines += [
                f"{name}{_labels(labels)} {many}" for (own, labels), many in counts if own == name
            ]
        lines.append("# TYPE discreet_request_seconds histogram")
        for route in sorted(seconds):
            total = 0
            for place, edge in enumerate((*_EDGES, float("inf"))):
                total += slow.get((route, place), 0)
                end = "+Inf" if place == len(_EDGES) else f"{edge:g}"
                labels = _labels((("le", end), ("route", route)))
                lines.append(f"discreet_request_seconds_bucket{labels} {total}")
            own = _labels((("route", route),))
            lines.append(f"discreet_request_seconds_count{own} {total}")
            lines.append(f"discreet_request_seconds_sum{own} {seconds[route]:.6f}")
        for name in dict.fromkeys(name for name, _ in gauges):
            lines.append(f"# TYPE {name} gauge")
            lines += [
                f"{name}{_labels(labels)} {value:.12g}"
                for (own_name, labels), value in gauges.items()
                if own_name == name
            ]
        return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = (f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels)
    return "{" + ",".join(escaped) + "}"


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


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
