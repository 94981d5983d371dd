"""How each registered mechanism is audited: its worst neighbours, the game, and its 1.2x mutant.

A subject runs the mechanism as the vault does, through `DrawnNoise`, on inputs of the audit's own.
The mutant is the same mechanism given 1.2 times the epsilon while the claim stays: its certificate
must exceed the claim. A mechanism without a subject here fails a contract test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.audits.guessing.game import (
    FALSE_POSITIVE_RATE,
    ONE,
    SWAPPED,
    Finding,
    Tally,
    Trial,
    analytic_law,
    certified_epsilon,
    certified_from_full_losses,
    certified_from_outputs,
    certified_range,
    concentrated_law,
    draws,
    epsilon_of_discrete,
    epsilon_of_rho,
    epsilon_of_rounded,
    fair_coins,
    gaussian,
    log_ratio,
    one_count_law,
    rounded_law,
)
from discreet.core.mechanisms import (
    AboveThreshold,
    DiscreteLaplace,
    Exponential,
    PartitionSelection,
)
from discreet.core.mechanisms.registry import MECHANISMS
from discreet.core.noise import DrawnNoise
from discreet.errors import BadBudget, BadInput, did_you_mean
from discreet.local.clients.drawing import randomised
from discreet.local.protocols import LocalHashing, Piecewise, RandomisedResponse, UnaryEncoding
from discreet.privacy.laws import NoiseLaw

RUNS = 20_000
FAST_RUNS = 10_000
USUAL_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One way to audit a mechanism."""

    title: str
    game: str
    uses_delta: bool
    certify: Callable[[Trial], float]

    def audit(
        self,
        *,
        epsilon: Fraction,
        delta: Fraction = Fraction(0),
        runs: int = RUNS,
        false_positive_rate: float = FALSE_POSITIVE_RATE,
        factor: Fraction = Fraction(1),
    ) -> Finding:
        """Audit the claim `epsilon` (and `delta`, where used) of noise drawn for `factor` times epsilon."""
        if epsilon <= 0:
            raise BadBudget("The claimed epsilon must be greater than 0.")
        slack = (delta or USUAL_DELTA) if self.uses_delta else Fraction(0)
        certified = self.certify(
            Trial(
                epsilon=epsilon,
                delta=slack,
                spent=epsilon * factor,
                runs=runs,
                false_positive_rate=false_positive_rate,
            )
        )
        return Finding(
            subject=self.title,
            claimed=float(epsilon),
            delta=float(slack),
            certified=certified,
            runs=runs,
            false_positive_rate=false_positive_rate,
            game=self.game,
        )


# --- pure differential privacy ------------------------------------------------------------


def _distance(epsilon: Fraction) -> int:
    """Neighbours a little apart are told apart better, and groups have a theorem."""
    return max(1, round(2 / epsilon))


def _laplace_black_box(trial: Trial) -> float:
    """A count, to a player who knows nothing of the mechanism."""
    law = DiscreteLaplace(epsilon=trial.spent).law(ONE, size=1)
    distance, bits = _distance(trial.epsilon), fair_coins(trial.runs)
    return certified_from_outputs(
        draws(law, bits * distance),
        bits,
        distance=distance,
        false_positive_rate=trial.false_positive_rate,
    )


def _laplace_count(trial: Trial) -> float:
    """A count of 0 or 1: the loss is exactly epsilon, whatever comes out."""
    law = DiscreteLaplace(epsilon=trial.spent).law(ONE, size=1)
    claimed = DiscreteLaplace(epsilon=trial.epsilon).law(ONE, size=1)
    return _full_losses(trial, law, claimed, [0], [1])


def _laplace_histogram(trial: Trial) -> float:
    """Two cells, and a row that leaves one for the other: only together do they show the loss."""
    law = DiscreteLaplace(epsilon=trial.spent).law(SWAPPED, size=2)
    return joint_epsilon(law, trial)


def joint_epsilon(law: NoiseLaw, trial: Trial) -> float:
    """The certificate for a histogram of two cells under change-one, with noise of any `law`."""
    claimed = DiscreteLaplace(epsilon=trial.epsilon).law(SWAPPED, size=2)
    return _full_losses(trial, law, claimed, [1, 0], [0, 1])


