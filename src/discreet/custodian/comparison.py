"""A release against the true table: exact statistics of the rows, which protect nobody.

This reads the table without charge and without noise, so its output is NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from discreet.answering import ReleaseReader
from discreet.arrays import Integers
from discreet.engines import open_engine
from discreet.errors import NotAnswerable
from discreet.queries.class_tables import counts_rows
from discreet.queries.classes import NamesTables
from discreet.questions.question import Aggregate, Question

BANNER = "NOT PRIVATE: computed from the raw rows without noise. For the custodian's eyes only."
MOST_GROUPS = 1 << 16


@dataclass(frozen=True, slots=True)
class TableComparison:
    """How far one table of the release, and of synthetic rows, is from the true one."""

    columns: tuple[str, ...]
    answers: float
    """Total variation between the answered and the true shares."""
    synthetic: float
    held: float
    """The share of the cells whose interval holds the true count."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "answers_total_variation": self.answers,
            "synthetic_total_variation": self.synthetic,
            "intervals_hold": self.held,
            "private": False,
        }


def compare(
    reader: ReleaseReader,
    source: object,
    *,
    confidence: float,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> list[TableComparison]:
    """Every marginal of the release's workload against the raw rows, the worst first.

    `progress` is told each step, and how much of it is done, from 0 to 1.
    """
    tell = progress or (lambda step, done: None)
    schema = reader.schema
    classes = [part.query_class for part in reader.release.parts]
    sets = [
        columns
        for each in classes
        if isinstance(each, NamesTables) and counts_rows(each.name)
        for columns in each.sets(schema)
        if columns
    ]
    sets = [c for c in dict.fromkeys(sets) if _cells(reader, c) <= MOST_GROUPS]
    if not sets:
        raise NotAnswerable("The release has no marginals to compare with the table.")
    tell("counting the table", 0.0)
    with open_engine(source, schema) as engine:
        truths = engine.marginals(sets)
    tell("drawing synthetic rows", 0.0)
    rows = reader.synthesize(seed=seed)
    drawn = {
        name: np.ascontiguousarray(rows.codes[:, place], dtype=np.int64)
        for place, name in enumerate(rows.names)
    }
    count = (Aggregate("count", None, "count"),)
    found: list[TableComparison] = []
    for place, (columns, truth) in enumerate(zip(sets, truths, strict=True)):
        tell("comparing tables", place / len(sets))
        question = Question(count, group_by=columns)
        try:
            answers = reader.ask(question, confidence=confidence, whole=False)
        except NotAnswerable:
            continue  # values of a column were found, and are counted alone
        if np.any(answers.codes >= truth.shape):
            continue  # by name, and the table has one cell for all of them
        answered = answers.columns[0]
        flat = truth.reshape(-1).astype(np.float64)
        # Where another part than the table answers, it may know the groups of values only.
        asked = flat[np.ravel_multi_index(tuple(answers.codes.T), truth.shape)]
        made = _counted([drawn[name] for name in columns], truth.shape)
        found.append(
            TableComparison(
                columns=columns,
                answers=_distance(np.maximum(answered.estimate, 0), asked),
                synthetic=_distance(made, flat),
                held=float(np.mean((answered.lower <= asked) & (asked <= answered.upper))),
            )
        )
    return sorted(found, key=lambda each: -each.synthetic)


def left_out(reader: ReleaseReader, found: Sequence[TableComparison]) -> list[str]:
    """What the release was made for and `compare` says nothing of: classes without tables, and tables by their columns.

    A table is passed over if it has too many cells, or if its values were found and are counted by name.
    """
    compared, missing = {each.columns for each in found}, dict[str, None]()
    for part in reader.release.parts:
        asked = part.query_class
        if not isinstance(asked, NamesTables) or not counts_rows(asked.name):
            missing[asked.text] = None
            continue
        for columns in asked.sets(reader.schema):
            if columns and columns not in compared:
                missing[f"the table of {', '.join(columns)}"] = None
    return list(missing)


def _counted(codes: Sequence[Integers], shape: tuple[int, ...]) -> Integers:
    """The rows in each cell of a table. A synthetic row may have no value in a column that leaves rows out: then it has no cell."""
    outside = [each >= size for each, size in zip(codes, shape, strict=True)]
    places = np.zeros(codes[0].shape, dtype=np.int64)
    for each, size in zip(codes, shape, strict=True):
        places = places * size + each
    if any(each.any() for each in outside):
        places = places[~np.logical_or.reduce(outside)]
    return np.bincount(places, minlength=prod(shape))


def _cells(reader: ReleaseReader, columns: tuple[str, ...]) -> int:
    return int(np.prod([float(reader.schema.column(name).cells) for name in columns]))


def _distance(made: Any, true: Any) -> float:
    return float(np.abs(made / max(made.sum(), 1.0) - true / max(true.sum(), 1.0)).sum() / 2)
