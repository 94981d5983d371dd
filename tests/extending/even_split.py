"""A release algorithm for marginals that `src` does not know: an equal share for every table."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.families.shared.release.splitting import shares
from discreet.families.tables.release.direct import PreparedMarginals
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.measurable import Marginal
from discreet.queries.registry import Family
from discreet.schema import Schema


class EvenSplit:
    """Noise on every cell, the budget divided by the number of tables."""

    name: ClassVar[str] = "even-split"
    kind: ClassVar[str] = "marginals"

    def refusal(self, query_class: Any, schema: Schema) -> str | None:
        most = max((Marginal(each).size(schema) for each in query_class.sets(schema)), default=1)
        return None if most <= 10_000 else f"a table of {most:,} cells is too large for it."

    def prepare(
        self, query_class: Any, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedMarginals:
        queries = [Marginal(columns) for columns in query_class.sets(schema)]
        divided = shares(share, [1] * len(queries))
        shared = zip(queries, divided, strict=True)
        sizes = tuple(query.size(schema) for query in queries)
        return PreparedMarginals.noisy(
            self, query_class, schema, shared, share=share, accounting=accounting, sizes=sizes
        )


FAMILY = Family(name="even-split", algorithms={"marginals": (f"{__name__}:EvenSplit",)})
