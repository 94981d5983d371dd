"""Questions that run: a few at once, some waiting, the rest turned away; and when an answer leaves."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from discreet.service.limits.refusals import TookTooLong, TooMany
from discreet.service.settings import Limits

Result = TypeVar("Result")


class Runner:
    """Runs questions on a few threads. Used from one event loop.

    A question that has begun is never given up: after the time limit its caller hears so, the charge
    stands, and the recorded answer can be fetched by asking again.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.questions_at_once, thread_name_prefix="question")
        self._inside: Counter[str] = Counter()
        self.inside = 0
        """Questions that run or wait."""

    async def run(self, who: str, work: Callable[[], Result]) -> Result:
        """The result of `work`, done on a thread."""
        if self._inside[who] >= self._limits.questions_at_once_each:
            raise TooMany(
                f"{self._inside[who]} of your questions run or wait already. Nothing was read or charged. "
                "Wait for them."
            )
        if self.inside >= self._limits.questions_at_once + self._limits.questions_waiting:
            raise TooMany(
                "The service is busy. Nothing was read or charged. Ask again in a moment."
            )
        self._inside[who] += 1
        self.inside += 1
        loop = asyncio.get_running_loop()
        future = self._threads.submit(work)
        ended = asyncio.Event()
        future.add_done_callback(self._left(who, loop, ended))
        try:
            async with asyncio.timeout(self._limits.question_seconds):
                await ended.wait()
        except TimeoutError:
            if not future.cancel():
                raise TookTooLong(
                    f"The question still runs after {self._limits.question_seconds} seconds. If it was charged, the "
                    "charge stands: ask the very same question again later for its recorded answer."
                ) from None
            raise TooMany(
                "The service is busy: the question waited too long. Nothing was read or charged. "
                "Ask again in a moment."
            ) from None
        return future.result()

    def _left(
        self, who: str, loop: asyncio.AbstractEventLoop, ended: asyncio.Event
    ) -> Callable[[object], None]:
        def leave() -> None:
            ended.set()
            self.inside -= 1
            self._inside[who] -= 1
            if not self._inside[who]:
                del self._inside[who]

        def done(_: object) -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody counts any more
                loop.call_soon_threadsafe(leave)

        return done

    def close(self) -> None:
        """Let what runs end; what waits is not begun."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def departure(elapsed: float, quantum_ms: int) -> float:
    """Seconds after its arrival at which an answer that took `elapsed` leaves: a whole number of quanta."""
    if quantum_ms <= 0:
        return elapsed
    quantum = quantum_ms / 1000
    return max(1, math.ceil(elapsed / quantum)) * quantum


async def wait_for_quantum(arrived: float, quantum_ms: int) -> None:
    """Sleep until the answer to a request that came at `arrived` (by `time.monotonic`) may leave."""
    elapsed = time.monotonic() - arrived
    pause = departure(elapsed, quantum_ms) - elapsed
    if pause > 0:
        await asyncio.sleep(pause)


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
