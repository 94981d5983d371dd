"""What is rare in production, made common: ties between a word and a threshold, and tails.

With 16, 32 and 64 bit words a tie or a far tail almost never happens, so a wrong treatment
of it would pass any test of the law. Here the words are 2 to 4 bits wide, the tables end
after one scale, or chosen words hit a threshold exactly. Each check: 1e-9.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.samplers import discrete_laplace, gaussian, geometric
from discreet.samplers.bernoulli import DigitCoins, toss_threshold
from discreet.samplers.entropy import system_entropy
from discreet.samplers.exact import Thresholds, exp_minus
from discreet.samplers.gaussian import (
    DiscreteGaussianSampler,
    RoundedGaussianSampler,
    proposal_scale,
    units_for_rounding,
)
from discreet.samplers.laplace import (
    DigitTable,
    GeometricSampler,
    Widths,
    signed_sampler,
    unsigned_sampler,
)
from tests.chosen_entropy import ConstantEntropy, ReplayedEntropy
from tests.samplers.test_samplers_goodness_of_fit import (
    FALSE_ALARM,
    discrete_gaussian_cdf,
    fit,
    fit_of_draws,
    geometric_cdf,
    laplace_cdf,
    rounded_gaussian_cdf,
)

NARROW = {"widths": Widths(2, 4), "digit_bits": 2, "table_scales": 1}


@pytest.mark.parametrize("scale", ["1/3", "1", "5/2", "10", "33"])
@pytest.mark.parametrize("signed", [False, True])
def test_laplace_noise_keeps_its_law_when_ties_and_tails_abound(scale, signed):
    """Catches a tie decided without more bits (it moves a 1/16 of probability), a cut tail
    (37% of the draws run off these tables) and dependent digits."""
    scale = Fraction(scale)
    draws = GeometricSampler(scale, signed=signed, **NARROW).draw(60_000, system_entropy())
    cdf = (laplace_cdf if signed else geometric_cdf)(float(scale))
    assert fit_of_draws(draws.astype(np.int64), cdf, spread=float(scale)).passes


@pytest.mark.parametrize("widths", [Widths(1, 2), Widths(3, 5), Widths(16, 17)])
def test_laplace_noise_keeps_its_law_at_any_word_width(widths):
    sampler = GeometricSampler(Fraction(20), signed=True, widths=widths, digit_bits=3)
    draws = sampler.draw(40_000, system_entropy()).astype(np.int64)
    assert fit_of_draws(draws, laplace_cdf(20.0), spread=20).passes


@pytest.mark.parametrize("sigma_squared", ["1/9", "1", "2", "100"])
def test_discrete_gaussian_noise_keeps_its_law_when_most_coins_tie(sigma_squared):
    """3-bit words: a proposal in 8 falls on its threshold and is decided by integers alone."""
    sigma_squared = Fraction(sigma_squared)
    scale = Fraction(proposal_scale(sigma_squared))
    narrow = GeometricSampler(scale, signed=True, **NARROW)
    sampler = DiscreteGaussianSampler(sigma_squared, proposal=narrow, word_bits=3)
    draws = sampler.draw(40_000, system_entropy()).astype(np.int64)
    sigma = math.sqrt(sigma_squared)
    assert fit_of_draws(draws, discrete_gaussian_cdf(sigma), spread=sigma).passes


@pytest.mark.parametrize("sigma_squared", ["1/9", "1", "2", "100"])
def test_rounded_gaussian_noise_keeps_its_law_when_most_coins_tie(sigma_squared):
    """3-bit words and fractions: more than half of the proposals are decided by integers alone."""
    sigma_squared = Fraction(sigma_squared)
    scale = Fraction(proposal_scale(sigma_squared * units_for_rounding(sigma_squared) ** 2))
    narrow = GeometricSampler(scale, signed=False, **NARROW)
    sampler = RoundedGaussianSampler(sigma_squared, proposal=narrow, word_bits=3)
    draws = sampler.draw(12_000, system_entropy()).astype(np.int64)
    sigma = math.sqrt(sigma_squared)
    assert fit_of_draws(draws, rounded_gaussian_cdf(sigma), spread=sigma).passes


@pytest.mark.parametrize("unit", ["1/100", "1/7", "1", "3"])
def test_coins_of_two_bits_fall_as_often_as_wide_ones(unit):
    coins = DigitCoins(Fraction(unit), word_bits=2)
    for n in (0, 1, 5, 7):
        falls = int(coins.toss(np.full(20_000, n, np.uint64), system_entropy()).sum())
        chance = math.exp(-n * Fraction(unit))
        assert stats.binomtest(falls, 20_000, chance).pvalue > FALSE_ALARM


def first_threshold(scale: int) -> mpmath.mpf:
    """P(X >= 0 and its top digit is 0) of discrete Laplace noise with a one-digit table."""
    p = mpmath.exp(-mpmath.mpf(1) / scale)
    return (1 - p) / (1 + p)


def test_a_word_equal_to_a_threshold_is_split_where_the_threshold_says():
    """The first 64 bits are forced onto the threshold; what follows is real entropy. The
    conditional law must be the threshold's next digits. Catches a split 5 points off."""
    with mpmath.workprec(400):
        scaled = first_threshold(1) * mpmath.mpf(2) ** 64
        floor = int(mpmath.floor(scaled))
        chance = float(scaled - floor)
    count = 20_000
    tape = [
        np.full(count, floor >> 48, np.uint16).tobytes(),
        np.full(count, (floor & (1 << 48) - 1) << 16, np.uint64).tobytes(),
    ]
    draws = discrete_laplace(Fraction(1), count, entropy=ReplayedEntropy(tape))
    assert set(draws.tolist()) == {0, 1}
    assert stats.binomtest(int((draws == 0).sum()), count, chance).pvalue > FALSE_ALARM


