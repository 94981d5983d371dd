"""What a noise law knows of itself: symmetric, on the integers.

Everything else asks the law: what it costs, how wide it is, how it is stored and described. No
other module may ask which law it holds.

Probabilities are float64 with relative errors below 1e-12 also in the tails, which are
computed as tails and never as one minus something. Quantiles carry a slack larger
than that error, so a half-width is never too short because of rounding. Costs are exact rationals,
rounded against us.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadInput
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.cost import Cost
from discreet.privacy.exact import Exactable, confidence_level

TAIL_SLACK = 1 + 1e-11
"""Ten times the largest relative error of a tail; quantiles are taken against it."""

SMALLEST, LARGEST = Fraction(1, 10**50), Fraction(10**50)

LARGEST_SPREAD = 1 << 40
"""Noise of a larger `spread`, or of a smaller one than its inverse, is not drawn: 64-bit integers could overflow."""

WIDE = 100.0
"""Noise wider than this is listed in coarser steps: the mean absolute value moves by less than 1e-4 of it."""

_STORED = re.compile(r"[0-9]{1,200}/[1-9][0-9]{0,199}", re.ASCII)


def miss_probability(confidence: Exactable) -> float:
    """1 - confidence, exact until the last step: .999999999 keeps all its digits."""
    # The next smaller float: a quantile at this level is never too short.
    return math.nextafter(float(1 - confidence_level(confidence)), 0.0)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A continuous variable X', no further than `slack` from the noise X, that Chernoff's bound is taken of.

    Where |t| <= 1 / (2 scale), ln E exp(t X') is at most that of Laplace noise of this variance and
    scale; `scale` 0 means: at most t^2 variance / 2, for every t. Thread safe: it never changes.
    """

    variance: float
    scale: float
    slack: float


@dataclass(frozen=True, slots=True)
class FallingLoss:
    """A privacy loss that falls as the noise grows from `first` to `last`; `loss_noise` makes atoms of it.

    Below `first` it is constant, or (`cut`) so large that it counts as infinite; above `last` it
    is constant, or rounded up to its value at `last`. Thread safe: it never changes.
    """

    loss: Callable[[Floats], Floats]
    first: int
    last: int
    cut: bool


@dataclass(frozen=True, slots=True)
class GaussianLoss:
    """At most the loss of continuous Gaussian noise. Thread safe: it never changes."""

    sigma_squared: Fraction
    l2_squared: int


