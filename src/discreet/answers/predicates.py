"""Declared predicates asked of a release: by their own words, or by anything that means the same.

A condition is answered if its cells are whole parts of the declared partition, and what was measured
determines it. Answers of strategies carry the exact noise of their combination of draws; answers
of a model carry the bound that holds for all predicates at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.answers.halfspaces import lone_inequality
from discreet.answers.readings import Reading
from discreet.answers.shaping import one_count
from discreet.answers.sources import Library
from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import Answers
from discreet.artifacts.measurement import Measurement, Selection
from discreet.artifacts.release import Part
from discreet.errors import BadInput, BadRelease
from discreet.inference.combination import Terms, half_width
from discreet.inference.model_bound import model_bound
from discreet.inference.rounding import plausible_counts
from discreet.inference.strategies import MOST_SOLVED, row_terms
from discreet.privacy.exact import confidence_level
from discreet.queries.conditions import Condition
from discreet.queries.halfspaces import Inequality
from discreet.queries.predicates import (
    Partition,
    Predicates,
    cell_mask,
    columns_of,
    partition,
    read_conditions,
)
from discreet.queries.question import Question
from discreet.queries.strategy import InequalityCounts, StrategyCounts
from discreet.schema import Schema
from discreet.schema.completeness import keeps_every_row

MODEL_NOTE = "The interval is the bound that holds for all declared predicates at once."


@dataclass(frozen=True, slots=True)
class _Found:
    estimate: float
    half: float
    std: float
    covers: Covers
    note: str = ""
    terms: Terms | None = None
    """The draws in it, where it is unbiased."""


class PredicateReader:
    """The declared predicates of one release."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._parts = {
            place: part
            for place, part in enumerate(library.release.parts)
            if isinstance(part.query_class, Predicates)
        }

    def answers(self, question: Question, *, confidence: float, whole: bool) -> Answers | None:
        """The answer where a declared class has it; `None` where it does not, or cannot."""
        if not self._parts or question.group_by:
            return None
        if any(one.kind != "count" or one.column is not None for one in question.aggregates):
            return None
        confidence_level(confidence)
        condition = lone_inequality(question.condition) or question.condition
        options = [
            found
            for part in self._parts.values()
            if (found := self._from(part, condition, confidence)) is not None
        ]
        if not options:
            return None
        best = min(options, key=lambda option: option.std)
        low, high = best.estimate - best.half, best.estimate + best.half
        ends = plausible_counts(
            np.array([best.estimate]),
            np.array([low]),
            np.array([high]),
            rows=self._library.release.public_rows,
            whole=whole,
        )
        return one_count(
            question,
            ends,
            std=best.std,
            confidence=confidence,
            covers=best.covers,
            notes=(best.note,) if best.note else (),
        )

    def readings(self, condition: Condition, confidence: float) -> list[Reading]:
        """What each class says of a condition without a model, and of all rows that satisfy it."""
        condition = lone_inequality(condition) or condition
        found: list[Reading] = []
        for place, part in self._parts.items():
            own = self._from(part, condition, confidence)
            if own is None or own.terms is None:
                continue
            if self._leaves_none_out(part, condition):
                found.append(Reading.of(own.estimate, own.terms, frozenset({place})))
        return found

    def _leaves_none_out(self, part: Part, condition: Condition) -> bool:
        """Whether no row is missing that the condition's own columns give a cell."""
        schema, (first, *_) = self._library.schema, part.measurements
        assert isinstance(part.query_class, Predicates)
        if isinstance(first, Measurement) and isinstance(first.query, InequalityCounts):
            return True
        declared = read_conditions(schema, part.query_class.conditions)
        others = set(columns_of(schema, declared)) - set(columns_of(schema, [condition]))
        return all(keeps_every_row(schema.column(name)) for name in others)

    def _from(self, part: Part, condition: Condition, confidence: float) -> _Found | None:
        schema = self._library.schema
        assert isinstance(part.query_class, Predicates)
        first = part.measurements[0]
        if isinstance(first, Measurement) and isinstance(first.query, InequalityCounts):
            declared = read_conditions(schema, part.query_class.conditions)
            return _counted(first, declared, condition, confidence)
        found = partition(schema, part.query_class.conditions)
        wanted = over_parts(schema, condition, found)
        if wanted is None:
            return None
        if any(isinstance(each, Selection) for each in part.measurements):
            return _modelled(part, wanted, found, confidence)
        return _solved(first, wanted, schema, confidence)


