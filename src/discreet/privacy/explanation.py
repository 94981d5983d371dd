"""What an epsilon means to one person, as plain numbers.

Everything follows from the definition alone: an output is at most e^epsilon times as likely with a person's data as
without, but for a probability of delta. So odds move by at most that factor, a group of k people by at most
e^(k epsilon), and a bad outcome of probability p becomes at most e^epsilon p + delta.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import BadInput
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.exact import exact
from discreet.privacy.guidance import epsilon_at
from discreet.privacy.laws import DiscreteLaplaceLaw

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
GROUPS = (1, 2, 3, 5, 10)
SIZES = (10, 100, 1_000, 10_000)
DELTA_OF_RHO = "1e-6"
LARGEST_EXPONENT = 700.0
"""e to more than this is beyond a float; what is so sure is certain."""
REACH = 6
"""The densities are drawn so many scales to either side."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What someone believed of a fact about a person, and the least and most they can believe afterwards."""

    before: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Group:
    """What is promised to several people together."""

    people: int
    epsilon: float
    delta: float
    most: float
    """How sure one can become of a fact about all of them that was as likely true as false."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Whether an event, a person or a household is protected, and at which epsilon."""

    name: str
    epsilon: float
    note: str


@dataclass(frozen=True, slots=True)
class Density:
    """How likely a noisy count is on two neighbouring tables, and the logarithm of the ratio."""

    count: int
    here: float
    there: float
    log_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that `discreet explain` says about a budget. Thread safe: it never changes."""

    epsilon: float
    delta: float
    beliefs: tuple[Belief, ...]
    doubled: tuple[Belief, ...]
    """The same at twice the epsilon."""
    groups: tuple[Group, ...]
    units: tuple[Unit, ...]
    densities: tuple[Density, ...]
    relative_errors: tuple[tuple[int, float], ...]
    """(true count, half the width of a 95% interval over it), for a single count at the whole budget."""

    @property
    def factor(self) -> float:
        """How many times as likely an output can be with a person's data as without."""
        return math.exp(self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "factor": self.factor,
            "beliefs": [asdict(each) for each in self.beliefs],
            "beliefs_at_twice_epsilon": [asdict(each) for each in self.doubled],
            "groups": [asdict(each) for each in self.groups],
            "units": [{"unit": u.name, "epsilon": u.epsilon, "note": u.note} for u in self.units],
            "densities": [asdict(each) for each in self.densities],
            "relative_errors": [
                {"count": count, "relative_error": error} for count, error in self.relative_errors
            ],
        }


def explain(
    budget: Budget, *, rows_each: int = 1, household: int = 1, identifier: str | None = None
) -> Explanation:
    """What `budget` means to one person.

    `rows_each` is how many rows one person can have, `household` how many people live together, `identifier` the
    column that tells whose row it is, where the promise is to people and not to rows.
    """
    for name, number in (("rows_each", rows_each), ("household", household)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10_000:
            raise BadInput(f"{name} is {number!r}; it must be a whole number from 1 to 10,000.")
    if budget.notion is not Notion.EPSILON:
        slack = max(budget.delta, exact(DELTA_OF_RHO, name="delta"))
        epsilon, delta = float(epsilon_at(budget, delta=slack)), float(slack)
    else:
        epsilon, delta = float(budget.epsilon), float(budget.delta)
    if not 0 < epsilon <= 500:
        raise BadInput("An epsilon above 0 and up to 500 can be explained.")
    return Explanation(
        epsilon=epsilon,
        delta=delta,
        beliefs=tuple(belief(prior, epsilon) for prior in PRIORS),
        doubled=tuple(belief(prior, 2 * epsilon) for prior in PRIORS),
        groups=tuple(group(people, epsilon, delta) for people in GROUPS),
        units=_units(epsilon, rows_each, household, identifier),
        densities=_densities(epsilon),
        relative_errors=_relative_errors(epsilon),
    )


def belief(prior: float, epsilon: float) -> Belief:
    """Bayes' rule with odds that move by at most e^epsilon."""
    odds = prior / (1 - prior)
    moved = math.exp(min(epsilon, LARGEST_EXPONENT))
    return Belief(prior, 1 / (1 + moved / odds), 1 / (1 + 1 / (moved * odds)))


def group(people: int, epsilon: float, delta: float) -> Group:
    """Group privacy: k epsilon, and a delta of (e^(k epsilon) - 1) / (e^epsilon - 1) times delta, at most 1."""
    together = people * epsilon
    slack = delta and min(1.0, delta * _ratio(together, epsilon))
    return Group(people, together, slack, belief(0.5, together).most)


def _ratio(together: float, epsilon: float) -> float:
    if together > LARGEST_EXPONENT:
        return math.inf
    return math.expm1(together) / math.expm1(epsilon)


def _units(
    epsilon: float, rows_each: int, household: int, identifier: str | None
) -> tuple[Unit, ...]:
    if identifier is None:
        person = rows_each * epsilon
        event = Unit("one row", epsilon, "what the budget was chosen for")
        one = Unit(
            "one person",
            person,
            "one row each: the same"
            if rows_each == 1
            else f"{rows_each} rows each: a group of that many rows",
        )
    else:
        person = epsilon
        event = Unit("one row", epsilon, f"at most that of everything of its {identifier}")
        one = Unit(f"one {identifier}", epsilon, "what the budget was chosen for")
    home = Unit(
        "one household",
        household * person,
        "as one person" if household == 1 else f"{household} people together",
    )
    return event, one, home


def _densities(epsilon: float) -> tuple[Density, ...]:
    """The chances of a noisy count where the true one is 0, and where it is 1."""
    law = DiscreteLaplaceLaw(1 / exact(repr(epsilon), name="epsilon"))
    reach = max(4, math.ceil(REACH / epsilon))
    step = max(1, reach // 20)
    found = []
    for count in range(-reach, reach + 2, step):
        here, there = float(law.pmf(count)), float(law.pmf(count - 1))
        ratio = epsilon * (abs(count) - abs(count - 1))
        found.append(Density(count, here, there, ratio))
    return tuple(found)


def _relative_errors(epsilon: float) -> tuple[tuple[int, float], ...]:
    law = DiscreteLaplaceLaw(1 / exact(repr(epsilon), name="epsilon"))
    half = law.half_width("0.95")
    return tuple((size, half / size) for size in SIZES)
