"""The laws of the noise that the samplers draw: symmetric, on the integers.

Everything is float64 with relative errors below 1e-12 also in the tails, which are
computed as tails and never as one minus something. Quantiles carry a slack larger
than that error, so a half-width is never too short because of rounding.

May import errors and privacy.exact only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from discreet.errors import BadInput
from discreet.privacy.exact import Exactable, exact

Floats = NDArray[np.float64]

TAIL_SLACK = 1 + 1e-11
"""Ten times the largest relative error of a tail; quantiles are taken against it."""

ENUMERATED_SIGMA_SQUARED = 10**6
"""Up to here a Gaussian's tail is summed term by term, beyond it by Euler-Maclaurin."""

SMOOTH_SIGMA_SQUARED = 4
"""From here on the lattice changes a Gaussian's cumulants by less than exp(-8 pi^2) < 1e-34."""

SMALLEST, LARGEST = Fraction(1, 10**50), Fraction(10**50)


@runtime_checkable
class NoiseLaw(Protocol):
    """A symmetric law on the integers."""

    kind: ClassVar[str]

    @property
    def variance(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def excess_kurtosis(self) -> float: ...
    @overload
    def pmf(self, k: int) -> float: ...
    @overload
    def pmf(self, k: NDArray[Any]) -> Floats: ...
    @overload
    def cdf(self, k: int) -> float: ...
    @overload
    def cdf(self, k: NDArray[Any]) -> Floats: ...
    def tail(self, h: Floats) -> Floats: ...
    def half_width(self, confidence: Exactable) -> int: ...
    def cumulants(self) -> tuple[float, float, float]: ...
    def characteristic(self, t: Floats) -> Floats: ...
    def log_mgf(self, t: Floats) -> Floats: ...
    @property
    def mgf_limit(self) -> float: ...
    def to_dict(self) -> dict[str, str]: ...
    def __hash__(self) -> int: ...


def miss_probability(confidence: Exactable) -> float:
    """1 - confidence, exact until the last step: .999999999 keeps all its digits."""
    level = exact(confidence, name="confidence")
    if not 0 < level < 1:
        raise BadInput(f"confidence is {float(level):g}; it must lie between 0 and 1.")
    # The next smaller float: a quantile at this level is never too short.
    return math.nextafter(float(1 - level), 0.0)


class _SymmetricLaw(ABC):
    """What follows from the pmf and the tail alone."""

    __slots__ = ()

    @abstractmethod
    def _mass(self, k: Floats) -> Floats:
        """P(X = k) for k >= 0."""

    @abstractmethod
    def tail(self, h: Floats) -> Floats:
        """P(X > h) for integers h >= 0."""

    @abstractmethod
    def cumulants(self) -> tuple[float, float, float]:
        """The second, fourth and sixth cumulant; the odd ones are 0."""

    @property
    def variance(self) -> float:
        return self.cumulants()[0]

    @property
    def std(self) -> float:
        return math.sqrt(self.variance)

    @property
    def excess_kurtosis(self) -> float:
        second, fourth, _ = self.cumulants()
        return fourth / second**2 if second**2 > 0 else math.inf

    @overload
    def pmf(self, k: int) -> float: ...
    @overload
    def pmf(self, k: NDArray[Any]) -> Floats: ...
    def pmf(self, k: int | NDArray[Any]) -> float | Floats:
        """P(X = k)."""
        values = self._mass(np.abs(np.asarray(k, dtype=np.float64)))
        return values if isinstance(k, np.ndarray) else float(values)

    @overload
    def cdf(self, k: int) -> float: ...
    @overload
    def cdf(self, k: NDArray[Any]) -> Floats: ...
    def cdf(self, k: int | NDArray[Any]) -> float | Floats:
        """P(X <= k), with full relative precision on the left."""
        points = np.asarray(k, dtype=np.float64)
        beyond = self.tail(np.where(points < 0, -points - 1, points))
        values = np.where(points < 0, beyond, 1 - beyond)
        return values if isinstance(k, np.ndarray) else float(values)

    def half_width(self, confidence: Exactable) -> int:
        """The smallest h with P(|X| <= h) >= confidence."""
        return _half_width(self, miss_probability(confidence))


@lru_cache(maxsize=4096)
def _half_width(law: _SymmetricLaw, miss: float) -> int:
    def suffices(h: int) -> bool:
        return 2 * float(law.tail(np.float64(h))) * TAIL_SLACK <= miss  # type: ignore[arg-type]

    if suffices(0):
        return 0
    low, high = 0, 1
    while not suffices(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _checked(value: Fraction, name: str) -> None:
    if type(value) not in (Fraction, int):
        raise BadInput(f"{name} must be an exact Fraction, not {type(value).__name__}.")
    if not SMALLEST <= value <= LARGEST:
        raise BadInput(
            f"The noise's {name} must be positive, from 1e-50 to 1e50; the budget is far too large or too small."
        )


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw(_SymmetricLaw):
    """P(k) proportional to exp(-|k| / scale): the difference of two geometric draws.

    Theorem: Ghosh, Roughgarden, Sundararajan 2012; with integer sensitivity D it is
    (D / scale)-DP.
    """

    kind: ClassVar[str] = "discrete-laplace"
    scale: Fraction

    def __post_init__(self) -> None:
        _checked(self.scale, "scale")

    @property
    def _rate(self) -> float:
        return float(1 / Fraction(self.scale))

    def _mass(self, k: Floats) -> Floats:
        return np.asarray(math.tanh(self._rate / 2) * np.exp(-k * self._rate))

    def tail(self, h: Floats) -> Floats:
        return np.asarray(np.exp(-(h + 1) * self._rate) / (1 + math.exp(-self._rate)))

    def cumulants(self) -> tuple[float, float, float]:
        # Twice those of a geometric draw with ratio q.
        q, gap = math.exp(-self._rate), -math.expm1(-self._rate)
        second = 2 * q / gap**2
        fourth = 2 * q * (1 + 4 * q + q * q) / gap**4
        sixth = 2 * q * (1 + 26 * q + 66 * q**2 + 26 * q**3 + q**4) / gap**6
        return second, fourth, sixth

    @property
    def excess_kurtosis(self) -> float:
        return 2 + math.cosh(self._rate) if self._rate < 700 else math.inf

    def characteristic(self, t: Floats) -> Floats:
        """E cos(tX) = 1 / (1 + 2 variance sin^2(t/2))."""
        return np.asarray(1 / (1 + 2 * self.variance * np.sin(t / 2) ** 2))

    @property
    def mgf_limit(self) -> float:
        """E exp(tX) is infinite from here on."""
        return self._rate

    def log_mgf(self, t: Floats) -> Floats:
        rate = self._rate
        if rate < 1:
            numerator = 4 * math.exp(-rate) * np.sinh(t / 2) ** 2
        else:  # the same, written so that neither factor overflows
            numerator = np.exp(t - rate) - 2 * math.exp(-rate) + np.exp(-t - rate)
        return np.asarray(-np.log1p(-numerator / math.expm1(-rate) ** 2))

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "scale": _text(Fraction(self.scale))}


def _cumulants_by_enumeration(law: _SymmetricLaw) -> tuple[float, float, float]:
    k = np.arange(1, 101, dtype=np.float64)
    mass = 2 * np.asarray(law.pmf(k))
    second, fourth, sixth = (float(np.sum(mass * k**power)) for power in (2, 4, 6))
    return (
        second,
        fourth - 3 * second**2,
        sixth - 15 * fourth * second + 30 * second**3,
    )


@dataclass(frozen=True, slots=True)
class _GaussianLaw(_SymmetricLaw):
    sigma_squared: Fraction

    def __post_init__(self) -> None:
        _checked(self.sigma_squared, "sigma_squared")

    @property
    def _square(self) -> float:
        return float(self.sigma_squared)

    @property
    def _sigma(self) -> float:
        return math.sqrt(self._square)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw(_GaussianLaw):
    """P(k) proportional to exp(-k^2 / (2 sigma^2)).

    Theorem: Canonne, Kamath, Steinke 2020; (D^2 / (2 sigma^2))-zCDP for L2 sensitivity D.
    """

    kind: ClassVar[str] = "discrete-gaussian"

    def _mass(self, k: Floats) -> Floats:
        return np.asarray(np.exp(-(k * k) / (2 * self._square)) / gaussian_normaliser(self._square))

    def tail(self, h: Floats) -> Floats:
        if self.sigma_squared <= ENUMERATED_SIGMA_SQUARED:
            table = _tail_table(self)
            return np.asarray(table[np.minimum(h, len(table) - 1).astype(np.int64)])
        sigma, u = self._sigma, (h + 0.5) / self._sigma
        # Euler-Maclaurin at the midpoint h + 1/2; the next term is below 1e-16 of the tail.
        integral = math.sqrt(math.pi / 2) * sigma * erfc(u / math.sqrt(2))
        third = u**3 - 3 * u
        fifth = u**5 - 10 * u**3 + 15 * u
        correction = (
            -u / (24 * sigma) + 7 / 5760 * third / sigma**3 - 31 / 967680 * fifth / sigma**5
        )
        total = integral + correction * np.exp(-(u**2) / 2)
        return np.asarray(np.maximum(total, 0) / gaussian_normaliser(self._square))

    def cumulants(self) -> tuple[float, float, float]:
        if self.sigma_squared > SMOOTH_SIGMA_SQUARED:
            return self._square, 0.0, 0.0
        return _cumulants_by_enumeration(self)

    def characteristic(self, t: Floats) -> Floats:
        if self._square < 1:
            return _characteristic_by_enumeration(self, t)
        # Poisson summation: a sum of Gaussians at t + 2 pi j
        wrapped = np.abs(np.remainder(t + math.pi, 2 * math.pi) - math.pi)
        bumps = [np.exp(-self._square * (wrapped + 2 * math.pi * j) ** 2 / 2) for j in range(-2, 3)]
        zero = 1 + 2 * sum(math.exp(-2 * (math.pi * j) ** 2 * self._square) for j in (1, 2))
        return np.asarray(np.sum(bumps, axis=0) / zero)

    @property
    def mgf_limit(self) -> float:
        return math.inf

    def log_mgf(self, t: Floats) -> Floats:
        """An upper bound: sigma^2 t^2 / 2 (Canonne, Kamath, Steinke 2020, fact 20)."""
        return np.asarray(self._square * t * t / 2)

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "sigma_squared": _text(Fraction(self.sigma_squared))}


