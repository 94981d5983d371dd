"""Lower bounds on epsilon from runs: the guessing game and its certificates.

A secret fair coin chooses one of two neighbouring inputs, the mechanism runs on it, and a
player who sees the output names the input, or abstains. How often the player can be right is
limited by the guarantee; how often the player was right certifies how weak it must be at least.
Whatever the player does, a certificate exceeds the truth with probability at most the stated
false-positive rate: a bad player only finds less. Coins, and the player's learning, are public
randomness and data of their own; the certificate is computed on runs that no choice has seen.

Theorems, with r and w the probabilities of a right and of a wrong guess:
  (epsilon, delta)-DP   r <= e^epsilon w + delta for any player, abstaining or not (Wasserman and Zhou
                        2010; Kairouz, Oh, Viswanath 2015). With delta 0 a guess is therefore right
                        with odds of at most e^epsilon, each run apart, and Clopper-Pearson is exact.
  at distance k         odds e^(k epsilon): group privacy (Dwork and Roth 2014, theorem 2.2).
  bounded range         without abstaining odds of at most e^(k epsilon / 2): the two log-odds differ by
                        at most k epsilon, and their sum of right guesses is largest when they lie
                        symmetrically (Durfee and Rogers 2019 for the range).
  Gaussian noise        without abstaining at most what the best threshold achieves; for mu-GDP
                        Phi(k mu / 2) (Dong, Roth, Su 2022, theorem 2.14 for groups). Certifies the noise's size; the
                        epsilon is that of Gaussian noise of this size at the stated delta.

Of Gaussian noise the size is certified, and its epsilon follows from the shape. A test of the (epsilon, delta) inequality itself would see nothing: Gaussian noise exceeds its
epsilon with a probability of about delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from discreet.arrays import Floats, Integers
from discreet.core.mechanisms import (
    AnalyticGaussian,
    DiscreteGaussian,
    OneCountGaussian,
    RoundedGaussian,
)
from discreet.core.noise import DrawnNoise
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.conversion import epsilon_from_rho, mu_squared_from_budget, rho_from_budget
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.loss_mechanisms import discrete_gaussian_loss, gaussian_loss

FALSE_POSITIVE_RATE = 1e-6
CHOOSING = 0.1
"""The part of the runs on which the player chooses when to abstain."""
LEARNING = 0.15
"""The part on which a player without a formula learns which outputs speak for which input."""
THRESHOLDS = 48
CAUTION = 1e-3
"""The false-positive rate at which a threshold is chosen on the first runs."""
BOLDNESS = 4
"""So many standard deviations must the extra guesses of a bolder player be worse, to be left out."""

Bits = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an audit found out about one claim."""

    subject: str
    claimed: float
    """The epsilon that is claimed."""
    delta: float
    certified: float
    """The true epsilon is at least this, or the false-positive event happened."""
    runs: int
    false_positive_rate: float
    game: str
    """What was played, and what the certificate assumes."""

    @property
    def refuted(self) -> bool:
        return self.certified > self.claimed

    @property
    def verdict(self) -> str:
        return "refuted" if self.refuted else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "claimed_epsilon": self.claimed,
            "delta": self.delta,
            "certified_epsilon": self.certified,
            "runs": self.runs,
            "false_positive_rate": self.false_positive_rate,
            "game": self.game,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Tally:
    """Right and wrong guesses in so many runs; the rest were abstentions."""

    right: int
    wrong: int
    runs: int

    @classmethod
    def of(cls, scores: Floats, bits: Bits, threshold: float = 0.0) -> Tally:
        """A player who names input 1 at scores of `threshold` or more, input 0 at minus that or less."""
        bold = (np.abs(scores) >= threshold) & (scores != 0)
        right = int((bold & ((scores > 0) == (bits == 1))).sum())
        return cls(right, int(bold.sum()) - right, len(bits))


def fair_coins(runs: int) -> Bits:
    """One fair coin a run. With coins, unlike equal halves, right guesses are exactly binomial."""
    if runs < 100:
        raise BadInput(f"{runs} runs are too few; an audit needs at least 100.")
    return generator().integers(0, 2, runs, dtype=np.int64)


def lowest_share(successes: int, trials: int, false_positive_rate: float) -> float:
    """Clopper and Pearson 1934: a one-sided lower bound on a probability, exact for binomials."""
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, trials - successes + 1, false_positive_rate))


