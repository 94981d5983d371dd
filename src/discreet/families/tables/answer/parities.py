"""Parities asked of a release, and counts that parities of declared splits determine.

A combination of splits is a function of which of them hold, so its count is a sum of parities
(the Walsh transform of the function). Everything is linear in independent draws of known laws, so
intervals are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.arrays import Floats
from discreet.artifacts.answer import Answer, Covers
from discreet.artifacts.release import Part, Release
from discreet.errors import BadInput, BadRelease, NotAnswerable
from discreet.families.predicates.answer.predicates import over_parts
from discreet.families.predicates.queries.predicates import columns_of, partition, read_conditions
from discreet.families.predicates.queries.strategy import StrategyCounts
from discreet.families.shared.estimate.combination import Term, half_width, variance_of
from discreet.families.tables.queries.parities import Parities, Parity, signs
from discreet.families.tables.queries.residuals import subsets
from discreet.privacy.exact import Exactable
from discreet.questions.expressions import Expression
from discreet.questions.inequality import lone_inequality
from discreet.schema import keeps_every_row

if TYPE_CHECKING:
    from discreet.families.tables.answer.together.library import TableLibrary

MOST_TRIED = 2000
"""Sets of splits that are looked through for one question."""


class SplitSource(Source):
    """The parities of one part, by the conditions that they are of."""

    def __init__(self, part: Part, place: int, release: Release) -> None:
        if not isinstance(part.query_class, Parities) or part.query_class.splits is None:
            raise BadRelease("A part of parities does not say which splits they are of.")
        self.query_class, self._schema = part.query_class, release.schema
        self.splits, self.degree = part.query_class.splits, part.query_class.degree or 0
        self._found: dict[frozenset[str], tuple[float, Term | None]] = {}
        self._places, rows = frozenset({place}), release.public_rows
        if rows is not None:
            self._found[frozenset()] = float(rows), None
        for each in part.noisy:
            asked = each.query
            if isinstance(asked, StrategyCounts):
                self._check_signs(asked)
                names = frozenset(asked.conditions)
            elif isinstance(asked, Parity) and not asked.columns:
                names = frozenset()
            else:
                raise BadRelease("A part of parities holds a measurement of something else.")
            self._found[names] = float(each.values[0]), (1.0, each.law, 1)

    def _check_signs(self, asked: StrategyCounts) -> None:
        satisfied = partition(self._schema, asked.conditions).workload.sum(axis=0)
        if asked.matrix != (tuple(np.where(satisfied % 2, -1, 1).tolist()),):
            raise BadRelease("A parity in it does not have the signs of its splits.")

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        """A count that parities of the splits determine."""
        if not region.is_one_count or lone_inequality(region.condition, self._schema):
            return None
        found = self.count(region.condition)
        if found is None:
            return None
        reading = Reading.of(found[0], tuple(found[1]), self._places)
        needed = columns_of(self._schema, [region.condition])
        complete = all(keeps_every_row(self._schema.column(name)) for name in needed)
        readings = (reading,) if complete else ()
        return Estimates.of_reading(
            reading, confidence, is_direct=True, readings=readings, parts=self._places
        )

    def parity(self, splits: frozenset[str]) -> tuple[float, Term | None] | None:
        """Its noisy value and its noise, or no noise where it is public."""
        return self._found.get(splits)

    def count(self, condition: Expression) -> tuple[float, list[Term]] | None:
        """Value and noise of the rows that satisfy a condition, if the parities determine it."""
        for chosen in self._fitting(condition):
            found = partition(self._schema, chosen)
            wanted = over_parts(self._schema, condition, found)
            if wanted is None:
                continue
            # 1 for the combinations that satisfy it; those that no cell has are taken as 0.
            function = np.zeros((2,) * len(chosen))
            function[tuple(found.workload.astype(np.int64))] = wanted if chosen else wanted[0]
            value, terms = 0.0, list[Term]()
            for size in range(len(chosen) + 1):
                for places in combinations(range(len(chosen)), size):
                    own = frozenset(chosen[place] for place in places)
                    pattern = [2 if place in places else 1 for place in range(len(chosen))]
                    factor = float((function * signs(size).reshape(pattern)).mean())
                    parity = self._found.get(own)
                    if parity is None:
                        raise BadRelease("A part of parities lacks one of them.")
                    value += factor * parity[0]
                    if parity[1] is not None and factor:
                        terms.append((factor, parity[1][1], 1))
            return value, terms
        return None

    def _fitting(self, condition: Expression) -> Iterator[tuple[str, ...]]:
        """Sets of splits that look at the condition's columns, the smallest first."""
        needed = set(columns_of(self._schema, [condition]))
        own = {
            split: set(columns_of(self._schema, [each]))
            for split, each in zip(
                self.splits, read_conditions(self._schema, self.splits), strict=True
            )
        }
        useful = [split for split in self.splits if own[split] <= needed]
        tried = 0
        for size in range(self.degree + 1):
            for chosen in combinations(useful, size):
                if set().union(*(own[split] for split in chosen)) == needed:
                    tried += 1
                    if tried > MOST_TRIED:
                        return
                    yield chosen


