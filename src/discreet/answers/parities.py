"""Parities asked of a release, and counts that parities of declared splits determine.

A combination of splits is a function of which of them hold, so its count is a sum of parities
(the Walsh transform of the function). Everything is linear in independent draws of known laws, so
intervals are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from discreet.answers.linear_tables import WeightedTable
from discreet.answers.predicates import over_parts
from discreet.answers.readings import Reading
from discreet.answers.shaping import one_count
from discreet.answers.sources import Library
from discreet.artifacts.answer import Answer, Covers
from discreet.artifacts.answers import Answers
from discreet.artifacts.release import Part
from discreet.errors import BadInput, BadRelease, NotAnswerable
from discreet.inference.combination import Term, half_width
from discreet.inference.rounding import plausible_counts
from discreet.privacy.exact import Exactable, confidence_level
from discreet.queries.conditions import Condition
from discreet.queries.halfspaces import Inequality
from discreet.queries.parities import Parities, Parity, signs
from discreet.queries.predicates import columns_of, partition, read_conditions
from discreet.queries.question import Question
from discreet.queries.strategy import StrategyCounts
from discreet.schema.completeness import keeps_every_row

KIND = "split-parities"
MOST_TRIED = 2000
"""Sets of splits that are looked through for one question."""


class SplitPart:
    """The parities of one part, by the conditions that they are of."""

    def __init__(self, part: Part, library: Library) -> None:
        if not isinstance(part.query_class, Parities) or part.query_class.splits is None:
            raise BadRelease("A part of parities does not say which splits they are of.")
        self.query_class, self._schema = part.query_class, library.schema
        self.splits, self.degree = part.query_class.splits, part.query_class.degree or 0
        self._found: dict[frozenset[str], tuple[float, Term | None]] = {}
        rows = library.release.public_rows
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
            raise BadRelease("A parity in it has not the signs of its splits.")

    def parity(self, splits: frozenset[str]) -> tuple[float, Term | None] | None:
        """Its noisy value and its noise, or no noise where it is public."""
        return self._found.get(splits)

    def count(self, condition: Condition) -> tuple[float, list[Term]] | None:
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

    def _fitting(self, condition: Condition) -> Iterator[tuple[str, ...]]:
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


class ParityReader:
    """The parities of one release."""

    def __init__(self, library: Library) -> None:
        self._library = library
        found = {
            place: SplitPart(part, library)
            for place, part in enumerate(library.release.parts)
            if part.kind == KIND
        }
        self._places, self._parts = list(found), list(found.values())

    def answers(self, question: Question, *, confidence: float, whole: bool) -> Answers | None:
        """A count from parities of splits; `None` where they do not determine it."""
        if not self._parts or question.group_by or isinstance(question.condition, Inequality):
            return None
        if any(one.kind != "count" or one.column is not None for one in question.aggregates):
            return None
        confidence_level(confidence)
        found = [each.count(question.condition) for each in self._parts]
        options = [each for each in found if each is not None]
        if not options:
            return None
        value, terms = min(options, key=lambda option: _variance(option[1]))
        width = half_width(terms, confidence)
        ends = plausible_counts(
            np.array([value]),
            np.array([value - width]),
            np.array([value + width]),
            rows=self._library.release.public_rows,
            whole=whole,
        )
        return one_count(question, ends, std=_variance(terms) ** 0.5, confidence=confidence)

    def readings(self, condition: Condition) -> list[Reading]:
        """What the parities of each class say of a condition, where they leave no row out."""
        schema = self._library.schema
        if isinstance(condition, Inequality) or not self._parts:
            return []
        if not all(keeps_every_row(schema.column(n)) for n in columns_of(schema, [condition])):
            return []
        counted = [
            (place, part.count(condition))
            for place, part in zip(self._places, self._parts, strict=True)
        ]
        return [
            Reading.of(own[0], tuple(own[1]), frozenset({place}))
            for place, own in counted
            if own is not None
        ]

    def parity(self, names: Sequence[str], *, confidence: float) -> Answer:
        """Rows with an even number of `names` true, less the others: splits, or columns of two cells."""
        confidence_level(confidence)
        if len(set(names)) != len(names):
            raise BadInput(f"A parity names a split twice: {', '.join(names)}.")
        for part in self._parts:
            found = part.parity(frozenset(names))
            if found is not None:
                terms = [] if found[1] is None else [found[1]]
                width, std = half_width(terms, confidence), float(np.sqrt(_variance(terms)))
                return self._answer(found[0], width, std, confidence, Covers.NOISE)
        return self._from_table(names, confidence)

    def _from_table(self, names: Sequence[str], confidence: float) -> Answer:
        library, schema = self._library, self._library.schema
        try:
            chosen = {schema.column(name).name for name in names}
        except BadInput:
            splits = [split for part in self._parts for split in part.splits]
            raise NotAnswerable(
                f"The release has no parity of {', '.join(names)}; its splits are "
                f"{', '.join(splits) or 'none'}."
            ) from None
        columns = tuple(column.name for column in schema.columns if column.name in chosen)
        Parity(columns).size(schema)
        table = library.table(columns)
        pattern = signs(len(columns)).astype(np.float64)
        value = float((table.counts * pattern).sum())
        if isinstance(table, WeightedTable):
            width, std = table.reach(pattern, confidence)
            covers = Covers.NOISE_AND_MODEL if table.is_model else Covers.NOISE
            return self._answer(value, width, std, confidence, covers)
        terms = [(weight, law, many * table.cells) for weight, law, many in table.noise]
        return self._answer(
            value, half_width(terms, confidence), float(np.sqrt(_variance(terms))), confidence,
            Covers.NOISE,
        )  # fmt: skip

    def _answer(
        self, value: float, width: float, std: float, confidence: float, covers: Covers
    ) -> Answer:
        rows = self._library.release.public_rows
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

    def half_width(self, query_class: Parities, level: Exactable) -> float:
        """How far any single parity of the class can be off at `level`; refuses what was not measured."""
        if query_class.splits is not None:
            for part in self._parts:
                wanted = [frozenset(), *map(frozenset, query_class.split_sets())]
                found = [part.parity(each) for each in wanted]
                known = [each for each in found if each is not None]
                if len(known) == len(wanted):
                    return max(half_width([t] if t else [], level) for _, t in known)
            raise NotAnswerable(
                f"The release has not all parities of {query_class.text}; it was made for "
                f"{', '.join(self._library.release.workload)}."
            )
        widest = 0.0
        for columns in {
            each for own in query_class.sets(self._library.schema) for each in _all(own)
        }:
            table = self._library.table(columns)
            pattern = signs(len(columns)).astype(np.float64)
            if isinstance(table, WeightedTable):
                width = table.reach(pattern, level)[0]
            else:
                terms = [(weight, law, many * table.cells) for weight, law, many in table.noise]
                width = half_width(terms, level)
            widest = max(widest, width)
        return widest


def _all(columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for size in range(len(columns) + 1):
        yield from combinations(columns, size)


def _variance(terms: Sequence[Term]) -> float:
    return sum(weight * weight * law.variance * many for weight, law, many in terms)
