"""From one notion of privacy to another, and from a guarantee to a noise scale.

Every result is an exact rational, rounded against us: losses and noise scales up,
allowances down. The arithmetic is mpmath's, with a working precision far beyond the
slack that is added before rounding to `DIGITS` decimal digits.
"""

from __future__ import annotations

from discreet.privacy.conversion.concentrated import (
    delta_from_rho,
    epsilon_from_rho,
    half_range_from_rho,
    rho_from_budget,
    rho_from_pure,
)
from discreet.privacy.conversion.discrete import (
    discrete_gaussian_delta_one_coordinate,
    discrete_gaussian_sigma_squared_one_coordinate,
)
from discreet.privacy.conversion.gaussian import (
    delta_from_mu,
    epsilon_from_mu,
    gaussian_delta,
    gaussian_sigma_squared,
    half_range_from_mu,
    mu_squared_from_budget,
    mu_squared_from_range,
)

__all__ = [
    "delta_from_mu",
    "delta_from_rho",
    "discrete_gaussian_delta_one_coordinate",
    "discrete_gaussian_sigma_squared_one_coordinate",
    "epsilon_from_mu",
    "epsilon_from_rho",
    "gaussian_delta",
    "gaussian_sigma_squared",
    "half_range_from_mu",
    "half_range_from_rho",
    "mu_squared_from_budget",
    "mu_squared_from_range",
    "rho_from_budget",
    "rho_from_pure",
]
