"""A token bucket for each person, or for each address that is not signed in."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from discreet.service.limits.refusals import TooMany

MOST_KNOWN = 10_000
"""Buckets that are kept. The one that was not used for longest goes first, and would be full again."""


class RateLimit:
    """So many requests a minute, with short bursts. Thread safe; one process has one."""

    def __init__(
        self,
        a_minute: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        burst: int | None = None,
    ) -> None:
        self._each_second = a_minute / 60
        self._most = float(burst if burst is not None else max(1, a_minute // 4))
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, who: str) -> None:
        """Count one request; `TooMany` where the bucket is empty."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(who, (self._most, now))
            left = min(self._most, left + (now - since) * self._each_second)
            self._buckets[who] = (max(left - 1, 0.0) if left >= 1 else left, now)
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.popitem(last=False)
        if left < 1:
            refusal = TooMany(
                "Too many requests. Nothing was read or charged. Wait a little, and ask again."
            )
            refusal.retry_after = max(1, math.ceil((1 - left) / max(self._each_second, 1e-9)))
            raise refusal
