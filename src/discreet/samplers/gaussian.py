"""Discrete and rounded Gaussian noise, exact, by rejection from Laplace noise.

Theorem (Canonne, Kamath, Steinke 2020, algorithm 3). Let t = floor(sigma) + 1 and Y be
discrete Laplace of scale t. Accepted with probability exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2)),
Y is discrete Gaussian: P(y) proportional to exp(-y^2 / (2 sigma^2)). Only sigma^2 enters, so
sigma may be irrational.

Theorem (rounded). Let x = G + f with G geometric of scale t and f uniform in [0, 1). Accepted
with probability exp(-(x - sigma^2/t)^2 / (2 sigma^2) - f/t), x is distributed as |N(0, sigma^2)|,
because the exponents of the proposal and of the acceptance add up to -x^2 / (2 sigma^2) and a
constant. So G is the floor of a half-normal number, of which f need never be known in full.

The float filter. Whether U < exp(-E) is first judged in float64 and believed only outside a
margin; inside it, integers decide (`_decide`). Let e = 2^-53, Z = sqrt(2E) the distance from
sigma^2/t in units of sigma. Obligations:

1. float(Fraction) is correctly rounded, and so are +, -, * (IEEE 754). sigma^2/t <= sigma, so
   the float E is off by at most e (2 Z + 4 Z^2) to first order (the first term from the
   subtraction, the second from it, two products, the reciprocal and int64 to float64), and
   exp(-E) by at most e max_Z exp(-Z^2/2) (2 Z + 4 Z^2) < 5 e.
2. numpy.exp is off by at most A ulp, each at most 2 e, for results in [0, 1].
3. Scaling by a power of two is exact; subtracting the word rounds by at most e.
4. The rounded law's f/t <= 1 adds two roundings, at most 2 e, and G + f one that is counted
   with int64 to float64 above.

So the float probability is off by at most (8 + 2 A) e. The margin is 2^-42 = 2048 e: it
covers A up to 1,000 ulp. numpy documents less than 4 ulp for its vector code and the C
library less than 1: a slack of 250.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.exact import GUARD_BITS, MORE_BITS, exp_minus
from discreet.samplers.laplace import (
    BLOCK,
    GeometricSampler,
    signed_sampler,
    unsigned_sampler,
)
from discreet.samplers.limits import check_count, check_sigma_squared

WORD_BITS: Final = 32
MARGIN: Final = 2.0**-42
HOPE: Final = 0.6
"""A low guess of how often a proposal is accepted; a wrong one costs time only."""

FRACTION_REACH: Final = 2.0
"""How many word cells exp(-E) may move while f moves by one: |d/dx exp(-E)| <= max_Z
exp(-Z^2/2) (Z + 1) < 1.34, for sigma >= 1 and t >= 1."""


def discrete_gaussian(
    sigma_squared: Fraction, count: int, *, entropy: EntropySource | None = None
) -> NDArray[np.int64]:
    """`count` independent draws of P(x) proportional to exp(-x^2 / (2 sigma^2)), exact."""
    sampler = _discrete_sampler(check_sigma_squared(sigma_squared))
    return gather(sampler.draw, check_count(count), current_entropy(entropy))


def rounded_gaussian(
    sigma_squared: Fraction, count: int, *, entropy: EntropySource | None = None
) -> NDArray[np.int64]:
    """`count` independent normal numbers N(0, sigma^2), each rounded to the nearest integer, exact.

    A post-processing of the continuous Gaussian mechanism on integers, so what is proved
    for that mechanism holds for this one.
    """
    sampler = _rounded_sampler(check_sigma_squared(sigma_squared))
    return gather(sampler.draw, check_count(count), current_entropy(entropy))


def gather(
    propose: Callable[[int, EntropySource], NDArray[Any]], count: int, entropy: EntropySource
) -> NDArray[np.int64]:
    """The first `count` of the proposals that are accepted."""
    drawn = np.empty(count, np.int64)
    done = 0
    while done < count:
        tries = min(int((count - done) / HOPE) + 16, BLOCK)
        accepted = propose(tries, entropy)[: count - done]
        drawn[done : done + accepted.size] = accepted
        done += accepted.size
    return drawn


class DiscreteGaussianSampler:
    """Draws discrete Gaussian noise of one variance."""

    def __init__(
        self,
        sigma_squared: Fraction,
        *,
        proposal: GeometricSampler | None = None,
        word_bits: int = WORD_BITS,
    ) -> None:
        """Tests give a narrow `proposal` of the same scale and few `word_bits`."""
        self._sigma_squared = sigma_squared
        self._word_bits = word_bits
        scale = proposal_scale(sigma_squared)
        self._proposal = proposal or signed_sampler(Fraction(scale))
        self._centre = sigma_squared / scale
        self._float_centre = float(self._centre)
        self._float_factor = -float(1 / (2 * sigma_squared))

    def draw(self, count: int, entropy: EntropySource) -> NDArray[Any]:
        """The accepted ones of `count` proposals."""
        drawn = self._proposal.draw(count, entropy)
        words = _words(count, self._word_bits, entropy)
        with np.errstate(all="ignore"):  # exp of a large negative number underflows to 0, rightly
            chance = np.abs(drawn).astype(np.float64)
            chance -= self._float_centre
            chance *= chance
            chance *= self._float_factor
            np.exp(chance, out=chance)
            chance *= 2.0**self._word_bits
            chance -= words
        margin = MARGIN * 2.0**self._word_bits
        accepted = chance >= 1.0 + margin
        for i in np.flatnonzero((chance > -margin) != accepted):
            exponents = partial(self._exponents, int(drawn[i]))
            accepted[i] = _decide(exponents, int(words[i]), 0, self._word_bits, entropy)
        kept: NDArray[Any] = drawn[accepted]
        return kept

    def _exponents(self, drawn: int, _f: int, _bits: int) -> tuple[Fraction, Fraction]:
        """E, known exactly: there is no fraction."""
        exponent = (abs(drawn) - self._centre) ** 2 / (2 * self._sigma_squared)
        return exponent, exponent


class RoundedGaussianSampler:
    """Draws rounded Gaussian noise of one variance.

    The half-normal number is drawn in units of 1/m, m even, so that its floor alone says
    how it rounds, and its sigma in those units is at least 1.
    """

    def __init__(
        self,
        sigma_squared: Fraction,
        *,
        proposal: GeometricSampler | None = None,
        word_bits: int = WORD_BITS,
    ) -> None:
        """Tests give a narrow `proposal` of the same scale and few `word_bits`."""
        self._units = units_for_rounding(sigma_squared)
        self._sigma_squared = sigma_squared * self._units**2
        self._word_bits = word_bits
        self._scale = proposal_scale(self._sigma_squared)
        self._proposal = proposal or unsigned_sampler(Fraction(self._scale))
        self._centre = self._sigma_squared / self._scale
        self._float_centre = float(self._centre)
        self._float_factor = -float(1 / (2 * self._sigma_squared))

    def draw(self, count: int, entropy: EntropySource) -> NDArray[Any]:
        """The accepted ones of `count` proposals."""
        drawn = self._proposal.draw(count, entropy)
        words = _words(count, self._word_bits, entropy)
        fractions = _words(count, self._word_bits, entropy)
        with np.errstate(all="ignore"):
            fraction = fractions * 2.0**-self._word_bits
            chance = drawn + fraction
            chance -= self._float_centre
            chance *= chance
            chance *= self._float_factor
            fraction /= self._scale
            chance -= fraction
            np.exp(chance, out=chance)
            chance *= 2.0**self._word_bits
            chance -= words
        margin = MARGIN * 2.0**self._word_bits + FRACTION_REACH
        accepted = chance >= 1.0 + margin
        for i in np.flatnonzero((chance > -margin) != accepted):
            exponents = partial(self._exponents, int(drawn[i]))
            accepted[i] = _decide(
                exponents, int(words[i]), int(fractions[i]), self._word_bits, entropy
            )
        rounded = (drawn[accepted].astype(np.int64) + self._units // 2) // self._units
        negative = entropy.words(rounded.size, np.uint8) >> np.uint8(7)
        signed: NDArray[Any] = np.where(negative, -rounded, rounded)
        return signed

    def _exponents(self, whole: int, f: int, bits: int) -> tuple[Fraction, Fraction]:
        """The least and the greatest E while the fraction lies in [f, f+1) / 2^bits."""
        low = Fraction(f, 1 << bits)
        high = Fraction(f + 1, 1 << bits)
        squares = sorted((whole + end - self._centre) ** 2 for end in (low, high))
        if whole + low < self._centre < whole + high:
            squares[0] = Fraction(0)
        least, greatest = (square / (2 * self._sigma_squared) for square in squares)
        return least + low / self._scale, greatest + high / self._scale


def _words(count: int, bits: int, entropy: EntropySource) -> NDArray[np.uint32]:
    words = entropy.words(count, np.uint32)
    if bits < WORD_BITS:
        words >>= np.uint32(WORD_BITS - bits)
    return words


def _decide(
    exponents: Callable[[int, int], tuple[Fraction, Fraction]],
    u: int,
    f: int,
    bits: int,
    entropy: EntropySource,
) -> bool:
    """Whether U < exp(-E), in integers: U and f begin with `bits` bits `u` and `f`, and
    `exponents(f, bits)` encloses E. More bits of both are drawn until it is decided."""
    while True:
        least, greatest = exponents(f, bits)
        if greatest == 0:
            return True  # U < 1 = exp(-0); any other rational exponent gives a transcendental
        precision = bits + GUARD_BITS
        if u + 1 << GUARD_BITS <= exp_minus(greatest, precision)[0]:
            return True
        if u << GUARD_BITS >= exp_minus(least, precision)[1]:
            return False
        u = u << MORE_BITS | entropy.bits(MORE_BITS)
        f = f << MORE_BITS | entropy.bits(MORE_BITS)
        bits += MORE_BITS


def proposal_scale(sigma_squared: Fraction) -> int:
    """floor(sigma) + 1."""
    return math.isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1


def units_for_rounding(sigma_squared: Fraction) -> int:
    """An even m with m sigma > 1, as small as 2 where sigma >= 1/2."""
    inverse = 1 / (4 * sigma_squared)
    return 2 * (math.isqrt(inverse.numerator // inverse.denominator) + 1)


@lru_cache(maxsize=256)
def _discrete_sampler(sigma_squared: Fraction) -> DiscreteGaussianSampler:
    return DiscreteGaussianSampler(sigma_squared)


@lru_cache(maxsize=256)
def _rounded_sampler(sigma_squared: Fraction) -> RoundedGaussianSampler:
    return RoundedGaussianSampler(sigma_squared)
