"""Definitions of privacy that fail, as an outcome."""

from __future__ import annotations

from discreet.attacks.definitions import counterexamples
from discreet.attacks.outcome import Line, Outcome, Progress, quiet
from discreet.errors import BadInput


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
                publication=f"{each.definition}; {each.satisfied}",
                value=each.harmed,
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
