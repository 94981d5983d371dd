"""Noise reduction: one noisy answer at several scales, each a coarsening of the finer one.

Theorem. Discrete Laplace noise is the difference of two independent geometric numbers. A
geometric number of ratio p is one of a smaller ratio q plus an independent extra, which
is, with probability (1 - q/p) / (1 - q), a fresh geometric number of ratio p, and else 0
(divide the generating functions (1-p)/(1-pz) and (1-q)/(1-qz)). So coarse noise is fine
noise plus independent extra noise: who sees the coarse answer first and the fine one later
has learnt what the fine one alone tells (Koufogiannis, Han, Pappas 2015, for integers).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.samplers.bernoulli import toss_threshold
from discreet.samplers.entropy import EntropySource, current_entropy
from discreet.samplers.exact import Enclosure, Thresholds, complement, divide, exp_minus
from discreet.samplers.laplace import in_blocks, signed_sampler, unsigned_sampler
from discreet.samplers.limits import check_count, check_scale


def noise_chain(
    scales: Sequence[Fraction], count: int, *, entropy: EntropySource | None = None
) -> NDArray[np.int64]:
    """Rows of noise, finest first: row i is discrete Laplace of `scales[i]`, and row i+1 is
    row i plus noise that is independent of all finer rows. Shape (len(scales), count)."""
    checked = [check_scale(scale, name=f"scales[{i}]") for i, scale in enumerate(scales)]
    if not checked or any(coarse < fine for fine, coarse in pairwise(checked)):
        raise BadInput(
            "scales must be given finest (smallest) first, at least one. Nothing was drawn."
        )
    source = current_entropy(entropy)
    rows = np.empty((len(checked), check_count(count)), np.int64)
    rows[0] = in_blocks(signed_sampler(checked[0]).draw, rows.shape[1], source)
    for i, (fine, coarse) in enumerate(pairwise(checked), start=1):
        rows[i] = rows[i - 1]
        if fine < coarse:
            _add_extra(rows[i], 1, fine, coarse, source)
            _add_extra(rows[i], -1, fine, coarse, source)
    return rows


def _add_extra(
    row: NDArray[np.int64], sign: int, fine: Fraction, coarse: Fraction, entropy: EntropySource
) -> None:
    """What turns geometric numbers of scale `fine` into those of scale `coarse`."""
    chosen = np.flatnonzero(toss_threshold(_chance_of_extra(fine, coarse), 0, row.size, entropy))
    row[chosen] += sign * in_blocks(unsigned_sampler(coarse).draw, chosen.size, entropy)


@lru_cache(maxsize=256)
def _chance_of_extra(fine: Fraction, coarse: Fraction) -> Thresholds:
    """(1 - q/p) / (1 - q), a rational function of exp(-1/N) for some N, so transcendental."""

    def enclose(precision: int) -> Sequence[Enclosure]:
        quotient = exp_minus(1 / fine - 1 / coarse, precision)
        q = exp_minus(1 / fine, precision)
        return [divide(complement(quotient, precision), complement(q, precision), precision)]

    return Thresholds(enclose)