class NoiseLaw(ABC):
    """A symmetric law on the integers: a frozen dataclass whose fields are exact Fractions.

    A new law states its name, its probabilities, its cumulants and transforms, its cost, and how it
    scales. The rest follows from these; a law that knows better overrides it. Thread safe: it never changes.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """Its name in files."""
    words: ClassVar[str]
    """Its name for people."""

    def __post_init__(self) -> None:
        for name, value in self._parameters():
            if type(value) not in (Fraction, int):
                raise BadInput(f"{name} must be an exact Fraction, not {type(value).__name__}.")
            if not SMALLEST <= value <= LARGEST:
                raise BadInput(
                    f"The noise's {name} must be positive, from 1e-50 to 1e50; the budget is far too "
                    "large or too small."
                )

    # --- what each law states ---------------------------------------------------------------

    @abstractmethod
    def _mass(self, k: Floats) -> Floats:
        """P(X = k) for k >= 0."""

    @abstractmethod
    def tail(self, h: Floats) -> Floats:
        """P(X > h) for integers h >= 0."""

    @abstractmethod
    def cumulants(self) -> tuple[float, float, float]:
        """The second, fourth and sixth cumulant; the odd ones are 0."""

    @abstractmethod
    def characteristic(self, t: Floats) -> Floats:
        """E cos(tX)."""

    @abstractmethod
    def log_mgf(self, t: Floats) -> Floats:
        """ln E exp(tX), or an upper bound of it, where |t| is below `mgf_limit`."""

    @abstractmethod
    def cost(self, sensitivity: Sensitivity, *, size: int, epsilon: Fraction | None = None) -> Cost:
        """What it costs to add independent draws to an answer of `size` numbers.

        `epsilon` is the one at which a law that has no epsilon of its own states a delta; without it
        such a law states its rho. What no theorem covers is refused with `BadInput`.
        """

    @abstractmethod
    def scaled(self, by: Fraction) -> Self:
        """The law of the same kind whose noise is `by` times as wide."""

    # --- its name and its form in files -----------------------------------------------------

    def _parameters(self) -> list[tuple[str, Any]]:
        return [(each.name, getattr(self, each.name)) for each in fields(self)]  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, str]:
        """Its kind, and each parameter as numerator/denominator."""
        stored = {name: Fraction(value) for name, value in self._parameters()}
        return {
            "kind": self.kind,
            **{name: f"{value.numerator}/{value.denominator}" for name, value in stored.items()},
        }

    @classmethod
    def from_stored(cls, data: dict[str, str]) -> Self:
        """The inverse of `to_dict`."""
        names = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        if set(data) != {"kind", *names} or not all(isinstance(data[name], str) for name in names):
            raise BadInput(
                f"A stored {cls.kind} law has exactly the fields {' and '.join(['kind', *names])}."
            )
        for name in names:
            if not _STORED.fullmatch(data[name]):
                raise BadInput(
                    f"A stored {cls.kind} law writes its {name} as numerator/denominator."
                )
        return cls(*(Fraction(data[name]) for name in names))

    # --- how wide it is ---------------------------------------------------------------------

    @property
    def variance(self) -> float:
        return self.cumulants()[0]

    @property
    def std(self) -> float:
        return math.sqrt(self.variance)

    @property
    def spread(self) -> float:
        """Its size as its sampler counts it: what must lie between 2^-40 and 2^40 to be drawn."""
        return self.std

    @property
    def excess_kurtosis(self) -> float:
        second, fourth, _ = self.cumulants()
        return fourth / second**2 if second**2 > 0 else math.inf

    @property
    def smooth_kurtosis(self) -> float:
        """The excess kurtosis that it has where it is so wide that its steps do not show."""
        return self.excess_kurtosis

    @property
    def mgf_limit(self) -> float:
        """E exp(tX) is infinite, or not bounded by `log_mgf`, from here on."""
        return math.inf

    @property
    def sums_are_normal(self) -> bool:
        """Whether a weighted sum of draws is normal up to 1e-9, once it is smoothed.

        Smoothed by a uniform draw of the width of the largest weight. Never so by default.
        """
        return False

    def envelope(self) -> Envelope:
        """What Chernoff's bound is taken of where draws of many laws are added up.

        cosh(ct) - 1 <= c^2 (cosh(t) - 1) where c <= 1, so ln E exp(tX) <= E exp(tX) - 1 is at most
        (t/s)^2 (E exp(sX) - 1) for all t up to any s.
        """
        steepest = min(self.mgf_limit / 2, 1 / self.std)
        grown = math.expm1(float(self.log_mgf(np.array([steepest]))[0]))
        return Envelope(2 * grown / steepest**2 * (1 + 1e-9), 1 / (2 * steepest), 0.0)

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

    def points(self) -> tuple[Floats, Floats]:
        """Places and their probabilities: far out and, where it is wide, coarsely."""
        step = max(1, round(self.std / WIDE))
        reach = math.ceil(24 * self.std / step) + 12
        places = np.arange(-reach, reach + 1, dtype=np.float64) * step
        mass = np.asarray(self.pmf(places), dtype=np.float64)
        return places, mass / mass.sum()

    def mean_absolute(self) -> float:
        """E|X| of one draw."""
        return _mean_absolute(self)

    # --- the privacy loss -------------------------------------------------------------------

    def loss_shape(self, shift: int) -> FallingLoss | GaussianLoss | None:
        """The privacy loss when one number moves by `shift`; None if it follows from the probabilities."""
        return None

    def joint_loss_shape(self, sensitivity: Sensitivity) -> GaussianLoss | None:
        """The same where several numbers move, if it depends on their L2 sensitivity alone."""
        return None


LAWS: dict[str, type[NoiseLaw]] = {}
"""Every law that a release may name, by its kind."""


def register(law: type[NoiseLaw]) -> None:
    """Let releases name `law`. A kind belongs to one law."""
    if LAWS.setdefault(law.kind, law) is not law:
        raise BadInput(f"There is another noise law of the kind {law.kind}.")


def law_from_dict(data: dict[str, str]) -> NoiseLaw:
    """The inverse of `to_dict`. An unknown law is refused, never guessed."""
    kind = data.get("kind")
    if kind not in LAWS:
        raise BadInput(f"Unknown noise law; the known ones are {', '.join(LAWS)}.")
    return LAWS[kind].from_stored(data)


@lru_cache(maxsize=4096)
def _half_width(law: NoiseLaw, miss: float) -> int:
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


@lru_cache(maxsize=4096)
def _mean_absolute(law: NoiseLaw) -> float:
    places, mass = law.points()
    return float(np.abs(places) @ mass)


def cumulants_by_enumeration(law: NoiseLaw, most: int = 100) -> tuple[float, float, float]:
    """From the probabilities of the numbers up to `most`, beyond which the probabilities are negligible."""
    k = np.arange(1, most + 1, dtype=np.float64)
    mass = 2 * np.asarray(law.pmf(k))
    second, fourth, sixth = (float(np.sum(mass * k**power)) for power in (2, 4, 6))
    return (
        second,
        fourth - 3 * second**2,
        sixth - 15 * fourth * second + 30 * second**3,
    )


def characteristic_by_enumeration(law: NoiseLaw, t: Floats, most: int = 41) -> Floats:
    """From the probabilities of the numbers up to `most`, beyond which the probabilities are negligible."""
    k = np.arange(1, most + 1, dtype=np.float64)
    mass = 2 * np.asarray(law.pmf(k))
    heavy = mass > 0
    waves = np.cos(np.multiply.outer(t, k[heavy])) @ mass[heavy]
    return np.asarray(law.pmf(0) + waves)
