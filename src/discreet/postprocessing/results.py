"""From a statement's questions and their answers to one table of answers.

The work is done twice. The first time shows how many noisy numbers each column of the result rests
on; the second time every such number is taken at a confidence at which all of them hold together. Where wider intervals leave
more open, so that a column rests on still more numbers, it is done again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.postprocessing.plan import QueryPlan
from discreet.postprocessing.values import Labels, Levels, Numbers, Value
from discreet.postprocessing.working.frames import Result
from discreet.postprocessing.working.measured_groups import MeasuredGroups
from discreet.postprocessing.working.statement import Work
from discreet.privacy.exact import exact
from discreet.questions.cells.values import Span
from discreet.schema import Schema
from discreet.schema.columns.column import NULL_LABEL


def worked(
    statement: QueryPlan,
    answered: Callable[[int, Fraction], Answers],
    schema: Schema,
    *,
    confidence: float,
    discovered: Collection[str] = (),
) -> Answers:
    """The result of a statement; `answered(question, confidence)` answers one of its questions.

    `discovered` are columns whose groups are those that the rows were found to hold.
    """
    kept: dict[tuple[int, Fraction], Answers] = {}

    def remembered(question: int, level: Fraction) -> Answers:
        if (question, level) not in kept:
            kept[question, level] = answered(question, level)
        return kept[question, level]

    def done(levels: Levels) -> Result:
        at = [levels.at(level) for level in range(len(levels))]
        with np.errstate(
            all="ignore"
        ):  # numbers beyond doubles are infinite, and what has none is null
            groups = MeasuredGroups(
                lambda q, level: remembered(q, at[level]),
                schema,
                levels,
                discovered,
                statement.questions,
            )
            work = Work(groups)
            made = work.result(statement.table)
            made.notes |= work.notes
            return made

    levels = Levels(exact(confidence, name="confidence"))
    while True:
        found = done(levels)
        needed = {each.shared for each in found.values[: found.shows] if isinstance(each, Numbers)}
        if needed.issubset(levels.shared):
            break
        levels = Levels(levels.confidence, tuple(sorted({*levels.shared, *needed})))
    found.notes |= dict.fromkeys(statement.notes)
    return _answers(found, levels, statement.text, confidence)


def _answers(found: Result, levels: Levels, text: str, confidence: float) -> Answers:
    names: list[str] = []
    axes: list[tuple[np.ndarray[Any, Any], list[Any]]] = []
    columns: list[AnswerColumn] = []
    notes = dict(found.notes)
    for name, value in zip(found.names[: found.shows], found.values, strict=False):
        value = _without_interval(value)
        if isinstance(value, Labels):
            names.append(name)
            axes.append(_coded(value))
            if value.unsure is not None and value.unsure[0].any():
                notes[
                    f"{name} follows the estimates. For {int(value.unsure[0].sum()):,} of {found.rows:,} "
                    "rows the intervals also allow another result."
                ] = None
            continue
        level = levels.shared.index(value.shared)
        columns.append(
            AnswerColumn(
                name,
                value.estimate,
                value.lower[level],
                value.upper[level],
                value.std,
                value.covers,
                value.unit,
            )
        )
    codes = np.array([each for each, _ in axes], dtype=np.int64).reshape(len(axes), found.rows).T
    values = [each for _, each in axes]
    return Answers(
        groups=tuple(names),
        codes=codes,
        label=lambda axis, code: _label(values[axis][code]),
        columns=tuple(columns),
        confidence=confidence,
        question=text,
        notes=tuple(notes),
        typed=lambda axis, code: values[axis][code],
    )


def _without_interval(value: Value) -> Value:
    """A number that no noise is in is shown as a plain value."""
    if isinstance(value, Labels) or not value.is_exact:
        return value
    plain = [
        None if not np.isfinite(each) else int(each) if each == int(each) else each
        for each in value.estimate.tolist()
    ]
    return Labels.of(plain)


def _coded(value: Labels) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """Numbers for the values, and the values that they stand for."""
    known: dict[Any, int] = {}
    codes = [known.setdefault((type(each), each), len(known)) for each in value.values]
    return np.array(codes, dtype=np.int64), [each for _, each in known]


def _label(value: Any) -> str:
    if value is None:
        return NULL_LABEL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}"
    return value.label if isinstance(value, Span) else str(value)
