"""Definitions of privacy that fail, each with a mechanism that satisfies it and protects nobody.

| definition | what satisfies it |
|---|---|
| additive: P(S) <= P'(S) + epsilon | publish one row picked at random: every person risks 1/n, and one is exposed for certain |
| a delta of 1/n | the same mechanism, called (0, 1/n)-differentially private |
| k-anonymity | a class whose members share the secret |
| bounded noise of any fixed size | the largest answer tells that the truth is not smaller |

A deterministic mechanism that answers differently on any two tables answers differently on two neighbours: change one
table into the other row by row, and look where the answer changes. Whoever sees the answer then knows which of the two
tables it was, with certainty: no finite epsilon holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

Law = Mapping[Any, Fraction]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A mechanism on two neighbours that satisfies a definition, and what it does to somebody."""

    definition: str
    mechanism: str
    satisfied: str
    harm: str
    harmed: float
    """The probability that somebody's row, or bit, is disclosed."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "definition": self.definition,
            "mechanism": self.mechanism,
            "satisfied": self.satisfied,
            "harm": self.harm,
            "probability_of_harm": self.harmed,
        }


def largest_difference(one: Law, other: Law) -> Fraction:
    """The largest P(S) - P'(S) over all sets S: what an additive definition bounds."""
    outputs = set(one) | set(other)
    gains = (one.get(each, Fraction(0)) - other.get(each, Fraction(0)) for each in outputs)
    return sum((gain for gain in gains if gain > 0), Fraction(0))


def one_row_published(rows: tuple[str, ...]) -> dict[str, Fraction]:
    """The law of a mechanism that publishes one row, picked at random."""
    law: dict[str, Fraction] = {}
    for row in rows:
        law[row] = law.get(row, Fraction(0)) + Fraction(1, len(rows))
    return law


def bounded_count(count: int, size: int) -> dict[int, Fraction]:
    """The law of a count plus uniform noise of at most `size`."""
    return {count + noise: Fraction(1, 2 * size + 1) for noise in range(-size, size + 1)}


def counterexamples(people: int = 1_000) -> list[Counterexample]:
    """The failed definitions, computed for a table of `people` distinct rows."""
    rows = tuple(f"row {number}" for number in range(people))
    changed = (*rows[:-1], "another row")
    slack = largest_difference(one_row_published(rows), one_row_published(changed))
    with_one, without = bounded_count(10, 5), bounded_count(9, 5)
    certain = sum((weight for told, weight in with_one.items() if told not in without), Fraction(0))
    return [
        Counterexample(
            "additive: P(S) <= P'(S) + epsilon",
            "publish one row, picked at random",
            f"epsilon = {slack}",
            "somebody's row is published, always",
            1.0,
        ),
        Counterexample(
            "(epsilon, delta)-DP with delta = 1/n",
            "publish one row, picked at random",
            f"epsilon = 0, delta = {slack}",
            "somebody's row is published, always: delta must be far below 1/n",
            1.0,
        ),
        Counterexample(
            "k-anonymity",
            "generalise until k rows agree",
            "any k",
            "where a class shares its secret, everybody's secret in it is published",
            1.0,
        ),
        Counterexample(
            "noise within fixed bounds, +-5",
            "a count plus uniform noise",
            "the answer is never off by more than 5",
            "the largest answer proves that the person is in: the ratio of the two chances is infinite",
            float(certain),
        ),
    ]


Row = TypeVar("Row")
Mechanism = Callable[[Sequence[Any]], Any]


def separated_neighbours(
    mechanism: Mechanism, one: Sequence[Row], other: Sequence[Row]
) -> tuple[list[Row], list[Row]] | None:
    """Two neighbours on which the mechanism differs, between two tables of equal length; None if it does not."""
    before = list(one)
    answer = mechanism(before)
    for place, row in enumerate(other):
        after = [*before[:place], row, *before[place + 1 :]]
        told = mechanism(after)
        if told != answer:
            return before, after
        before = after
    return None
