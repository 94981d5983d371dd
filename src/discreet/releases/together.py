"""Parts of tables side by side: their answers agree with one another, and their claims are about these answers.

Each part is made by itself, and its claims are about what it would answer alone. Beside others, all tables about the same rows are
put together (`Library.additive_tables`), and whole counts that agree are found for all of them at once. An answer is then another number
than that of the part alone, so claims grow by how far the two lie apart:

    |answer - truth| <= |answer - answer alone| + |answer alone - truth|,

whatever the noise: the second is claimed already. Post-processing of what was measured: no row is read here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import (
    ANSWERS,
    AS_MEASURED,
    SOFTWARE,
    TOGETHER,
    ErrorClaim,
    Part,
    Release,
)
from discreet.errors import NotAnswerable
from discreet.families.ranges.answer.joining import moved_ranges
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.shared.answer.library import Library
from discreet.families.shared.release.protocol import Prepared, Verbs
from discreet.families.shared.release.trivial_claims import no_more_than_all_rows
from discreet.families.tables.answer.agreement import can_be_agreed
from discreet.families.tables.answer.evidence import (
    AGREEING,
    AGREEING_WITHIN,
    FROM_ANOTHER_PART,
    TABLE_COLUMNS,
    WHOLE_ARRAYS,
    kept_empty,
    said_of_answers,
)
from discreet.families.tables.answer.usefulness import MOVED
from discreet.families.tables.estimate.whole_tables import can_be_whole, nearest_to_tables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities
from discreet.families.tables.release.whole_answers import (
    MOST_CROSSWISE,
    columns_of,
    whole_facts,
)
from discreet.releases.preparing import Prospect

ALL_TABLES = "all tables of the release that are about the same rows"
EACH_ALONE = "no other table, for it leaves out rows that others count"
Columns = tuple[str, ...]


def finished(
    prospect: Prospect,
    grant: Verbs,
    measured: Callable[[Prepared], Sequence[Measurement]],
    *,
    public_rows: int | None,
    confidence: float,
) -> Release:
    """The release of what was measured for each part. A plan foresees its claims by the same function."""
    parts: list[Part] = []
    claims: list[ErrorClaim] = []
    for prepared in prospect.parts:
        part, claimed = prepared.finish(
            grant, measured(prepared), public_rows=public_rows, confidence=confidence
        )
        parts.append(part)
        claims.extend(no_more_than_all_rows(claimed, part, public_rows))
    made = Release(
        schema=prospect.schema,
        budget=prospect.charge,
        accounting=prospect.accounting,
        parts=tuple(parts),
        public_rows=public_rows,
        claims=tuple(claims),
        software=SOFTWARE,
    )
    return agreeing_parts(made)


def agreeing_parts(release: Release, *, without: Collection[str] = ()) -> Release:
    """The release with parts that agree, and claims about their answers; the same one, if it has one part.

    Claims about classes in `without` (by their text) are taken over as they are.
    """
    if len(release.parts) < 2:
        return release
    alone = Library(release)
    agreeing = [
        place
        for place in sorted(alone.table_parts)
        if said_of_answers(release.parts[place], alone.schema)
    ]
    chosen = [place for place in agreeing if _can_agree(release.parts[place], alone)]
    if not agreeing:
        return release
    parts = list(release.parts)
    within = {ANSWERS: kept_empty(AGREEING_WITHIN, alone.schema), TOGETHER: EACH_ALONE}
    for place in set(agreeing) - set(chosen):
        parts[place] = replace(parts[place], facts={**parts[place].facts, **within})
    for place, facts, estimates in _said_together([parts[place] for place in chosen], alone):
        part = parts[chosen[place]]
        kept = {name: own for name, own in part.estimates.items() if name not in WHOLE_ARRAYS}
        parts[chosen[place]] = replace(
            part, facts={**part.facts, **facts}, estimates={**kept, **estimates}
        )
    made = replace(release, parts=tuple(parts))
    together = Library(made)
    claims: list[ErrorClaim] = []
    for before, part in zip(release.parts, made.parts, strict=True):
        text = part.query_class.text
        own = tuple(claim for claim in release.claims if claim.query_class == text)
        if text not in without:
            own = _moved_claims(own, _moved(before, release, together))
            own = no_more_than_all_rows(own, part, release.public_rows)
        claims += own
    return replace(made, claims=tuple(claims))


def sets_of(part: Part, library: Library) -> tuple[Columns, ...]:
    """The tables that a part was made for."""
    asked = part.query_class
    if isinstance(asked, Marginals) or (isinstance(asked, Parities) and asked.splits is None):
        return asked.sets(library.schema)
    return ()


def _can_agree(part: Part, library: Library) -> bool:
    if said_of_answers(part, library.schema) == AGREEING_WITHIN:
        return False
    sets = sets_of(part, library)
    if part.kind == "marginals":  # residuals count rows without a cell too
        return bool(sets) and all(map(library.is_complete, sets))
    return bool(sets)


def _said_together(
    parts: Sequence[Part], library: Library
) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """For each part, by its place, what it says of itself, and arrays that it holds beside its own."""
    if not parts:
        return []
    schema = library.complete
    sets = library.sets_together([own for part in parts for own in sets_of(part, library)])
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


def _moved(part: Part, release: Release, together: Library) -> float:
    """How far answers to a part's queries lie from those that the part alone would give, at most."""
    asked = part.query_class
    if isinstance(asked, Ranges):
        trees = [
            each for each in together.ranges if isinstance(each, RangeSource) and each.part is part
        ]
        if asked.name == "quantiles" or not trees:
            return 0.0
        return asked.pieces * moved_ranges(together, trees[0])
    alone = Library(replace(release, parts=(part,)))
    farthest = 0.0
    for columns in sets_of(part, together):
        try:
            mine, ours = alone.table(columns), together.table(columns)
        except NotAnswerable:
            continue
        if ours.whole is None:
            continue
        answer = mine.counts if mine.whole is None else mine.whole.counts
        farthest = max(farthest, float(np.abs(ours.whole.counts - answer).max(initial=0.0)))
    return farthest


def _moved_claims(claims: tuple[ErrorClaim, ...], moved: float) -> tuple[ErrorClaim, ...]:
    if moved <= 0:
        return claims
    return tuple(
        replace(
            each,
            bound=float(math.ceil(each.bound + moved - 1e-9)),
            theorem=each.theorem.removesuffix(MOVED) + MOVED,
        )
        for each in claims
    )