def log_odds(share: float) -> float:
    return math.log(share / (1 - share)) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)


def certified_epsilon(
    tally: Tally,
    *,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    delta: float = 0.0,
    distance: int = 1,
) -> float:
    """A lower bound on epsilon for (epsilon, delta)-DP, from a player who may abstain.

    With g = r + w the theorem reads r/g <= (e^epsilon + delta/g) / (1 + e^epsilon). A tenth of the
    error goes to a lower bound on g, needed only when delta is above 0.
    """
    guesses = tally.right + tally.wrong
    if delta == 0:
        share = lowest_share(tally.right, guesses, false_positive_rate)
        return max(0.0, log_odds(share) / distance) if share > 0.5 else 0.0
    if distance != 1:
        raise BadInput("A delta does not simply grow with the distance: use distance 1.")
    share = lowest_share(tally.right, guesses, 0.9 * false_positive_rate)
    often = lowest_share(guesses, tally.runs, 0.1 * false_positive_rate)
    excess = share - delta / often if often > 0 else 0.0
    return max(0.0, math.log(excess / (1 - share))) if excess > 0 and share < 1 else 0.0


def certified_range(tally: Tally, *, false_positive_rate: float, distance: int) -> float:
    """A lower bound on the epsilon of bounded range, from a player who never abstains."""
    if tally.right + tally.wrong != tally.runs:
        raise BadInput("The bound for bounded range needs a guess in every run.")
    share = lowest_share(tally.right, tally.runs, false_positive_rate)
    return 2 * log_odds(share) / distance if share > 0.5 else 0.0


def certified_size(
    tally: Tally, best_share: Callable[[float], float], *, false_positive_rate: float
) -> float:
    """An upper bound on a noise's sigma squared, from a player who never abstains.

    `best_share` is the most that a player can be right at a sigma squared; it falls as that grows.
    """
    if tally.right + tally.wrong != tally.runs:
        raise BadInput("The bound for the noise's size needs a guess in every run.")
    share = lowest_share(tally.right, tally.runs, false_positive_rate)
    if share <= 0.5:
        return math.inf
    low, high = -60.0, 80.0  # of ln(sigma squared)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if best_share(math.exp(middle)) >= share else (low, middle)
    return math.exp(high)


def certified_from_full_losses(
    scores: Floats,
    bits: Bits,
    *,
    largest: float,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    distance: int = 1,
) -> float:
    """For log-likelihood ratios known to reach `largest`: guess only there, and certify on all runs."""
    tally = Tally.of(scores, bits, largest * (1 - 1e-9))
    return certified_epsilon(tally, false_positive_rate=false_positive_rate, distance=distance)


def certified_from_scores(
    scores: Floats,
    bits: Bits,
    *,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    delta: float = 0.0,
    distance: int = 1,
) -> float:
    """Choose on the first runs when to abstain, certify on the others.

    `scores` are any function of the outputs, positive where they speak for input 1; the
    log-likelihood ratio is the best (Neyman and Pearson 1933).
    """
    cut = max(20, int(len(bits) * CHOOSING))
    threshold = _chosen_threshold(scores[:cut], bits[:cut], delta)
    return certified_epsilon(
        Tally.of(scores[cut:], bits[cut:], threshold),
        false_positive_rate=false_positive_rate,
        delta=delta,
        distance=distance,
    )


def _chosen_threshold(scores: Floats, bits: Bits, delta: float) -> float:
    """When to abstain: the threshold of the highest bound, made bolder while that is no visible loss.

    Nested players share their luck, so they are compared by the guesses in which they differ: the
    extra ones must be right about as often as the others, or the luckiest few would be chosen.
    """
    tried = np.unique(np.quantile(np.abs(scores), np.linspace(0, 0.99, THRESHOLDS)))
    tallies = [Tally.of(scores, bits, threshold) for threshold in tried]
    bounds = [certified_epsilon(each, false_positive_rate=CAUTION, delta=delta) for each in tallies]
    best = int(np.argmax(bounds))
    right, wrong = tallies[best].right, tallies[best].wrong
    share = (right + 1) / (right + wrong + 2)
    for threshold, tally in zip(tried, tallies, strict=True):
        extra = tally.right + tally.wrong - right - wrong
        spread = math.sqrt(extra * share * (1 - share))
        if tally.right - right >= extra * share - BOLDNESS * spread:
            return float(threshold)
    raise AssertionError("the best player has no extra guesses")