@dataclass(frozen=True, slots=True)
class RoundedGaussianLaw(_GaussianLaw):
    """N(0, sigma^2) rounded to the nearest integer.

    On integer answers this is a post-processing of the continuous Gaussian mechanism,
    so the analytic calibration (Balle and Wang 2018) is proved for it, in any dimension.
    """

    kind: ClassVar[str] = "rounded-gaussian"

    def _mass(self, k: Floats) -> Floats:
        sigma = self._sigma
        if self.sigma_squared <= ENUMERATED_SIGMA_SQUARED:
            root = sigma * math.sqrt(2)
            inside = erfc((k - 0.5) / root) - erfc((k + 0.5) / root)
            return np.asarray(inside / 2)
        # The difference of two nearly equal tails would cancel: expand about the midpoint.
        u = k / sigma
        curved = 1 + (u**2 - 1) / (24 * sigma**2) + (u**4 - 6 * u**2 + 3) / (1920 * sigma**4)
        return np.asarray(curved * np.exp(-(u**2) / 2) / (sigma * math.sqrt(2 * math.pi)))

    def tail(self, h: Floats) -> Floats:
        return np.asarray(erfc((h + 0.5) / (self._sigma * math.sqrt(2))) / 2)

    def cumulants(self) -> tuple[float, float, float]:
        if self.sigma_squared > SMOOTH_SIGMA_SQUARED:
            # Sheppard: rounding adds the cumulants of a uniform variable of width 1.
            return self._square + 1 / 12, -1 / 120, 1 / 252
        return _cumulants_by_enumeration(self)

    def characteristic(self, t: Floats) -> Floats:
        if self._square < 1:
            return _characteristic_by_enumeration(self, t)
        wrapped = np.abs(np.remainder(t + math.pi, 2 * math.pi) - math.pi)
        shifted = [wrapped + 2 * math.pi * j for j in range(-2, 3)]
        return np.asarray(
            np.sum(
                [np.exp(-self._square * s**2 / 2) * np.sinc(s / (2 * math.pi)) for s in shifted],
                axis=0,
            )
        )

    @property
    def mgf_limit(self) -> float:
        return math.inf if self.sigma_squared > SMOOTH_SIGMA_SQUARED else 10 / self._sigma

    def log_mgf(self, t: Floats) -> Floats:
        if self.sigma_squared > SMOOTH_SIGMA_SQUARED:
            # As the sum of the Gaussian and a uniform variable, up to a factor 1 + 1e-33.
            return np.asarray((self._square + 1 / 12) * t * t / 2 + 1e-30)
        reach = math.ceil(40 * self._sigma) + 2
        k = np.arange(-reach, reach + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_mass = np.log(self.pmf(k))
        return np.asarray(np.logaddexp.reduce(log_mass + np.multiply.outer(t, k), axis=-1))

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "sigma_squared": _text(Fraction(self.sigma_squared))}


