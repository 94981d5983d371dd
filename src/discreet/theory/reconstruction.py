"""Answers to all subset sums that are too good give the table away: Dinur and Nissim 2003, as a curve.

A table has one secret bit a row. If every one of the 2^n subset sums is answered within E, then a candidate that
fits all answers, |sum over S of c - answer(S)| <= E for every S, is wrong in at most 4E rows: 2E of its ones and 2E
of its zeros. (The absolute value stands around the sum.) So E below n/8 gives half of the rows away. `curve` states
it; `attacks.reconstruction` runs it on small tables.

Against fewer questions, attacks that take polynomial time need E below a multiple of sqrt(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import BadInput

SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """An error of all subset sums, and what then follows."""

    error: float
    most_wrong: int
    """Rows in which a candidate that fits can be wrong."""
    least_recovered: float
    """The share of the rows that an attacker is sure to have right."""


def curve(rows: int, errors: Sequence[float]) -> tuple[CurvePoint, ...]:
    """The lower bound, for each error in rows."""
    if rows < 1 or any(error < 0 for error in errors):
        raise BadInput("The curve needs at least one row, and errors from 0 on.")
    found = []
    for error in errors:
        wrong = min(rows, int(4 * error + SLACK))
        found.append(CurvePoint(float(error), wrong, 1 - wrong / rows))
    return tuple(found)


def noise_that_protects(rows: int, share: float) -> float:
    """The error below which more than `share` of the rows can be reconstructed for certain."""
    if not 0 < share < 1:
        raise BadInput(f"A share of {share:g} is not between 0 and 1.")
    return (1 - share) * rows / 4
