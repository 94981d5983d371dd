"""Noise laws as data: what was added to a count, and how far from zero it can be.

No sampling here, so every room may import it. `laws_noise` holds the three laws,
`laws_sums` the quantiles of sums and weighted sums of independent draws.
"""

from __future__ import annotations

from discreet.privacy.laws_noise import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
    law_from_dict,
)
from discreet.privacy.laws_sums import combination_half_width, sum_half_width, sum_half_widths

__all__ = [
    "DiscreteGaussianLaw",
    "DiscreteLaplaceLaw",
    "NoiseLaw",
    "RoundedGaussianLaw",
    "combination_half_width",
    "law_from_dict",
    "sum_half_width",
    "sum_half_widths",
]
