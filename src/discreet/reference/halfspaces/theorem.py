"""What the theorem on halfspaces asks for, with its own constants: Blum, Ligett, Roth 2008, theorem 6.5.

The number of dimensions k, of projections m, the size of a net and the number of rows n are solved
from the proof; n from its union bound, (m |N| / (epsilon2 alpha)) ln(m |N| / delta2), a product. Nets
are counted by the least that any valid one can have, so what is printed is below what is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import BadInput
from discreet.reference.halfspaces.net import log10_cap


@dataclass(frozen=True, slots=True, kw_only=True)
class TheoremParameters:
    """k and m are exact; the net and the rows are given by their powers of ten."""

    epsilon: float
    delta: float
    gamma: float
    alpha: float
    """What was asked for, and the budget."""
    dimensions: int
    projections: int
    log10_net: float
    log10_rows: float

    @property
    def sentence(self) -> str:
        return (
            f"for an error of {self.epsilon:g} with probability {1 - self.delta:g}, gamma {self.gamma:g} and a budget of epsilon {self.alpha:g}, "
            f"theorem 6.5 of Blum, Ligett and Roth asks for m = {self.projections:,} projections to "
            f"k = {self.dimensions:,} dimensions, nets of {_power(self.log10_net)} halfspaces each, and "
            f"{_power(self.log10_rows)} rows"
        )

    def refusal(self, rows: int | None) -> str | None:
        """Why the literal mechanism is not run; `None` where so many rows are there."""
        if rows is not None and math.log10(max(1, rows)) >= self.log10_rows:
            return None
        had = "an unknown number of" if rows is None else f"{rows:,}"
        return f"{self.sentence}; there are {had} rows. Take the algorithm best-cells."


def theorem_parameters(
    *, epsilon: float, delta: float, gamma: float, alpha: float, bits: int, columns: int
) -> TheoremParameters:
    """For (epsilon, delta, gamma)-usefulness on b-discretised halfspaces at alpha-DP, change-one.

    epsilon and delta are halved between projections and noise, as in the proof. `columns` is the
    dimension of the rows; inequalities with an offset have one more.
    """
    for name, value in (("epsilon", epsilon), ("delta", delta), ("gamma", gamma)):
        if not 0 < value < 1:
            raise BadInput(f"{name} is {value}; it must lie between 0 and 1.")
    if alpha <= 0 or bits < 1 or columns < 1:
        raise BadInput("alpha, bits and columns must be positive.")
    margin = gamma / 16
    dimensions = math.ceil(4 * math.log(16 / epsilon) / (margin**2 - margin**3))
    projections = math.ceil(12 * (math.log(2 / delta) + math.log(2) * bits * columns))
    net = -log10_cap(dimensions, math.asin(0.75 * gamma))
    both = math.log10(projections) + net
    spread = both * math.log(10) + math.log(2 / delta)
    return TheoremParameters(
        epsilon=epsilon,
        delta=delta,
        gamma=gamma,
        alpha=alpha,
        dimensions=dimensions,
        projections=projections,
        log10_net=net,
        log10_rows=both + math.log10(spread) - math.log10(epsilon / 2 * alpha),
    )


def _power(log10: float) -> str:
    if log10 < 6:
        return f"{10**log10:,.0f}"
    return f"10^{log10:,.0f}"