def gaussian_normaliser(square: float) -> float:
    """The sum over all integers of exp(-k^2 / (2 square)): a theta function.

    Poisson summation turns a slow sum into a fast one when sigma is large.
    """
    if square < 1:
        return 1 + 2 * math.fsum(math.exp(-k * k / (2 * square)) for k in range(1, 41))
    waves = math.fsum(math.exp(-2 * (math.pi * j) ** 2 * square) for j in (1, 2, 3))
    return math.sqrt(2 * math.pi * square) * (1 + 2 * waves)


@lru_cache(maxsize=16)
def _tail_table(law: DiscreteGaussianLaw) -> Floats:
    """P(X > h) for h = 0, 1, ...; what lies past the table is below 1e-320."""
    reach = math.ceil(39 * law.std) + 40
    mass = np.asarray(law.pmf(np.arange(1, reach + 1, dtype=np.float64)))
    sums = np.cumsum(mass[::-1])[::-1]  # smallest terms first
    table = np.append(sums, 0.0)
    table.flags.writeable = False
    return table


def _characteristic_by_enumeration(law: _SymmetricLaw, t: Floats) -> Floats:
    k = np.arange(1, 42, dtype=np.float64)
    mass = 2 * np.asarray(law.pmf(k))
    heavy = mass > 0
    waves = np.cos(np.multiply.outer(t, k[heavy])) @ mass[heavy]
    return np.asarray(law.pmf(0) + waves)
