"""How far a model is off on the worst predicate, from one private selection and one measurement."""

from __future__ import annotations

import math

from discreet.artifacts.measurement import Measurement, Selection
from discreet.errors import BadInput


def model_bound(
    chosen: Selection, noisy: Measurement, model_answer: int, confidence: float
) -> float:
    """A bound that holds for all predicates at once, with probability `confidence`.

    The score of the chosen predicate, its model's error, is at most |noisy answer - model's| plus the
    noise; the largest score of all exceeds that by at most (2 s / epsilon) ln(candidates / beta).
    Each of the two fails with half of 1 - confidence.
    """
    epsilon = chosen.cost.epsilon
    if epsilon is None or epsilon <= 0:
        raise BadInput("The selection states no epsilon.")
    beta = (1 - confidence) / 2
    shortfall = 2 * chosen.sensitivity / float(epsilon) * math.log(chosen.candidates / beta)
    seen = abs(int(noisy.values[0]) - model_answer)
    return float(seen + noisy.law.half_width(1 - beta) + math.ceil(shortfall))
