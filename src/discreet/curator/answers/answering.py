"""From noisy tallies to answers with intervals: post-processing, the same every time it is done.

What was measured is recorded; the answer is computed from the record, so the same question can be
shown again at another confidence, at no cost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.curator.needed import Needed, Ranked
from discreet.curator.planning import Planned
from discreet.errors import LedgerDamaged
from discreet.privacy.budget import Budget
from discreet.privacy.laws import NoiseLaw, law_from_dict
from discreet.queries.places import loaded
from discreet.queries.tallies import Key, keys_touched
from discreet.questions.dialects.aggregates import AGGREGATES
from discreet.questions.groups_together import possible_together
from discreet.questions.keys import (
    key_label,
    key_name,
    key_size,
    key_value,
    possible_codes,
)
from discreet.questions.notes import counted_rows_note, unsettled_groups

Counts = npt.NDArray[np.int64]
FORMAT = 1
MOST_REHEARSED = 10_000
"""Groups that a rehearsal goes through."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """All that left the core for a question."""

    values: tuple[Counts, ...]
    laws: tuple[NoiseLaw, ...]
    chosen: tuple[int, ...] = ()
    public_rows: int | None = None
    keys: tuple[Key, ...] | None = None
    """Those that were found and named, in order."""
    picked: tuple[Counts, ...] = ()
    """For each choice in groups, what was chosen: one row a group."""
    first_draw: int = 0
    """The place of its first number among all that one charge paid for."""

    def split(self, parts: Sequence[Planned]) -> list[Measured]:
        """The measurements of each question that one charge paid for."""
        found, start, chosen = [], 0, 0
        for each in parts:
            stop, until = start + len(each.requests), chosen + each.choices
            own = replace(self, values=self.values[start:stop], laws=self.laws[start:stop])
            found.append(replace(own, picked=self.picked[chosen:until], first_draw=start))
            start, chosen = stop, until
        return found

    def payload(self) -> bytes:
        """For the ledger: canonical, so that equal measurements give equal bytes."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "values": [each.tolist() for each in self.values],
            "laws": [law.to_dict() for law in self.laws],
            "chosen": list(self.chosen),
            "public_rows": self.public_rows,
            "keys": None if self.keys is None else [list(key) for key in self.keys],
            "picked": [each.tolist() for each in self.picked],
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_payload(cls, payload: bytes) -> Measured:
        data = json.loads(payload)
        if data.get("format") != FORMAT:
            raise LedgerDamaged(
                "The recorded answer was written by another version of discreet. Nothing was charged."
            )
        return cls(
            values=tuple(np.array(each, dtype=np.int64) for each in data["values"]),
            laws=tuple(law_from_dict(law) for law in data["laws"]),
            chosen=tuple(data["chosen"]),
            public_rows=data["public_rows"],
            keys=None if data.get("keys") is None else tuple(map(tuple, data["keys"])),
            picked=tuple(np.array(each, dtype=np.int64) for each in data.get("picked", [])),
        )


def answers_from(
    planned: Planned, measured: Measured, *, confidence: float, notes: tuple[str, ...] = ()
) -> Answers:
    """The answers to a question, from what was measured for it."""
    schema = planned.schema
    if planned.choice is not None:
        return _chosen(planned, measured, confidence, notes)
    groups, unlisted, keys = planned.question.groups, planned.question.unlisted, measured.keys or ()
    shape = tuple(key_size(key, schema) for key in groups)
    shape = (len(keys), *shape) if unlisted else shape
    codes = np.indices(shape, dtype=np.int64).reshape(len(shape), prod(shape)).T
    reader = AnswerReader(planned, measured, Fraction(str(confidence)), prod(shape))
    columns = tuple(reader.column(each) for each in planned.needed)

    label, value = _names(planned, keys)
    kept = _possible_rows(planned, codes, first=1 if unlisted else 0)
    if len(kept) < len(codes):
        codes, columns = codes[kept], tuple(each.taken(kept) for each in columns)
    if unlisted:  # one number for the key, spelled out in as many columns as it has texts
        codes = codes[:, [0] * len(unlisted) + list(range(1, len(shape)))]
    return Answers(
        groups=(*unlisted, *map(key_name, groups)),
        codes=codes,
        label=label,
        columns=columns,
        confidence=confidence,
        question=planned.question.text,
        notes=(*notes, *unsettled_groups(groups), *reader.notes()),
        typed=value,
    )


def _names(
    planned: Planned, keys: tuple[Key, ...]
) -> tuple[Callable[[int, int], str], Callable[[int, int], object]]:
    """The label and the value of (place in the groups, code)."""
    groups, unlisted, schema = planned.question.groups, planned.question.unlisted, planned.schema

    def label(axis: int, code: int) -> str:
        if axis < len(unlisted):
            return keys[code][axis]
        return key_label(groups[axis - len(unlisted)], code, schema)

    def value(axis: int, code: int) -> object:
        if axis < len(unlisted):
            return keys[code][axis]
        return key_value(groups[axis - len(unlisted)], code, schema)

    return label, value


