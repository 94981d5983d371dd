"""What each kind of part contributes to the answers of a release. A new kind is one function and one line.

`register` is for kinds that are made outside of this package.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.answering.evidence import Evidence, measured_numbers, model_tables, residual_numbers
from discreet.artifacts.release import Part, Release
from discreet.errors import BadInput
from discreet.families.predicates.answer.predicates import PredicateSource
from discreet.families.ranges.answer.buckets import BucketSource
from discreet.families.ranges.answer.cell_ranges import CellRangeSource
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.tables.answer.parities import SplitSource

Answerer = Callable[[Part, int, Release], Evidence]
"""From a part, its place in the release, and the release."""


def _numbers(part: Part, place: int, release: Release) -> Evidence:
    return measured_numbers(part, release.schema, place)


def _predicates(part: Part, place: int, release: Release) -> Evidence:
    found = measured_numbers(part, release.schema, place)
    found.sources.append(PredicateSource(part, place, release.schema))
    return found


ANSWERERS: dict[str, Answerer] = {
    "marginals": _numbers,
    "means": _numbers,
    "sums": _numbers,
    "buckets": lambda part, _, release: Evidence(ranges=[BucketSource(part, release.schema)]),
    "ranges": lambda part, _, release: Evidence(ranges=[RangeSource(part, release.schema)]),
    "range-cells": lambda part, _, release: Evidence(
        ranges=[CellRangeSource(part, release.schema)]
    ),
    "residuals": lambda part, place, release: residual_numbers(part, release.schema, place),
    "model": lambda part, place, release: model_tables(part, release.schema, place),
    "halfspaces": _numbers,
    "halfspace-net": _numbers,
    "halfspace-tree": lambda part, _, release: Evidence(ranges=[RangeSource(part, release.schema)]),
    "predicates": _predicates,
    "split-parities": lambda part, place, release: Evidence(
        sources=[SplitSource(part, place, release)]
    ),
}


def register(kind: str, answerer: Answerer) -> None:
    """From now on, parts of `kind` contribute what `answerer` says."""
    if kind in ANSWERERS:
        raise BadInput(f"Parts of kind {kind!r} are answered already.")
    ANSWERERS[kind] = answerer
