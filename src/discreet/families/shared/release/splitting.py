"""One budget shared out, exactly: the shares add up to the whole, in the accounting's own currency."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting

FINEST = 256
"""Weights are whole numbers up to this, so that noise scales stay short rationals."""

LEAST_VARIANCE = 1e-100
"""Noise of an epsilon of millions is never anything but 0 to a double; a plan divides by its variance."""


def shares(whole: Budget, weights: Sequence[Fraction | int]) -> list[Budget]:
    """`whole` in proportion to `weights`."""
    total = sum(map(Fraction, weights), Fraction(0))
    return [whole.times(Fraction(weight) / total) for weight in weights]


def weights_for_least_squares(
    sizes: Sequence[int], variances: Sequence[float], accounting: Accounting
) -> list[int]:
    """How to share a budget among vectors so that the sum of all squared errors is least.

    A vector of `size` numbers with a share w has squared error size * variance / w^2 when epsilon
    is shared (noise falls as 1/epsilon) and size * variance / w when rho is (as 1/sqrt(rho)).
    Lagrange: w is proportional to the cube root, or the square root, of size * variance.
    """
    power = 1 / 3 if accounting is Accounting.BASIC else 1 / 2
    wanted = [(size * variance) ** power for size, variance in zip(sizes, variances, strict=True)]
    most = max(wanted)
    return [max(1, round(FINEST * each / most)) for each in wanted]
