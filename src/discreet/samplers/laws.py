"""Which sampler draws which noise law, one line each. A law without a sampler cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)
from discreet.samplers.entropy import EntropySource
from discreet.samplers.gaussian import discrete_gaussian, rounded_gaussian
from discreet.samplers.laplace import discrete_laplace

Draws = NDArray[np.int64]
Sampler = Callable[[Any, int, EntropySource | None], Draws]
"""Draws so many independent numbers of a law that it was registered for."""

SAMPLERS: dict[type[NoiseLaw], Sampler] = {}


def register(law: type[NoiseLaw], sampler: Sampler) -> None:
    """Let `sampler` draw `law`. A law has one sampler."""
    if SAMPLERS.setdefault(law, sampler) is not sampler:
        raise BadInput(f"The noise law {law.kind} has another sampler.")


register(DiscreteLaplaceLaw, lambda law, n, source: discrete_laplace(law.scale, n, entropy=source))
register(
    DiscreteGaussianLaw,
    lambda law, n, source: discrete_gaussian(law.sigma_squared, n, entropy=source),
)
register(
    RoundedGaussianLaw,
    lambda law, n, source: rounded_gaussian(law.sigma_squared, n, entropy=source),
)


def draw(law: NoiseLaw, count: int, *, entropy: EntropySource | None = None) -> Draws:
    """`count` independent draws of `law`; an unknown law fails, it is never guessed."""
    sampler = SAMPLERS.get(type(law))
    if sampler is None:
        raise BadInput(f"No sampler is known for the noise law {law!r}.")
    return sampler(law, count, entropy)