def _full_losses(
    trial: Trial, law: NoiseLaw, claimed: NoiseLaw, zero: list[int], one: list[int]
) -> float:
    """Two exact answers that lie as far apart as neighbours do, then `distance` times as far."""
    distance, bits = _distance(trial.epsilon), fair_coins(trial.runs)
    here, there = np.array(zero) * distance, np.array(one) * distance
    outputs = draws(law, np.where(bits[:, np.newaxis] == 1, there, here))
    return certified_from_full_losses(
        log_ratio(claimed, outputs, here, there),
        bits,
        largest=float(trial.epsilon) * distance,
        distance=distance,
        false_positive_rate=trial.false_positive_rate,
    )


def _randomised_response(answers: int) -> Callable[[Trial], float]:
    """One person says 0 or 1; any third answer speaks for neither."""

    def certify(trial: Trial) -> float:
        bits = fair_coins(trial.runs)
        said = randomised(RandomisedResponse.for_epsilon(trial.spent, answers=answers), bits)
        scores = np.where(said > 1, 0.0, said - 0.5)
        return certified_epsilon(
            Tally.of(scores, bits), false_positive_rate=trial.false_positive_rate
        )

    return certify


CLIENTS = 4
"""People who report in one run, each by a coin of their own: many of their reports speak for neither answer."""


def _unary_encoding(trial: Trial) -> float:
    """Two values of three; the third bit speaks for neither."""
    bits = fair_coins(CLIENTS * trial.runs)
    said = randomised(UnaryEncoding.for_epsilon(trial.spent, values=3), bits)
    scores = said[:, 1].astype(np.float64) - said[:, 0]
    return certified_epsilon(Tally.of(scores, bits), false_positive_rate=trial.false_positive_rate)


def _local_hashing(trial: Trial) -> float:
    """Two values of a hundred: a report speaks for one of them, for both or for neither."""
    bits = fair_coins(CLIENTS * trial.runs)
    protocol = LocalHashing.for_epsilon(trial.spent, values=100)
    said = randomised(protocol, bits)
    functions, answers = said // protocol.base, said % protocol.base
    speaks = [protocol.hashes(functions, np.full(len(bits), value)) == answers for value in (0, 1)]
    scores = speaks[1].astype(np.float64) - speaks[0]
    return certified_epsilon(Tally.of(scores, bits), false_positive_rate=trial.false_positive_rate)


def _piecewise(trial: Trial) -> float:
    """A number at either bound: reports at the ends speak for the nearer one."""
    bits = fair_coins(CLIENTS * trial.runs)
    protocol = Piecewise.for_epsilon(trial.spent)
    said = randomised(protocol, bits * protocol.cells)
    scores = (said >= protocol.cells).astype(np.float64) - (said < protocol.width)
    return certified_epsilon(Tally.of(scores, bits), false_positive_rate=trial.false_positive_rate)


# --- bounded range ------------------------------------------------------------------------


def _exponential(trial: Trial) -> float:
    """Two candidates whose scores change places: the widest range of losses that there is."""
    unit = Exponential(epsilon=trial.spent).unit(1)
    distance, bits = max(1, round(4 / trial.epsilon)), fair_coins(trial.runs)
    scores = (np.array([distance, 0]), np.array([0, distance]))
    noise = DrawnNoise()
    chosen = np.array([noise.choose(scores[bit], unit, step="audit") for bit in bits])
    tally = Tally.of(chosen - 0.5, bits)
    return certified_range(tally, false_positive_rate=trial.false_positive_rate, distance=distance)


# --- the sparse vector --------------------------------------------------------------------


def _above_threshold(trial: Trial) -> float:
    """The threshold's noise and a count's noise, each in a game of its own, half the error each.

    The loss of a run is 1/scale of the threshold's noise plus 2/scale of a count's; long runs of
    `below` before an unlikely `above` come arbitrarily near, too rarely to be seen. Each scale shows
    in a game by itself: the noisy threshold as if it were published, and one `above` beside a
    public threshold, whose odds are exactly e^(distance/scale).
    """
    mechanism = AboveThreshold(epsilon=trial.spent)
    rate = trial.false_positive_rate / 2
    far, further = max(1, round(4 / trial.epsilon)), max(1, round(8 / trial.epsilon))
    coins, others = fair_coins(trial.runs), fair_coins(trial.runs)
    bars = draws(mechanism.threshold_law(1), coins * far)
    sides = np.where(bars >= far, 1.0, np.where(bars <= 0, -1.0, 0.0))
    of_threshold = certified_epsilon(Tally.of(sides, coins), distance=far, false_positive_rate=rate)
    noise, law = DrawnNoise(), mechanism.count_law(1)
    fired = np.array(
        [noise.is_above(further * (int(bit) - 1), 0, law, step="audit") for bit in others]
    )
    of_count = certified_epsilon(
        Tally.of(fired.astype(np.float64), others), distance=further, false_positive_rate=rate
    )
    return of_threshold + 2 * of_count


