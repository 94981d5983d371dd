"""What is known of a value that was not named, and how wrong the count of any value can be.

A question about one value has two ways to be wrong: the value is held by many and was not named, or it was
named and its count's noise is large. A tenth of what an interval may miss goes to the first, the rest to
the second, so an interval holds whatever happened.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.privacy.exact import Exactable, confidence_level
from discreet.privacy.laws import NoiseLaw

NAMING_SHARE = Fraction(1, 10)
"""The part of an interval's misses that allows for a value held by many which was not named."""
ALONE = (
    "exact law of the coins that name a value, exact quantile of the noise law of one count, and the union "
    "bound over the two"
)
TOGETHER = (
    "exact noise laws of the single counts and the union bound over them; a value that is not named is among "
    "the rows of other values, which are counted"
)


def noise_level(confidence: Exactable) -> Fraction:
    """The confidence that is left for the noise of counts."""
    return 1 - (1 - confidence_level(confidence)) * (1 - NAMING_SHARE)


def most_unnamed(unnamed: Floats, confidence: Exactable, values: int = 1) -> int:
    """How many units can hold a value that was not named, at most; for so many values at once.

    A value that more of them hold is left out with a probability below its part of the misses.
    """
    missed = float((1 - confidence_level(confidence)) * NAMING_SHARE / values)
    return int(np.flatnonzero(unnamed > missed * (1 - 1e-9)).max(initial=0))


def alone_bound(unnamed: Floats, law: NoiseLaw, rows: int, confidence: float) -> float:
    """A bound on the error of the count of one value, named or not; `rows` are those that a unit can have."""
    noise = law.half_width(noise_level(confidence))
    return float(max(noise, rows * most_unnamed(unnamed, confidence)))


def together_bound(values: Integers, named: int, law: NoiseLaw, confidence: Exactable) -> float:
    """A bound on the errors of all counts at once; the count of a value that is not named is 0.

    `values` are the counts of the named values, then that of all other rows.
    """
    noise = law.half_width(1 - (1 - confidence_level(confidence)) / len(values))
    return float(max(noise, int(values[named]) + noise))
