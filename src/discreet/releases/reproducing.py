"""A release computed again from its own noisy numbers: what follows from them, and nothing else.

Everything in a release but the noisy numbers is decided by public facts or computed from noisy numbers:
which queries are asked, with which noise, where a tree stops, estimates, facts, error claims. So the
algorithms can run again with a record in the core's place, which gives back what was published.
No row is there to be read, nothing is charged and no noise is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from discreet.arrays import Bools
from discreet.artifacts.measurement import Measurement, Selection, TreeLevel, TreeMeasurement
from discreet.artifacts.release import ErrorClaim, Naming, Part, Release
from discreet.core.mechanisms import Exponential, PartitionSelection
from discreet.core.refining import LevelView, Schedule, refine
from discreet.core.vault import Request
from discreet.errors import BadRelease
from discreet.families.shared.release.measured import no_more_than_all_rows
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import Counts
from discreet.queries.scores import Score
from discreet.queries.tallies import Key
from discreet.queries.tree import Nodes, Tree
from discreet.questions.expressions import Expression
from discreet.releases.preparing import prepare
from discreet.releases.together import agreeing_parts
from discreet.schema import Schema

Kind = TypeVar("Kind", Measurement, Selection, TreeMeasurement, Naming)
USUAL_CONFIDENCE = 0.95
"""For a release without claims, in which no confidence plays a part."""


def reproduce(release: Release, *, without: Collection[str] = ()) -> Release:
    """The release that follows from the noisy numbers of this one, its schema, budget and workload.

    Parts of classes in `without` (by their text) are taken over as they are, with their claims. What
    cannot be a record of the algorithms that it names is a `BadRelease`.
    """
    prospect = prepare(
        release.schema,
        budget=release.budget,
        workload=[part.query_class for part in release.parts],
        algorithms={part.query_class.text: part.algorithm for part in release.parts},
        accounting=release.accounting,
    )
    confidence = _confidence(release.claims)
    parts: list[Part] = []
    claims: list[ErrorClaim] = []
    for prepared, part in zip(prospect.parts, release.parts, strict=True):
        text = part.query_class.text
        if text in without:
            parts.append(part)
            claims += [claim for claim in release.claims if claim.query_class == text]
            continue
        record = Record(part, release.schema)
        made, claimed = prepared.finish(
            record,
            record.measure(prepared.requests),
            public_rows=release.public_rows,
            confidence=confidence,
        )
        record.check_used_up()
        parts.append(made)
        claims += no_more_than_all_rows(claimed, made, release.public_rows)
    again = replace(release, budget=prospect.charge, parts=tuple(parts), claims=tuple(claims))
    return agreeing_parts(again, without=without)


def _confidence(claims: Sequence[ErrorClaim]) -> float:
    stated = {claim.confidence for claim in claims}
    if len(stated) > 1:
        raise BadRelease("its claims are made with different confidences.")
    return stated.pop() if stated else USUAL_CONFIDENCE


class Record:
    """The verbs of a grant, which give back what a part records, in the order in which it does."""

    def __init__(self, part: Part, schema: Schema) -> None:
        self._schema = schema
        self._left = list(part.measurements)

    def measure(self, requests: Sequence[Request]) -> tuple[Measurement, ...]:
        """Each request with the noise, sensitivity and cost that it has now, and the recorded numbers."""
        return tuple(self._measured(request) for request in requests)

    def _measured(self, request: Request) -> Measurement:
        query, schema = request.query, self._schema
        recorded = self._next(Measurement)
        size = query.size(schema)
        same = type(recorded.query) is type(query) and recorded.query.to_dict() == query.to_dict()
        if not same or recorded.values.shape != (size,):
            raise BadRelease("it measured something else than its algorithm does at that point.")
        moved = query.sensitivity(schema)
        return Measurement(
            query=query,
            law=request.mechanism.law(moved, size=size),
            sensitivity=moved,
            cost=request.mechanism.cost(),
            values=recorded.values,
        )

    def select(self, score: Score, mechanism: Exponential) -> Selection:
        recorded = self._next(Selection)
        candidates = score.candidates(self._schema)
        if recorded.chosen >= candidates:
            raise BadRelease("it records a choice that was not among the candidates.")
        return Selection(
            chosen=recorded.chosen,
            candidates=candidates,
            sensitivity=score.sensitivity(self._schema),
            cost=mechanism.cost(),
        )

    def find_keys(
        self, columns: Sequence[str], condition: Expression, mechanism: PartitionSelection
    ) -> tuple[Key, ...]:
        """The recorded names. What they cost, and that they are in order, is checked with the costs."""
        recorded = self._next(Naming)
        if recorded.columns != tuple(columns):
            raise BadRelease("it named keys of other columns than its algorithm does.")
        return recorded.keys

    def refine(
        self,
        tree: Tree,
        *,
        epsilon: Fraction,
        schedule: Schedule,
        stop: Callable[[LevelView], Bools],
    ) -> TreeMeasurement:
        tree.check(self._schema)
        schedule.check(tree)
        recorded = _Levels(self._next(TreeMeasurement))
        return refine(
            tree,
            epsilon=epsilon,
            schedule=schedule,
            stop=stop,
            schema=self._schema,
            count=recorded.count,
            noise=recorded,
            next_step=str,
        )

    def check_used_up(self) -> None:
        if self._left:
            raise BadRelease("it measured more than its algorithm does.")

    def _next(self, kind: type[Kind]) -> Kind:
        if not self._left or not isinstance(self._left[0], kind):
            raise BadRelease("it lacks a measurement that its algorithm makes.")
        found = self._left.pop(0)
        assert isinstance(found, kind)
        return found


class _Levels:
    """The noisy numbers of a tree's levels, from the top: coarse ones first shown, then the kept ones."""

    def __init__(self, recorded: TreeMeasurement) -> None:
        self._left, self._weights = list(recorded.levels), recorded.weights
        self._level: TreeLevel | None = None

    def count(self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: Nodes) -> Counts:
        """There are no rows here: for each node of the next level, its place among them."""
        self._level = self._left.pop(0) if self._left else None
        is_weighted = self._level is not None and self._level.level == 0 and bool(self._weights)
        if self._level is None or (len(self._level.nodes) != len(nodes) and not is_weighted):
            raise BadRelease("its tree has other nodes than its stopping rule leaves.")
        return np.arange(len(nodes), dtype=np.int64) * (not is_weighted)

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        """The numbers of the nodes that stand at the places `exact`."""
        assert self._level is not None
        values, first = self._level.values[exact], self._level.first[exact]
        # What was kept is known only as far as it was published: stopped or refined, as the rule says.
        return np.stack([*[values] * (len(laws) - 1), first])