def test_a_coin_word_equal_to_its_threshold_is_split_where_the_threshold_says():
    with mpmath.workprec(400):
        scaled = mpmath.exp(-mpmath.mpf(1)) * mpmath.mpf(2) ** 32
        floor = int(mpmath.floor(scaled))
        chance = float(scaled - floor)
    count = 20_000
    tape = [np.full(count, floor, np.uint32).tobytes()]
    thresholds = Thresholds(lambda precision: [exp_minus(Fraction(1), precision)])
    coins = toss_threshold(thresholds, 0, count, ReplayedEntropy(tape))
    assert stats.binomtest(int(coins.sum()), count, chance).pvalue > FALSE_ALARM


def test_the_look_up_table_gives_each_outcome_its_share_of_all_words():
    """Every 16-bit word once: an outcome's share is right up to the two words at its edges.
    No chance is involved; it catches a scale that is 0.1% off."""
    every_word = np.arange(1 << 16, dtype=np.uint16).tobytes()
    for scale in (1, 10):
        draws = discrete_laplace(Fraction(scale), 1 << 16, entropy=ReplayedEntropy([every_word]))[
            : 1 << 15
        ]
        # Blocks of 2^15 draws: the tape served the first block, with words below 1/2.
        counts = np.bincount(draws, minlength=4)
        p = math.exp(-1 / scale)
        for value in range(4):
            share = (1 - p) / (1 + p) * p**value
            if (1 - p ** (value + 1)) / (1 + p) < 0.5:
                assert abs(counts[value] - share * 65536) <= 2


def test_zero_words_give_the_first_outcome():
    zeros = ConstantEntropy(0)
    for scale in (Fraction(1, 100), Fraction(1), Fraction(10**9)):
        assert (geometric(scale, 10, entropy=zeros) == 0).all()
        assert (discrete_laplace(scale, 10, entropy=zeros) == 0).all()


@pytest.mark.parametrize("scale", ["1/100", "1/3", "1", "5/2", "1000", "1000000000"])
@pytest.mark.parametrize("bits", [16, 64, 300])
def test_thresholds_are_exact_to_the_last_bit(scale, bits):
    """Against mpmath at 2,000 bits. No chance is involved."""
    scale = Fraction(scale)
    for sampler in (signed_sampler(scale), unsigned_sampler(scale)):
        floors = sampler._top._thresholds.floors(bits)
        size, shift = sampler._size, sampler._shift
        with mpmath.workprec(2000):
            p = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
            below = [1 - p ** (k << shift) for k in range(1, size + 1)]
            if sampler._signed:
                exact = [b / (1 + p) for b in below]
                exact += [1 / (1 + p)] + [(1 + p * b) / (1 + p) for b in below]
            else:
                exact = below
            assert list(floors) == [int(mpmath.floor(t * mpmath.mpf(2) ** bits)) for t in exact]


