"""`verify`: that a release cost what it says, and that all it says follows from its noisy numbers.

First the costs and the words (`answers.verify`), then the release is computed again from its noisy
numbers (`reproducing`) and compared, place by place. A release by another version of discreet may
have been computed in another way: that it differs is then said, and is no proof of a forgery.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from discreet.answering.verification.verify import Opened, Verification, opened, verify_costs
from discreet.artifacts.differences import differing_releases, shown
from discreet.artifacts.measurement import Measurement, TreeMeasurement
from discreet.artifacts.release import SOFTWARE, Part, Release
from discreet.errors import DiscreetError
from discreet.queries.class_tables import is_fitted
from discreet.releases.algorithms import algorithms_of
from discreet.releases.reproducing import reproduce

MOST_NUMBERS = 1 << 20
"""Published numbers of a part that is computed again unasked; more may take longer than a few seconds."""


def verify(
    source: Release | str | Path | Opened,
    *,
    public_key: str | None = None,
    thorough: bool = False,
) -> Verification:
    """Recompute costs, words, estimates and claims; with `public_key`, demand that key's signature.

    Estimates that take long to compute are left out, and named, unless `thorough`. A file that is not a
    readable release, or whose signature does not fit, raises `BadRelease`.
    """
    known = source if isinstance(source, Opened) else opened(source)
    found = verify_costs(known, public_key=public_key)
    if not found.ok:
        return found
    release = known.release
    slow = [] if thorough else [part for part in release.parts if _is_slow(part)]
    unchecked = [
        f"Not computed again: queries, estimates and claims of {part.query_class.text[:200]}, by the algorithm "
        f"{part.algorithm}, which takes long; ask for it with --thorough."
        for part in slow
    ]
    problem = _reproduction_problem(release, frozenset(part.query_class.text for part in slow))
    if problem and release.software != SOFTWARE:
        unchecked.append(
            f"It was written by {release.software!r}, and this is {SOFTWARE!r}, which cannot compute it "
            "again in full. Verify it with the version that wrote it."
        )
        problem = ""
    return replace(
        found,
        problems=(problem,) if problem else (),
        unchecked=(*found.unchecked, *unchecked),
    )


def _is_slow(part: Part) -> bool:
    """Whether computing a part again may take more than a few seconds."""
    numbers = 0
    for each in part.measurements:
        if isinstance(each, TreeMeasurement):
            numbers += sum(len(level.values) for level in each.levels)
        elif isinstance(each, Measurement):
            numbers += len(each.values)
    return _is_fitted(part) or (bool(part.estimates) and numbers > MOST_NUMBERS)


def _is_fitted(part: Part) -> bool:
    """Whether its algorithm fits a model. That the part says so is not enough: it could say so to be passed over."""
    options = algorithms_of(part.query_class.name)
    makes_models = any(is_fitted(each.kind) for each in options if each.name == part.algorithm)
    return is_fitted(part.kind) and makes_models


def _reproduction_problem(release: Release, without: frozenset[str]) -> str:
    try:
        expected = reproduce(release, without=without)
    except DiscreetError as error:
        return f"It cannot be computed again: {error}"
    except Exception:  # whatever numbers a forger put there: not what the algorithm can have met
        return (
            "It cannot be computed again: its numbers make no sense to the algorithm that it names."
        )
    places = list(differing_releases(release, expected))
    if not places:
        return ""
    return f"What it says does not follow from its noisy numbers: {shown(places)}."