# --- naming keys ---------------------------------------------------------------------------


def _partition_selection(trial: Trial) -> float:
    """A key that about half of the runs name, held by a few units more or less.

    As long as a name is the rarer outcome, every further unit makes it e^epsilon times as likely;
    from then on every unit less does so to a silence. Each run plays twice, once on either side.
    """
    law = PartitionSelection(epsilon=trial.spent, delta=trial.delta).law(1)
    far, games = max(1, round(2 / trial.epsilon)), 2 * trial.runs
    rarer = 1 / (1 + math.exp(trial.spent))
    middle = next(n for n in range(law.certain) if law.chance(n) > rarer)
    bits, below = fair_coins(games), np.arange(games) % 2 == 0
    held = np.where(below, middle - far, middle) + far * bits
    keys = [(str(place),) for place in range(games)]
    kept = set(DrawnNoise().keep(keys, held, law, step="audit"))
    named = np.array([key in kept for key in keys])
    scores = np.where(below, named * 1.0, (~named) * -1.0)
    return certified_epsilon(
        Tally.of(scores, bits), distance=far, false_positive_rate=trial.false_positive_rate
    )


# --- the table ----------------------------------------------------------------------------

_BLACK = "guessing from outputs alone; no assumption"
_WHITE = "guessing by likelihood ratio; no assumption"
_RANGE = "guessing among two candidates; bounded range"
_SCALES = "one guessing game for each noise; discrete Laplace shape"
_NAMES = "guessing by whether a key is named; delta negligible"
_SIZE = "guessing at three sigmas; Gaussian shape"


def _pure(title: str, game: str, certify: Callable[[Trial], float]) -> Subject:
    return Subject(title=title, game=game, uses_delta=False, certify=certify)


def _normal(title: str, certify: Callable[[Trial], float]) -> Subject:
    return Subject(title=title, game=_SIZE, uses_delta=True, certify=certify)


SUBJECTS: dict[str, tuple[Subject, ...]] = {
    "discrete-laplace": (
        _pure("discrete-laplace, one count", _WHITE, _laplace_count),
        _pure("discrete-laplace, black box", _BLACK, _laplace_black_box),
        _pure("discrete-laplace, histogram", _WHITE, _laplace_histogram),
    ),
    "discrete-gaussian": (
        _normal("discrete-gaussian", gaussian(concentrated_law, epsilon_of_rho)),
    ),
    "rounded-gaussian": (_normal("rounded-gaussian", gaussian(rounded_law, epsilon_of_rounded)),),
    "one-count-gaussian": (
        _normal("one-count-gaussian", gaussian(one_count_law, epsilon_of_discrete)),
    ),
    "analytic-gaussian": (
        _normal("analytic-gaussian", gaussian(analytic_law, epsilon_of_rounded)),
    ),
    "exponential": (_pure("exponential", _RANGE, _exponential),),
    "randomised-response": (
        _pure("randomised-response, 2 answers", _WHITE, _randomised_response(2)),
        _pure("randomised-response, 5 answers", _WHITE, _randomised_response(5)),
    ),
    "unary-encoding": (_pure("unary-encoding", _WHITE, _unary_encoding),),
    "local-hashing": (_pure("local-hashing", _WHITE, _local_hashing),),
    "piecewise": (_pure("piecewise", _WHITE, _piecewise),),
    "above-threshold": (_pure("above-threshold", _SCALES, _above_threshold),),
    "partition-selection": (
        Subject(
            title="partition-selection",
            game=_NAMES,
            uses_delta=True,
            certify=_partition_selection,
        ),
    ),
}
"""Every mechanism of `MECHANISMS`, by the same name."""


def subjects_of(mechanism: str) -> tuple[Subject, ...]:
    """The audits of one mechanism."""
    if mechanism not in MECHANISMS:
        raise BadInput(
            f"There is no mechanism {mechanism!r}.{did_you_mean(mechanism, MECHANISMS)} "
            f"The mechanisms are {', '.join(MECHANISMS)}; a schema's file name ends in .toml."
        )
    if mechanism not in SUBJECTS:
        raise BadInput(f"The mechanism {mechanism} has no audit yet.")
    return SUBJECTS[mechanism]
