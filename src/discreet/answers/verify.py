"""Verify a release: recompute what it cost from the noise laws on record.

Nothing that the file says about its own cost is believed. A query's sensitivity is derived again
from the query and the schema, the cost follows from it and the law, and the sum must fit the
budget. What this cannot see, and says: whether the noise was really drawn from that law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.answers.signing import checked_public_key, public_part, signer
from discreet.answers.verify_tree import tree_epsilon
from discreet.artifacts.files import read_members, release_from_members
from discreet.artifacts.measurement import Measurement, Selection, TreeMeasurement
from discreet.artifacts.release import Release
from discreet.errors import BadInput, BadRelease, DiscreetError
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost, allowance
from discreet.schema import Schema

LIMITS = (
    "Recomputed: sensitivities from the queries and the schema, costs from the noise laws, their sum. "
    "Not checkable from a file: that the noise was drawn from these laws, and what the ledger holds."
)
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
            "limits": LIMITS,
        }

    def __str__(self) -> str:
        signed = f"Signed by {self.signed_by}." if self.signed_by else "Not signed."
        many = self.measurements
        cost = "1 measurement costs" if many == 1 else f"{many} measurements cost"
        found = f"{cost} {self.total}; the budget allows {self.allowed}."
        verdict = "Verified." if self.ok else "NOT verified: " + " ".join(self.problems)
        return "\n".join([verdict, found, signed, LIMITS])


def verify(source: Release | str | Path, *, public_key: str | None = None) -> Verification:
    """Recompute the cost of a release; with `public_key`, also demand that key's signature.

    A file that is not a readable release, or whose signature does not fit, raises `BadRelease`.
    """
    signed_by = None
    if isinstance(source, Release):
        release = source
        if public_key is not None:
            raise BadInput("Only a file can carry a signature; give its path.")
    else:
        members = read_members(source)
        release = release_from_members(members, where=str(source))
        signed_by = signer(members)
    problems: list[str] = []
    if public_key is not None and signed_by != checked_public_key(public_key):
        if signed_by is not None and signed_by == public_part(public_key):
            problems.append(PRIVATE)
        else:
            problems.append("It is not signed with the key that was given.")
    allowed = allowance(release.budget, release.accounting)
    total = Budget.nothing(allowed.notion)
    count = 0
    for part in release.parts:
        for each in part.measurements:
            count += 1
            where = f"Measurement {count}, of {part.query_class.text}:"
            try:
                total = total + _counted(_recomputed(each, release.schema), release.accounting)
            except _Mismatch as mismatch:
                problems.append(f"{where} {mismatch}")
            except DiscreetError as error:
                problems.append(f"{where} its cost cannot be recomputed: {error}")
    if not allowed.covers(total):
        problems.append(f"The measurements cost {total}, more than the budget's {allowed}.")
    problems += _public_rows_problems(release)
    return Verification(
        total=total,
        allowed=allowed,
        measurements=count,
        problems=tuple(problems),
        signed_by=signed_by,
    )


class _Mismatch(Exception):
    """What is recorded is not what follows from the rest."""


def _public_rows_problems(release: Release) -> list[str]:
    schema = release.schema
    secret = not schema.rows_are_public
    if release.public_rows is not None and secret:
        return [
            "It states the number of rows, which is a secret under its adjacency and privacy unit."
        ]
    return []


def _counted(cost: Cost, accounting: Accounting) -> Budget:
    return cost.under(accounting)


def _recomputed(each: Measurement | TreeMeasurement | Selection, schema: Schema) -> Cost:
    if isinstance(each, TreeMeasurement):
        return _agreeing(Cost.pure(tree_epsilon(each, schema, _Mismatch)), each.cost)
    if isinstance(each, Selection):
        epsilon = each.cost.epsilon
        if epsilon is None or epsilon <= 0 or not 0 <= each.chosen < each.candidates:
            raise _Mismatch("the selection states no epsilon, or chose what it had not.")
        return _agreeing(Cost.bounded_range(epsilon), each.cost)
    moved = each.query.sensitivity(schema)
    if moved != each.sensitivity:
        raise _Mismatch(
            f"it records an L1 sensitivity of {each.sensitivity.l1}, and its query has {moved.l1} "
            "(or the L2 ones differ)."
        )
    size = each.query.size(schema)
    if each.values.shape != (size,):
        raise _Mismatch("it has not as many numbers as its query.")
    epsilon = None if each.cost.epsilon is None else _epsilon(each.cost)
    found = each.law.cost(moved, size=size, epsilon=epsilon)
    return _within_delta(found, each.cost) if found.delta else _agreeing(found, each.cost)


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
        f"{name} {float(value):.6g}"
        for name, value in (("epsilon", cost.epsilon), ("delta", cost.delta), ("rho", cost.rho))
        if value
    ]
    return ", ".join(parts) or "nothing"
