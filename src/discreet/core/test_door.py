"""The test door: the only way to replace the entropy or to watch a vault, for tests and audits.

Nothing in the public API, in the command line or in the core imports this module;
a test scans the sources for that. Only tests and `audits/` may. Injection holds for
the current context alone: other threads, and tasks started elsewhere, keep the
system's entropy. While it holds, `entropy.entropy_is_injected()` is true: after every
test, it is seen that none was left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.core import noise as _noise
from discreet.samplers import entropy as _entropy
from discreet.samplers.entropy import EntropySource


@contextmanager
def injected_entropy(source: EntropySource) -> Iterator[EntropySource]:
    """Within the block, samplers of this context draw from `source`."""
    token = _entropy._injected.set(source)
    try:
        yield source
    finally:
        _entropy._injected.reset(token)


@contextmanager
def observed_vaults(observer: _noise.Observer) -> Iterator[None]:
    """Within the block, vaults opened in this context work with what `observer` puts around them."""
    token = _noise._observer.set(observer)
    try:
        yield
    finally:
        _noise._observer.reset(token)
