"""Which release of marginals to make, decided by public facts before any row is read.

One table: noise on its cells, which nothing linear improves on. Several: noise on cells or on
residuals, whichever has the smaller expected error. Both predict it exactly, so where the
prediction says that little but noise would be left, and the schema says how many people there are,
the adaptive release is made instead, which measures only what stands out from the noise.

`automatic-even` may take residuals of columns that leave rows out: see `residuals-even` and
`adaptive-even`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.families.shared.release.protocol import Prepared
from discreet.families.tables.release.adaptive import AdaptiveMarginals
from discreet.families.tables.release.direct import DirectMarginals, PreparedMarginals
from discreet.families.tables.release.predicted_variation import predicted_variation
from discreet.families.tables.release.residual import PreparedResiduals, ResidualMarginals
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

GOOD_ENOUGH = 0.075
"""A predicted total variation, averaged over the tables, up to which noise on everything is released:
its intervals are exact and need no model. Found on 35 generated tables like those of `benchmarks/choice.py`, where the adaptive
release was mostly the better one beyond 0.13 and mostly the worse one below 0.075. Between them it is open, so
the lower end was taken, which leaves the choices for two known tables (0.079 and 0.081) as they were."""


@dataclass(frozen=True, slots=True)
class AutomaticMarginals:
    """The release of a class of marginals with the smallest expected error."""

    even: bool = False
    """Whether columns may leave rows out; these rows then count evenly in all cells."""
    kind: ClassVar[str] = "marginals"
    chooses: ClassVar[bool] = True
    solvable: ClassVar[tuple[str, ...]] = ("direct", "residuals")
    """The algorithms that it may choose and whose errors are known before any row is read."""

    @property
    def name(self) -> str:
        return "automatic-even" if self.even else "automatic"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return DirectMarginals().refusal(query_class, schema)

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        direct = DirectMarginals().prepare(query_class, schema, share=share, accounting=accounting)
        tables = len(direct.requests)
        if tables < 2:
            return direct
        residual, adaptive = ResidualMarginals(self.even), AdaptiveMarginals(self.even)
        best: PreparedMarginals | PreparedResiduals = direct
        if residual.refusal(query_class, schema) is None:
            other = residual.prepare(query_class, schema, share=share, accounting=accounting)
            best = direct if direct.expected() <= other.expected() else other
        if schema.people is None or adaptive.refusal(query_class, schema) is not None:
            return best
        noise = best.expected()
        predicted = [predicted_variation(d, noise, schema.people) for d in direct.sizes]
        if sum(predicted) / tables <= GOOD_ENOUGH:
            return best
        return adaptive.prepare(query_class, schema, share=share, accounting=accounting)
