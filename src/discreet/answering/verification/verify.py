"""Verify what a release cost and what it promises, from what it records of its noise.

Nothing that the file says about its own cost is believed. A query's sensitivity is derived again
from the query and the schema, a selection's from its class, the cost follows from it and the law, and
the sum must fit the budget. The words of the privacy statement must be those that follow.

This needs no algorithm. `releases.verifying` goes on from here: it computes estimates and error claims
again. What neither can see, and they say so: whether the noise was really drawn from its law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.answering.verification.signing import checked_public_key, public_part, signer
from discreet.answering.verification.verify_tree import tree_epsilon
from discreet.artifacts.differences import differing_places, shown
from discreet.artifacts.files import (
    FORMAT,
    manifest_from_members,
    read_members,
    release_from_members,
)
from discreet.artifacts.manifest import manifest_of
from discreet.artifacts.measurement import Selection, TreeMeasurement
from discreet.artifacts.release import SOFTWARE, Measured, Naming, Part, Release
from discreet.errors import BadBudget, BadInput, BadRelease, DiscreetError
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost, allowance
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.queries.tallies import keys_touched
from discreet.schema import Schema

LIMITS = (
    "This recomputed the sensitivities from the queries and the schema, the costs from the noise "
    "laws, their sum, and the words of the privacy statement. Unless said otherwise, it also "
    "recomputed estimates and error claims from the noisy numbers. A file alone cannot show "
    "that this schema and these queries were the ones that ran, that the noise was drawn from "
    "these laws, or what the ledger holds. A signature says who vouches for that."
)
NOT_IN_OLDER_FILES = "privacy/data/schema_sha256"
PRIVATE = (
    "The key that was given is the PRIVATE one that the release was signed with: it stays with its owner. "
    "Give the public key that belongs to it."
)


@dataclass(frozen=True, slots=True)
class Verification:
    """What was recomputed. The release verifies if there are no `problems`."""

    total: Budget
    """The recomputed cost, in the accounting's own notion."""
    allowed: Budget
    measurements: int
    problems: tuple[str, ...]
    signed_by: str | None
    """The public key of a valid signature, if there is one."""
    unchecked: tuple[str, ...] = ()
    """What was not recomputed, and why, one sentence each."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def raise_if_bad(self) -> None:
        if self.problems:
            raise BadRelease("The release does not verify: " + " ".join(self.problems))

    def to_dict(self) -> dict[str, object]:
        return {
            "ok": self.ok,
            "total": self.total.to_dict(),
            "allowed": self.allowed.to_dict(),
            "measurements": self.measurements,
            "problems": list(self.problems),
            "signed_by": self.signed_by,
            "unchecked": list(self.unchecked),
            "limits": LIMITS,
        }

    def __str__(self) -> str:
        signed = f"Signed by {self.signed_by}." if self.signed_by else "Not signed."
        many = self.measurements
        cost = "1 measurement costs" if many == 1 else f"{many} measurements cost"
        found = f"{cost} {self.total}; the budget allows {self.allowed}."
        verdict = "Verified in part." if self.unchecked else "Verified."
        if self.problems:
            verdict = "NOT verified: " + " ".join(self.problems)
        return "\n".join([verdict, found, signed, *self.unchecked, LIMITS])


@dataclass(frozen=True, slots=True)
class Opened:
    """A release to be verified, with the manifest and the signature of its file, if it is in one."""

    release: Release
    manifest: Mapping[str, Any] | None = None
    signed_by: str | None = None


def opened(source: Release | str | Path | Mapping[str, bytes]) -> Opened:
    """Read a file, or its members, to be verified.

    One that is no release, or whose signature does not fit, is a `BadRelease`.
    """
    if isinstance(source, Release):
        return Opened(source)
    members = source if isinstance(source, Mapping) else read_members(source)
    where = "The release" if isinstance(source, Mapping) else str(source)
    release = release_from_members(members, where=where)
    return Opened(release, manifest_from_members(members, where=where), signer(members))


def verify_costs(
    source: Release | str | Path | Opened, *, public_key: str | None = None
) -> Verification:
    """Recompute the cost of a release and its statement; with `public_key`, demand that key's signature."""
    known = source if isinstance(source, Opened) else opened(source)
    release, signed_by = known.release, known.signed_by
    if known.manifest is None and public_key is not None:
        raise BadInput("Only a file can carry a signature; give its path.")
    problems: list[str] = []
    if public_key is not None and signed_by != checked_public_key(public_key):
        if signed_by is not None and signed_by == public_part(public_key):
            problems.append(PRIVATE)
        else:
            problems.append("It is not signed with the key that was given.")
    try:
        allowed = allowance(release.budget, release.accounting)
    except BadBudget as error:
        raise BadRelease(f"The release states a budget that cannot be spent: {error}") from None
    total = Budget.nothing(allowed.notion)
    count = 0
    for part in release.parts:
        for each in part.measurements:
            count += 1
            where = f"Measurement {count}, of {part.query_class.text}:"
            try:
                total = total + _counted(
                    _recomputed(each, part, release.schema), release.accounting
                )
            except _Mismatch as mismatch:
                problems.append(f"{where} {mismatch}")
            except DiscreetError as error:
                problems.append(f"{where} its cost cannot be recomputed: {error}")
    if not allowed.covers(total):
        problems.append(f"The measurements cost {total}, more than the budget's {allowed}.")
    problems += _public_rows_problems(release)
    unchecked: list[str] = []
    if known.manifest is not None:
        problems += _statement_problems(release, known.manifest)
        unchecked += _other_words(release, known.manifest)
    return Verification(
        total=total,
        allowed=allowed,
        measurements=count,
        problems=tuple(problems),
        signed_by=signed_by,
        unchecked=tuple(unchecked),
    )


