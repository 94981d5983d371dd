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

Exhaustive reconstruction takes any secret that all answers allow.
Theorem (Dinur and Nissim 2003): if every subset count is answered within E of the truth, each candidate that is within E of
every answer differs from the secret in at most 4E places: the subsets of the people whose secret bit is 0, and
of those whose bit is 1, each bound half of the differences by 2E.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.attacks.outcome import Progress, quiet
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

Subsets = npt.NDArray[np.float32]
"""One question a row, one person a column: 1 where the person is in the subset."""


def random_subsets(people: int, questions: int, *, seed: int | None = None) -> Subsets:
    """Every person is in every subset with probability one half."""
    bits = generator(seed).integers(0, 256, (questions, (people + 7) // 8), dtype=np.uint8)
    return np.unpackbits(bits, axis=1, count=people).astype(np.float32)


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


MOST_PEOPLE = 16
BLOCK = 128
"""Questions that every candidate still standing is held against at once."""
SLACK = 1e-6
_ONES = np.array([bin(value).count("1") for value in range(1 << MOST_PEOPLE)], dtype=np.uint8)


def all_subset_counts(secret: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The exact count of every subset, subset number s holding the people whose bits s has."""
    if len(secret) > MOST_PEOPLE:
        raise BadInput(f"All subsets are asked of at most {MOST_PEOPLE} people, not {len(secret)}.")
    mask = int((secret.astype(np.int64) << np.arange(len(secret))).sum())
    return np.asarray(_ONES[np.arange(1 << len(secret)) & mask], dtype=np.int64)


def consistent_candidate(
    answers: npt.NDArray[np.float64], *, error: float
) -> npt.NDArray[np.int64]:
    """A secret that lies within `error` of every answer; `answers[s]` belongs to the subset of s's bits."""
    people = len(answers).bit_length() - 1
    if len(answers) != 1 << people or not 1 <= people <= MOST_PEOPLE:
        raise BadInput(f"Give one answer for each of the 2^n subsets of 1 to {MOST_PEOPLE} people.")
    standing = np.arange(1 << people)
    # Large subsets rule out the most, so they come first.
    order = np.argsort(-_ONES[: 1 << people].astype(np.int64), kind="stable")
    for start in range(0, len(order), BLOCK):
        asked = order[start : start + BLOCK]
        for question in asked if len(standing) > 1 << 12 else (asked,):
            counts = _ONES[standing[:, None] & np.atleast_1d(question)[None, :]]
            off = np.abs(counts - answers[np.atleast_1d(question)][None, :])
            standing = standing[(off <= error + SLACK).all(axis=1)]
        if not standing.size:
            raise BadInput(f"No secret agrees with the answers: some error is above {error:g}.")
    return np.asarray((standing[0] >> np.arange(people)) & 1, dtype=np.int64)
