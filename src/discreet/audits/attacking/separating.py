"""Deterministic mechanisms before and after: two neighbours that every answer tells apart. Definitions that fail."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.attacks.definitions import Mechanism, counterexamples, separated_neighbours
from discreet.attacks.membership import most_advantage
from discreet.attacks.outcome import Line, Outcome, Progress, quiet
from discreet.core.noise import DrawnNoise
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import DiscreteLaplaceLaw

ROWS = 40


def sticky_noise(rows: Sequence[int]) -> float:
    """A count with noise that is seeded by the exact count: the same table, the same answer."""
    total = sum(rows)
    return round(total + float(generator(total).uniform(-5, 5)), 3)


MECHANISMS: dict[str, Mechanism] = {
    "an exact count": sum,
    "a count rounded to tens": lambda rows: round(sum(rows) / 10) * 10,
    "a count, suppressed below 5": lambda rows: sum(rows) if sum(rows) >= 5 else None,
    "bounded noise seeded by the data": sticky_noise,
    "the sorted rows, without names": lambda rows: tuple(sorted(rows)),
}


def deterministic(
    *, epsilon: Exactable = 1, games: int = 20_000, progress: Progress = quiet
) -> Outcome:
    """Two neighbouring tables on which a deterministic mechanism always answers differently.

    Whoever sees the answer names the table with certainty; with our noise the advantage is bounded.
    """
    lines: list[Line] = []
    found = {}
    for name, mechanism in MECHANISMS.items():
        progress("mechanisms", len(lines) / len(MECHANISMS))
        pair = separated_neighbours(mechanism, [0] * ROWS, [1] * ROWS)
        found[name] = None if pair is None else [mechanism(pair[0]), mechanism(pair[1])]
        lines.append(
            Line(
                name,
                0.0 if pair is None else 1.0,
                note=""
                if pair is None
                else f"{_short(found[name][0])} or {_short(found[name][1])}",  # type: ignore[index]
            )
        )
    budget = exact(epsilon, name="epsilon")
    bits = generator().integers(0, 2, games)
    told = DrawnNoise().add(20 + bits, DiscreteLaplaceLaw(1 / budget), step="attack")
    share = float(np.mean((told >= 21) == (bits == 1)))
    half = 2 * 1.96 * math.sqrt(share * (1 - share) / games)
    bound = most_advantage(float(budget))
    lines.append(
        Line(
            f"our count, epsilon {float(budget):g}",
            2 * share - 1,
            lower=2 * share - 1 - half,
            upper=2 * share - 1 + half,
            ours=True,
            note=f"at most {bound:.3f} for any adversary",
        )
    )
    return Outcome(
        attack="deterministic",
        title="Two tables that differ in one row, and mechanisms without fresh noise",
        measure="advantage over a coin",
        chance=0.0,
        lines=lines,
        findings=[
            "Every mechanism that is deterministic and not constant separates some pair of neighbours for certain."
        ],
        details={"answers": {name: repr(pair) for name, pair in found.items()}},
    )


def _short(answer: object) -> str:
    text = str(answer)
    return text if len(text) <= 12 else f"{text[:9]}..."


def definitions(*, people: int = 1_000, progress: Progress = quiet) -> Outcome:
    """Failed definitions with the mechanisms that satisfy them, computed for a table of `people`."""
    if not 2 <= people <= 100_000:
        raise BadInput(f"A table of 2 to 100,000 people, not {people}.")
    progress("definitions", 0.0)
    found = counterexamples(people)
    return Outcome(
        attack="definitions",
        title=f"Definitions that fail, on a table of {people:,} people",
        measure="chance that somebody is exposed",
        lines=[
            Line(
                f"{each.definition}; {each.satisfied}",
                each.harmed,
                note=f"{each.mechanism}: {each.harm}",
            )
            for each in found
        ],
        findings=[
            "A good definition bounds the ratio of two probabilities, not their difference, and holds for every "
            "output but a negligible few."
        ],
        details={"counterexamples": [each.to_dict() for each in found]},
    )
