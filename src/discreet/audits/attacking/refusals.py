"""Query auditing before and after: refusals that tell what they were to hide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.attacks.differencing import bits_from_refused_sums, value_from_refused_maximum
from discreet.attacks.outcome import Line, Outcome, Progress, quiet
from discreet.audits.attacking.own_tables import own_table
from discreet.audits.attacking.reconstructing import schema_of
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.exact import Exactable, exact

GROUP, GROUPS = 6, 300


class SumAuditor:
    """Answers sums of 0/1 values over two people, unless the answer would disclose one of them."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values

    def __call__(self, people: Sequence[int]) -> float | None:
        total = sum(self._values[person] for person in people)
        return None if total in (0, len(people)) else float(total)


class MaximumAuditor:
    """Answers maxima of distinct values, unless the answers so far would disclose who holds one.

    It looks at the true answer before it refuses; a `careful` one refuses whenever some possible answer would disclose.
    """

    def __init__(self, values: Sequence[float], *, careful: bool = False) -> None:
        self._values, self._careful = values, careful
        self._told: dict[float, set[int]] = {}

    def __call__(self, people: Sequence[int]) -> float | None:
        true = max(self._values[person] for person in people)
        possible = [true, *(answer for answer in self._told if self._careful)]
        if self._careful and any(set(people) < held for held in self._told.values()):
            return None  # a smaller answer is possible, and would leave the others with the old maximum
        for answer in possible:
            if self._discloses(set(people), answer):
                return None
        self._told[true] = self._holders(set(people), true)
        return true

    def _holders(self, people: set[int], answer: float) -> set[int]:
        """Who may hold this maximum: those in every set with this answer."""
        return self._told.get(answer, people) & people

    def _discloses(self, people: set[int], answer: float) -> bool:
        if len(self._holders(people, answer)) < 2:
            return True
        # A smaller maximum takes all of these people out of the larger ones.
        return any(len(held - people) == 1 for told, held in self._told.items() if told > answer)


def audit_refusal(
    *,
    people: int = 60,
    epsilon: Exactable = 1,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Values that an auditor discloses by refusing to answer."""
    if people < 4:
        raise BadInput(f"The attack needs at least 4 people, not {people}.")
    draws = generator(seed)
    bits = draws.integers(0, 2, people).tolist()
    found = bits_from_refused_sums(SumAuditor(bits), people, bits[0])
    sums = float(np.mean([one == other for one, other in zip(found, bits, strict=True)]))
    progress("maxima", 0.3)
    values = draws.permutation(GROUP * GROUPS).astype(float).tolist()
    shares = {}
    for careful in (False, True):
        hits = 0
        for start in range(0, GROUP * GROUPS, GROUP):
            group = list(range(start, start + GROUP))
            told = value_from_refused_maximum(MaximumAuditor(values, careful=careful), group)
            hits += told is not None and values[told[0]] == told[1]
        shares[careful] = hits / GROUPS
    progress("our curator", 0.6)
    ours = _ours(bits, exact(epsilon, name="epsilon"))
    return Outcome(
        attack="audit-refusal",
        title="An auditor that refuses what would disclose a value",
        measure="share of secrets disclosed",
        lines=[
            Line(f"sums of 0/1 values of {people} people, audited", sums, note="guessing finds half"),
            Line(f"maxima of groups of {GROUP}, audited by the true answer", shares[False], note="groups whose largest value and holder are found"),
            Line(f"maxima of groups of {GROUP}, audited by all possible answers", shares[True], note=f"refusals reveal nothing: guessing finds 1 in {GROUP}"),
            Line(f"our curator on the sums, epsilon {float(exact(epsilon, name='epsilon')):g} in all", ours, ours=True, note="it never refuses because of a row; guessing finds half"),
        ],
        findings=[
            "Everybody's bit follows from which sums were refused: an auditor must not look at the answer "
            "before it refuses."
        ],
    )  # fmt: skip


def _ours(bits: Sequence[int], epsilon: object) -> float:
    """Neighbouring sums by our curator, the budget spread over them; the best chain of guesses."""
    people = len(bits)
    part = exact(epsilon, name="epsilon") / (people - 1)  # type: ignore[arg-type]
    told = []
    with own_table({"id": list(range(people)), "secret": list(bits)}, schema_of(people)) as table, table.curator(Budget(epsilon=part * (people - 1))) as curator:  # fmt: skip
        asked = ", ".join(
            f"count(*) FILTER (WHERE secret = 1 AND id BETWEEN {at - 1} AND {at}) AS q{at}"
            for at in range(1, people)
        )
        answers = curator.ask(
            f"SELECT {asked} FROM people", budget=Budget(epsilon=part * (people - 1))
        )
        told = [float(column.estimate[0]) for column in answers.columns]
    found = [bits[0]]
    for total in told:
        found.append(1 - found[-1] if abs(total - 1) < 0.5 else found[-1])
    return float(np.mean([one == other for one, other in zip(found, bits, strict=True)]))
