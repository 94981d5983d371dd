"""Noise laws as data: what was added to a count, what that costs, and how far from zero it can be.

No sampling here, so every package may import it. One file for each law; `law` says what a law must know of
itself. `sums` holds the half-widths of sums of independent draws; the core needs none of it, so it
is not imported here.

To add a law: its class in a file, a `register` line below, a line for its sampler in
`samplers.laws`, and an offer in `releases.noise_choice` if releases shall choose it.
`tests/extending` holds one that lives outside.
"""

from __future__ import annotations

from discreet.privacy.laws.discrete_gaussian import DiscreteGaussianLaw
from discreet.privacy.laws.laplace import DiscreteLaplaceLaw
from discreet.privacy.laws.law import LAWS, NoiseLaw, law_from_dict, miss_probability, register
from discreet.privacy.laws.rounded_gaussian import RoundedGaussianLaw

register(DiscreteLaplaceLaw)
register(DiscreteGaussianLaw)
register(RoundedGaussianLaw)

__all__ = [
    "LAWS",
    "DiscreteGaussianLaw",
    "DiscreteLaplaceLaw",
    "NoiseLaw",
    "RoundedGaussianLaw",
    "law_from_dict",
    "miss_probability",
    "register",
]
