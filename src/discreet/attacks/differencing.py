"""Differencing and averaging: published exact statistics that together fix one person's value.

Every sum, mean or count over a known set of people is one linear equation in their values. A person's value
follows from the publications exactly where the person's unit vector lies in the row space of the equations.

Query auditing: a service that refuses whatever would disclose a value tells that value by refusing. An auditor that looks at the true answer before it refuses is itself a publication. The two classic cases are sums of 0/1 values and
maxima (Kenthapadi, Mishra, Nissim 2005).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.errors import BadInput

STATISTICS = ("sum", "mean", "count")
MOST_PEOPLE = 4_000
TINY = 1e-8


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One published statistic over people that the adversary can name."""

    name: str
    statistic: str
    people: frozenset[str]
    value: float

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS or not self.people:
            raise BadInput(
                f"The aggregate {self.name!r} must be a sum, a mean or a count over at least one person."
            )

    @property
    def total(self) -> float:
        return self.value * len(self.people) if self.statistic == "mean" else self.value


@dataclass(frozen=True, slots=True)
class Disclosure:
    """One person's value, and the publications that give it away."""

    person: str
    value: float
    how: str

    def to_dict(self) -> dict[str, Any]:
        return {"person": self.person, "value": self.value, "how": self.how}


def difference(aggregates: Sequence[Aggregate]) -> list[Disclosure]:
    """Every person whose value follows from the aggregates."""
    everyone = sorted(set().union(*(each.people for each in aggregates)), key=_natural)
    if len(everyone) > MOST_PEOPLE:
        raise BadInput(f"At most {MOST_PEOPLE:,} people can be analysed, not {len(everyone):,}.")
    place = {person: at for at, person in enumerate(everyone)}
    matrix = np.zeros((len(aggregates), len(everyone)))
    for row, each in enumerate(aggregates):
        matrix[row, [place[person] for person in each.people]] = 1.0
    totals = np.array([each.total for each in aggregates])
    _, sizes, rows = np.linalg.svd(matrix, full_matrices=False)
    rows = rows[sizes > TINY * max(sizes.max(initial=0.0), 1.0)]
    settled = np.flatnonzero(np.abs((rows**2).sum(axis=0) - 1) < TINY)
    values = np.linalg.lstsq(matrix, totals, rcond=None)[0]
    pairs = _pairs(aggregates)
    found = []
    for at in settled:
        person = everyone[at]
        how = pairs.get(person, "a combination of several publications")
        value = float(values[at])
        found.append(Disclosure(person, round(value, 6) + 0.0, how))
    return found


def _pairs(aggregates: Sequence[Aggregate]) -> dict[str, str]:
    """Those who are the only difference between two publications, or are alone in one."""
    found: dict[str, str] = {}
    for each in aggregates:
        if len(each.people) == 1:
            found[next(iter(each.people))] = f"{each.name} is about this person alone"
    for one, other in combinations(aggregates, 2):
        apart = one.people ^ other.people
        if len(apart) == 1 and not (one.people < other.people and other.people < one.people):
            larger, smaller = (one, other) if len(one.people) > len(other.people) else (other, one)
            found.setdefault(next(iter(apart)), f"{larger.name} less {smaller.name}")
    return found


def aggregates_from(columns: Mapping[str, Sequence[str]]) -> list[Aggregate]:
    """From a table of publications with the columns name, statistic, people and value.

    People are names with spaces between them; `1-25` stands for the people 1 to 25.
    """
    needed = ("name", "statistic", "people", "value")
    missing = [name for name in needed if name not in columns]
    if missing:
        raise BadInput(f"The publications need the columns {', '.join(needed)}.")
    found = []
    for name, statistic, people, value in zip(*(columns[each] for each in needed), strict=True):
        try:
            number = float(value.replace(",", ""))
        except ValueError:
            raise BadInput(f"The value of {name!r} is no number.") from None
        found.append(Aggregate(name, statistic, frozenset(_people(people)), number))
    return found


def _people(text: str) -> list[str]:
    found: list[str] = []
    for word in text.split():
        numbers = re.fullmatch(r"(\d+)-(\d+)", word)
        if numbers is None:
            found.append(word)
        else:
            found += map(str, range(int(numbers[1]), int(numbers[2]) + 1))
    return found


def _natural(person: str) -> tuple[int, str]:
    return (len(person), person) if person.isdigit() else (1 << 20, person)


def averaged(answer: Callable[[], float], times: int) -> float:
    """The mean of several answers to one question. Its error falls with the root of their number."""
    return float(np.mean([answer() for _ in range(times)]))


Ask = Callable[[Sequence[int]], float | None]
"""Answers a question about some people, or refuses: None."""


def bits_from_refused_sums(ask: Ask, people: int, own: int) -> list[int]:
    """Everybody's 0/1 value, by a member of the table who knows their `own`, person number 0.

    The sum over two people would disclose both if it were 0 or 2, so it is refused exactly where both are
    equal. Whether neighbours are equal or not then follows for all.
    """
    found = [own]
    for person in range(1, people):
        refused = ask([person - 1, person]) is None
        found.append(found[-1] if refused else 1 - found[-1])
    return found


def value_from_refused_maximum(ask: Ask, people: Sequence[int]) -> tuple[int, float] | None:
    """A person and their exact value, from one refusal; None where none was refused.

    First the maximum of all. Then the maximum without one of them: the answer would disclose that
    person exactly if they hold the maximum, and so it is refused.
    """
    highest = ask(people)
    if highest is None:
        return None
    for person in people[:-2]:  # with two left, the auditor refuses whatever the answer is
        if ask([each for each in people if each != person]) is None:
            return person, highest
    return None