def rehearsed(planned: Planned) -> Answers:
    """An answer of the right shape with nothing in it: to see, before a charge, whether work on it can be done."""
    question, schema = planned.question, planned.schema
    shape = tuple(key_size(key, schema) for key in question.groups)
    rows = 0 if question.unlisted else min(prod(shape), MOST_REHEARSED)
    codes = np.zeros((rows, len(shape)), dtype=np.int64)
    if shape:
        codes = np.stack(np.unravel_index(np.arange(rows), shape), axis=1).astype(np.int64)
    zeros = np.zeros(rows)
    label, value = _names(planned, ())
    names = (*question.unlisted, *map(key_name, question.groups))
    return Answers(
        groups=names,
        codes=np.zeros((0, len(names)), dtype=np.int64) if question.unlisted else codes,
        label=label,
        columns=tuple(
            AnswerColumn(each.aggregate.name, zeros, zeros, zeros, zeros, Covers.NOISE)
            for each in planned.needed
        ),
        confidence=0.95,
        typed=value,
    )


def _possible_rows(planned: Planned, codes: Counts, *, first: int) -> Counts:
    """The places of the groups that some row could be in: WHERE rules the others out, whatever the rows are."""
    keys, condition, schema = planned.question.groups, planned.question.condition, planned.schema
    possible = np.ones(len(codes), dtype=np.bool_)
    for axis, key in enumerate(keys, start=first):
        possible &= np.isin(codes[:, axis], possible_codes(key, condition, schema))
    kept = np.flatnonzero(possible)
    together = possible_together(keys, codes[kept, first:].tolist(), condition, schema)
    return kept[np.array(together, dtype=np.bool_)]


def _chosen(
    planned: Planned, measured: Measured, confidence: float, notes: tuple[str, ...]
) -> Answers:
    """The chosen cells. A note says how many rows each may lie behind the best that was left.

    They are values, and no numbers: an interval of that distance beside them reads like one of the value.
    """
    (each,) = planned.needed
    schema, aggregate, choice = planned.schema, each.aggregate, planned.choice
    assert choice is not None and aggregate.column is not None
    names = (*planned.question.groups, aggregate.column)
    (chosen,) = measured.picked
    behind = choice.mechanism.shortfall(
        choice.scores.sensitivity(schema),
        candidates=schema.column(aggregate.column).cells,
        beta=(1 - confidence) / choice.times,
    )
    shape = tuple(key_size(key, schema) for key in planned.question.groups)
    groups = np.indices(shape, dtype=np.int64).reshape(len(shape), prod(shape)).T
    kept = _possible_rows(planned, groups, first=0)
    groups = np.repeat(groups[kept], choice.times, axis=0)
    return Answers(
        groups=(*map(key_name, planned.question.groups), aggregate.name),
        codes=np.concatenate([groups, chosen[kept].reshape(-1, 1)], axis=1),
        label=lambda axis, code: key_label(names[axis], code, schema),
        typed=lambda axis, code: key_value(names[axis], code, schema),
        columns=(),
        confidence=confidence,
        question=planned.question.text,
        notes=(
            *notes,
            f"Chosen by the exponential mechanism: at confidence {confidence:.4g}, a chosen cell has at most "
            f"{math.floor(behind):,} rows fewer than the fullest cell that was not chosen before it.",
            *_rows_note(planned),
        ),
    )


def _rows_note(planned: Planned) -> tuple[str, ...]:
    question = planned.question
    return counted_rows_note(planned.schema, in_groups=bool(question.groups or question.unlisted))


class AnswerReader:
    """Turns measurements into columns of answers."""

    def __init__(
        self, planned: Planned, measured: Measured, confidence: Fraction, rows: int
    ) -> None:
        self.planned, self.measured = planned, measured
        self.schema, self.confidence, self.rows = planned.schema, confidence, rows

    def notes(self) -> list[str]:
        found = []
        finder = self.planned.finder
        if finder is not None:
            law = finder.law(keys_touched(self.schema))
            found.append(
                f"The groups were found by partition selection ({Budget(epsilon=finder.epsilon, delta=finder.delta)}): "
                f"a group of one person is named with probability at most delta, "
                f"a group of {law.even:,} people with probability at least 1/2, one of {law.certain:,} people for certain."
            )
            if self.rows and len(self.measured.keys or ()) == self.planned.most_keys:
                found.append(
                    "More groups were found than can be answered. The first ones are shown."
                )
        found += _rows_note(self.planned)
        notes = dict.fromkeys(AGGREGATES[each.aggregate.kind].note for each in self.planned.needed)
        found += [note for note in notes if note]
        if self.planned.reads_public_rows:
            found.append(
                f"Divided by the public number of rows, {self.measured.public_rows:,}; a null counts "
                "as the middle of the bounds."
            )
        return found

    def column(self, each: Needed) -> AnswerColumn:
        """The answers to one aggregate."""
        found: AnswerColumn = loaded(AGGREGATES[each.aggregate.kind].answer)(self, each)
        return found

    def picked(self, pick: Ranked) -> Counts:
        """The bucket that was chosen for each answer."""
        place = [one.pick for one in self.planned.picks].index(pick)
        return self.measured.picked[place][:, 0]

    def draw(self, term: Any) -> int:
        """The number of a tally's draws among all of the question's."""
        return self.measured.first_draw + self.planned.place(term)

    def of(self, term: Any) -> tuple[Floats, NoiseLaw]:
        """The noisy numbers of a tally, one for each answer, and their law."""
        place = self.planned.place(term)
        return self.measured.values[place].astype(np.float64), self.measured.laws[place]
