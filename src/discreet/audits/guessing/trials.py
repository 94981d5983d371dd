"""One audit of one mechanism: what it claims, what it spends, and its draws, as the vault makes them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.core.noise import DrawnNoise
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.laws import NoiseLaw

ONE = Sensitivity(l1=1, l2_squared=1)
SWAPPED = Sensitivity(l1=2, l2_squared=2)
"""One row leaves a cell and enters another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One audit of one subject."""

    epsilon: Fraction
    """The claim."""
    delta: Fraction
    """0 where the mechanism has none."""
    spent: Fraction
    """What the noise is really drawn for: the claim, or a mutant's more."""
    runs: int
    false_positive_rate: float


def log_ratio(law: NoiseLaw, outputs: Integers, zero: Integers, one: Integers) -> Floats:
    """ln of how much likelier the exact answers `one` make each output than `zero`, summed over the last axis."""
    with np.errstate(divide="ignore"):  # far out a float underflows: certain is certain
        ahead = np.log(law.pmf(outputs - one)) - np.log(law.pmf(outputs - zero))
    return np.asarray(np.nan_to_num(ahead, nan=0.0, posinf=1e6, neginf=-1e6).sum(axis=-1))


def draws(law: NoiseLaw, exact: Integers) -> Integers:
    noisy = DrawnNoise().add(exact.reshape(-1), law, step="audit")
    return noisy.reshape(exact.shape)
