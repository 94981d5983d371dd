"""Questions to their answers: each becomes regions, every source reads them, and one answer is settled.

`ask` is a batch of one question. A region is read once however often it is asked, and its answer depends on
nothing else in the batch. No source is named here: see `registry` for what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from discreet.answering.combining import best_reason, places_of, settled
from discreet.answering.estimates import NO_GROUPS, Estimates
from discreet.answering.library import Library
from discreet.answering.many_counts import ManyCounts, many_counts
from discreet.answering.regions import BoxRegions, CellRegions, RangeRegions, Region, regions_of
from discreet.answering.source import Found, Refusal, Source
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.artifacts.cell_values import cell_value
from discreet.privacy.exact import confidence_level
from discreet.questions.counted_rows import counted_rows_note
from discreet.questions.question import Question
from discreet.questions.undeclared import undeclared_in_condition
from discreet.schema import Schema

Integers = npt.NDArray[np.int64]


class Asking:
    """The sources of one release."""

    def __init__(self, library: Library, sources: Sequence[Source]) -> None:
        self._schema, self._rows = library.schema, library.release.public_rows
        self._sources = tuple(sources)

    def answers(
        self, questions: Sequence[Question], *, confidence: float, whole: bool = True
    ) -> list[Answers]:
        """The answers to each question; the first that cannot be answered is refused."""
        confidence_level(confidence)
        asked = [regions_of(question, self._schema) for question in questions]
        distinct = list(dict.fromkeys(region for regions in asked for region in regions))
        read = [source.read(distinct, confidence) for source in self._sources]
        found: dict[Region, Estimates] = {}
        for place, region in enumerate(distinct):
            settle = settled([each[place] for each in read], region, self._schema, confidence)
            found[region] = settle.plausible(self._rows, whole=whole)
        return [
            self._answer(question, [found[region] for region in regions], confidence)
            for question, regions in zip(questions, asked, strict=True)
        ]

    def _answer(self, question: Question, found: Sequence[Estimates], confidence: float) -> Answers:
        """The columns of one question side by side."""
        groups = [self._schema.column(name) for name in question.group_by]
        codes = _common(found, question, self._schema)
        notes = dict.fromkeys(undeclared_in_condition(question.condition, self._schema))
        columns = []
        for aggregate, own in zip(question.aggregates, found, strict=True):
            notes |= dict.fromkeys(own.notes)
            own = _at(own, codes, question, self._schema)
            numbers = own.estimate, own.lower, own.upper, own.std
            columns.append(AnswerColumn(aggregate.name, *numbers, own.covers, own.unit))
        notes |= dict.fromkeys(counted_rows_note(self._schema))
        return Answers(
            groups=question.group_by,
            codes=codes,
            label=lambda axis, code: groups[axis].label(code),
            columns=tuple(columns),
            confidence=confidence,
            question=question.text,
            notes=tuple(notes),
            typed=lambda axis, code: cell_value(groups[axis], code),
        )

    def ranges(self, asked: RangeRegions, confidence: float) -> ManyCounts:
        return self._many(lambda source: source.read_ranges(asked, confidence), confidence)

    def cells(self, asked: CellRegions, confidence: float) -> ManyCounts:
        return self._many(lambda source: source.read_cells(asked, confidence), confidence)

    def boxes(self, asked: BoxRegions, confidence: float) -> ManyCounts:
        return self._many(lambda source: source.read_boxes(asked, confidence), confidence)

    def _many(self, read: Callable[[Source], Found], confidence: float) -> ManyCounts:
        """Arrays come from the first source that has them all."""
        confidence_level(confidence)
        refusals: list[Refusal] = []
        for source in self._sources:
            found = read(source)
            if isinstance(found, Estimates):
                return many_counts(found.plausible(self._rows), confidence)
            refusals.append(found)
        raise best_reason(refusals)


def _common(found: Sequence[Estimates], question: Question, schema: Schema) -> Integers:
    """The groups that every column of the answer has."""
    if not question.group_by:
        return NO_GROUPS
    codes, *more = (each.codes for each in found)
    assert codes is not None
    for other in more:
        if other is not None and not np.array_equal(codes, other):
            _, there = places_of(codes, other, question.group_by, schema)
            codes = codes[there]
    return codes


def _at(found: Estimates, codes: Integers, question: Question, schema: Schema) -> Estimates:
    """The numbers of the groups in `codes`, in their order."""
    if found.codes is None or np.array_equal(found.codes, codes):
        return found
    place, _ = places_of(codes, found.codes, question.group_by, schema)
    return found.taken(place)
