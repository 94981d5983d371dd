"""Tables of several parts: what each part says of its answers, and whole counts that agree with all of them.

All tables about the same rows are put together (`TableLibrary.additive_tables`). Post-processing of what was measured: no row is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.artifacts.release import ANSWERS, AS_MEASURED, TOGETHER, Part, Release
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.families.tables.answer.evidence import (
    AGREEING,
    AGREEING_WITHIN,
    FROM_ANOTHER_PART,
    TABLE_COLUMNS,
    WHOLE_ARRAYS,
    kept_empty,
    said_of_answers,
)
from discreet.families.tables.answer.together.agreement import can_be_agreed
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.whole_tables import can_be_whole, nearest_to_tables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities
from discreet.families.tables.release.whole_answers import MOST_CROSSWISE, columns_of, whole_facts

ALL_TABLES = "all tables of the release that are about the same rows"
EACH_ALONE = "no other table, for it leaves out rows that others count"
Columns = tuple[str, ...]


def agreeing_tables(release: Release, alone: Library) -> tuple[Part, ...]:
    """The parts, those of tables with what they say together."""
    tables = alone.made(TableLibrary)
    agreeing = [
        place
        for place in sorted(alone.table_parts)
        if said_of_answers(release.parts[place], alone.schema)
    ]
    if not agreeing:
        return release.parts
    chosen = [place for place in agreeing if _can_agree(release.parts[place], tables)]
    parts = list(release.parts)
    within = {ANSWERS: kept_empty(AGREEING_WITHIN, alone.schema), TOGETHER: EACH_ALONE}
    for place in set(agreeing) - set(chosen):
        parts[place] = replace(parts[place], facts={**parts[place].facts, **within})
    for place, facts, estimates in _said_together([parts[place] for place in chosen], tables):
        part = parts[chosen[place]]
        kept = {name: own for name, own in part.estimates.items() if name not in WHOLE_ARRAYS}
        parts[chosen[place]] = replace(
            part, facts={**part.facts, **facts}, estimates={**kept, **estimates}
        )
    return tuple(parts)


def _sets_of(part: Part, library: TableLibrary) -> tuple[Columns, ...]:
    """The tables that a part was made for."""
    asked = part.query_class
    if isinstance(asked, Marginals) or (isinstance(asked, Parities) and asked.splits is None):
        return asked.sets(library.schema)
    return ()


def _can_agree(part: Part, library: TableLibrary) -> bool:
    if said_of_answers(part, library.schema) == AGREEING_WITHIN:
        return False
    sets = _sets_of(part, library)
    if part.kind == "marginals":  # residuals count rows without a cell too
        return bool(sets) and all(map(library.is_complete, sets))
    return bool(sets)


def _said_together(
    parts: Sequence[Part], library: TableLibrary
) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """For each part, by its place, what it says of itself, and arrays that it holds beside its own."""
    if not parts:
        return []
    schema = library.complete
    sets = library.sets_together([own for part in parts for own in _sets_of(part, library)])
    every = range(len(parts))
    if can_be_agreed(sets, schema):
        facts = {ANSWERS: kept_empty(AGREEING, schema), TOGETHER: ALL_TABLES}
        return [(place, facts, {}) for place in every]
    if not can_be_whole(sets, schema, MOST_CROSSWISE):
        return [(place, {ANSWERS: AS_MEASURED, TOGETHER: ALL_TABLES}, {}) for place in every]
    whole = nearest_to_tables(library.additive_tables, columns_of(sets, schema), sets, schema)
    said = whole_facts(sets, schema)
    # The part's own columns may be fewer: a model's numbers are about these.
    first = {
        ANSWERS: said[ANSWERS],
        "table": said["table"],
        TABLE_COLUMNS: said["columns"],
        TOGETHER: ALL_TABLES,
    }
    others = {ANSWERS: kept_empty(FROM_ANOTHER_PART, schema), TOGETHER: ALL_TABLES}
    return [(0, first, {**whole.stored()}), *((place, others, {}) for place in every[1:])]


def moved_tables(part: Part, release: Release, together: Library) -> float:
    """How far the cells of a part's tables lie from those that the part alone would give, at most."""
    alone = Library(replace(release, parts=(part,))).made(TableLibrary)
    tables = together.made(TableLibrary)
    farthest = 0.0
    for columns in _sets_of(part, tables):
        try:
            mine, ours = alone.table(columns), tables.table(columns)
        except NotAnswerable:
            continue
        if ours.whole is None:
            continue
        answer = mine.counts if mine.whole is None else mine.whole.counts
        farthest = max(farthest, float(np.abs(ours.whole.counts - answer).max(initial=0.0)))
    return farthest
