"""Strategies for a declared list of predicates: what to measure so that the answers err least.

With W one row a predicate and one column a part, and A the strategy, each answer is w A^+ y for the
noisy y = A x + noise. Its squared error is the noise's variance, which grows with the largest
column of A, times |w A^+|^2. All of this is public: it depends on W alone.

L2 (Gaussian noise): the least sum of squared errors over all strategies solves
min trace(W'W X^-1) over X = A'A with a diagonal of at most 1, a convex problem (Li, Miklau, Hay,
McGregor, Rastogi 2015; Yuan, Yang, Zhang, Hao 2016). At its solution X^-1 W'W X^-1 is diagonal,
which gives the iteration below. L1 (Laplace noise): p-identity strategies (McKenna, Miklau, Hay,
Machanavajjhala 2018): the identity and p further rows, each column scaled to a sum of 1.

Strategies are rounded to whole numbers before anything is measured: their sensitivity is then
exact, and the rounding costs a little error and no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bools, Floats, Integers
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.laws import NoiseLaw

FINENESS = 1 << 10
"""The largest entry of a rounded strategy."""
MOST_OPTIMISED_L2, MOST_OPTIMISED_L1 = 400, 160
"""Parts up to which a strategy is optimised; beyond, it takes too long for a plan."""
MOST_SOLVED = 2000
"""Parts up to which answers are solved for by least squares."""
MOST_EXTRA = 8
"""Rows of a p-identity strategy beyond the identity."""
STEPS = 60
LEAST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Strategy:
    """A matrix of whole numbers over parts; `None` stands for the predicates themselves."""

    name: str
    matrix: Integers | None
    reconstruction: Floats
    """One row a predicate: how its answer is made of the measured numbers."""

    @property
    def reach(self) -> Floats:
        """The size of each predicate's row: its error in units of one number's noise."""
        return np.asarray(np.linalg.norm(self.reconstruction, axis=1))


def strategies(workload: Bools, *, squared: bool) -> tuple[Strategy, ...]:
    """Candidates for a workload: the predicates one by one, the parts, and an optimised strategy.

    `squared`: for noise that follows the L2 sensitivity.
    """
    return _strategies(workload.shape, workload.tobytes(), squared)


@lru_cache(maxsize=32)
def _strategies(shape: tuple[int, int], content: bytes, squared: bool) -> tuple[Strategy, ...]:
    workload = np.frombuffer(content, dtype=np.bool_).reshape(shape).astype(np.float64)
    parts = shape[1]
    found = [independent(workload)]
    if parts <= MOST_SOLVED:
        found.append(Strategy("parts", np.eye(parts, dtype=np.int64), workload))
    if 1 < parts <= (MOST_OPTIMISED_L2 if squared else MOST_OPTIMISED_L1):
        best = best_l2(workload) if squared else best_l1(workload)
        matrix = whole(best)
        found.append(Strategy("optimised", matrix, reconstruction(workload, matrix)))
    return tuple(found)


def independent(workload: Floats) -> Strategy:
    """Noise on each predicate; least squares makes equal use of what they say about each other."""
    if workload.shape[1] > MOST_SOLVED or len(workload) > MOST_SOLVED:
        return Strategy("independent", None, np.eye(len(workload)))
    return Strategy("independent", None, reconstruction(workload, workload))


def reconstruction(workload: Floats, matrix: npt.NDArray[np.generic]) -> Floats:
    """W A^+: the least-squares answers, which are unbiased if A's rows span W's."""
    return np.asarray(workload @ np.linalg.pinv(np.asarray(matrix, dtype=np.float64), rcond=1e-10))


def row_terms(weights: Floats, law: NoiseLaw) -> list[tuple[float, NoiseLaw, int]]:
    """The noise in one answer: a draw for each measured number, by its weight."""
    size, many = np.unique(np.round(np.abs(weights), 12), return_counts=True)
    return [(float(each), law, int(n)) for each, n in zip(size, many, strict=True) if each > 0]


def whole(matrix: Floats) -> Integers:
    """Rounded to whole numbers of at most FINENESS; rows that vanish are left out."""
    rounded: Integers = np.rint(matrix * (FINENESS / np.abs(matrix).max())).astype(np.int64)
    kept = rounded[np.abs(rounded).max(axis=1) > 0]
    return (
        kept
        if np.linalg.matrix_rank(kept) == matrix.shape[1]
        else np.eye(matrix.shape[1], dtype=np.int64)
    )


def best_l2(workload: Floats) -> Floats:
    """The fixed point of X = L^-1/2 (L^1/2 W'W L^1/2)^1/2 L^-1/2 with a diagonal of 1."""
    gram = workload.T @ workload
    parts = len(gram)
    gram = gram + np.eye(parts) * max(LEAST, 1e-4 * float(np.trace(gram)) / parts)
    weights = np.ones(parts)
    found = np.eye(parts)
    for _ in range(STEPS):
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(root[:, None] * gram * root[None, :])
        inner = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        found = inner / root[:, None] / root[None, :]
        diagonal = np.diag(found)
        if np.abs(diagonal - 1).max() < 1e-4:
            break
        weights = np.maximum(weights * diagonal, LEAST)
    found = found / np.sqrt(np.outer(np.diag(found), np.diag(found)))
    values, vectors = np.linalg.eigh(found)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def best_l1(workload: Floats) -> Floats:
    """The identity and p rows over it, by projected quasi-Newton steps from a public start."""
    import scipy.optimize

    gram = workload.T @ workload
    parts = len(gram)
    rows = max(1, min(MOST_EXTRA, parts // 6))

    def cost(flat: Floats) -> tuple[float, Floats]:
        extra = flat.reshape(rows, parts)
        scale = 1 + extra.sum(axis=0)
        inverse = np.linalg.inv(np.eye(parts) + extra.T @ extra)
        weighted = scale[:, None] * gram * scale[None, :]
        by_scale = 2 * ((inverse * gram) @ scale)
        slope = -2 * extra @ (inverse @ weighted @ inverse) + by_scale[None, :]
        return float((inverse * weighted).sum()), slope.reshape(-1)

    # Small extra rows are a local optimum: nothing but the identity. So it starts with large ones.
    start = generator(0).random(rows * parts)
    options = {"maxiter": 2 * STEPS}
    bounds = [(0.0, None)] * len(start)
    minimize: Any = scipy.optimize.minimize
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    extra = found.x.reshape(rows, parts)
    matrix = np.concatenate([np.eye(parts), extra])
    return np.asarray(matrix / matrix.sum(axis=0)[None, :])
