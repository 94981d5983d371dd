"""The rows that a statement starts from: groups that its questions measured, or that the schema declares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import Declared, Measured
from discreet.postprocessing.rows import Places, joined_places
from discreet.postprocessing.values import Labels, Levels, Noise, Numbers, Value, is_own_row
from discreet.postprocessing.working.frames import Frame
from discreet.questions.cells.values import cell_value
from discreet.questions.expressions import Expression
from discreet.questions.groups_together import possible_groups
from discreet.questions.keys import (
    Key,
    is_of_values,
    key_name,
    key_size,
)
from discreet.schema import Schema

MOST_DECLARED = 1_000_000
"""Combinations of cells that are listed without being measured."""
MOST_RULED_OUT = 1 << 16
"""Groups that are looked at, whether every aggregate rules them out by a condition of its own."""
DRAW = -2
"""Marks the origin of a draw of noise, of which several questions may share one."""
NOT_FOUND = "Groups that were not found by every one of the questions behind this result are left out of it."
ADDED_UP = ("count", "sum(")
"""Aggregates that are 0 in a group where the schema rules out every row; the others have no value there."""


class MeasuredGroups:
    """The answers to a statement's questions, as rows, at some levels of confidence."""

    def __init__(
        self,
        answered: Callable[[int, int], Answers],
        schema: Schema,
        levels: Levels,
        discovered: Collection[str] = (),
        questions: Sequence[Any] = (),
    ) -> None:
        """`answered(question, level)` gives the answer to a question at a level. `discovered` are columns whose groups
        are those that the rows were found to hold, beside columns whose values the schema does not declare."""
        self._answered, self._schema, self.levels = answered, schema, levels
        self._questions = questions
        self._discovered = {each.name for each in schema.columns if each.undeclared}
        self._discovered.update(discovered)

    def declared(self, source: Declared, notes: dict[str, None]) -> Frame:
        columns = [self._schema.column(name) for name in source.keys]
        cells = 1
        for column in columns:
            cells *= column.cells
        if cells > MOST_DECLARED:
            raise BadQuestion(
                f"There are {cells:,} groups; at most {MOST_DECLARED:,} are listed. Group by fewer columns."
            )
        rows = possible_groups(source.keys, source.condition, self._schema)
        keys: list[Value] = [
            Labels.of([cell_value(column, row[axis]) for row in rows])
            for axis, column in enumerate(columns)
        ]
        notes[
            "The groups are those that the schema declares, whether or not any row is in them."
        ] = None
        return Frame(len(rows), keys, {}, [])

    def measured(self, source: Measured, notes: dict[str, None]) -> Frame:
        base = max(
            (at for at, own in enumerate(source.axes) if len(own) == len(source.keys)),
            key=lambda at: len(self._answered(source.questions[at], 0)),
        )
        first = self._answered(source.questions[base], 0)
        axes = [first.groups.index(source.keys[axis]) for axis in source.axes[base]]
        codes = self._all_groups(source, first.codes[:, axes])
        places: list[Places] = []
        for question, own in zip(source.questions, source.axes, strict=True):
            other = self._answered(question, 0)
            notes |= dict.fromkeys(other.notes)
            theirs = [other.groups.index(source.keys[axis]) for axis in own]
            places.append(
                joined_places(first, codes, own, other, other.codes[:, theirs], theirs, axes)
            )
        there = np.all([each >= 0 for each in places], axis=0)
        if not there.all() and not self._discovered.isdisjoint(source.keys):
            notes[NOT_FOUND] = None
            codes, places = codes[there], [each[there] for each in places]
        measures = {
            (question, at): self._numbers(question, at, place)
            for question, place in zip(source.questions, places, strict=True)
            for at in range(len(self._answered(question, 0).columns))
        }
        keys: list[Value] = []
        for at, axis in enumerate(axes):
            distinct, where = np.unique(codes[:, at], return_inverse=True)
            values = np.empty(len(distinct), dtype=object)
            values[:] = [first.value(axis, int(code)) for code in distinct]
            keys.append(Labels(values[where] if len(distinct) else values))
        return Frame(len(codes), keys, measures, [])

    def _all_groups(self, source: Measured, codes: Places) -> Places:
        """The groups of all questions, and those that each of them rules out by a condition of its own (FILTER or CASE).

        All have the statement's WHERE, so a group that another condition takes away has rows in it all the same.
        """
        width = len(source.keys)
        pairs = zip(source.questions, source.axes, strict=True)
        full = [question for question, own in pairs if len(own) == width]
        if not self._discovered.isdisjoint(source.keys):
            return codes
        if any(self._answered(question, 0).is_through_others for question in full):
            return codes
        found = set(map(tuple, codes.tolist()))
        every = set(found)
        for question in full:
            other = self._answered(question, 0)
            axes = [other.groups.index(key) for key in source.keys]
            every.update(map(tuple, other.codes[:, axes].tolist()))
        if source.condition is not None and self._questions:
            every |= self._ruled_out(source, source.condition, full)
        if every == found:
            return codes
        return np.array(sorted(every), dtype=np.int64).reshape(-1, width)

    def _ruled_out(
        self, source: Measured, where: Expression, questions: Sequence[int]
    ) -> set[tuple[int, ...]]:
        """The groups that WHERE leaves rows in, and none of the questions does, by the schema.

        A question lists all groups of values that its conditions leave. Nulls and values outside the domain may be
        missing in it for another reason: the release did not count them.
        """
        asked = [self._questions[each] for each in questions]
        keys: Sequence[Key] = asked[0].group_by
        if prod(key_size(key, self._schema) for key in keys) > MOST_RULED_OUT:
            return set()
        found = set(possible_groups(keys, where, self._schema))
        open_groups: set[tuple[int, ...]] = set()
        for question, each in zip(questions, asked, strict=True):
            if len(self._answered(question, 0)):  # else nothing can satisfy its conditions
                open_groups.update(possible_groups(keys, each.condition, self._schema, raw=False))
        names = [key_name(key) for key in keys]
        axes = [names.index(key) for key in source.keys]
        return {
            tuple(row[axis] for axis in axes)
            for row in found
            if row not in open_groups
            or all(
                is_of_values(key, code, self._schema) for key, code in zip(keys, row, strict=True)
            )
        }

    def _numbers(self, question: int, place: int, rows: Places) -> Numbers:
        """An aggregate's answers at every level; estimates are those of the first.

        A place below 0 is a group that the aggregate's own condition (FILTER or CASE) rules out by the schema.
        """
        if (rows < 0).any():
            return self._with_ruled_out(question, place, rows)
        columns = [
            self._answered(question, level).columns[place] for level in range(len(self.levels))
        ]
        first = columns[0]
        noise: Noise | JointNoise | None = None
        shared = None if first.draws is None else first.draws()
        if shared is not None:
            weights = {key: (law, each) for key, law, each in shared.draws}
            noise = JointNoise(shared.value, weights, shared.shown).taken(rows)
        elif first.noise is not None:
            terms = {(DRAW, draw, ""): (weight, law, 1) for weight, law, draw in first.noise.terms}
            noise = Noise(first.noise.value[rows], terms, first.noise.slack)
        return Numbers(
            first.estimate[rows],
            np.array([each.lower[rows] for each in columns]),
            np.array([each.upper[rows] for each in columns]),
            first.std[rows],
            first.covers,
            first.unit,
            {(question, -1 - place, ""): 1},
            noise,
        )

    def _with_ruled_out(self, question: int, place: int, rows: Places) -> Numbers:
        name = self._answered(question, 0).columns[place].name.lower()
        nothing = 0.0 if name.startswith(ADDED_UP) else np.nan
        there = np.flatnonzero(rows >= 0)
        known = self._numbers(question, place, rows[there])
        estimate, std = np.full(len(rows), nothing), np.zeros(len(rows))
        lower, upper = (np.full((len(self.levels), len(rows)), nothing) for _ in range(2))
        estimate[there], std[there] = known.estimate, known.std
        lower[:, there], upper[:, there] = known.lower, known.upper
        return replace(known, estimate=estimate, lower=lower, upper=upper, std=std, noise=None)

    def is_added_up(self, value: Value) -> bool:
        """Whether a column is a count or a sum as it was measured, which is 0 for a group without rows."""
        if len(value.origins) != 1:
            return False
        ((question, place, rows),) = value.origins
        if (
            not is_own_row(rows) or question < 0 or place >= 0
        ):  # below 0: put together by their noise
            return False
        name = self._answered(question, 0).columns[-1 - place].name.lower()
        return name.startswith(ADDED_UP)
