"""Plans for the local model: people, epsilon, error and risk, any one from the other three.

Lemma (Chebyshev; p = e^epsilon / (1 + e^epsilon) is the chance of a true answer): with probability 1 - beta the share of yes is off by
at most alpha = sqrt(1 / beta) / (2 (2p - 1) sqrt(n)). 2p - 1 = tanh(epsilon / 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import ndtri

from discreet.errors import BadInput
from discreet.local.protocols import Piecewise
from discreet.local.protocols.protocol import variance_of_share
from discreet.local.question import PROTOCOLS, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlan:
    """A consistent set of the four numbers, and which of them was computed."""

    people: float
    epsilon: float
    error: float
    """alpha: the largest error of the share, except with the probability `risk`."""
    risk: float
    """beta."""
    computed: str

    @property
    def central_error(self) -> float:
        """The same promise with a trusted curator: Laplace noise of scale 1/epsilon on the count, ln(1/beta)/(epsilon n)."""
        return math.log(1 / self.risk) / (self.epsilon * self.people)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "central_error": self.central_error}


def plan(
    *,
    people: float | None = None,
    epsilon: float | None = None,
    error: float | None = None,
    risk: float | None = None,
) -> LocalPlan:
    """Give three of the four; the fourth follows from the lemma for a yes/no question."""
    given = {"people": people, "epsilon": epsilon, "error": error, "risk": risk}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise BadInput("Give exactly three of people, epsilon, error and risk; the fourth follows.")
    for name, value in given.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise BadInput(f"{name} is {value}; it must be above 0.")
    for name in ("error", "risk"):
        value = given[name]
        if value is not None and value >= 1:
            raise BadInput(f"{name} is {value}; it must be below 1.")
    if error is None:
        assert people and epsilon and risk
        error = math.sqrt(1 / risk) / (2 * math.tanh(epsilon / 2) * math.sqrt(people))
    elif people is None:
        assert epsilon and risk
        people = float(math.ceil(1 / (4 * risk * (math.tanh(epsilon / 2) * error) ** 2)))
    elif risk is None:
        assert epsilon
        risk = 1 / (4 * people * (math.tanh(epsilon / 2) * error) ** 2)
        if risk >= 1:
            raise BadInput(
                f"With {people:,.0f} people at epsilon {epsilon:g} the lemma promises nothing for an error of "
                f"{error:g}: it needs more people, a larger epsilon or a larger error."
            )
    else:
        least = math.sqrt(1 / risk) / (2 * error * math.sqrt(people))
        if least >= 1:
            raise BadInput(
                f"No epsilon is large enough: even true answers of {people:,.0f} people are promised only "
                f"an error of {math.sqrt(1 / risk) / (2 * math.sqrt(people)):.3g} by the lemma."
            )
        epsilon = 2 * math.atanh(least)
    assert people is not None and epsilon is not None
    return LocalPlan(people=people, epsilon=epsilon, error=error, risk=risk, computed=missing[0])


def central_and_local(
    epsilon: float, sizes: Sequence[int], *, risk: float = 0.05
) -> list[tuple[int, float, float]]:
    """(people, central error, local error) of a share, along numbers of people."""
    found = []
    for people in sizes:
        made = plan(people=people, epsilon=epsilon, risk=risk)
        found.append((people, made.central_error, made.error))
    return found


def expected_errors(
    question: Question, people: int, *, confidence: float = 0.95
) -> dict[str, float]:
    """The half-width of the interval, by every protocol that can take the question: of a rare value, or of a mean at its bounds."""
    if question.bounds is not None:
        width = float(question.bounds[1] - question.bounds[0])
        std = width * _worst_std(question.number_protocol) / math.sqrt(people)
        return {question.protocol: float(ndtri(0.5 + confidence / 2)) * std}
    found = {}
    for kind in PROTOCOLS:
        try:
            other = Question.category(
                question.name, question.values, epsilon=question.epsilon, protocol=kind
            )
            spread = variance_of_share(other.value_protocol, people)
        except BadInput:
            continue
        found[kind] = float(ndtri(0.5 + confidence / 2)) * math.sqrt(spread)
    return found


def _worst_std(protocol: Piecewise) -> float:
    """The standard deviation of one report about a number, in widths of the bounds: largest where the number is a bound."""
    constant, linear, square = protocol.second_moment()
    variances = (
        constant + linear * at + square * at**2 - (protocol.middle + protocol.slope * at) ** 2
        for at in (0, protocol.cells)
    )
    return math.sqrt(max(variances)) / float(protocol.slope * protocol.cells)
