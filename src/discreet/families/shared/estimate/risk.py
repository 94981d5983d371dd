"""A probability to miss, shared between the parts of an interval."""

from __future__ import annotations

from fractions import Fraction

from discreet.privacy.exact import Exactable, exact


def at_part_of_risk(confidence: Exactable, part: Fraction) -> Fraction:
    """The confidence of an interval that misses with `part` of the probability of one at `confidence`."""
    return 1 - part * (1 - exact(confidence, name="confidence"))
