"""The bound for a list of declared predicates, all at once."""

from __future__ import annotations

from fractions import Fraction

from discreet.answering.asking import Asking
from discreet.answering.usefulness import UNION
from discreet.artifacts.answer import Answer, Covers
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.shared.answer.library import Library
from discreet.questions.dialects.sql import parse_question

AT_ONCE = "the bound that the release's own mechanism gives for all its predicates at once"


def predicates_bound(
    library: Library, asking: Asking, query_class: Predicates, delta: Fraction
) -> tuple[float, str]:
    """Each predicate gets delta divided by how many there are; a model's bound holds for all of its own as it is."""
    together = any(
        isinstance(part.query_class, Predicates)
        and set(query_class.conditions) <= set(part.query_class.conditions)
        and part.selections
        for part in library.release.parts
    )
    name = '"' + library.schema.dataset.replace('"', '""') + '"'
    questions = [
        parse_question(f"SELECT count(*) FROM {name} WHERE {condition}", library.schema)
        for condition in query_class.conditions
    ]

    def answered(share: Fraction) -> list[Answer]:
        found = asking.answers(questions, confidence=float(1 - share))
        return [each.only for each in found]

    if together:
        answers = answered(delta)
        if all(each.covers is Covers.NOISE_AND_MODEL for each in answers):
            return max(map(_reach, answers)), AT_ONCE
    return max(map(_reach, answered(delta / len(questions)))), UNION


def _reach(answer: Answer) -> float:
    return max(answer.upper - answer.estimate, answer.estimate - answer.lower)
