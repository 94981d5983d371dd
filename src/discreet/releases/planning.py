"""`plan`: what a budget buys, before any row is read; inversely, the epsilon or the rows that an error needs.

A plan and a release are prepared by the same code, so the noise that is planned is the noise that is
drawn. Nothing here can open a table: the number of rows is what the caller says, or what the schema
declares roughly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from discreet.artifacts.release import ErrorClaim
from discreet.artifacts.text_tables import plain_number, text_lines
from discreet.errors import BadInput
from discreet.families.shared.release.protocol import ClassError, Prepared
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.exact import Exactable, at_least_one, confidence_level, exact
from discreet.privacy.guidance import guidance
from discreet.releases.algorithms import remarks
from discreet.releases.foreseen import foreseen_claims
from discreet.releases.preparing import Prospect, Workload, prepare
from discreet.releases.targets import (
    TargetError,
    best_epsilon,
    least_rows,
    target_part,
)
from discreet.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPlan:
    """One query class of a plan. Thread safe: it never changes."""

    query_class: str
    algorithm: str
    share: Budget
    """Its part of the budget, in the accounting's own currency."""
    error: ClassError
    noise: tuple[Mapping[str, Any], ...]
    """Query, law, standard deviation and sensitivity of each measurement."""
    claims: tuple[ErrorClaim, ...] = ()
    """A forecast of what the release will claim, from a simulated table, if that is more than the noise alone."""

    def to_dict(self) -> dict[str, Any]:
        error = self.error
        return {
            "class": self.query_class,
            "algorithm": self.algorithm,
            "share": self.share.to_dict(),
            "queries": error.queries,
            "unit": error.unit,
            "expected_error": error.expected,
            "half_width": error.half_width,
            "simultaneous_bound": error.simultaneous,
            "relative_error": error.relative,
            "note": error.note,
            "noise": [dict(each) for each in self.noise],
            "claims": self.claimed,
        }

    @property
    def claimed(self) -> list[dict[str, Any]]:
        """The foreseen claims as plain data."""
        return [{"bound": each.bound, "simultaneous": each.simultaneous} for each in self.claims]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """The expected errors of a release with this budget and workload.

    Thread safe: it never changes.
    """

    dataset: str
    budget: Budget
    charge: Budget
    """What the ledger will be charged: the budget, without a delta that is not used."""
    accounting: Accounting
    rows_assumed: int | None
    """The number of rows that relative errors and means assume: as given, or one row for each of the `people`."""
    people: int | None
    """As the schema declares them."""
    rows_each: int
    """The most rows of one person that are used."""
    confidence: float
    classes: tuple[ClassPlan, ...]
    warnings: tuple[str, ...]
    solved: Literal["epsilon", "rows"] | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One row for each class, for a table."""
        return [
            {
                "class": each.query_class,
                "algorithm": each.algorithm,
                "share": str(each.share),
                "noise": _laws(each),
                "queries": each.error.queries,
                "expected_error": each.error.expected,
                "half_width": each.error.half_width,
                "simultaneous_bound": each.error.simultaneous,
                "relative_error": each.error.relative,
                "unit": each.error.unit,
                "claims": each.claimed,
                "note": each.error.note,
            }
            for each in self.classes
        ]

    @property
    def size(self) -> str:
        """The assumed size of the table, in words; empty if nobody stated it."""
        if self.rows_assumed is None:
            return ""
        if self.rows_each == 1 or self.rows_assumed != self.people or self.solved == "rows":
            return f"{self.rows_assumed:,} rows"
        return f"{self.people:,} people of 1 to {self.rows_each:,} rows each, taken as {self.rows_assumed:,} rows"

    @property
    def title(self) -> str:
        """What is planned: the dataset, its cost, its size, and what was solved for."""
        about = f", {self.size}" if self.size else ""
        solved = f" (solved: {self.solved})" if self.solved else ""
        return f"{self.dataset}: {self.charge}{about}{solved}"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """What `discreet plan` prints: a header, and a row of texts for each class."""
        percent = f"{100 * self.confidence:.6g}%"
        header = ("for", "share", "noise", "mean error", f"± at {percent}", "± all at once", "of the whole")  # fmt: skip
        found: list[tuple[str, ...]] = []
        for each in self.classes:
            relative = each.error.relative
            laws = sorted({entry["law"]["kind"] for entry in each.noise})
            found.append(
                (
                    each.query_class,
                    str(each.share),
                    " and ".join(laws),
                    plain_number(each.error.expected),
                    plain_number(each.error.half_width),
                    plain_number(each.error.simultaneous),
                    "" if relative is None else f"{relative:.2%}",
                )
            )
        return header, found

    def __str__(self) -> str:
        header, rows = self.table()
        lines = text_lines(header, rows, [False] * 3 + [True] * 4)
        notes = [
            f"{each.query_class}: {each.error.note}" for each in self.classes if each.error.note
        ]
        return "\n".join([self.title, *lines, *notes, *self.warnings])

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "dataset": self.dataset,
            "budget": self.budget.to_dict(),
            "charge": self.charge.to_dict(),
            "accounting": self.accounting.value,
            "rows": self.rows_assumed,
            "people": self.people,
            "rows_each": self.rows_each,
            "confidence": self.confidence,
            "solved": self.solved,
            "classes": [each.to_dict() for each in self.classes],
            "warnings": list(self.warnings),
        }


def plan(
    schema: Schema,
    *,
    workload: Workload,
    budget: Budget | None = None,
    rows: int | None = None,
    target: TargetError | None = None,
    solve: Literal["epsilon", "rows"] | None = None,
    delta: Exactable = 0,
    confidence: float = 0.95,
    algorithms: Mapping[str, str] | None = None,
) -> Plan:
    """The expected errors of a release. No data is ever opened.

    With a `budget`: its errors. With a `target` and `solve="epsilon"`: the least epsilon (three
    significant digits, rounded up) that meets it, at `delta`. With a `budget`, a `target` and
    `solve="rows"`: the least number of rows that meets it. `rows` defaults to the schema's `people`: at least one row each, so that a plan does not promise too small errors.
    """
    known = _rows(schema, rows)
    confidence = float(confidence_level(confidence))
    if target is None:
        if solve is not None:
            raise BadInput(f"Solving for {solve} needs a target error.")
        if budget is None:
            raise BadInput("A plan needs a budget, or a target error to solve for.")
        prospect = prepare(schema, budget=budget, workload=workload, algorithms=algorithms)
        return _plan(prospect, budget, known, confidence)
    match solve or ("epsilon" if budget is None else "rows"):
        case "epsilon":
            if budget is not None:
                raise BadInput(
                    "Solving for epsilon takes no budget: it is the answer. Give a delta if you want one."
                )
            slack = exact(delta, name="delta")

            def at(epsilon: Fraction, named: Mapping[str, str] | None) -> Prospect:
                return prepare(
                    schema,
                    budget=Budget(epsilon=epsilon, delta=slack),
                    workload=workload,
                    algorithms=named,
                )

            found, named = best_epsilon(at, target, schema, rows=known, algorithms=algorithms)
            solution = Budget(epsilon=found.charge.epsilon, delta=slack)
            solved = _plan(found, solution, known, confidence, solved="epsilon")
            return solved if named is None else _naming(solved, target.text, named)
        case "rows":
            if budget is None:
                raise BadInput("Solving for rows needs a budget.")
            prospect = prepare(schema, budget=budget, workload=workload, algorithms=algorithms)
            needed = least_rows(target_part(prospect, target), target)
            return _plan(prospect, budget, needed, confidence, solved="rows")
        case other:
            raise BadInput(f"A plan solves for 'epsilon' or for 'rows', not for {other!r}.")


def _rows(schema: Schema, rows: int | None) -> int | None:
    if rows is None:
        return schema.people if isinstance(schema, Schema) else None
    return at_least_one(rows, name="rows")


def _plan(
    prospect: Prospect,
    budget: Budget,
    rows: int | None,
    confidence: float,
    *,
    solved: Literal["epsilon", "rows"] | None = None,
) -> Plan:
    claims = () if rows is None else foreseen_claims(prospect, rows, confidence)
    return Plan(
        dataset=prospect.schema.dataset,
        budget=budget,
        charge=prospect.charge,
        accounting=prospect.accounting,
        rows_assumed=rows,
        people=prospect.schema.people,
        rows_each=prospect.schema.unit.max_rows,
        confidence=confidence,
        classes=tuple(
            _class_plan(part, prospect.schema, rows, confidence, claims) for part in prospect.parts
        ),
        warnings=tuple(guidance(prospect.charge, people=prospect.schema.people)),
        solved=solved,
    )


def _class_plan(
    part: Prepared,
    schema: Schema,
    rows: int | None,
    confidence: float,
    claims: tuple[ErrorClaim, ...],
) -> ClassPlan:
    error = part.error(rows=rows, confidence=confidence)
    own = tuple(claim for claim in claims if claim.query_class == part.query_class.text)
    own = own if _says_more(own, error) else ()
    if own:
        bounds = {claim.simultaneous: f"±{claim.bound:,.0f}" for claim in own}
        said = f"the release will claim about {bounds[False]} for one count and {bounds[True]} for all at once, more than the noise alone, because its counts are made whole, non-negative and consistent."
        error = replace(error, note=f"{error.note} {said}".strip())
    if (
        rows is not None
        and error.unit == "rows"
        and (error.half_width or error.expected or 0) > rows
    ):
        drowned = f"the error of a single answer may exceed all {rows:,} rows, so answers would be of no use. Give a larger budget, or fewer or coarser columns."
        error = replace(error, note=f"{error.note} {drowned}".strip())
    said = " ".join(remarks(part.query_class, schema, part.algorithm))
    error = replace(error, note=f"{error.note} {said}".strip())
    return ClassPlan(
        query_class=part.query_class.text,
        algorithm=part.algorithm,
        share=part.share,
        error=error,
        noise=tuple(part.noise()),
        claims=own,
    )


def _says_more(claims: tuple[ErrorClaim, ...], error: ClassError) -> bool:
    """Whether both claims of a class are there, and one is larger than its noise alone."""
    planned = {False: error.half_width, True: error.simultaneous}
    more = [claim.bound > (planned[claim.simultaneous] or 0.0) for claim in claims]
    return {claim.simultaneous for claim in claims} == {False, True} and any(more)


def _naming(planned: Plan, text: str, algorithm: str) -> Plan:
    """With a note that the solution holds for an algorithm that must be named in the release."""
    said = (
        f"solved for the algorithm {algorithm}: name it in the release, as --algorithm '{text}={algorithm}', "
        "because without a name the release may use another one, whose error is not known in advance."
    )
    classes = [
        replace(each, error=replace(each.error, note=f"{each.error.note} {said}".strip()))
        if each.query_class == text
        else each
        for each in planned.classes
    ]
    return replace(planned, classes=tuple(classes))


def _laws(each: ClassPlan) -> str:
    """The laws of a class in few words: `discrete-laplace 2`, or a range of standard deviations."""
    if not each.noise:
        return "decided step by step, within its share"
    kinds = sorted({entry["law"]["kind"] for entry in each.noise})
    spreads = [entry["std"] for entry in each.noise]
    low, high = min(spreads), max(spreads)
    spread = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    return f"{' and '.join(kinds)}, std {spread}"
