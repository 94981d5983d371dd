"""Where exact numbers become noisy ones. Nothing else in the core draws noise.

The vault hands exact integers to a `NoiseSource` and publishes what comes back. In real runs it draws from the system's entropy. The test door can put another in its
place, which records the exact numbers or replays recorded outputs; that is how audits
compare a run on neighbouring tables step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet import samplers
from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.engines.protocol import Engine
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import SATURATION, Counts
from discreet.queries.places import loaded
from discreet.queries.scores import Score
from discreet.queries.tallies import Key
from discreet.samplers.entropy import EntropySource


class NoiseSource(Protocol):
    """Turns exact integers into publishable ones."""

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        """`exact` plus independent draws of `law`."""

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        """One row a law, finest first; each row is the one before it plus independent noise."""

    def choose(
        self, scores: Counts, unit: Fraction, *, step: str, among: Score | None = None
    ) -> int:
        """An index, with probability proportional to exp(unit * score), or as `among` has it drawn."""

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        """Whether `exact` plus a fresh draw reaches the noisy threshold. The noisy count is never published."""

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        """The keys, held by `exact` units each, whose coins say that they may be named."""


class DrawnNoise:
    """The noise source of real runs."""

    def __init__(self, entropy: EntropySource | None = None) -> None:
        self._entropy = entropy

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        return saturated(exact) + self.draw(law, exact.size)

    def draw(self, law: NoiseLaw, count: int) -> Counts:
        """`count` independent draws of `law`; an unknown law fails, it is never guessed."""
        return samplers.draw(law, count, entropy=self._entropy)

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        scales = [law.scale for law in laws]
        noise = samplers.noise_chain(scales, exact.size, entropy=self._entropy)
        noise += saturated(exact)
        return noise

    def choose(
        self, scores: Counts, unit: Fraction, *, step: str, among: Score | None = None
    ) -> int:
        if among is not None and among.sampler is not None:
            return int(loaded(among.sampler)(scores, among, unit, self._entropy))
        return samplers.select_exponential(scores, unit=unit, entropy=self._entropy)

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        drawn = int(self.draw(law, 1)[0])
        return exact + drawn >= threshold_with_noise

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        coins = samplers.kept_by_chance(exact, law.chances, law.bits, entropy=self._entropy)
        return tuple(key for key, coin in zip(keys, coins, strict=True) if coin)


Observer = Callable[[Engine], tuple[Engine, NoiseSource]]
"""What the test door may put around a vault: an engine that takes notes, and another noise source."""

_observer: ContextVar[Observer | None] = ContextVar("discreet_observer", default=None)
"""Set by `core.test_door` alone, for one context."""


def noise_for(engine: Engine) -> tuple[Engine, NoiseSource]:
    """The engine and the noise that a vault works with."""
    observer = _observer.get()
    return (engine, DrawnNoise()) if observer is None else observer(engine)


def saturated(exact: Counts) -> Counts:
    return np.clip(exact, -SATURATION, SATURATION)
