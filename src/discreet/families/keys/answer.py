"""Counts of published values, of all others together, and what is known of a value that is not published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.answering.asking import Asking
from discreet.answering.estimates import Estimates
from discreet.answering.named_values import NamedValues, PublishedColumn, published_schema
from discreet.answering.readings import Reading
from discreet.answering.regions.region import Region
from discreet.answering.regions.selecting import select
from discreet.answering.source import Source
from discreet.arrays import Bools, Integers
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease, NotAnswerable
from discreet.families.keys.estimate import (
    TOGETHER,
    most_unnamed,
    noise_level,
    together_bound,
)
from discreet.families.keys.queries import MOST_KEYS, KeyCounts, Keys
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.shared.answer.library import Library
from discreet.questions.conditions import atoms, normal_form, simple_of
from discreet.questions.expressions import Expression
from discreet.schema import Schema, keeps_every_row
from discreet.schema.columns.values import category_text_of

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


class KeyRows:
    """Rows with a value, and nulls, as often as both were counted; which value, is drawn for all parts alike."""

    def __init__(self, named: NamedValues) -> None:
        many = len(named.texts)
        self._column, counts = named.column, named.counts
        valued = max(int(counts[: many + 1].sum()), 0)
        self._weights = np.array([valued, *np.maximum(counts[many + 1 :], 0)], dtype=np.float64)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self._column,)

    @property
    def rows(self) -> float:
        return float(self._weights.sum())

    def draw(self, many: int, public: Generator) -> Integers:
        weights = self._weights + 1e-9
        drawn: Integers = public.choice(len(weights), size=many, p=weights / weights.sum())
        return drawn.reshape(-1, 1)


MOST_NOTED = 3


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """What a condition takes: cells, and values that are not published."""

    cells: Bools
    """Published values, then all others, then nulls; `True` where all of the cell's rows are meant."""
    is_cut: bool
    """Whether some of the other values may be meant, nobody knows how many."""
    added: tuple[str, ...] = ()
    """Values that are not published, and meant although the others are not."""
    left_out: tuple[str, ...] = ()
    """Values that are not published, and not meant although the others are."""


