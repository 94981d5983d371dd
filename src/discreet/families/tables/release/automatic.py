"""Which release of marginals to make, decided by public facts before any row is read.

One table: noise on its cells, which nothing linear improves on. Several: noise on cells or on
residuals, whichever has the smaller expected error. Both predict it, noise on residuals exactly. Where the schema says how many
people there are, the error of the adaptive release is foreseen too (`predicted_variation`), and it is made where
that is the smaller one. Where noise on everything would leave tables more wrong than right (`DROWNED`), nothing that is foreseen of noise
tells much, and the release that is told more of single columns is made. A model's error depends on the rows, which nobody has seen; but the adaptive release looks at them
before it spends: where everything is worth measuring, it measures everything, and is not much worse than noise on everything (`beside_everything`).

`automatic-even` spreads rows that a column leaves out over its cells: see `residuals-even` and `adaptive-even`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.families.shared.release.protocol import Prepared, of_type
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.release.adaptive import AdaptiveMarginals, PreparedAdaptive
from discreet.families.tables.release.direct import DirectMarginals, PreparedMarginals
from discreet.families.tables.release.predicted_variation import (
    DROWNED,
    columns_variation,
    filled_cells,
    noise_variation,
)
from discreet.families.tables.release.residual import PreparedResiduals, ResidualMarginals
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

SURELY_BETTER = 0.85
"""The adaptive release is made if its error is foreseen to be at most this part of that of noise on everything: forecasts of a model are less certain.
If a first selection may turn it into noise on everything, it needs no such lead."""


@dataclass(frozen=True, slots=True)
class AutomaticMarginals:
    """The release of a class of marginals with the smallest expected error."""

    even: bool = False
    """Whether rows that a column leaves out count evenly in all of its cells."""
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
        if len(direct.requests) < 2:
            return direct
        residual, adaptive = ResidualMarginals(self.even), AdaptiveMarginals(self.even)
        best: PreparedMarginals | PreparedResiduals = direct
        if residual.refusal(query_class, schema) is None:
            other = residual.prepare(query_class, schema, share=share, accounting=accounting)
            best = direct if direct.weighed() <= other.weighed() else other
        if schema.people is None or adaptive.refusal(query_class, schema) is not None:
            return best
        planned = adaptive.prepare(query_class, schema, share=share, accounting=accounting)
        if _variation(best, schema.people) >= DROWNED:
            return planned if _knows_columns_better(planned, best, schema.people) else best
        lead = SURELY_BETTER if planned.everything() is None else 1.0
        return planned if planned.beside_everything() < lead * best.weighed() else best


def _variation(prepared: PreparedMarginals | PreparedResiduals, people: int) -> float:
    """The total variation that noise leaves, averaged over the tables of a class as these are weighted."""
    asked, schema = of_type(prepared.query_class, Marginals), prepared.schema
    sizes = [filled_cells(columns, schema) for columns in asked.sets(schema)]
    return noise_variation(sizes, prepared.errors_of_tables(), asked.weights(schema), people)


def _knows_columns_better(
    planned: PreparedAdaptive, best: PreparedMarginals | PreparedResiduals, people: int
) -> bool:
    """Whether a model is told more of single columns than noise on everything tells: where pairs drown, little else is learnt."""
    by_model, by_noise = (
        sum(columns_variation(each.variances_of_columns(), each.schema, people).values())
        for each in (planned, best)
    )
    return not by_noise or by_model <= by_noise