def certified_from_outputs(
    outputs: Integers,
    bits: Bits,
    *,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    delta: float = 0.0,
    distance: int = 1,
) -> float:
    """As `certified_from_scores`, for a black box: the first runs teach what each output speaks for."""
    cut = max(40, int(len(bits) * LEARNING))
    values, places = np.unique(outputs, return_inverse=True)
    seen = np.zeros((2, len(values)))
    np.add.at(seen, (bits[:cut], places[:cut]), 1)
    ratios = np.log((seen[1] + 0.5) / (seen[0] + 0.5))
    return certified_from_scores(
        ratios[places[cut:]],
        bits[cut:],
        false_positive_rate=false_positive_rate,
        delta=delta,
        distance=distance,
    )


ONE = Sensitivity(l1=1, l2_squared=1)
SWAPPED = Sensitivity(l1=2, l2_squared=2)
"""One row leaves a cell and enters another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One audit of one subject."""

    epsilon: Fraction
    """The claim."""
    delta: Fraction
    """0 where the mechanism has none."""
    spent: Fraction
    """What the noise is really drawn for: the claim, or a mutant's more."""
    runs: int
    false_positive_rate: float


def log_ratio(law: NoiseLaw, outputs: Integers, zero: Integers, one: Integers) -> Floats:
    """ln of how much likelier the exact answers `one` make each output than `zero`, summed over the last axis."""
    with np.errstate(divide="ignore"):  # far out a float underflows: certain is certain
        ahead = np.log(law.pmf(outputs - one)) - np.log(law.pmf(outputs - zero))
    return np.asarray(np.nan_to_num(ahead, nan=0.0, posinf=1e6, neginf=-1e6).sum(axis=-1))


def draws(law: NoiseLaw, exact: Integers) -> Integers:
    noisy = DrawnNoise().add(exact.reshape(-1), law, step="audit")
    return noisy.reshape(exact.shape)


def _far_enough(sigma: float) -> int:
    """An odd number of about three sigmas: there a fifth more epsilon shows best."""
    return 2 * round((3 * sigma - 1) / 2) + 1


def gaussian(
    law: Callable[[Fraction, Fraction], NoiseLaw],
    epsilon_of: Callable[[float, float], float],
) -> Callable[[Trial], float]:
    """Two counts about three sigmas apart; the player names the nearer one."""

    def certify(trial: Trial) -> float:
        claimed = law(trial.epsilon, trial.delta)
        far = _far_enough(claimed.spread)
        bits = fair_coins(trial.runs)
        outputs = draws(law(trial.spent, trial.delta), bits * far)

        def best_share(sigma_squared: float) -> float:
            as_wide = claimed.scaled(Fraction(math.sqrt(sigma_squared) / claimed.spread))
            return as_wide.cdf(far // 2)  # `far` is odd: the middle is no integer

        tally = Tally.of((2 * outputs - far).astype(np.float64), bits)
        size = certified_size(tally, best_share, false_positive_rate=trial.false_positive_rate)
        return 0.0 if math.isinf(size) else epsilon_of(size, float(trial.delta))

    return certify


def concentrated_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return DiscreteGaussian(rho=rho_from_budget(epsilon=epsilon, delta=delta)).law(ONE, size=1)


def rounded_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    square = mu_squared_from_budget(epsilon=epsilon, delta=delta)
    return RoundedGaussian(mu_squared=square).law(ONE, size=1)


def one_count_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return OneCountGaussian(epsilon=epsilon, delta=delta).law(ONE, size=1)


def analytic_law(epsilon: Fraction, delta: Fraction) -> NoiseLaw:
    return AnalyticGaussian(epsilon=epsilon, delta=delta).law(ONE, size=1)


def epsilon_of_rho(sigma_squared: float, delta: float) -> float:
    return float(epsilon_from_rho(1 / (2 * Fraction(sigma_squared)), delta=Fraction(delta)))


def epsilon_of_discrete(sigma_squared: float, delta: float) -> float:
    return discrete_gaussian_loss(sigma_squared=Fraction(sigma_squared)).epsilon(delta)


def epsilon_of_rounded(sigma_squared: float, delta: float) -> float:
    return gaussian_loss(sigma_squared=Fraction(sigma_squared)).epsilon(delta)
