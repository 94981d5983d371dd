"""The same noise, and the same random tables, in each run of a test, so that a green tree stays green.

A statistical test states how often chance alone fails it, but thousands of tests together would still
fail some run. So `make test` keys the keystream of each test from the test's name, and `make trust`
draws afresh (`--fresh-noise`), as Hypothesis does with its examples. What asks the system for a seed (`SystemRandom`,
generators of NumPy without one) is given one from the name too. Fixtures that several tests share
are keyed from their own names, so a test draws the same whether it runs alone or with its file.

Not reached: processes that a test starts, and which of several threads draws first.
The tests of the keystream itself carry the mark `fresh_noise`.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import numpy.random  # noqa: F401 - it draws a seed of its own when it is loaded, which no test should
from _pytest.nodes import Node
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.samplers import entropy

_Fresh = entropy._Keystream
_system_bytes = random._urandom  # type: ignore[attr-defined]
_FIRST_PROCESS = os.getpid()
_label = ""
_numbers = count()


def _bytes(size: int) -> bytes:
    """The next bytes of the label: of each call others."""
    # A forked child has copied the numbers: two children must not draw the same.
    process = 0 if os.getpid() == _FIRST_PROCESS else os.getpid()
    return hashlib.shake_256(f"{process} {next(_numbers)} {_label}".encode()).digest(size)


class _Repeated(_Fresh):
    """A keystream keyed from the label of the test and the number of keys before it."""

    __slots__ = ()

    def __init__(self, owner: tuple[int, int]) -> None:
        key = algorithms.AES(_bytes(entropy.KEY_BYTES))
        self.encryptor = Cipher(key, modes.CTR(bytes(entropy.BLOCK_BYTES))).encryptor()
        self.left = entropy.REKEY_AFTER_BYTES
        self.owner = owner


@contextmanager
def noise_of(label: str | None) -> Iterator[None]:
    """Draws inside depend on the label alone, or are fresh; what was drawn from before goes on after."""
    global _label, _numbers
    source = entropy.system_entropy()
    before = _label, _numbers, source._local, entropy._Keystream, random._urandom  # type: ignore[attr-defined]
    _label, _numbers, source._local = label or "", count(), threading.local()
    entropy._Keystream = _Fresh if label is None else _Repeated  # type: ignore[misc]
    random._urandom = _system_bytes if label is None else _bytes  # type: ignore[attr-defined]
    try:
        yield
    finally:
        _label, _numbers, source._local, entropy._Keystream, random._urandom = before  # type: ignore[misc,attr-defined]


def is_fresh(item: Node) -> bool:
    return (
        bool(item.config.getoption("--fresh-noise"))
        or item.get_closest_marker("fresh_noise") is not None
    )
