"""The interval of a live quantile, where the counts lie exactly on its edge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.answers.intervals import QuantileBand
from discreet.privacy.laws.laplace import DiscreteLaplaceLaw

HARDLY_ANY = DiscreteLaplaceLaw(Fraction(1, 1000))
CONFIDENCE = Fraction(95, 100)


@pytest.mark.parametrize("percent", range(1, 100))
def test_a_quantile_between_two_buckets_is_the_lower_one_and_both_are_possible(
    percent: int,
) -> None:
    """With `percent` of 100 rows in the first bucket, its value is the least with so many rows at or below it."""
    counts = np.array([percent, 100 - percent])
    band = QuantileBand([counts], [0], HARDLY_ANY, Fraction(percent, 100))
    assert band.interval(CONFIDENCE) == (0, 1, 0)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(10)])
def test_a_count_at_the_very_end_of_the_band_is_inside(scale: Fraction) -> None:
    """Noise as far out as the confidence allows still leaves the true bucket in the interval, also at levels that no double holds."""
    law = DiscreteLaplaceLaw(scale)
    reach = int(law.half_width(CONFIDENCE))
    for level in (Fraction(1, 2), Fraction(9, 10), Fraction(1, 3), Fraction(7, 10)):
        below, above = 3_000 * level.numerator, 3_000 * (level.denominator - level.numerator)
        for moved in ([below - reach, above], [below, above + reach]):
            lowest, highest, _ = QuantileBand([np.array(moved)], [0], law, level).interval(
                CONFIDENCE
            )
            assert lowest == 0 and highest == 1, (level, moved)
