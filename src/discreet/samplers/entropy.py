"""Secret randomness: the only source of the noise that protects people.

Invariant: every word comes from an AES-256-CTR keystream whose key and nonce were
read from the operating system by this thread of this process. A forked child and a
new thread key keystreams of their own, so two workers never share noise. Nothing
here accepts a seed, and a keystream cannot be copied or pickled.

Tests and audits that need other randomness go through `core.test_door`; nothing
in the public API leads there.
"""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar
from typing import Any, Final, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import DTypeLike, NDArray

KEY_BYTES: Final = 32
BLOCK_BYTES: Final = 16
REKEY_AFTER_BYTES: Final = 1 << 30
"""A key is dropped after this much keystream, so that a stolen memory image shows little of the past."""

_ZEROS: Final = bytes(1 << 20)

_forks = 0
"""How many forks lie between this process and the first one; part of a keystream's identity."""


def _count_fork() -> None:
    global _forks  # noqa: PLW0603 - a process-wide fact, written only by the fork hook
    _forks += 1


if hasattr(os, "register_at_fork"):  # absent where there is no fork
    os.register_at_fork(after_in_child=_count_fork)


class EntropySource(Protocol):
    """What a sampler needs: independent uniform words and bits."""

    def words(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """`count` uniform words of an unsigned integer `dtype`."""

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""


def never_copied(_: object) -> NoReturn:
    """For `__reduce__`, by which Python copies and pickles."""
    raise TypeError(
        "This is never copied or pickled: two copies would draw the same noise, or spend the same charge."
    )


class _Keystream:
    """One AES-256-CTR keystream, used by one thread of one process."""

    __slots__ = ("encryptor", "left", "owner")

    def __init__(self, owner: tuple[int, int]) -> None:
        cipher = Cipher(algorithms.AES(os.urandom(KEY_BYTES)), modes.CTR(os.urandom(BLOCK_BYTES)))
        self.encryptor = cipher.encryptor()
        self.left = REKEY_AFTER_BYTES
        self.owner = owner


class Entropy:
    """A cryptographic keystream per thread and process, keyed from the operating system.

    Safe to share between threads without a lock, because each thread has its own key;
    a lock held by another thread at the moment of a fork would never be released.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """`count` uniform words of an unsigned integer `dtype`."""
        kind = np.dtype(dtype)
        if kind.kind != "u":
            raise TypeError(f"Entropy comes in unsigned words, not in {kind}.")
        return self._bytes(count * kind.itemsize).view(kind)

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""
        size = (count + 7) // 8
        return int.from_bytes(self._bytes(size).tobytes(), "little") >> (8 * size - count)

    def _bytes(self, size: int) -> NDArray[np.uint8]:
        # The cipher wants room for one more block than it writes.
        room = np.empty(size + BLOCK_BYTES, np.uint8)
        view = room.data
        done = 0
        while done < size:
            piece = min(size - done, len(_ZEROS))
            keystream = self._keystream(piece)
            keystream.encryptor.update_into(memoryview(_ZEROS)[:piece], view[done:])
            done += piece
        return room[:size]

    def _keystream(self, size: int) -> _Keystream:
        """This thread's keystream, with a new key after a fork and after `REKEY_AFTER_BYTES`."""
        # Both are checked: process numbers are reused, and a fork made by a C library
        # does not run the hook that counts forks.
        owner = (os.getpid(), _forks)
        keystream: _Keystream | None = getattr(self._local, "keystream", None)
        if keystream is None or keystream.owner != owner or keystream.left < size:
            keystream = _Keystream(owner)
            self._local.keystream = keystream
        keystream.left -= size
        return keystream

    __reduce__ = never_copied


_SYSTEM: Final = Entropy()

_injected: ContextVar[EntropySource | None] = ContextVar("discreet_injected_entropy", default=None)
"""Set by `core.test_door` alone; a context variable, so other threads keep real entropy."""


def system_entropy() -> Entropy:
    """The process-wide source. Always the real one, whatever a test has injected."""
    return _SYSTEM


def entropy_is_injected() -> bool:
    """Whether a test or an audit replaced the entropy here: then nothing may be published."""
    return _injected.get() is not None


def current_entropy(given: EntropySource | None = None) -> EntropySource:
    """The source that a sampler uses: the one it was given, or the injected one, or the system's."""
    if given is not None:
        return given
    return _injected.get() or _SYSTEM
