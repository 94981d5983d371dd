"""The exponential mechanism's draw, exact: P(i) proportional to exp(unit * score_i).

Theorem (rejection). A candidate proposed uniformly and accepted with probability
exp(-unit (best - score_i)) has that law. The best candidate is always accepted, so n
candidates need at most n proposals on average, whatever the scores. Acceptance is a coin
of integer thresholds (`bernoulli`): no float probability, hence no overflow, and none
that is rounded to zero. How long it takes depends on the scores: time is not protected.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.samplers.bernoulli import digit_coins
from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.limits import check_unit
from discreet.samplers.uniform import uniform_below

FIRST_BATCH: Final = 64
LARGEST_BATCH: Final = 1 << 16


def select_exponential(
    scores: NDArray[Any], *, unit: Fraction, entropy: EntropySource | None = None
) -> int:
    """An index i drawn with probability proportional to exp(unit * scores[i]), exact."""
    scores = np.asarray(scores)
    if scores.ndim != 1 or scores.size == 0 or scores.dtype.kind not in "iu":
        raise BadInput(
            "scores must be a one-dimensional array of at least one 64-bit integer. "
            "Nothing was drawn."
        )
    if scores.dtype == np.uint64:
        gaps = scores.max() - scores
    else:  # exact: the true difference of two int64 lies in 0..2^64-1, so it survives the wrap
        wide = scores.astype(np.int64)
        gaps = wide.max().astype(np.uint64) - wide.astype(np.uint64)
    coins = digit_coins(check_unit(unit))
    source = current_entropy(entropy)
    batch = FIRST_BATCH
    while True:
        proposed = uniform_below(gaps.size, batch, entropy=source)
        accepted = np.flatnonzero(coins.toss(gaps[proposed], source))
        if accepted.size:
            return int(proposed[accepted[0]])
        batch = min(2 * batch, LARGEST_BATCH)
