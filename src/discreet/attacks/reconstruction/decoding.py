"""Decoding a secret 0/1 column from about 4n noisy subset counts, in polynomial time.

| method | minimises | good for |
|---|---|---|
| `least-squares` | the sum of squared residuals | noise of any shape up to about sqrt(n) |
| `l1` | the sum of absolute residuals | a fraction of the answers arbitrarily wrong |
| `linear-program` | the same, exactly and within [0, 1] | up to some hundred people |

Theorem (Dinur and Nissim 2003; Dwork, McSherry, Talwar 2007): with error alpha sqrt(n) all but
O(alpha^2) people are recovered, also where a constant fraction of the answers is arbitrary.

Random subsets make a matrix whose singular values, once each column's mean is taken out, lie within a small factor
of each other. So conjugate gradients end after some dozen products with the matrix, and nothing is factored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.attacks.outcome import Progress, quiet
from discreet.attacks.reconstruction.questions import Subsets
from discreet.errors import BadInput

Single = npt.NDArray[np.float32]

MOST_PRODUCTS = 60
ACCURACY = 1e-3
ROUNDS = 10
"""How often the L1 method solves with new weights."""
TRIMMINGS, OUTLIER = 3, 4.0
"""How often outliers are left out, and how many median residuals away they lie."""
MOST_FOR_PROGRAM = 512


def decoded(
    subsets: Subsets,
    answers: Floats,
    *,
    method: str = "least-squares",
    progress: Progress = quiet,
) -> npt.NDArray[np.int64]:
    """The secret bits that fit the answers best."""
    if method not in METHODS:
        raise BadInput(f"There is no method {method!r}; there are {', '.join(METHODS)}.")
    if subsets.ndim != 2 or len(subsets) != len(answers):
        raise BadInput(f"{len(answers)} answers do not belong to {len(subsets)} questions.")
    if not len(answers):  # all were suppressed: nothing is known
        return np.zeros(subsets.shape[1], dtype=np.int64)
    found = METHODS[method](subsets, np.asarray(answers, dtype=np.float64), progress)
    return (found > 0.5).astype(np.int64)


def _least_squares(subsets: Subsets, answers: Floats, progress: Progress) -> Floats:
    weights = np.ones(len(answers), dtype=np.float32)
    return _weighted(subsets, answers, weights, np.full(subsets.shape[1], 0.5), progress)


def _l1(subsets: Subsets, answers: Floats, progress: Progress) -> Floats:
    """Iteratively reweighted least squares: weights 1/|residual| make squares absolute values."""
    found = _least_squares(subsets, answers, quiet)
    for round_ in range(ROUNDS):
        progress("decoding", round_ / ROUNDS)
        residual = np.abs(subsets @ found.astype(np.float32) - answers)
        floor = max(1e-3, float(np.quantile(residual, 0.2)))
        weights = (floor / np.maximum(residual, floor)).astype(np.float32)
        before = found
        found = np.clip(_weighted(subsets, answers, weights, found, quiet), 0.0, 1.0)
        if np.array_equal(found > 0.5, before > 0.5) and round_ >= 3:
            break
    return _without_outliers(subsets, answers, found)


def _without_outliers(subsets: Subsets, answers: Floats, found: Floats) -> Floats:
    """Once nearly all bits are right, rounding them shows which answers are arbitrary: leave those out.

    Kept only while the sum of absolute residuals of the rounded bits falls.
    """
    residual = np.abs(subsets @ (found > 0.5).astype(np.float32) - answers)
    for _ in range(TRIMMINGS):
        weights = (residual <= OUTLIER * np.median(residual)).astype(np.float32)
        tried = _weighted(subsets, answers, weights, found, quiet)
        new = np.abs(subsets @ (tried > 0.5).astype(np.float32) - answers)
        if new.sum() >= residual.sum():
            break
        found, residual = tried, new
    return found


def _weighted(
    subsets: Subsets, answers: Floats, weights: Single, start: Floats, progress: Progress
) -> Floats:
    """argmin of sum w_i (subset_i x + c - answer_i)^2 over x and c, by conjugate gradients.

    The free constant c takes out the one direction, all people at once, that every subset shares.
    """
    total = float(weights.sum())
    means = (weights @ subsets) / total
    target = (answers - float(weights @ answers) / total).astype(np.float32)
    # A single number of the whole: the mean subset still says how many bits are 1.
    whole = float(np.average(answers, weights=weights))

    def forward(x: Single) -> Single:
        return subsets @ x - np.float32(means @ x)

    def backward(y: Single) -> Single:
        return y @ subsets - np.float32(y.sum()) * means

    x = start.astype(np.float32)
    residual = backward(weights * (target - forward(x)))
    direction = residual.copy()
    size = float(residual @ residual)
    first = size
    for product in range(MOST_PRODUCTS):
        if size <= ACCURACY**2 * max(first, 1e-30):
            break
        progress("decoding", product / MOST_PRODUCTS)
        image = forward(direction)
        step = size / max(float(image @ (weights * image)), 1e-30)
        x = x + np.float32(step) * direction
        residual = residual - np.float32(step) * backward(weights * image)
        new = float(residual @ residual)
        direction = residual + np.float32(new / size) * direction
        size = new
    # Move all people by one amount until the mean answer fits.
    shift = (whole - float(means @ x)) / max(float(means.sum()), 1e-30)
    return (x + shift).astype(np.float64)


def _linear_program(subsets: Subsets, answers: Floats, progress: Progress) -> Floats:
    """min sum |residual| with every bit in [0, 1], by HiGHS."""
    from scipy import sparse
    from scipy.optimize import linprog

    questions, people = subsets.shape
    if people > MOST_FOR_PROGRAM:
        raise BadInput(
            f"The linear program takes at most {MOST_FOR_PROGRAM} people, not {people}: "
            "use least-squares or l1."
        )
    progress("solving", 0.0)
    matrix, same = sparse.csr_matrix(subsets.astype(np.float64)), sparse.eye(questions)
    bound = sparse.vstack(
        [sparse.hstack([matrix, -same]), sparse.hstack([-matrix, -same])], format="csc"
    )
    solved = linprog(
        np.concatenate([np.zeros(people), np.ones(questions)]),
        A_ub=bound,
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(0, 1)] * people + [(0, None)] * questions,
        method="highs",
        options={"time_limit": 120.0},
    )
    if solved.x is None:
        raise BadInput("The linear program was not solved in two minutes: use least-squares or l1.")
    return np.asarray(solved.x[:people])


METHODS: dict[str, Callable[[Subsets, Floats, Progress], Floats]] = {
    "least-squares": _least_squares,
    "l1": _l1,
    "linear-program": _linear_program,
}