class KeySource(Source):
    """Answers from the published values of one column."""

    reads_names = True

    def __init__(self, part: Part, place: int, schema: Schema) -> None:
        (measured,) = part.noisy
        query, unnamed = measured.query, part.estimates.get("unnamed")
        if not isinstance(query, KeyCounts) or unnamed is None or not len(unnamed):
            raise BadRelease("the counts of its found values are not readable.")
        self.law, self.values, self._unnamed = measured.law, measured.values, unnamed
        self.named = NamedValues(query.column, query.texts, measured.values)
        self._schema, self._places = schema, frozenset({place})
        self._published = published_schema(schema, [self.named])
        self._is_complete = len(query.texts) < MOST_KEYS
        unit = schema.unit
        self._bounds_groups = unit.max_groups is not None and unit.max_groups < unit.max_rows

    @property
    def column(self) -> str:
        return self.named.column

    @property
    def many(self) -> int:
        """How many values are published."""
        return len(self.named.texts)

    @property
    def _least(self) -> float:
        """The fewest rows of a named value: it exists. Where people are seen in few groups, its rows may be left out."""
        return 0.0 if self._bounds_groups else 1.0

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if region.has_inequality or region.kind != "count":
            return None
        others = (region.names | {region.column or self.column}) - {self.column}
        if others:
            if self.column in region.groups:
                raise NotAnswerable(
                    f"The release holds counts of the values of {self.column}, and not together with other columns: "
                    f"ask by {self.column} alone."
                )
            return None
        if not region.names and region.column is None:
            return self._all_rows(confidence)
        found = self._groups if region.groups else self._one
        made = found(region.counted, confidence)
        return replace(made, is_direct=True, parts=self._places).noted(*self._notes())

    def _all_rows(self, confidence: float) -> Estimates | None:
        """The number of rows: the sum of everything, if every row is in it."""
        if not keeps_every_row(self._schema.column(self.column)):
            return None
        terms = ((1.0, self.law, len(self.values)),)
        reading = Reading.of(float(self.values.sum()), terms, self._places)
        return Estimates.of_reading(
            reading, confidence, readings=(reading,), parts=self._places
        ).noted(*self._notes())

    def _groups(self, condition: Expression, confidence: float) -> Estimates:
        """One number for each published value, for all others together, and for nulls."""
        inner, outer = _cells(condition, self._published, self.column)
        cells = np.flatnonzero(outer)
        width = float(self.law.half_width(noise_level(confidence)))
        estimate = np.where(inner[cells], self.values[cells], 0).astype(np.float64)
        lower = np.where(inner[cells], estimate - width, 0.0)
        lower = np.where(cells < self.many, np.maximum(lower, self._least), lower)
        upper = np.maximum(self.values[cells] + width, lower)
        return Estimates(
            np.clip(estimate, lower, upper),
            lower,
            upper,
            np.full(len(cells), self.law.std),
            is_exact=inner[cells],
            codes=cells.reshape(-1, 1).astype(np.int64),
        )

    def _one(self, condition: Expression, confidence: float) -> Estimates:
        chosen = self._chosen(condition)
        value, width, std = self._summed(chosen.cells, confidence)
        lower, upper = value - width, value + width
        if chosen.is_cut:
            cells = chosen.cells.copy()
            cells[self.many] = True
            most, wider, std = self._summed(cells, confidence)
            upper = max(upper, most + wider)
        notes: list[str] = []
        unknown = (*chosen.added, *chosen.left_out)
        if unknown:
            each = most_unnamed(self._unnamed, confidence, len(unknown))
            rows = each * self._schema.unit.max_rows
            upper += rows * len(chosen.added)
            lower -= rows * len(chosen.left_out)
            notes = [self._said(text, each, confidence) for text in unknown[:MOST_NOTED]]
        lower = max(lower, self._least * float(chosen.cells[: self.many].sum()))
        upper = max(upper, lower)
        estimate = min(max(value, lower), upper)
        return Estimates.single(
            estimate, lower, upper, std, is_exact=not chosen.is_cut, notes=tuple(notes)
        )

    def _summed(self, cells: Bools, confidence: float) -> tuple[float, float, float]:
        """The rows of some cells: their sum, half the width of its interval, its standard deviation."""
        many = int(cells.sum())
        if not many:
            return 0.0, 0.0, self.law.std if self.many else 0.0
        reading = Reading.of(float(self.values[cells].sum()), ((1.0, self.law, many),))
        return (
            reading.value,
            reading.half_width(noise_level(confidence)),
            math.sqrt(reading.variance),
        )

    def _chosen(self, condition: Expression) -> _Chosen:
        """What a condition takes. Values that it names and that are not published become cells of their own."""
        strangers = self._strangers(condition) if self._is_complete else ()
        finer = PublishedColumn(
            self.column,
            (*self.named.texts, *strangers),
            nulls=self._schema.column(self.column).nulls,
        )
        columns = tuple(
            finer if column.name == self.column else column for column in self._schema.columns
        )
        inner, outer = _cells(condition, replace(self._schema, columns=columns), self.column)
        own = slice(self.many, self.many + len(strangers))
        taken = tuple(text for text, is_in in zip(strangers, inner[own], strict=True) if is_in)
        left = tuple(text for text in strangers if text not in taken)
        cells = np.delete(inner, own)
        is_cut = bool(outer[own.stop] != inner[own.stop])
        if is_cut:
            return _Chosen(cells, True)
        others = bool(inner[own.stop])
        return _Chosen(cells, False, () if others else taken, left if others else ())

    def _strangers(self, condition: Expression) -> tuple[str, ...]:
        """Texts in a condition that are not published values."""
        column = self._published.column(self.column)
        found: dict[str, None] = {}
        for atom in atoms(normal_form(condition)):
            asked = simple_of(atom)
            if asked is None or asked.sign in ("like", "ilike"):
                continue
            for literal in asked.literals:
                text = category_text_of(literal)
                if isinstance(text, str) and not column.codes_where("=", literal).inner:
                    found[text] = None
        return tuple(found)

    def _said(self, text: str, most: int, confidence: float) -> str:
        who = "rows hold" if self._schema.unit.identifier is None else "people hold"
        return (
            f"{text!r} is not among the published values of column {self.column!r}: at most {most:,} {who} it, "
            f"with confidence {confidence:.4g}."
        )

    def _notes(self) -> Sequence[str]:
        if not self._bounds_groups:
            return ()
        most = self._schema.unit.groups
        return (
            f"At most {most} values of each person are used in column {self.column!r}; rows with further values count as (other).",
        )


def _cells(condition: Expression, schema: Schema, name: str) -> tuple[Bools, Bools]:
    """Cells of a column whose rows all satisfy a condition, and cells of which some may."""
    selection = select(condition, schema, keep=(name,))
    assert selection.names == (name,)
    shape = (schema.column(name).cells,)
    inner, outer = (np.broadcast_to(each, shape) for each in (selection.inner(), selection.outer()))
    return np.asarray(inner), np.asarray(outer)


def keys_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a part of published values."""
    source = KeySource(part, place, release.schema)
    return Evidence(sources=[source], drawn=[KeyRows(source.named)], named=[source.named])


def keys_bound(
    library: Library, asking: Asking, query_class: Keys, delta: Fraction
) -> tuple[float, str]:
    """A bound on the errors of the counts of all values, named or not."""
    name = library.schema.column(query_class.column).name
    for source in library.evidence.sources:
        if isinstance(source, KeySource) and source.column == name:
            return together_bound(source.values, source.many, source.law, 1 - delta), TOGETHER
    raise NotAnswerable(library.lacks(query_class.text))