def test_the_enclosure_of_exp_holds_the_truth_and_little_else():
    chosen = [Fraction(n, d) for n in (0, 1, 2, 7, 355, 10**6, 10**30) for d in (1, 3, 113, 10**12)]
    for x in chosen:
        for precision in (8, 64, 200, 1000):
            low, high = exp_minus(x, precision)
            with mpmath.workprec(5000):
                truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
                assert low <= truth * mpmath.mpf(2) ** precision <= high
            assert high - low <= 2


def test_a_threshold_closer_to_one_than_any_word_is_still_exact():
    thresholds = Thresholds(
        lambda precision: [
            ((1 << precision) - high, (1 << precision) - low)
            for low, high in [exp_minus(Fraction(10**6), precision)]
        ]
    )
    assert thresholds.floors(64) == ((1 << 64) - 1,)


def test_thresholds_computed_too_coarsely_are_computed_again():
    """The first enclosures straddle a cell's edge: only a closer one may decide."""
    asked = []

    def enclose(precision: int) -> list[tuple[int, int]]:
        asked.append(precision)
        if len(asked) < 3:
            return [(0, 1 << precision)]
        return [exp_minus(Fraction(1), precision)]

    assert Thresholds(enclose).floors(8) == (int(math.exp(-1) * 256),)
    assert len(asked) == 3


def test_a_table_reports_every_rare_outcome():
    thresholds = Thresholds(lambda precision: [exp_minus(Fraction(1), precision)])
    table = DigitTable(thresholds, [0, 1], rare=[1])
    outcomes, positions = table.draw(10_000, system_entropy())
    assert set(np.flatnonzero(outcomes == 1)) <= set(positions)
    chance = math.exp(-1)
    assert fit(np.bincount(outcomes), np.array([chance, 1 - chance])).passes


class GivenProposals:
    """In place of a proposal's sampler: always the same number."""

    def __init__(self, value: int) -> None:
        self.value = value

    def draw(self, count: int, _entropy: object) -> np.ndarray:
        return np.full(count, self.value, np.int64)


def filter_says(sampler_type, sigma_squared, proposal, words, word_bits, monkeypatch):
    """True or False as the float filter decides, None where it leaves the decision to integers."""
    asked = []
    monkeypatch.setattr(gaussian, "_decide", lambda *_: bool(asked.append(1)))
    sampler = sampler_type(sigma_squared, proposal=GivenProposals(proposal), word_bits=word_bits)
    tape = [np.array([word << (32 - word_bits)], np.uint32).tobytes() for word in words]
    accepted = sampler.draw(1, ReplayedEntropy(tape)).size == 1
    return None if asked else accepted


@pytest.mark.parametrize("sampler_type", [DiscreteGaussianSampler, RoundedGaussianSampler])
@pytest.mark.parametrize("sigma_squared", ["1/9", "1", "50"])
def test_what_the_float_filter_decides_integers_confirm(sampler_type, sigma_squared, monkeypatch):
    """Every word and fraction of 3 bits, and 32-bit words next to the threshold: the filter may
    only decide what holds for each uniform real and each fraction that begin with those words.
    No chance is involved."""
    sigma_squared = Fraction(sigma_squared)
    rounded = sampler_type is RoundedGaussianSampler
    units = units_for_rounding(sigma_squared) if rounded else 1
    scale = proposal_scale(sigma_squared * units**2)
    decided = 0
    for proposal in range(6 * scale):
        for bits, fraction in [(3, f) for f in range(8 if rounded else 1)] + [(32, 12345)]:
            ends = [
                Fraction(fraction + end, 1 << bits) if rounded else Fraction(0) for end in (0, 1)
            ]
            centre = sigma_squared * units**2 / scale
            exponents = [
                (proposal + end - centre) ** 2 / (2 * sigma_squared * units**2) + end / scale
                for end in [*ends, min(max(centre - proposal, ends[0]), ends[1])]
            ]
            chances = [math.exp(-exponent) * 2**bits for exponent in exponents]
            near = int(min(chances))
            for word in range(8) if bits == 3 else range(max(0, near - 6), min(near + 8, 2**32)):
                says = filter_says(
                    sampler_type, sigma_squared, proposal, [word, fraction], bits, monkeypatch
                )
                decided += says is not None
                assert says is not True or word + 1 <= min(chances) + 1e-6
                assert says is not False or word >= max(chances) - 1e-6
    assert decided > 0
