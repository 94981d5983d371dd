"""Estimates by group, from the schema's order of columns to the question's, and as columns of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.answers.counting import Estimates
from discreet.answers.selecting import Selection
from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.queries.sql import Question

Scalar = TypeVar("Scalar", bound=np.generic)


def group_axes_of(selection: Selection, group_by: tuple[str, ...]) -> tuple[int, ...]:
    """Where the columns of GROUP BY are among the selection's, in the order they were written."""
    return tuple(selection.names.index(name) for name in group_by)


def in_order(array: npt.NDArray[Scalar], axes: tuple[int, ...]) -> npt.NDArray[Scalar]:
    """From the schema's order of the group columns to the question's."""
    places = sorted(axes)
    return np.transpose(array, [places.index(axis) for axis in axes])


def reordered(found: Estimates, axes: tuple[int, ...]) -> Estimates:
    if not axes:
        return found
    shape = found.estimate.shape
    return Estimates(
        estimate=in_order(found.estimate, axes),
        lower=in_order(found.lower, axes),
        upper=in_order(found.upper, axes),
        std=in_order(np.broadcast_to(found.std, shape), axes),
        is_exact=found.is_exact,
        note=found.note,
        is_model=found.is_model,
        is_declared=found.is_declared,
    )


def answer_column(
    name: str, found: Estimates, present: npt.NDArray[np.bool_] | None
) -> AnswerColumn:
    def kept(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return array.reshape(1) if present is None else array[present]

    return AnswerColumn(
        name=name,
        estimate=kept(found.estimate),
        lower=kept(found.lower),
        upper=kept(found.upper),
        std=kept(found.std),
        covers=what_is_covered(found),
    )


def one_count(
    question: Question,
    ends: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]],
    *,
    std: float,
    confidence: float,
    covers: Covers = Covers.NOISE,
    notes: Sequence[str] = (),
) -> Answers:
    """One number, without groups, for every count that the question asks: estimate, lower and upper end."""
    estimate, lower, upper = (each.reshape(1) for each in ends)
    deviation = np.array([std])
    return Answers(
        groups=(),
        codes=np.zeros((1, 0), dtype=np.int64),
        label=lambda axis, code: "",
        columns=tuple(
            AnswerColumn(one.name, estimate, lower, upper, deviation, covers)
            for one in question.aggregates
        ),
        confidence=confidence,
        question=question.text,
        notes=tuple(notes),
    )


def what_is_covered(found: Estimates) -> Covers:
    if found.is_model:
        return Covers.NOISE_AND_MODEL
    return Covers.NOISE if found.is_exact else Covers.NOISE_AND_CELLS
