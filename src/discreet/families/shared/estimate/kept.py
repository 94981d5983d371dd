"""`Kept`: results that are computed once and given again, to any number of threads.

Two threads that want the same thing at the same moment may both compute it: what is kept is the same
either way, for it depends on its key alone. So nobody waits, and nothing can lock for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by key, at most `most` of them: the oldest goes first. Thread safe: it changes under a lock."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._values: dict[Key, Value] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of `key`, made by `make` if it is not kept."""
        with self._lock:
            if key in self._values:
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            if self._most is not None and len(self._values) > self._most:
                del self._values[next(iter(self._values))]
        return value