def over_parts(
    schema: Schema, condition: Condition, found: Partition
) -> npt.NDArray[np.bool_] | None:
    """The parts that make up the condition, or `None` if it splits one or needs other columns."""
    if not set(columns_of(schema, [condition])) <= set(found.columns):
        return None
    shape = tuple(schema.column(name).cells for name in found.columns)
    try:
        mask = np.broadcast_to(cell_mask(schema, condition, found.columns), shape).reshape(-1)
    except BadInput:
        return None
    wanted = np.zeros(found.parts, dtype=np.bool_)
    wanted[found.part[mask]] = True
    return wanted if np.array_equal(wanted[found.part], mask) else None


def _counted(
    measured: Measurement,
    declared: tuple[Condition, ...],
    condition: Condition,
    confidence: float,
) -> _Found | None:
    """Inequalities that were counted one by one, over columns with too many cells to list."""
    if not isinstance(condition, Inequality) or condition not in declared:
        return None
    if len(declared) != len(measured.values):
        raise BadRelease("A part of predicates has not one number for each of them.")
    value = float(measured.values[declared.index(condition)])
    terms: Terms = ((1.0, measured.law, 1),)
    return _Found(value, half_width(terms, confidence), measured.law.std, Covers.NOISE, terms=terms)


def _solved(
    measured: object, wanted: npt.NDArray[np.bool_], schema: Schema, confidence: float
) -> _Found | None:
    if not isinstance(measured, Measurement) or not isinstance(measured.query, StrategyCounts):
        raise BadRelease("A part of predicates has no measurement that this version knows.")
    matrix = measured.query.array(schema).astype(np.float64)
    goal = wanted.astype(np.float64)
    if max(matrix.shape) > MOST_SOLVED:
        same = np.flatnonzero((matrix == goal[None, :]).all(axis=1))
        if not len(same):
            return None
        weights: npt.NDArray[np.floating] = np.zeros(len(matrix))
        weights[same[0]] = 1.0
    else:
        weights = np.linalg.lstsq(matrix.T, goal, rcond=1e-10)[0]
        if np.abs(weights @ matrix - goal).max(initial=0) > 1e-6:
            return None
    terms = tuple(row_terms(np.asarray(weights, dtype=np.float64), measured.law))
    std = float(np.linalg.norm(weights)) * measured.law.std
    value, half = float(weights @ measured.values), half_width(terms, confidence)
    return _Found(value, half, std, Covers.NOISE, terms=terms)


def _modelled(
    part: Part, wanted: npt.NDArray[np.bool_], found: Partition, confidence: float
) -> _Found | None:
    same = np.flatnonzero((found.workload == wanted[None, :]).all(axis=1))
    chosen, noisy = part.measurements[-2:]
    model = part.estimates["answers"]
    if not isinstance(chosen, Selection) or not isinstance(noisy, Measurement):
        raise BadRelease("A part made by a model does not end with its own check.")
    if model.shape != (len(found.workload),) or not 0 <= chosen.chosen < len(model):
        raise BadRelease("A part made by a model has not one answer for each predicate.")
    if not len(same):
        return None
    bound = model_bound(chosen, noisy, int(model[chosen.chosen]), confidence)
    return _Found(float(model[same[0]]), bound, bound, Covers.NOISE_AND_MODEL, MODEL_NOTE)
