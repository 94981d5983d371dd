"""Query auditing: a service that refuses whatever would disclose a value tells that value by refusing.

An auditor that looks at the true answer before it refuses is itself a publication. The two classic cases are sums of 0/1 values and
maxima (Kenthapadi, Mishra, Nissim 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
