"""Intervals for the population that the rows were drawn from: the noise, and the sampling error besides.

Section 1.2 of Blum, Ligett and Roth (2008) asks about the distribution that the rows were drawn from. If the n rows are
independent draws from a population, a count of the table is binomial around n times the population's share. An interval for that share must
allow for the noise of the answer and for the luck of the draw:

    with probability 1 - d1 the count lies in the answer's interval [L, U];
    with probability 1 - d2 the share lies in the exact interval of Clopper and Pearson for that count;

so it lies between the lower end for L and the upper end for U with probability 1 - d1 - d2. Where n is a secret, a third part
bounds it by its own noisy count. No normal approximation is used, so that small counts are covered too.

What it assumes is said: rows drawn independently. A census, or a sample of volunteers, is no such draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import BadInput

ASSUMED = "The rows are taken as independent draws from the population."


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationShare:
    """A share of the population, with what the table alone says beside it. Thread safe: it never changes."""

    group: tuple[str, ...]
    """The labels of the group, and the name of the count."""
    estimate: float
    lower: float
    upper: float
    confidence: float
    table_lower: float
    table_upper: float
    """The interval of the table's own share: noise, without the luck of the draw."""
    rows: float
    """n, as it was stated, is public, or was estimated."""
    note: str | None = None
    """Why the interval says nothing, where it does not."""


def beyond_the_theorem(level: float, stated: float, parts: int) -> str:
    """Why a release that a theorem speaks for says nothing at `level`, and at which confidence it would.

    Of the risk, one of `parts` equal parts is left for the noise.
    """
    enough = 1 - parts * (1 - stated)
    way = f"Ask at a confidence of {enough:.4g} or less, or make" if enough > 0 else "Make"
    return (
        f"The interval contains every share, so it is of no use: the sampling error takes a part of the miss probability, which leaves a confidence of {level:.4g} for the "
        f"release, and its theorem holds at {stated:.4g} at most. {way} the release with a larger confidence."
    )


def share_interval(
    lower: float, upper: float, *, fewest: float, most: float, delta: float
) -> tuple[float, float]:
    """The interval of a population's share, for a count in [lower, upper] of `fewest` to `most` rows.

    It misses with probability `delta` at most, if count and rows lie where they are said to.
    """
    if not 0 < delta < 1 or not 0 <= fewest <= most or lower > upper:
        raise BadInput("A share needs a count, the number of rows, and a delta between 0 and 1.")
    if most < 1:
        return 0.0, 1.0
    from scipy.special import betaincinv

    least, several, few = max(0, math.ceil(lower)), math.floor(most), max(0, math.ceil(fewest))
    low = 0.0 if least == 0 else float(betaincinv(least, max(several - least, 0) + 1, delta / 2))
    if not upper < few:
        return low, 1.0
    highest = max(0, math.floor(upper))
    return low, float(betaincinv(highest + 1, few - highest, 1 - delta / 2))