class _Mismatch(Exception):
    """A recorded value does not follow from the rest of the file."""


def _public_rows_problems(release: Release) -> list[str]:
    schema = release.schema
    secret = not schema.rows_are_public
    if release.public_rows is not None and secret:
        return [
            "It states the number of rows, which is a secret under its adjacency and privacy unit."
        ]
    return []


def _statement_differences(release: Release, manifest: Mapping[str, Any]) -> list[str]:
    """Where the manifest says something else than what its own measurements, budget and schema give."""
    version = manifest["version"]
    stated, _ = manifest_of(release, version=version)
    expected = {"format": FORMAT, "version": version, **stated}
    return [
        place
        for place in differing_places(dict(manifest), expected)
        if place != NOT_IN_OLDER_FILES or "schema_sha256" in manifest["privacy"]["data"]
    ]


def _statement_problems(release: Release, manifest: Mapping[str, Any]) -> list[str]:
    places = _statement_differences(release, manifest)
    if release.software != SOFTWARE:
        places = [place for place in places if not place.startswith("privacy/words")]
    if not places:
        return []
    return [
        f"Its statements do not follow from its measurements, budget and schema: {shown(places)}."
    ]


def _other_words(release: Release, manifest: Mapping[str, Any]) -> list[str]:
    places = _statement_differences(release, manifest)
    if release.software == SOFTWARE or not any(each.startswith("privacy/words") for each in places):
        return []
    return [
        f"It was written by {release.software!r}, and this is {SOFTWARE!r}, which words the privacy "
        "statement differently: read this version's, which `discreet report` shows."
    ]


def _counted(cost: Cost, accounting: Accounting) -> Budget:
    return cost.under(accounting)


