"""Whom a cap protects, and what a charge that protects others counts under it.

A guarantee is about neighbouring tables. Four kinds of neighbours exist here:

    row, add-remove       one row more or less
    row, change-one       one row replaced by another
    person, add-remove    all rows of one identifier more or less, however many they are
    person, change-one    all rows of one identifier replaced by those of one identifier

`max_rows` is no part of it. A mechanism keeps at most `max_rows` rows of each identifier, chosen by that
identifier's own rows alone, and then adds noise for that many. So it protects all rows of the identifier,
whatever `max_rows` is: two releases with another `max_rows` protect the same person, and their losses add.

Losses add only for one kind of neighbours. A charge of another kind counts under a cap where each pair
of the cap's neighbours is a bounded number k of the charge's steps apart; then group privacy bounds what
the pair loses: k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon)) (Dwork and Roth 2014, theorem 2.2,
with its delta), k^2 rho (Bun and Steinke 2016, proposition 1.9), k mu (Dong, Roth, Su 2022, theorem 2.14). The number of steps, cap by charge:

    cap \\ charge           row, a-r   row, c-o   person, a-r   person, c-o
    row, add-remove        1          none       2             none
    row, change-one        2          1          4             none
    person, add-remove     none       none       1 (same)      none
    person, change-one     none       none       2 (same)      1 (same)

- A changed row, or person, is one that goes and one that comes: two steps of add-remove.
- A row more makes one person's rows others: that person goes, and comes with them. Two steps. A row that
  is changed may pass from one person to another: both go and come. Four steps.
- No number of changes makes a row more: a change-one release may publish the exact number of rows.
- A person may have any number of rows, so no number of rows is enough for a person; and one person of an
  identifier may have rows of any number of another identifier ("same" above: the same column).
- What is one row, and who is one person, also depends on how a file is read: with `trim`, `ann` and ` ann` are
  one person, without it two. So charges add only if all that decides it is the same (`Protected.reading`). Of a
  person's charge under a cap for rows, what decides rows must be.
- A row that is changed may be a person's only one. Then a person less is needed, which no number of
  changes of persons gives: none, and not two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from discreet.errors import BadBudget
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.exact import at_least_one

DIGITS = 10**15
"""An amplified delta is rounded up to this many parts of its own size."""
MOST_ADDED = 16
"""Steps of a group whose deltas are added one by one."""
LARGEST_EXPONENT = 300
"""Beyond e^300 no delta is left below 1 that anyone would write."""


@dataclass(frozen=True, slots=True)
class Protected:
    """One row, or all rows of one identifier; added or removed, or changed.

    Thread safe: it never changes.
    """

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    identifier: str | None = None
    max_rows: int = 1
    """How many rows of an identifier a mechanism keeps. It is recorded and compared with nothing."""
    reading: str = ""
    """How rows, and then people, are told apart, as far as it is not as usual: `option=digest,...;option=digest,...`."""

    def __post_init__(self) -> None:
        PrivacyUnit(self.identifier, self.max_rows)  # refuses what makes no unit

    @classmethod
    def by(cls, adjacency: Adjacency, unit: PrivacyUnit, reading: str = "") -> Protected:
        """Whom a schema with this adjacency, unit and reading protects."""
        return cls(adjacency, unit.identifier, unit.max_rows, reading)

    @property
    def unit(self) -> PrivacyUnit:
        """The privacy unit alone, without the adjacency."""
        return PrivacyUnit(self.identifier, self.max_rows)

    @property
    def text(self) -> str:
        """Canonical, for files."""
        read = f":{self.reading}" if self.reading else ""
        if self.identifier is None:
            return f"{self.adjacency.value} row{read}"
        return f"{self.adjacency.value} person{read} {self.max_rows} {self.identifier}"

    def to_dict(self) -> dict[str, str | int | None]:
        """Plain data, for JSON."""
        return {
            "adjacency": self.adjacency.value,
            "identifier": self.identifier,
            "max_rows": self.max_rows,
            "reading": self.reading,
        }

    def __str__(self) -> str:
        how = {
            Adjacency.ADD_REMOVE: "added or removed",
            Adjacency.CHANGE_ONE: "replaced",
        }[self.adjacency]
        what = "one row" if self.identifier is None else f"all rows of one '{self.identifier}'"
        return f"{what}, {how} ({self.adjacency.value})"

    def is_same(self, other: Protected) -> bool:
        """Whether both are about the same neighbours, so that losses add."""
        mine, theirs = (self.adjacency, self.identifier), (other.adjacency, other.identifier)
        return (*mine, self.reading) == (*theirs, other.reading)


@lru_cache(maxsize=256)
def protected_in(text: str) -> Protected:
    """The inverse of `Protected.text`."""
    adjacency, kind, *rest = text.split(" ", 3)
    kind, _, reading = kind.partition(":")
    if kind == "row":
        found = Protected(Adjacency(adjacency), reading=reading)
    else:
        found = Protected(Adjacency(adjacency), rest[1], int(rest[0]), reading)
    if found.text != text:
        raise ValueError("whom a charge protects is not spelt canonically")
    return found


def steps(*, charge: Protected, cap: Protected) -> int | None:
    """The most steps of the charge that make up one step of the cap; None if no number is enough."""
    adds = charge.adjacency is Adjacency.ADD_REMOVE
    changes = cap.adjacency is Adjacency.CHANGE_ONE
    if charge.is_same(cap):
        return 1
    if not adds:
        return None
    if charge.reading.partition(";")[0] != cap.reading.partition(";")[0]:
        return None
    if charge.identifier == cap.identifier:
        return 2 if changes and charge.reading == cap.reading else None
    if cap.identifier is None:
        return 4 if changes else 2
    return None


def why_not(*, charge: Protected, cap: Protected) -> str:
    """Why no number of steps is enough, in a sentence without its full stop."""
    if charge.identifier is None and cap.identifier is not None:
        return f"one '{cap.identifier}' may have any number of rows"
    if charge.identifier != cap.identifier and cap.identifier is not None:
        return f"one '{cap.identifier}' may have rows of any number of '{charge.identifier}'"
    if steps(charge=replace(charge, reading=cap.reading), cap=cap) is not None:
        words = {*re.split("[,;]", charge.reading)} ^ {*re.split("[,;]", cap.reading)}
        named = ", ".join(sorted({f"`{word.partition('=')[0]}`" for word in words if word}))
        return f"the two schemas differ in {named}, so one row or person of this charge may be several to the cap"
    return "a change-one charge may reveal the exact number of rows or people, so it does not hide one more"


def for_a_group(cost: Budget, size: int) -> Budget:
    """Group privacy: what tables `size` steps apart lose, if tables one step apart lose `cost`.

    Theorem: see the top of this module. Of more than `MOST_ADDED` steps each counts as the last one
    does, which gives the textbooks' size e^((size-1) epsilon) delta (Vadhan 2017, lemma 2.2).
    """
    if at_least_one(size, name="A group's size") == 1:
        return cost
    if cost.notion is not Notion.EPSILON:
        if cost.delta:
            raise BadBudget(
                f"No theorem says what {cost} amounts to for {size} steps: a rho with a delta is not "
                "converted. Nothing was charged. Use a budget with delta 0."
            )
        return cost.times(size * size)
    if cost.delta == 0 or cost.amount == 0:
        return cost.times(size)
    last = _exponential_above(cost.amount * (size - 1))
    growth = last * size
    if size <= MOST_ADDED:
        growth = sum((_exponential_above(cost.amount * k) for k in range(size - 1)), last)
    delta = cost.delta * growth
    if delta >= 1:
        raise BadBudget(
            f"{cost} amounts, for {size} steps, to a delta of 1 or more, which promises nothing. "
            "Nothing was charged. Use a smaller epsilon or delta."
        )
    return Budget(epsilon=cost.amount * size, delta=_rounded_up(delta))


def _exponential_above(power: Fraction) -> Fraction:
    """At least e^power, for a power of at least 0; by its series, with a bound for what is cut off."""
    if power == 0:
        return Fraction(1)
    if power > LARGEST_EXPONENT:
        raise BadBudget(
            f"For an epsilon of {power.numerator // power.denominator} in all, the delta is too "
            "large to count. Nothing was charged. Use a smaller epsilon."
        )
    # Shorter, and above.
    power = Fraction(-(-power.numerator * DIGITS // power.denominator), DIGITS)
    total, term, place = Fraction(1), Fraction(1), 0
    while place < power + 1 or term * DIGITS > total:
        place += 1
        term = term * power / place
        total += term
    # The terms that follow shrink by power / (place + 1) or faster.
    return total + term * power / (place + 1 - power)


def _rounded_up(value: Fraction) -> Fraction:
    """The next number of few digits that is not below."""
    scale = DIGITS
    while value * scale < DIGITS:
        scale *= 10
    return Fraction(-(-value.numerator * scale // value.denominator), scale)
