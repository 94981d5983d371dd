"""The same noise in each run of a test, so that a green tree stays green.

A statistical test states how often chance alone fails it, but thousands of tests together would still
fail some run. So `make test` keys the keystream of each test from the test's name, and `make trust`
draws afresh (`--fresh-noise`), as Hypothesis does with its examples. Fixtures that several tests share
are keyed from their own names, so a test draws the same whether it runs alone or with its file.

Not reached: processes that a test starts, and which of several threads draws first.
The tests of the keystream itself carry the mark `fresh_noise`.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from _pytest.nodes import Node
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.samplers import entropy

_Fresh = entropy._Keystream
_FIRST_PROCESS = os.getpid()
_label = ""
_numbers = count()


class _Repeated(_Fresh):
    """A keystream keyed from the label of the test and the number of keys before it."""

    __slots__ = ()

    def __init__(self, owner: tuple[int, int]) -> None:
        # A forked child has copied the numbers: two children must not draw the same.
        process = 0 if os.getpid() == _FIRST_PROCESS else os.getpid()
        key = hashlib.sha256(f"{process} {next(_numbers)} {_label}".encode()).digest()
        self.encryptor = Cipher(
            algorithms.AES(key), modes.CTR(bytes(entropy.BLOCK_BYTES))
        ).encryptor()
        self.left = entropy.REKEY_AFTER_BYTES
        self.owner = owner


@contextmanager
def noise_of(label: str | None) -> Iterator[None]:
    """Draws inside depend on the label alone, or are fresh; what was drawn from before goes on after."""
    global _label, _numbers
    source = entropy.system_entropy()
    before = _label, _numbers, source._local, entropy._Keystream
    _label, _numbers, source._local = label or "", count(), threading.local()
    entropy._Keystream = _Fresh if label is None else _Repeated  # type: ignore[misc]
    try:
        yield
    finally:
        _label, _numbers, source._local, entropy._Keystream = before  # type: ignore[misc]


def is_fresh(item: Node) -> bool:
    return (
        bool(item.config.getoption("--fresh-noise"))
        or item.get_closest_marker("fresh_noise") is not None
    )
