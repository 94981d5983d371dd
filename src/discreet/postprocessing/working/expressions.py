"""The value of an expression, for every row that it can see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.errors import BadQuestion
from discreet.postprocessing import logic
from discreet.postprocessing.across import across, mode_of, open_count
from discreet.postprocessing.arithmetic import chosen, numbers_of
from discreet.postprocessing.functions import apply
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import (
    Across,
    Call,
    Case,
    Expression,
    Field,
    Key,
    Literal,
    Lookup,
    Measure,
    Over,
    Scalar,
    Table,
)
from discreet.postprocessing.rows import first_of_each, partitioned, taken_or_null
from discreet.postprocessing.values import (
    Labels,
    Levels,
    Numbers,
    Value,
    chosen_among,
    joined_origins,
)
from discreet.postprocessing.windows import PLACES, over
from discreet.postprocessing.working.frames import (
    Doubt,
    Frame,
    Result,
    note_open_filter,
    note_open_window,
)


class ExpressionWork:
    """Works out expressions, at some levels of confidence."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._scalars: dict[int, Value] = {}
        self._tables: dict[int, Result] = {}
        self.notes: dict[str, None] = {}
        """What the noise leaves open inside of expressions."""

    def result(self, table: Table) -> Result:
        """What a table is worked out to."""
        raise NotImplementedError

    def _value(self, expression: Expression, frame: Frame) -> Value:
        levels = self._levels
        match expression:
            case Measure(question=question, place=place):
                return frame.measures[question, place]
            case Key(place=place):
                return frame.keys[place]
            case Field(place=place):
                return frame.fields[place]
            case Literal(value=value):
                return logic.literal(value, frame.rows, levels)
            case Call(name=name, arguments=arguments):
                return apply(name, [self._value(each, frame) for each in arguments], levels)
            case Case(branches=branches, otherwise=otherwise):
                found = self._value(otherwise, frame)
                for condition, value in reversed(branches):
                    met = logic.truths(self._value(condition, frame))
                    found = self._branch(met, self._value(value, frame), found)
                return found
            case Scalar(table=table):
                return self._scalar(table, frame.rows)
            case Lookup(table=table, keys=keys):
                return self._looked_up(
                    table, [self._value(each, frame) for each in keys], frame.rows
                )
            case Across():
                return self._across(expression, frame)
            case Over():
                return self._over(expression, frame)
        raise AssertionError(expression)

    def _branch(self, met: Labels, yes: Value, no: Value) -> Value:
        for one, other in ((yes, no), (no, yes)):
            if isinstance(one, Labels) and isinstance(other, Numbers) and one.is_null.all():
                nothing = Numbers.exact(np.full(len(one), np.nan), len(self._levels))
                yes, no = (nothing, other) if one is yes else (other, nothing)
                break
        found = chosen(logic.holds(met), met.unsure, yes, no, self._levels)
        return replace(found, origins=joined_origins(found, met))

    def _scalar(self, table: Table, rows: int) -> Value:
        if id(table) not in self._scalars:
            found = self.result(table)
            if found.shows != 1:
                raise BadQuestion("A subquery inside an expression selects one column.")
            if found.rows > 1:
                raise BadQuestion(
                    f"A subquery inside an expression gives one row, and this one gives {found.rows:,}."
                )
            empty = found.rows == 0
            self._scalars[id(table)] = Labels.of([None]) if empty else found.values[0]
        value = self._scalars[id(table)].taken(np.zeros(rows, dtype=np.int64))
        if isinstance(value, Numbers):
            origins = {(q, p, f"{tag}>once"): n for (q, p, tag), n in value.origins.items()}
            kept = value.noise if isinstance(value.noise, JointNoise) else None
            return replace(value, origins=origins, noise=kept)
        return value

    def _looked_up(self, table: Table, keys: Sequence[Value], rows: int) -> Value:
        """The value that another table has for each row's keys."""
        if id(table) not in self._tables:
            self._tables[id(table)] = self.result(table)
        found = self._tables[id(table)]
        if not keys:
            return found.values[-1].taken(np.zeros(rows, dtype=np.int64))
        known = {
            key: place
            for place, key in enumerate(
                zip(*(each.keys for each in found.values[:-1]), strict=True)
            )
        }
        wanted = zip(*(each.keys for each in keys), strict=True)
        places = np.array([known.get(key, -1) for key in wanted], dtype=np.int64)
        # A group may be missing from the other table, as while a question is rehearsed.
        return taken_or_null(found.values[-1], places, self._levels)

    def _across(self, asked: Across, frame: Frame) -> Value:
        inner, groups = frame.inner, frame.groups
        assert inner is not None and groups is not None
        value = None if asked.argument is None else self._value(asked.argument, inner)
        doubt = inner.doubt
        if asked.condition is not None:
            condition = logic.truths(self._value(asked.condition, inner))
            met = logic.holds(condition)
            groups = [each[met[each]] for each in groups]
            note_open_filter(condition, self.notes)
            doubt = Doubt.of(condition, inner.rows, inner.doubt, self._levels)
            if value is not None and logic.is_open(condition):
                value = chosen_among(value, inner.rows)
        if asked.function == "count" and value is None and doubt is not None and len(groups) == 1:
            return open_count(len(groups[0]), doubt.fewest, doubt.most, doubt.origins)
        if asked.is_distinct and value is not None:
            groups = [first_of_each(value, each) for each in groups]
            value = chosen_among(value, inner.rows)
        if asked.weight is not None and value is not None:
            weight = numbers_of(self._value(asked.weight, inner), self._levels)
            labels = value if isinstance(value, Labels) else Labels.of(value.plain.tolist())
            return mode_of(labels, weight, groups)
        return across(
            asked.function,
            value,
            groups,
            self._levels,
            level=asked.level,
            tag=f"in {len(groups)} groups",
        )

    def _over(self, asked: Over, frame: Frame) -> Value:
        partition = [self._value(each, frame) for each in asked.partition]
        groups = partitioned(partition, frame.rows) if partition else [np.arange(frame.rows)]
        arguments = [self._value(each, frame) for each in asked.arguments]
        keys = [self._value(each.key, frame) for each in asked.order]
        if any(each.origins for each in (*partition, *keys)):
            arguments = [chosen_among(each, frame.rows) for each in arguments]
            if asked.function not in PLACES or any(each.origins for each in partition):
                note_open_window(asked.function, self.notes)
        return over(asked, arguments, keys, groups, self._levels)
