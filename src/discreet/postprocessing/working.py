"""Does the work of a statement: from the answers of its questions to its result.

Filters, orders and limits go by the estimates. Where an interval leaves it open on which side of a filter
a row lies, or which of two rows comes first, a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion
from discreet.postprocessing import logic
from discreet.postprocessing.across import Groups, across, mode_of
from discreet.postprocessing.arithmetic import chosen, numbers_of
from discreet.postprocessing.functions import apply
from discreet.postprocessing.joint_noise import JointNoise
from discreet.postprocessing.plan import (
    Across,
    Call,
    Case,
    Declared,
    Expression,
    Field,
    Key,
    Literal,
    Lookup,
    Measure,
    Measured,
    OneRow,
    Over,
    Scalar,
    Select,
    Table,
    Union,
)
from discreet.postprocessing.rows import (
    Places,
    first_of_each,
    joined_places,
    partitioned,
    sorted_places,
    stacked,
    unplaced,
)
from discreet.postprocessing.values import Labels, Levels, Noise, Numbers, Value, joined_origins
from discreet.postprocessing.windows import over
from discreet.questions.cells.values import cell_value
from discreet.schema import Schema
from discreet.schema.columns.column import NULL_LABEL

EMPTY_GROUPS = (
    "Every group that the schema declares is a row of the subquery, also one that no row of the table is in, such as "
    "(other) and null: whether one is empty is hidden, so none is left out. To take only groups that you name, write "
    "WHERE column IN (...) behind the subquery."
)
MOST_DECLARED = 1_000_000
"""Combinations of cells that are listed without being measured."""
DRAW = -2
"""Marks the origin of a draw of noise, of which several questions may share one."""
MOST_NAMED = 3
"""Groups that a note names."""

NOT_FOUND = "Groups that were not found by every one of the questions behind this result are left out of it."
ADDED_UP = ("count", "sum(")
"""Aggregates that are 0 in a group where the schema rules out every row; the others have no value there."""


@dataclass(slots=True, eq=False)
class Result:
    """A table that was worked out: columns of values, and what to know of them."""

    names: list[str]
    values: list[Value]
    rows: int
    notes: dict[str, None]
    shows: int = 0
    """How many columns are shown; the others only sort."""


@dataclass(slots=True, eq=False)
class _Frame:
    """What an expression can see: the rows of a source, or the groups that they are put into."""

    rows: int
    keys: list[Value]
    measures: dict[tuple[int, int], Numbers]
    fields: list[Value]
    inner: _Frame | None = None
    """The rows behind the groups."""
    groups: Groups | None = None

    def taken(self, places: Places) -> _Frame:
        return replace(
            self,
            rows=len(places),
            keys=[each.taken(places) for each in self.keys],
            measures={name: each.taken(places) for name, each in self.measures.items()},
            fields=[each.taken(places) for each in self.fields],
            groups=None if self.groups is None else [self.groups[place] for place in places],
        )


class Work:
    """The work on one statement's answers, at some levels of confidence."""

    def __init__(
        self,
        answered: Callable[[int, int], Answers],
        schema: Schema,
        levels: Levels,
        discovered: Collection[str] = (),
    ) -> None:
        """`answered(question, level)` gives the answer to a question at a level. `discovered` are columns whose groups
        are those that the rows were found to hold, beside columns whose values the schema does not declare."""
        self._answered, self._schema, self._levels = answered, schema, levels
        self._discovered = {
            each.name for each in schema.columns if getattr(each, "undeclared", False)
        }
        self._discovered.update(discovered)
        self._scalars: dict[int, Value] = {}
        self._tables: dict[int, Result] = {}

    def result(self, table: Table) -> Result:
        """What a table is worked out to."""
        if isinstance(table, Select):
            return self._select(table)
        parts = [self.result(each) for each in table.tables]
        found = self._united(parts)
        return self._distinct(found) if table.is_distinct else found

    # One SELECT

    def _select(self, select: Select) -> Result:
        notes: dict[str, None] = {}
        frame = self._frame(select, notes)
        if select.having is not None:
            frame = self._filtered(frame, select.having, "HAVING", notes)
        values = [self._value(each.value, frame) for each in select.outputs]
        if select.qualify is not None:
            condition = logic.truths(self._value(select.qualify, frame))
            kept = np.flatnonzero(logic.holds(condition))
            frame, values = frame.taken(kept), [each.taken(kept) for each in values]
        sort_keys = [self._value(each.key, frame) for each in select.order]
        found = Result(
            [each.name for each in select.outputs],
            values,
            frame.rows,
            notes,
            sum(not each.is_hidden for each in select.outputs),
        )
        if select.is_distinct:
            if sort_keys:
                found.values += sort_keys
                found = self._distinct(found)
                sort_keys = found.values[len(select.outputs) :]
                del found.values[len(select.outputs) :]
            else:
                found = self._distinct(found)
        if sort_keys:
            last = np.zeros(found.rows, dtype=np.bool_)
            if not self._is_added_up(sort_keys[0]):
                last = unplaced(sort_keys[0])
            order = sorted_places(sort_keys, select.order, found.rows, last)
            self._note_order(sort_keys, select, order, notes)
            if last.any():
                notes[
                    f"For {int(last.sum()):,} of {found.rows:,} rows the noise leaves the place in the order fully open, as "
                    "it does for a mean of a group that may hold no row. They come last."
                ] = None
            found.values = [each.taken(order) for each in found.values]
        if select.limit is not None or select.offset:
            stop = None if select.limit is None else select.offset + select.limit
            kept = np.arange(found.rows)[select.offset : stop]
            found.values = [each.taken(kept) for each in found.values]
            found.rows = len(kept)
        return found

    def _frame(self, select: Select, notes: dict[str, None]) -> _Frame:
        source = select.source
        if isinstance(source, OneRow):
            return _Frame(1, [], {}, [])
        if isinstance(source, Declared):
            return self._declared(source, notes)
        if isinstance(source, Measured):
            return self._measured(source, notes)
        inside = self.result(source)
        notes |= inside.notes
        frame = _Frame(inside.rows, [], {}, inside.values)
        if select.keys is not None and _has_groups(source):
            notes[EMPTY_GROUPS] = None
        if select.where is not None:
            frame = self._filtered(frame, select.where, "WHERE", notes)
        return frame if select.keys is None else self._grouped(frame, select.keys)

    def _declared(self, source: Declared, notes: dict[str, None]) -> _Frame:
        columns = [self._schema.column(name) for name in source.keys]
        cells = 1
        for column in columns:
            cells *= column.cells
        if cells > MOST_DECLARED:
            raise BadQuestion(
                f"There are {cells:,} groups; at most {MOST_DECLARED:,} are listed. Group by fewer columns."
            )
        rows = list(product(*(range(column.cells) for column in columns)))
        keys: list[Value] = [
            Labels.of([cell_value(column, row[axis]) for row in rows])
            for axis, column in enumerate(columns)
        ]
        notes[
            "The groups are those that the schema declares, whether or not any row is in them."
        ] = None
        return _Frame(len(rows), keys, {}, [])

    def _measured(self, source: Measured, notes: dict[str, None]) -> _Frame:
        # All questions have the statement's WHERE; a condition inside an aggregate only takes groups away.
        base = max(
            (at for at, own in enumerate(source.axes) if len(own) == len(source.keys)),
            key=lambda at: len(self._answered(source.questions[at], 0)),
        )
        first = self._answered(source.questions[base], 0)
        axes = [first.groups.index(source.keys[axis]) for axis in source.axes[base]]
        codes = first.codes[:, axes]
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
        return _Frame(len(codes), keys, measures, [])

    def _numbers(self, question: int, place: int, rows: Places) -> Numbers:
        """An aggregate's answers at every level; estimates are those of the first.

        A place below 0 is a group that the aggregate's own condition (FILTER or CASE) rules out by the schema.
        """
        if (rows < 0).any():
            return self._with_ruled_out(question, place, rows)
        columns = [
            self._answered(question, level).columns[place] for level in range(len(self._levels))
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
        lower, upper = (np.full((len(self._levels), len(rows)), nothing) for _ in range(2))
        estimate[there], std[there] = known.estimate, known.std
        lower[:, there], upper[:, there] = known.lower, known.upper
        return replace(known, estimate=estimate, lower=lower, upper=upper, std=std, noise=None)

    def _grouped(self, frame: _Frame, keys: Sequence[Expression]) -> _Frame:
        """The rows of a result, put into groups; without keys they are one group."""
        values = [self._value(each, frame) for each in keys]
        groups = partitioned(values, frame.rows)
        if not keys:
            groups = [np.arange(frame.rows)]
        first = np.array([each[0] for each in groups if len(each)], dtype=np.int64)
        own = [each.taken(first) for each in values] if keys else []
        return _Frame(len(groups), own, {}, [], inner=frame, groups=groups)

    def _filtered(
        self, frame: _Frame, condition: Expression, what: str, notes: dict[str, None]
    ) -> _Frame:
        found = logic.truths(self._value(condition, frame))
        kept = np.flatnonzero(logic.holds(found))
        if found.unsure is not None and found.unsure[0].any():
            edge = np.flatnonzero(found.unsure[0])
            named = _named(frame, edge)
            notes[
                f"{what} goes by the estimates. For {len(edge):,} of {frame.rows:,} groups the interval "
                f"leaves it open on which side they lie{named}."
            ] = None
        return frame.taken(kept)

    def _is_added_up(self, value: Value) -> bool:
        """Whether a column is a count or a sum as it was measured, which is 0 for a group without rows."""
        if len(value.origins) != 1:
            return False
        ((question, place, rows),) = value.origins
        if rows or not isinstance(question, int) or place >= 0:
            return False
        name = self._answered(question, 0).columns[-1 - place].name.lower()
        return name.startswith(ADDED_UP)

    def _note_order(
        self, keys: Sequence[Value], select: Select, order: Places, notes: dict[str, None]
    ) -> None:
        first = keys[0]
        if not isinstance(first, Numbers) or first.is_exact or len(order) < 2:
            return
        lower, upper = first.lower[0][order], first.upper[0][order]
        stop = len(order) if select.limit is None else select.offset + select.limit
        if select.limit is not None and 0 < stop < len(order):
            last = upper[:stop].min() if not select.order[0].is_descending else lower[:stop].min()
            rest = lower[stop:] if not select.order[0].is_descending else upper[stop:]
            close = int(
                (rest <= last).sum() if not select.order[0].is_descending else (rest >= last).sum()
            )
            if close:
                notes[
                    f"The order goes by the estimates. Of the groups that LIMIT leaves out, {close:,} may "
                    "belong among those shown: their intervals overlap."
                ] = None
                return
        overlap = int(
            ((lower[1:] <= upper[:-1]) & (lower[:-1] <= upper[1:]))[: max(stop - 1, 0)].sum()
        )
        if overlap:
            notes[
                f"The order goes by the estimates. For {overlap:,} of {min(stop, len(order)) - 1:,} pairs of "
                "neighbouring rows the intervals overlap, so their order is not certain."
            ] = None

    def _distinct(self, found: Result) -> Result:
        places = [
            int(each[0])
            for each in partitioned(found.values[: found.shows] or found.values, found.rows)
        ]
        kept = np.array(places, dtype=np.int64)
        return replace(found, values=[each.taken(kept) for each in found.values], rows=len(kept))

    def _united(self, parts: list[Result]) -> Result:
        width = parts[0].shows
        if any(each.shows != width for each in parts):
            raise BadQuestion("The parts of a UNION have different numbers of columns.")
        hidden = min(len(each.values) for each in parts)
        notes: dict[str, None] = {}
        for each in parts:
            notes |= each.notes
        values = [
            stacked([each.values[place] for each in parts], self._levels) for place in range(hidden)
        ]
        return Result(
            parts[0].names[:hidden], values, sum(each.rows for each in parts), notes, width
        )

    # Expressions

    def _value(self, expression: Expression, frame: _Frame) -> Value:
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
                zip(*(_plain(each) for each in found.values[:-1]), strict=True)
            )
        }
        wanted = zip(*(_plain(each) for each in keys), strict=True)
        places = np.array([known.get(key, -1) for key in wanted], dtype=np.int64)
        missing = (
            places < 0
        )  # a group of which the other table has none, as while a question is rehearsed
        last = found.values[-1]
        if not missing.any():
            return last.taken(places)
        nothing: Value = Numbers.exact(np.full(rows, np.nan), len(self._levels))
        if isinstance(last, Labels):
            nothing = logic.literal(None, rows, self._levels)
        if missing.all():
            return nothing
        value = last.taken(np.maximum(places, 0))
        return chosen(missing, None, nothing, value, self._levels)

    def _across(self, asked: Across, frame: _Frame) -> Value:
        inner, groups = frame.inner, frame.groups
        assert inner is not None and groups is not None
        value = None if asked.argument is None else self._value(asked.argument, inner)
        if asked.condition is not None:
            met = logic.holds(logic.truths(self._value(asked.condition, inner)))
            groups = [each[met[each]] for each in groups]
        if asked.is_distinct and value is not None:
            groups = [first_of_each(value, each) for each in groups]
        if asked.weight is not None and value is not None:
            weight = numbers_of(self._value(asked.weight, inner), self._levels)
            labels = value if isinstance(value, Labels) else Labels.of(_plain(value))
            return mode_of(labels, weight, groups)
        return across(
            asked.function,
            value,
            groups,
            self._levels,
            level=asked.level,
            tag=f"in {len(groups)} groups",
        )

    def _over(self, asked: Over, frame: _Frame) -> Value:
        partition = [self._value(each, frame) for each in asked.partition]
        groups = partitioned(partition, frame.rows) if partition else [np.arange(frame.rows)]
        arguments = [self._value(each, frame) for each in asked.arguments]
        keys = [self._value(each.key, frame) for each in asked.order]
        return over(asked, arguments, keys, groups, self._levels)


def _plain(value: Value) -> list[Any]:
    """The values of a column, one by one."""
    return list(value.values) if isinstance(value, Labels) else value.estimate.tolist()


def _has_groups(table: Select | Union) -> bool:
    """Whether the rows of a result are groups of a question."""
    if isinstance(table, Union):
        return any(_has_groups(each) for each in table.tables)
    if isinstance(table.source, Select | Union):
        return table.keys is None and _has_groups(table.source)
    return isinstance(table.source, Measured) and bool(table.source.keys)


def _named(frame: _Frame, places: Places) -> str:
    """Some groups by their names."""
    labels = [each for each in [*frame.keys, *frame.fields] if isinstance(each, Labels)]
    if not labels:
        return ""
    shown = [
        ", ".join(_key_text(each.values[place]) for each in labels) for place in places[:MOST_NAMED]
    ]
    more = " ..." if len(places) > MOST_NAMED else ""
    return f" ({'; '.join(shown)}{more})"


def _key_text(value: object) -> str:
    """A group's key as the answer's table writes it."""
    if value is None:
        return NULL_LABEL
    return str(value).lower() if isinstance(value, bool) else str(value)
