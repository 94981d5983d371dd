"""Exhaustive reconstruction (Dinur and Nissim 2003): any secret that all answers allow.

Theorem. If every subset count is answered within E of the truth, each candidate that is within E of
every answer differs from the secret in at most 4E places: the subsets of the people whose secret bit is 0, and
of those whose bit is 1, each bound half of the differences by 2E.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput

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