def _recomputed(each: Measured, part: Part, schema: Schema) -> Cost:
    if isinstance(each, TreeMeasurement):
        return _agreeing(Cost.pure(tree_epsilon(each, schema, _Mismatch)), each.cost)
    if isinstance(each, Selection):
        return _selected(each, part, schema)
    if isinstance(each, Naming):
        return _named(each, schema)
    moved = each.query.sensitivity(schema)
    if moved != each.sensitivity:
        raise _Mismatch(
            f"it records an L1 sensitivity of {each.sensitivity.l1}, and its query has {moved.l1} "
            "(or the L2 ones differ)."
        )
    size = each.query.size(schema)
    if each.values.shape != (size,):
        raise _Mismatch("it does not have as many numbers as its query.")
    epsilon = None if each.cost.epsilon is None else _epsilon(each.cost)
    found = each.law.cost(moved, size=size, epsilon=epsilon)
    return _within_delta(found, each.cost) if found.delta else _agreeing(found, each.cost)


def _selected(each: Selection, part: Part, schema: Schema) -> Cost:
    """A selection costs its epsilon only if it was made at the sensitivity that its scores have."""
    place = merged("selections").get(part.kind)
    if place is None:
        raise _Mismatch("nothing is selected in a part of this kind.")
    candidates, sensitivity = loaded(place)(part, schema)
    if each.sensitivity != sensitivity:
        raise _Mismatch(
            f"it records a selection at a sensitivity of {each.sensitivity}, and its scores have {sensitivity}."
        )
    if each.candidates != candidates or each.chosen >= candidates:
        raise _Mismatch(
            f"it records a choice of number {each.chosen} among {each.candidates}, and there are {candidates}."
        )
    return _agreeing(Cost.bounded_range(_epsilon(each.cost)), each.cost)


def _named(each: Naming, schema: Schema) -> Cost:
    """Names cost their epsilon and delta only if these were shared by as many keys as a unit can touch."""
    touched = keys_touched(schema)
    if each.touched != touched:
        raise _Mismatch(
            f"it records that a unit can touch {each.touched} keys, and under its schema it can touch {touched}."
        )
    columns = [schema.column(name) for name in each.columns]
    if not columns or any(column.kind != "category" for column in columns):
        raise _Mismatch("it names keys of columns that are not categories.")
    misshapen = any(len(key) != len(columns) for key in each.keys)
    if misshapen or any(key >= following for key, following in pairwise(each.keys)):
        raise _Mismatch("its keys are not in their order, or one is there twice.")
    if not 0 < each.cost.delta < 1:
        raise _Mismatch("it states no delta for names, which need one.")
    found = Cost.approximate(epsilon=_epsilon(each.cost), delta=each.cost.delta)
    return _agreeing(found, each.cost)


def _epsilon(cost: Cost) -> Fraction:
    if cost.epsilon is None or cost.epsilon <= 0:
        raise _Mismatch("it states no epsilon for noise that needs one.")
    return cost.epsilon


def _agreeing(recomputed: Cost, recorded: Cost) -> Cost:
    """These costs are exact, so they are equal or somebody changed one."""
    if recomputed != recorded:
        raise _Mismatch(
            f"it records a cost of {_shown(recorded)}, and its noise costs {_shown(recomputed)}."
        )
    return recomputed


def _within_delta(recomputed: Cost, recorded: Cost) -> Cost:
    """A delta is computed from above, so a recorded one may be larger; nothing else may differ."""
    alike = (recomputed.epsilon, recomputed.rho) == (recorded.epsilon, recorded.rho)
    if recomputed.delta > recorded.delta or not alike:
        raise _Mismatch(
            f"it records a cost of {_shown(recorded)}, and at that epsilon its noise has a delta of "
            f"{float(recomputed.delta):.3g}."
        )
    return recorded


def _shown(cost: Cost) -> str:
    parts = [
        f"{name} {float(value):.6g}" if value < 10**300 else f"{name} beyond 10^300"
        for name, value in (("epsilon", cost.epsilon), ("delta", cost.delta), ("rho", cost.rho))
        if value
    ]
    return ", ".join(parts) or "nothing"
