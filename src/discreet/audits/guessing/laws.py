"""Whether noise that was drawn follows the law that is recorded for it: exact tests, no asymptotics.

A release of many numbers loses its epsilon only in a tiny tail, so that no guessing game sees noise
that is a fifth too small. The noise itself shows it: output minus exact, pooled over runs.

Each law faces exact binomial tests of its cells (the parts between quantiles, of the noise and of
its absolute value), and one of whether two draws in a row fall into the same cell more or less often than
independent draws do. The error is split evenly among them (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from discreet.arrays import Integers
from discreet.audits.guessing.game import FALSE_POSITIVE_RATE
from discreet.audits.observing import Step
from discreet.privacy.laws import NoiseLaw

QUANTILES = (0.1, 0.25, 0.4, 0.6, 0.75, 0.9)
SIZES = (0.35, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Quantiles of the absolute noise: a Laplace shows its scale best around .63, a Gaussian around .68."""

MOST = 200_000
"""Draws of one law that are kept: a scale wrong by one part in fifty shows in these."""


@dataclass(frozen=True, slots=True)
class LawCheck:
    """How well the noise of one law fits it."""

    law: NoiseLaw
    draws: int
    p_value: float
    """Corrected for all the tests made of this law."""
    worst: str
    """Which test it was."""

    def refuted(self, false_positive_rate: float = FALSE_POSITIVE_RATE) -> bool:
        return self.p_value < false_positive_rate

    def to_dict(self) -> dict[str, Any]:
        return {
            "law": self.law.to_dict(),
            "draws": self.draws,
            "p_value": self.p_value,
            "worst": self.worst,
        }


def checked_law(law: NoiseLaw, draws: Integers) -> LawCheck:
    """Test `draws`, in the order in which they were drawn, against `law`."""
    edges = np.unique([_quantile(law, level) for level in QUANTILES])
    found: list[tuple[float, str]] = []
    for edge in edges:
        found.append(
            (_two_sided(int((draws <= edge).sum()), len(draws), law.cdf(int(edge))), f"<= {edge}")
        )
    for half in np.unique([law.half_width(level) for level in SIZES]):
        inside = 1 - 2 * law.cdf(-int(half) - 1)
        within = int((np.abs(draws) <= half).sum())
        found.append((_two_sided(within, len(draws), inside), f"within {half} of 0"))
    cells = np.searchsorted(edges, draws, side="left")
    shares = np.diff([0.0, *(law.cdf(int(edge)) for edge in edges), 1.0])
    pairs = len(draws) // 2
    alike = int((cells[0 : 2 * pairs : 2] == cells[1 : 2 * pairs : 2]).sum())
    found.append((_two_sided(alike, pairs, float(shares @ shares)), "alike in a row"))
    smallest, worst = min(found)
    return LawCheck(law, len(draws), min(1.0, smallest * len(found)), worst)


class NoisePool:
    """The noise of recorded steps, by law, in the order of its drawing; of each law at most `MOST`."""

    def __init__(self) -> None:
        self._drawn: dict[NoiseLaw, list[Integers]] = {}
        self._counts: dict[NoiseLaw, int] = {}

    def add(self, steps: Iterable[Step]) -> None:
        """Steps that add noise. Numbers that share it under one law are not independent: one of them counts."""
        for step in steps:
            if not step.laws or step.name.endswith("above"):  # a choice, or a draw that nobody sees
                continue
            rows = step.output.reshape(len(step.laws), -1) - step.exact
            for law in dict.fromkeys(step.laws):
                row = rows[step.laws.index(law)]
                left = MOST - self._counts.get(law, 0)
                if left > 0:
                    kept = row[:left].copy()
                    self._drawn.setdefault(law, []).append(kept)
                    self._counts[law] = self._counts.get(law, 0) + len(kept)

    def checks(self) -> list[LawCheck]:
        return [checked_law(law, np.concatenate(rows)) for law, rows in self._drawn.items()]


def _quantile(law: NoiseLaw, level: float) -> int:
    """The smallest k with cdf(k) >= level."""
    low, high = -1, 1
    while law.cdf(low) >= level:
        low *= 2
    while law.cdf(high) < level:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law.cdf(middle) >= level else (middle, high)
    return high


def _two_sided(successes: int, trials: int, probability: float) -> float:
    """Twice the smaller tail of a binomial, exact."""
    share = min(1.0, max(0.0, probability))
    below = float(binom.cdf(successes, trials, share))
    above = float(binom.sf(successes - 1, trials, share))
    return min(1.0, 2 * min(below, above))
