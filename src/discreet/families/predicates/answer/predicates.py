"""Declared predicates asked of a release: by their own words, or by anything that means the same.

A condition is answered if its cells are whole parts of the declared partition, and what was measured
determines it. Answers of strategies carry the exact noise of their combination of draws; answers
of a model carry the bound that holds for all predicates at once.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.answering.asking import Asking
from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.answering.usefulness import UNION
from discreet.arrays import Bools
from discreet.artifacts.answer import Answer, Covers
from discreet.artifacts.measurement import Measurement, Selection
from discreet.artifacts.release import Part, Release
from discreet.errors import BadInput, BadRelease
from discreet.families.predicates.estimate.multiplicative import model_bound
from discreet.families.predicates.estimate.strategies import MOST_SOLVED, row_terms
from discreet.families.predicates.queries.predicates import (
    Partition,
    Predicates,
    cell_mask,
    columns_of,
    partition,
    read_conditions,
)
from discreet.families.predicates.queries.strategy import InequalityCounts, StrategyCounts
from discreet.families.shared.answer.evidence import Evidence, measured_numbers
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.combination import Terms
from discreet.questions.dialects.sql import parse_question
from discreet.questions.expressions import Expression
from discreet.questions.inequality import lone_inequality
from discreet.questions.spelling import sql_name
from discreet.schema import Schema, keeps_every_row

MODEL_NOTE = "The interval is the bound that holds for all declared predicates at once."


class PredicateSource(Source):
    """The declared predicates of one part."""

    def __init__(self, part: Part, place: int, schema: Schema) -> None:
        if not isinstance(part.query_class, Predicates):
            raise BadRelease("A part of predicates does not say which they are.")
        self._part, self._places, self._schema = part, frozenset({place}), schema
        self._conditions = part.query_class.conditions

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        """A count that the predicates determine, alone or together."""
        if not region.is_one_count:
            return None
        condition = region.condition
        found = self._count(condition, confidence)
        if found is None or not found.readings:
            return found
        if not self._leaves_none_out(condition):
            return replace(found, readings=(), parts=self._places)
        own = replace(found.readings[0], parts=self._places)
        return replace(found, readings=(own,), parts=self._places)

    def _leaves_none_out(self, condition: Expression) -> bool:
        """Whether no row is missing that the condition's own columns give a cell."""
        if self._is_listed:
            return True
        declared = read_conditions(self._schema, self._conditions)
        others = set(columns_of(self._schema, declared)) - set(
            columns_of(self._schema, [condition])
        )
        return all(keeps_every_row(self._schema.column(name)) for name in others)

    @property
    def _is_listed(self) -> bool:
        first = self._part.measurements[0]
        return isinstance(first, Measurement) and isinstance(first.query, InequalityCounts)

    def _count(self, condition: Expression, confidence: float) -> Estimates | None:
        first = self._part.measurements[0]
        if self._is_listed:
            assert isinstance(first, Measurement)
            declared = read_conditions(self._schema, self._conditions)
            return _listed(first, declared, condition, self._schema, confidence)
        found = partition(self._schema, self._conditions)
        wanted = over_parts(self._schema, condition, found)
        if wanted is None:
            return None
        if self._part.selections:
            return _modelled(self._part, wanted, found, confidence)
        return _solved(first, wanted, self._schema, confidence)


def over_parts(schema: Schema, condition: Expression, found: Partition) -> Bools | None:
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


def _listed(
    measured: Measurement,
    declared: tuple[Expression, ...],
    condition: Expression,
    schema: Schema,
    confidence: float,
) -> Estimates | None:
    """Inequalities that were counted one by one, over columns with too many cells to list."""
    asked = lone_inequality(condition, schema)
    listed = [lone_inequality(each, schema) for each in declared]
    if asked is None or asked not in listed:
        return None
    if len(declared) != len(measured.values):
        raise BadRelease("A part of predicates does not have one number for each of them.")
    value = float(measured.values[listed.index(asked)])
    terms: Terms = ((1.0, measured.law, 1),)
    return _counted(value, terms, confidence)


def _solved(measured: object, wanted: Bools, schema: Schema, confidence: float) -> Estimates | None:
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
    return _counted(float(weights @ measured.values), terms, confidence)


def _counted(value: float, terms: Terms, confidence: float) -> Estimates:
    reading = Reading.of(value, terms)
    return Estimates.of_reading(reading, confidence, is_direct=True, readings=(reading,))


def _modelled(part: Part, wanted: Bools, found: Partition, confidence: float) -> Estimates | None:
    same = np.flatnonzero((found.workload == wanted[None, :]).all(axis=1))
    chosen, noisy = part.measurements[-2:]
    model = part.estimates["answers"]
    if not isinstance(chosen, Selection) or not isinstance(noisy, Measurement):
        raise BadRelease("A part made by a model does not end with its own check.")
    if model.shape != (len(found.workload),) or not 0 <= chosen.chosen < len(model):
        raise BadRelease("A part made by a model does not have one answer for each predicate.")
    if not len(same):
        return None
    bound = model_bound(chosen, noisy, int(model[chosen.chosen]), confidence)
    value, std = np.array([float(model[same[0]])]), np.array([bound])
    ends = value - bound, value + bound
    return Estimates(value, *ends, std, is_model=True, is_direct=True, notes=(MODEL_NOTE,))


def predicates_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part: its predicates, and the numbers that were measured for them."""
    found = measured_numbers(part, release.schema, place)
    found.sources.append(PredicateSource(part, place, release.schema))
    return found


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
    name = sql_name(library.schema.dataset)
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