def parity_of(library: TableLibrary, names: Sequence[str], *, confidence: float) -> Answer:
    """Rows with an even number of `names` true, less the others: splits, or columns of two cells."""
    if len(set(names)) != len(names):
        raise BadInput(f"A parity names a split twice: {', '.join(names)}.")
    for source in _split_sources(library):
        found = source.parity(frozenset(names))
        if found is not None:
            terms = [] if found[1] is None else [found[1]]
            ends = half_width(terms, confidence), math.sqrt(variance_of(tuple(terms)))
            return _answer(library, found[0], *ends, confidence, Covers.NOISE)
    return _from_table(library, names, confidence)


def parity_half_width(library: TableLibrary, query_class: Parities, level: Exactable) -> float:
    """How far any single parity of the class can be off at `level`; refuses what was not measured."""
    if query_class.splits is not None:
        for source in _split_sources(library):
            wanted = [frozenset(), *map(frozenset, query_class.split_sets())]
            known = [each for each in map(source.parity, wanted) if each is not None]
            if len(known) == len(wanted):
                return max(half_width([term] if term else [], level) for _, term in known)
        raise NotAnswerable(
            f"The release does not have all parities of {query_class.text}; it was made for "
            f"{', '.join(library.release.workload)}."
        )
    sets = dict.fromkeys(each for own in query_class.sets(library.schema) for each in subsets(own))
    return max(library.table(columns).reach(_signs(columns), level)[0] for columns in sets)


def _split_sources(library: TableLibrary) -> list[SplitSource]:
    return [each for each in library.own_sources if isinstance(each, SplitSource)]


def _from_table(library: TableLibrary, names: Sequence[str], confidence: float) -> Answer:
    schema = library.schema
    try:
        chosen = {schema.column(name).name for name in names}
    except BadInput:
        splits = [split for source in _split_sources(library) for split in source.splits]
        raise NotAnswerable(
            f"The release has no parity of {', '.join(names)}; its splits are "
            f"{', '.join(splits) or 'none'}."
        ) from None
    columns = tuple(column.name for column in schema.columns if column.name in chosen)
    Parity(columns).size(schema)
    table, pattern = library.table(columns), _signs(columns)
    covers = Covers.NOISE_AND_MODEL if table.is_model else Covers.NOISE
    value = float((table.counts * pattern).sum())
    return _answer(library, value, *table.reach(pattern, confidence), confidence, covers)


def _signs(columns: tuple[str, ...]) -> Floats:
    return signs(len(columns)).astype(np.float64)


def _answer(
    library: TableLibrary, value: float, width: float, std: float, confidence: float, covers: Covers
) -> Answer:
    rows = library.release.public_rows
    most = np.inf if rows is None else float(rows)
    ends = np.clip([value - width, value, value + width], -most, most)
    return Answer(
        estimate=float(ends[1]),
        lower=float(ends[0]),
        upper=float(ends[2]),
        confidence=confidence,
        std=std,
        covers=covers,
    )
