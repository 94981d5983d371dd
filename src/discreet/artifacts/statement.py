"""The privacy statement of a release: what is promised, in words and as data.

May import errors, privacy, schema, queries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.artifacts.measurement import Measurement, Selection, TreeMeasurement
from discreet.artifacts.release import Release
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Notion
from discreet.privacy.exact import decimal_text


@dataclass(frozen=True, slots=True)
class Statement:
    """The same facts twice: sentences for people, a dict for machines.

    Thread safe: it never changes.
    """

    words: tuple[str, ...]
    data: dict[str, Any]

    def __str__(self) -> str:
        return "\n".join(self.words)


def privacy_statement(release: Release) -> Statement:
    """What the release promises, from its public facts alone."""
    schema, budget = release.schema, release.budget
    data = {
        "dataset": schema.dataset,
        "schema_sha256": schema.digest(),
        "adjacency": schema.adjacency.value,
        "unit": {"identifier": schema.unit.identifier, "max_rows": schema.unit.max_rows},
        "budget": budget.to_dict(),
        "accounting": release.accounting.value,
        "public_rows": release.public_rows,
        "workload": list(release.workload),
        "mechanisms": _mechanisms(release),
        "software": release.software,
    }
    words = (
        _who(release),
        _how_much(release),
        "Every published number about rows is a whole number to which random noise was added before "
        "it was published; everything else in the file is public beforehand or computed from those "
        "numbers. " + _noise(release),
        "Questions are answered from these numbers alone, so asking them, in any number, reveals "
        "nothing more.",
        "The promise does not cover what is true of people in general: a finding that would be the "
        "same without any one person's data is not a secret of that person. Other releases about "
        "the same people add to the loss.",
    )
    return Statement(words=words, data=data)


def _who(release: Release) -> str:
    schema = release.schema
    table = f"the table {schema.dataset!r}"
    several = schema.unit.identifier is not None
    if several:
        rows = schema.unit.max_rows
        kept = "one was" if rows == 1 else f"{rows} were"
        who = f"Protected are all rows of one {schema.unit.identifier!r} in {table}, of which at most {kept} used"
    else:
        who = f"Protected is one row of {table}"
    match schema.adjacency:
        case Adjacency.ADD_REMOVE:
            there = "they are" if several else "it is"
            change = f"{there} in the table or not; the number of rows is not revealed"
        case _:
            change = f"{'they have' if several else 'it has'} these values or any others"
            if release.public_rows is not None:
                change += f"; the number of rows, {release.public_rows:,}, is public"
    left_out = (
        f" Rows without a {schema.unit.identifier!r} belong to nobody: they were left out, and how many "
        "they are is not revealed."
        if several
        else ""
    )
    return f"{who}: whether {change}.{left_out}"


def _how_much(release: Release) -> str:
    budget = release.budget
    if budget.notion is Notion.RHO:
        return (
            f"The release is {decimal_text(budget.rho)}-zCDP (zero-concentrated differential privacy)"
            + (f", but for a probability of {float(budget.delta):.3g}." if budget.delta else ".")
        )
    epsilon = float(budget.epsilon)
    factor = f"{math.exp(epsilon):.3g}" if epsilon < 50 else f"e^{epsilon:.3g}"
    slack = f", but for a probability of {float(budget.delta):.3g}" if budget.delta else ""
    return (
        f"The release is differentially private with {budget}: whatever anyone concludes from it is at "
        f"most {factor} times as likely, or as unlikely, as if that one had not been so{slack}."
    )


def _mechanisms(release: Release) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in release.parts:
        for each in part.measurements:
            entry: dict[str, Any] = {"class": part.query_class.text, "cost": each.cost.to_dict()}
            if isinstance(each, Measurement):
                entry |= {
                    "kind": "noise",
                    "query": each.query.kind,
                    "law": each.law.to_dict(),
                    "l1": each.sensitivity.l1,
                    "l2_squared": each.sensitivity.l2_squared,
                    "numbers": int(each.values.size),
                }
            elif isinstance(each, TreeMeasurement):
                entry |= {
                    "kind": "tree",
                    "path_epsilon": str(each.path_epsilon),
                    "numbers": sum(len(level.values) for level in each.levels),
                }
            elif isinstance(each, Selection):
                entry |= {"kind": "selection", "candidates": each.candidates}
            found.append(entry)
    return found


def _noise(release: Release) -> str:
    laws: dict[str, int] = {}
    for entry in _mechanisms(release):
        name = entry["law"]["kind"] if "law" in entry else entry["kind"]
        laws[name] = laws.get(name, 0) + 1
    if not laws:
        return "Nothing was measured."
    listed = ", ".join(f"{name} ({many})" for name, many in sorted(laws.items()))
    return f"Kinds of noise and how often each was used: {listed}."
