"""Parts side by side: their answers agree with one another, and their claims are about these answers.

Each part is made by itself, and its claims are about what it would answer alone. Beside others, parts are made to agree (`Family.agreed`). An
answer is then another number than that of the part alone, so claims grow by how far the two lie apart (`Family.moved`):

    |answer - truth| <= |answer - answer alone| + |answer alone - truth|,

whatever the noise: the second is claimed already. Post-processing of what was measured: no row is read here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from discreet.answering.usefulness import MOVED
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import SOFTWARE, ErrorClaim, Part, Release
from discreet.families.shared.answer.library import Library
from discreet.families.shared.release.measured import no_more_than_all_rows
from discreet.families.shared.release.protocol import Prepared, Verbs
from discreet.queries.places import loaded
from discreet.queries.registry import families, merged
from discreet.releases.preparing import Prospect


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
    made = release
    for place in (place for family in families() for place in family.agreed):
        made = replace(made, parts=loaded(place)(made, Library(made)))
    if all(after is before for after, before in zip(made.parts, release.parts, strict=True)):
        return release
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


def _moved(part: Part, release: Release, together: Library) -> float:
    """How far answers to a part's queries lie from those that the part alone would give, at most."""
    place = merged("moved").get(part.query_class.name)
    return 0.0 if place is None else float(loaded(place)(part, release, together))


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
