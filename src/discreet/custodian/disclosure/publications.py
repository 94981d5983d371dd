"""Ways to publish counts that protect nobody, each as a function from exact answers to published ones.

Baselines for the attacks: exact, rounded, bounded noise that sticks to the question, small counts suppressed, a
part of the answers arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import Floats
from discreet.families.shared.estimate.public_random import generator

Publication = Callable[[Floats], Floats]
"""Suppressed answers are not-a-number."""


def exact(answers: Floats) -> Floats:
    """The truth."""
    return answers.astype(np.float64)


def rounded(base: float) -> Publication:
    """To the nearest multiple of `base`."""
    return lambda answers: np.rint(answers / base) * base


def bounded_noise(error: float, *, seed: int | None = None) -> Publication:
    """Uniform noise within +-`error`, one draw a question: asked again, the answer is the same."""

    def published(answers: Floats) -> Floats:
        return answers + generator(seed).uniform(-error, error, len(answers))

    return published


def suppressed_below(limit: int) -> Publication:
    """Counts below `limit` are not shown."""
    return lambda answers: np.where(answers < limit, np.nan, answers.astype(np.float64))


def partly_arbitrary(share: float, error: float, *, seed: int | None = None) -> Publication:
    """Bounded noise, and a `share` of the answers anything between 0 and the largest."""

    def published(answers: Floats) -> Floats:
        draws = generator(seed)
        found = answers + draws.uniform(-error, error, len(answers))
        wrong = draws.random(len(answers)) < share
        top = float(answers.max(initial=1.0)) * 2
        return np.where(wrong, draws.uniform(0, top, len(answers)), found)

    return published
