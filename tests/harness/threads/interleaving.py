"""Threads that meet in the worst places: they start together, and pause at random lines of the product.

A race needs two threads between the same two lines. Left alone, threads meet there once in thousands
of runs. Here a thread that runs inside gives way at a random line of the product's own source, so a
gap of a few lines is met in most rounds, whatever it is a gap in. It gives way far more often in
functions that change something, which their compiled code shows.
"""

from __future__ import annotations

import contextvars
import dis
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import discreet
from discreet.families.shared.estimate.public_random import generator

SOURCE = str(Path(discreet.__file__).parent)
PAUSED = (
    "core",
    "engines",
    "ledger",
    "curator",
    "answering",
    "artifacts",
    "families/halfspaces/answer",
    "families/predicates/answer",
    "families/ranges/answer",
    "families/tables/answer",
    "families/shared/estimate/kept",
    "families/tables/estimate/consistent",
)
"""The rooms whose lines a thread may pause at: those with anything that changes."""
UNPAUSED = ("duckdb/sql",)
"""Parts of names of files where a pause would only cost time."""
CHANGING = 0.5
"""The chance of a pause at a line of a function that sets an attribute or an item."""
PATIENCE = 120.0
"""Seconds without work after which threads that wait for one another count as locked for ever."""
WORK = 0.05
"""Seconds of a processor that count as work: on a busy machine threads get little, and are not locked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one thread's call came to: a result, or the error that it raised."""

    thread: int
    result: Any = None
    error: Exception | None = None

    @property
    def is_well(self) -> bool:
        return self.error is None


class Locked(Exception):
    """Threads waited for one another and never ended."""


def at_once(
    calls: Sequence[Callable[[int], Any]],
    *,
    chance: float,
    seed: int | None = None,
) -> list[Outcome]:
    """Each call in a thread of its own, all let go at the same moment; the n-th is given n.

    `chance` is that of a pause at a line. Each thread works in a copy of this context, so that what
    the test door holds open here is open there.
    """
    outcomes: list[Outcome | None] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))
    seeds = generator(seed).integers(0, 2**32, len(calls))

    def work(number: int) -> None:
        barrier.wait()
        with _pausing(chance, int(seeds[number])):
            try:
                outcomes[number] = Outcome(number, result=calls[number](number))
            except Exception as error:
                outcomes[number] = Outcome(number, error=error)

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(work, number), daemon=True)
        for number in range(len(calls))
    ]
    with _switching_often():
        for each in threads:
            each.start()
        _wait_for(threads)
    found = [each for each in outcomes if each is not None]
    if len(found) < len(calls):
        raise Locked(f"{len(calls) - len(found)} of {len(calls)} threads did not end.")
    return found


def _wait_for(threads: Sequence[threading.Thread]) -> None:
    """Until all have ended, or this process has done nothing for a long time."""
    since, used = time.monotonic(), time.process_time()
    for each in threads:
        while each.is_alive() and time.monotonic() - since < PATIENCE:
            each.join(1.0)
            if time.process_time() - used > WORK:
                since, used = time.monotonic(), time.process_time()


@contextmanager
def _switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _pausing(chance: float, seed: int) -> Iterator[None]:
    """Within, this thread pauses at about one in 1/`chance` lines of the rooms in `PAUSED`."""
    coins, changing_coins = _coins(chance, seed), _coins(CHANGING, seed + 1)
    known: dict[str, bool] = {}

    def is_paused(file: str) -> bool:
        inside = file[len(SOURCE) + 1 :] if file.startswith(SOURCE) else ""
        return inside.startswith(PAUSED) and not any(part in inside for part in UNPAUSED)

    def at_line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and next(coins):
            time.sleep(1e-5)
        return at_line

    def at_changing_line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and next(changing_coins):
            time.sleep(5e-4)
        return at_changing_line

    def at_call(frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if code.co_filename not in known:
            known[code.co_filename] = is_paused(code.co_filename)
        if not known[code.co_filename]:
            return None
        return at_changing_line if _changes_something(code) else at_line

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(before)


@cache
def _changes_something(code: CodeType) -> bool:
    """Whether a function sets an attribute or an item of something: where a race does its harm."""
    return code.co_name != "__init__" and any(
        each.opname in ("STORE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR")
        for each in dis.get_instructions(code)
    )


def _coins(chance: float, seed: int) -> Iterator[bool]:
    drawn = generator(seed)
    while True:
        yield from (drawn.random(1 << 12) < chance).tolist()


__all__ = ["Locked", "Outcome", "at_once"]
