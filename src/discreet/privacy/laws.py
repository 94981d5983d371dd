"""Noise laws as data: what was added to a count, and how far from zero it can be.

No sampling here, so every room may import it. `laws_noise` holds the three laws,
`laws_sums` the quantiles of sums and weighted sums of independent draws.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from discreet.errors import BadInput
from discreet.privacy.laws_noise import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
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

_STORED = re.compile(r"[0-9]{1,200}/[1-9][0-9]{0,199}", re.ASCII)

_LAWS: dict[str, tuple[str, Callable[[Fraction], NoiseLaw]]] = {
    DiscreteLaplaceLaw.kind: ("scale", DiscreteLaplaceLaw),
    DiscreteGaussianLaw.kind: ("sigma_squared", DiscreteGaussianLaw),
    RoundedGaussianLaw.kind: ("sigma_squared", RoundedGaussianLaw),
}


def law_from_dict(data: dict[str, str]) -> NoiseLaw:
    """The inverse of `to_dict`. An unknown law is refused, never guessed."""
    kind = data.get("kind")
    if kind not in _LAWS:
        raise BadInput(f"Unknown noise law; the known ones are {', '.join(_LAWS)}.")
    field, law = _LAWS[kind]
    if set(data) != {"kind", field} or not isinstance(data[field], str):
        raise BadInput(f"A stored {kind} law has exactly the fields kind and {field}.")
    if not _STORED.fullmatch(data[field]):
        raise BadInput(f"A stored {kind} law writes its {field} as numerator/denominator.")
    return law(Fraction(data[field]))
