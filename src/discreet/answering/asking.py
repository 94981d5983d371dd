"""Questions to their answers: each becomes regions, every source reads them, and one answer is settled.

`ask` is a batch of one question. A region is read once however often it is asked, and its answer depends on
nothing else in the batch. No source is named here: see `registry` for what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from discreet.answering.combining import best_reason, places_of, settled, that_adds_up
from discreet.answering.estimates import NO_GROUPS, Estimates, ManyCounts, many_counts
from discreet.answering.regions.region import (
    Asked,
    BoxRegions,
    CellRegions,
    RangeRegions,
    Region,
    plain_groups,
)
from discreet.answering.source import NOT_MINE, Found, Refusal, Source
from discreet.arrays import Integers
from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.privacy.exact import confidence_level
from discreet.questions.conditions import both, columns_named, null_test, opposite
from discreet.questions.derived import derived_note, through_sources
from discreet.questions.keys import (
    ComputedKey,
    Key,
    is_of_values,
    key_label,
    key_name,
    key_value,
)
from discreet.questions.notes import (
    beyond_bounds,
    counted_rows_note,
    divided_cells,
    undeclared_values,
    unsettled_groups,
)
from discreet.questions.question import Question
from discreet.schema import Schema

LEFT_OUT_NOTE = (
    "Groups of nulls and of undeclared values are left out: the release does not count them."
)


class Asking:
    """The sources of one release."""

    def __init__(self, library: Library, sources: Sequence[Source]) -> None:
        self._schema, self._rows = library.published, library.release.public_rows
        self._named = frozenset(library.named)
        self._sources = tuple(sources)
        self._agree_with_ranges = library.agree_with_ranges

    def answers(
        self,
        questions: Sequence[Question],
        *,
        confidence: float,
        whole: bool = True,
        as_measured: bool = False,
    ) -> list[Answers]:
        """The answers to each question; the first that cannot be answered is refused.

        `as_measured`: counts are not made plausible, so that they add up as they were put together.
        """
        confidence_level(confidence)
        asked = [Asked.of(question, self._schema) for question in questions]
        found = self._found(asked, confidence)
        if not as_measured:
            found = {
                region: each
                if isinstance(each, NotAnswerable)
                else each.plausible(self._rows, whole=whole)
                for region, each in found.items()
            }
        again = partial(self.answers, confidence=confidence, whole=whole, as_measured=as_measured)
        return [self._answer_or_through(each, found, confidence, again) for each in asked]

    def _found(
        self, asked: Sequence[Asked], confidence: float
    ) -> dict[Region, Estimates | NotAnswerable]:
        """The answer, or the refusal, for each region of some questions."""
        distinct = list(
            dict.fromkeys(region for one in asked for row in one.regions for region in row)
        )
        read = [self._read(source, distinct, confidence) for source in self._sources]
        found: dict[Region, Estimates | NotAnswerable] = {}
        for place, region in enumerate(distinct):
            try:
                found[region] = settled(
                    [each[place] for each in read], region, self._schema, confidence
                )
            except NotAnswerable as refusal:
                found[region] = refusal
        return found

    def _answer_or_through(
        self,
        asked: Asked,
        found: Mapping[Region, Estimates | NotAnswerable],
        confidence: float,
        again: Callable[[Sequence[Question]], list[Answers]],
    ) -> Answers:
        """The answer; where there is none about a derived column, that about what it is derived from."""
        try:
            return self._answer(asked, found, confidence)
        except NotAnswerable as error:
            refusal = error
        other = through_sources(asked.question, self._schema)
        if other is None:
            raise self._hinted(asked.question, refusal, confidence)
        try:
            (answer,) = again([other])
        except NotAnswerable:
            raise refusal from None
        note = derived_note(asked.question, self._schema)
        return replace(answer, notes=(*answer.notes, note), is_through_others=True)

    def _hinted(
        self, question: Question, refusal: NotAnswerable, confidence: float
    ) -> NotAnswerable:
        """The refusal; where only rows without a value are missing for a computed key, with the way out."""
        computed = [key for key in question.group_by if isinstance(key, ComputedKey)]
        named = {name for key in computed for name in columns_named(key.expression)}
        nullable = sorted(name for name in named if self._schema.column(name).nulls == "cell")
        if not nullable:
            return refusal
        tests = [opposite(null_test(name)) for name in nullable]
        asked = Asked.of(
            replace(question, condition=both(question.condition, *tests)), self._schema
        )
        try:
            self._answer(asked, self._found([asked], confidence), confidence)
        except NotAnswerable:
            return refusal
        written = " AND ".join(f"{name} IS NOT NULL" for name in nullable)
        return NotAnswerable(
            f"{refusal} It is answered for the rows that have a value there: add {written} to WHERE."
        )

    def _read(self, source: Source, regions: Sequence[Region], confidence: float) -> list[Found]:
        """The estimates of a source. Groups of values that were published by name are left out, unless the source knows them."""
        if source.reads_names or not self._named:
            return source.read(regions, confidence)
        known = [self._named.isdisjoint(region.groups) for region in regions]
        asked = [region for region, is_known in zip(regions, known, strict=True) if is_known]
        found = iter(source.read(asked, confidence))
        return [next(found) if is_known else NOT_MINE for is_known in known]

    def _answer(
        self, asked: Asked, found: Mapping[Region, Estimates | NotAnswerable], confidence: float
    ) -> Answers:
        """The columns of one question side by side, one block of groups for each computed key."""
        question, schema, keys = asked.question, self._schema, asked.question.group_by
        plain = plain_groups(question)
        notes = dict.fromkeys(undeclared_values(question.condition, schema))
        notes |= dict.fromkeys(beyond_bounds(question.condition, schema))
        blocks: list[tuple[Integers, list[Estimates]]] = []
        refusal: NotAnswerable | None = None
        for codes, regions in zip(asked.keys, asked.regions, strict=True):
            settle = [found[region] for region in regions]
            known = [each for each in settle if isinstance(each, Estimates)]
            refused = [
                (len(region.names | ({region.column} - {None})), each)
                for region, each in zip(regions, settle, strict=True)
                if isinstance(each, NotAnswerable)
            ]
            if refused:
                # What needs the most columns says best what to release.
                refusal = max(refused, key=lambda each: each[0])[1]
                if not _is_beside_the_values(codes, keys, schema):
                    raise refusal
                notes[LEFT_OUT_NOTE] = None
                continue
            cells = _common(known, plain, schema)
            for own in known:
                notes |= dict.fromkeys(own.notes)
            here = [_at(own, cells, plain, schema) for own in known]
            blocks.append((_placed(cells, codes, keys), here))
        if not blocks:
            if refusal is not None:
                raise refusal
            blocks.append(_no_groups(question))
        columns = []
        for place, aggregate in enumerate(question.aggregates):
            each = [block[place] for _, block in blocks]
            columns.append(
                AnswerColumn(
                    aggregate.name,
                    np.concatenate([own.estimate for own in each]),
                    np.concatenate([own.lower for own in each]),
                    np.concatenate([own.upper for own in each]),
                    np.concatenate([own.std for own in each]),
                    reduce(Covers.joined, (own.covers for own in each)),
                    Unit.COUNT if all(own.is_count for own in each) else each[0].unit,
                    draws=each[0].draws if len(each) == 1 else None,
                )
            )
        if any(column.covers is Covers.NOISE_AND_CELLS for column in columns):
            notes |= dict.fromkeys(divided_cells(question.condition, keys, schema))
        notes |= dict.fromkeys(unsettled_groups(keys))
        notes |= dict.fromkeys(counted_rows_note(schema))
        return Answers(
            groups=tuple(map(key_name, keys)),
            codes=np.concatenate([codes for codes, _ in blocks]),
            label=lambda axis, code: key_label(keys[axis], code, schema),
            typed=lambda axis, code: key_value(keys[axis], code, schema),
            columns=tuple(columns),
            confidence=confidence,
            question=question.text,
            notes=tuple(notes),
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
                found = self._adding_up(found, read)
                return many_counts(found.plausible(self._rows), confidence)
            refusals.append(found)
        raise best_reason(refusals)

    def _adding_up(self, found: Estimates, read: Callable[[Source], Found]) -> Estimates:
        """The same numbers as `ask` gives: those of tables where they add up, with trees too."""
        if found.adds_up or not self._agree_with_ranges:
            return found
        others = [each for each in map(read, self._sources) if isinstance(each, Estimates)]
        agreed = next((each for each in others if each.adds_up), None)
        return found if agreed is None else that_adds_up(found, agreed)


def _no_groups(question: Question) -> tuple[Integers, list[Estimates]]:
    """A block without groups: the condition rules out all of them."""
    nothing = np.zeros(0)
    return np.zeros((0, len(question.group_by)), dtype=np.int64), [
        Estimates(nothing, nothing, nothing, nothing, is_count=each.kind == "count")
        for each in question.aggregates
    ]


def _is_beside_the_values(codes: tuple[int, ...], keys: Sequence[Key], schema: Schema) -> bool:
    """Whether a group is of nulls or of undeclared values, which a release of ranges does not count."""
    computed = [key for key in keys if isinstance(key, ComputedKey)]
    return not all(
        is_of_values(key, code, schema) for key, code in zip(computed, codes, strict=True)
    )


def _placed(cells: Integers, codes: tuple[int, ...], keys: Sequence[Key]) -> Integers:
    """The codes of a block's groups, in the order in which GROUP BY names the keys."""
    if not codes:
        return cells
    plain, computed = iter(range(cells.shape[1])), iter(codes)
    columns = [
        cells[:, next(plain)] if isinstance(key, str) else np.full(len(cells), next(computed))
        for key in keys
    ]
    return np.stack(columns, axis=1).astype(np.int64)


def _common(found: Sequence[Estimates], groups: tuple[str, ...], schema: Schema) -> Integers:
    """The groups that every column of the answer has."""
    if not groups:
        return NO_GROUPS
    codes, *more = (each.codes for each in found)
    assert codes is not None
    for other in more:
        if other is not None and not np.array_equal(codes, other):
            _, there = places_of(codes, other, groups, schema)
            codes = codes[there]
    return codes


def _at(found: Estimates, codes: Integers, groups: tuple[str, ...], schema: Schema) -> Estimates:
    """The numbers of the groups in `codes`, in their order."""
    if found.codes is None or np.array_equal(found.codes, codes):
        return found
    place, _ = places_of(codes, found.codes, groups, schema)
    return found.taken(place)
