"""Answers of two kinds put together: all groups from tables, the counts that are better known over them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.answers.joined_ranges import combined_note, is_combined
from discreet.answers.ranging import left_out_note
from discreet.answers.readings import Reading
from discreet.answers.shaping import one_count
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.queries.question import Question
from discreet.schema import Schema

Integers = npt.NDArray[np.int64]


def overlaid(tables: Answers, counts: Answers, question: Question, schema: Schema) -> Answers:
    """The answers of `tables`; their counts replaced, group by group, where `counts` has them."""
    place, there = _places(tables.codes, counts.codes, schema, question)
    better = iter(counts.columns)
    columns = tuple(
        _replaced(column, next(better), place, there) if asked.kind == "count" else column
        for column, asked in zip(tables.columns, question.aggregates, strict=True)
    )
    # The groups of nulls are there after all: the table has them.
    untrue = {left_out_note(name) for name in question.group_by}
    notes = [note for note in counts.notes if note not in untrue]
    return replace(tables, columns=columns, notes=tuple(dict.fromkeys([*tables.notes, *notes])))


def answered(
    reading: Reading,
    question: Question,
    other: Answers | None,
    confidence: float,
    rows: int | None,
    whole: bool,
) -> Answers:
    """A combined count as the answer, with the notes of the source that would have answered alone."""
    notes = [] if other is None else [each for each in other.notes if not is_combined(each)]
    notes += [combined_note(reading.sources)] if reading.sources > 1 else []
    return one_count(
        question,
        reading.bounded(confidence, rows=rows, whole=whole),
        std=math.sqrt(reading.variance),
        confidence=confidence,
        notes=notes,
    )


def _places(
    codes: Integers, known: Integers, schema: Schema, question: Question
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """For each group of `codes` its place in `known`, and whether it is there."""
    if not question.group_by:
        return np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
    sizes = tuple(schema.column(name).cells for name in question.group_by)
    wanted = np.ravel_multi_index(tuple(codes.T), sizes)
    offered = np.ravel_multi_index(tuple(known.T), sizes)
    order = np.argsort(offered, kind="stable")
    place = np.searchsorted(offered[order], wanted)
    place = order[np.minimum(place, len(order) - 1)] if len(order) else np.zeros_like(wanted)
    there = offered[place] == wanted if len(order) else np.zeros(len(wanted), dtype=np.bool_)
    return place.astype(np.int64), np.asarray(there)


def _replaced(
    column: AnswerColumn, better: AnswerColumn, place: Integers, there: npt.NDArray[np.bool_]
) -> AnswerColumn:
    if not there.any():
        return column

    def chosen(name: str) -> npt.NDArray[np.float64]:
        own, other = getattr(column, name), getattr(better, name)
        return np.asarray(np.where(there, other[place], own))

    covers = better.covers if there.all() else column.covers.joined(better.covers)
    return replace(
        column,
        estimate=chosen("estimate"),
        lower=chosen("lower"),
        upper=chosen("upper"),
        std=chosen("std"),
        covers=covers,
    )
