"""The privacy statement of a release: what is promised, in words and as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
        f"it was published. Everything else in the file{_but_names(release)} was public before, or is computed from those "
        "numbers. " + _noise(release),
        *_names(release),
        *_declared(release),
        "Questions are answered from these numbers alone. So any number of questions reveals nothing more.",
        "The promise does not hide facts about people in general: a finding that would be the same without "
        "one person's data is not that person's secret. Other releases about the same people add to the "
        "loss.",
    )
    return Statement(words=words, data=data)


def _who(release: Release) -> str:
    schema, identifier = release.schema, release.schema.unit.identifier
    table, rows = f"the table {schema.dataset!r}", schema.unit.max_rows
    used = "one of them was" if rows == 1 else f"{rows} of them were"
    several = identifier is not None
    if several:
        words = [
            f"This release protects all rows of any one {identifier!r} in {table}. At most {used} used."
        ]
    else:
        words = [f"This release protects each row of {table}."]
    match schema.adjacency:
        case Adjacency.ADD_REMOVE:
            words.append(
                f"It hides whether {'these rows are' if several else 'the row is'} in the table."
            )
            words.append("The number of rows is not revealed.")
        case _:
            words.append(
                f"It hides which values {'these rows have' if several else 'the row has'}."
            )
            if release.public_rows is not None:
                words.append(f"The number of rows, {release.public_rows:,}, is public.")
    if several:
        words.append(
            f"Rows without a {identifier!r} belong to nobody: they were left out, and their number is not revealed."
        )
    return " ".join(words)


def _how_much(release: Release) -> str:
    budget = release.budget
    slack = f", except with a probability of {float(budget.delta):.3g}" if budget.delta else ""
    if budget.notion is Notion.RHO:
        rho = decimal_text(budget.rho)
        return f"The release is {rho}-zCDP (zero-concentrated differential privacy){slack}."
    if budget.notion is Notion.MU:
        return (
            f"The release is {budget.shown()}-GDP (Gaussian differential privacy): to tell whether the rows are "
            f"there is no easier than to tell one draw from two bell curves that are {budget.shown()} standard "
            "deviations apart."
        )
    epsilon = float(budget.epsilon)
    digits = ".3g" if epsilon < 4.6 else ",.0f"
    factor = f"{math.exp(epsilon):{digits}}" if epsilon < 20 else f"e^{epsilon:.3g}"
    rows = "that row were" if release.schema.unit.identifier is None else "those rows were"
    otherwise = "absent" if release.schema.adjacency is Adjacency.ADD_REMOVE else "different"
    return (
        f"The release is differentially private with {budget}. Whatever anyone concludes from it is at most "
        f"{factor} times as likely, or as unlikely, as if {rows} {otherwise}{slack}."
    )


def _mechanisms(release: Release) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in release.parts:
        for each in part.measurements:
            entry = {"class": part.query_class.text, "cost": each.cost.to_dict()}
            found.append(entry | each.described())
    return found


def _but_names(release: Release) -> str:
    return ", but the values that are named," if any(part.namings for part in release.parts) else ""


def _names(release: Release) -> list[str]:
    """A paragraph about values that were published by name."""
    namings = [each for part in release.parts for each in part.namings]
    if not namings:
        return []
    columns = ", ".join(repr(name) for each in namings for name in each.columns)
    chance = max(each.cost.delta for each in namings)
    whom = "one row" if release.schema.unit.identifier is None else "one person"
    return [
        f"The values of {columns} were not public. Some are published by name: a random choice, made for each value, "
        f"publishes those that many hold. A value that only {whom} holds is published with a probability of "
        f"at most {float(chance):.3g}."
    ]


def _declared(release: Release) -> list[str]:
    """A paragraph about rows that break an [[impossible]] declaration."""
    if not release.schema.impossible and not release.schema.derived:
        return []
    return [
        "The schema declares that some combinations of values cannot be. Rows that have one all the same were counted "
        "like any other row before the noise was added, so the promise does not rest on the declaration. Answers take "
        "such combinations to be empty: they are about the rows that fit it."
    ]


def _noise(release: Release) -> str:
    laws: dict[str, int] = {}
    for entry in _mechanisms(release):
        name = entry["law"]["kind"] if "law" in entry else entry["kind"]
        laws[name] = laws.get(name, 0) + 1
    if not laws:
        return "Nothing was measured."
    listed = ", ".join(f"{name} ({many})" for name, many in sorted(laws.items()))
    return f"Kinds of noise and how often each was used: {listed}."
