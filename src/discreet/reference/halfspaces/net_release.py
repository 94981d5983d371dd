"""Halfspaces by a net of canonical ones: the mechanism of Blum, Ligett and Roth 2008, section 6.

Each canonical halfspace of each projection is counted with noise of its own; a question is answered
by the canonical halfspace nearest to it in each projection, and the median of those. It is here to
be measured against: its noise grows with the size of the net, and `cells` beats it.

Guarantee:   the share, by one use of an additive mechanism (Laplace, as in the paper, unless the
             budget allows better) on m |N| counts.
Adjacency:   change-one, with one row a person: the paper divides by a public number of rows.
Sensitivity: 1 for each count, so m |N| in L1.
Theorem:     6.5, whose constants `theorem_parameters` works out; the mechanism's.
Error:       an answer is about some gamma-close halfspace, and its noise is known. How far that
             halfspace's count is from the one asked for depends on the rows: no interval is claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.artifacts.release import ErrorClaim
from discreet.errors import BadInput
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.predicates.queries.strategy import InequalityCounts
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.release.measured import MeasuredAtOnce, noise_entry
from discreet.families.shared.release.noise_choice import simultaneous_bound
from discreet.families.shared.release.protocol import ClassError, of_type
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.shares import pure_epsilon
from discreet.queries.classes import QueryClass
from discreet.queries.tree import bits_of
from discreet.reference.halfspaces.net import canonical
from discreet.reference.halfspaces.theorem import TheoremParameters, theorem_parameters
from discreet.schema import Schema

MOST_COUNTS = 50_000
USUAL_EPSILON, USUAL_DELTA = 0.1, 0.05
"""For which a plan prints what the theorem asks for; `discreet theory halfspaces` takes others."""
LARGEST_ALPHA = 1e6
"""A budget beyond any use: what the theorem refuses here, it refuses everywhere."""
SHOWN_ALPHA = 1.0
"""For which a refusal states the rows, before a budget is known."""
EACH = "noise of one canonical count; the answer is about some gamma-close halfspace"


@dataclass(frozen=True, slots=True)
class HalfspaceNet:
    """One noisy count for each canonical halfspace of each projection."""

    name: ClassVar[str] = "net"
    kind: ClassVar[str] = "halfspace-net"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        asked = of_type(query_class, Halfspaces)
        if not schema.rows_are_public:
            return (
                "the literal net divides by a public number of rows, which exists only under "
                "change-one adjacency with one row for each person."
            )
        if asked.projections == "theorem":  # whatever the budget, so before anything is charged
            refusal = _needed(asked, schema, LARGEST_ALPHA).refusal(schema.people)
            if refusal is not None:
                return _needed(asked, schema, SHOWN_ALPHA).refusal(schema.people)
        try:
            counts = _canonical(asked, schema)
        except BadInput as error:
            return str(error)
        if len(counts.bounds) > MOST_COUNTS:
            return f"its nets have {len(counts.bounds):,} halfspaces, and at most {MOST_COUNTS:,} are counted."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedNet:
        asked = of_type(query_class, Halfspaces)
        if asked.projections == "theorem":
            refusal = _needed(asked, schema, _alpha(share)).refusal(schema.people)
            if refusal is not None:
                raise BadInput(f"{asked.text}: {refusal} Nothing was read or charged.")
        query = _canonical(asked, schema)
        shared = [(query, share)]
        return PreparedNet.noisy(
            self, asked, schema, shared, share=share, accounting=accounting, query=query
        )


def _canonical(asked: Halfspaces, schema: Schema) -> InequalityCounts:
    projections = asked.projections
    if projections == "theorem":
        needed = _needed(asked, schema, LARGEST_ALPHA)  # k and m do not depend on it
        projections = (needed.projections, needed.dimensions)
    found = canonical(schema, asked.named(schema), asked.gamma, projections)
    return InequalityCounts.of(schema, found)


def _alpha(share: Budget) -> float:
    """The epsilon of a pure mechanism that costs the share."""
    return float(pure_epsilon(share))


def _needed(
    asked: Halfspaces, schema: Schema, alpha: float, *, delta: float = USUAL_DELTA
) -> TheoremParameters:
    """What the theorem asks for, of rows with as many bits as the schema's cells have."""
    return theorem_parameters(
        epsilon=USUAL_EPSILON,
        delta=delta,
        gamma=float(asked.gamma),
        alpha=alpha,
        bits=max(1, *(bits_of(schema.column(name).value_cells) for name in asked.columns)),
        columns=len(asked.columns) + 1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedNet(MeasuredAtOnce):
    """The canonical halfspaces with their noise."""

    query: InequalityCounts

    def noise(self) -> list[dict[str, Any]]:
        shown = {"kind": self.query.kind, "columns": list(self.query.columns)}
        return [noise_entry(self.query, self.law, self.schema, shown=shown)]

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        many = len(self.query.bounds)
        needed = _needed(self.query_class, self.schema, _alpha(self.share), delta=1 - confidence)
        return ClassError.in_rows(
            rows,
            queries=many,
            expected=math.sqrt(2 / math.pi) * self.law.std,
            half_width=half_width([(1.0, self.law, 1)], confidence),
            simultaneous=float(simultaneous_bound([(self.law, many)], confidence)),
            note=(
                f"{many:,} canonical halfspaces; the errors are about some gamma-close halfspace, and noise "
                f"only. For a guarantee {needed.sentence}: "
                "take the algorithm cells."
            ),
        )

    def facts(self) -> dict[str, Any]:
        return {"about": "some gamma-close halfspace"}

    def claims(self, confidence: float) -> tuple[ErrorClaim, ...]:
        bound = half_width([(1.0, self.law, 1)], confidence)
        return (ErrorClaim(self.query_class.text, bound, confidence, False, EACH),)
