"""Noise that is too small for what is recorded: what an audit must see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.core.noise import DrawnNoise
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Counts
from discreet.queries.scores import Score
from discreet.queries.tallies import Key


@dataclass(frozen=True, slots=True)
class ShrunkNoise:
    """Draws for `factor` times the epsilon (the root of rho) that the recorded laws pay for."""

    factor: Fraction

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        return DrawnNoise().add(exact, law.scaled(1 / self.factor), step=step)

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        smaller = [law.scaled(1 / self.factor) for law in laws]
        return DrawnNoise().chain(exact, smaller, step=step)

    def choose(
        self, scores: Counts, unit: Fraction, *, step: str, among: Score | None = None
    ) -> int:
        return DrawnNoise().choose(scores, unit * self.factor, step=step, among=among)

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        smaller = law.scaled(1 / self.factor)
        return DrawnNoise().is_above(exact, threshold_with_noise, smaller, step=step)

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        steeper = replace(law, epsilon=law.epsilon * self.factor)
        return DrawnNoise().keep(keys, exact, steeper, step=step)
