"""What a class that is measured by its requests alone says of its cost and its noise.

May import kernel, inference and the rooms below them.
"""

from __future__ import annotations

from typing import Any

from discreet.kernel.vault import Request
from discreet.privacy.cost import Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.measurable import Query
from discreet.schema import Schema


class MeasuredByRequests:
    """Of a `Prepared` that uses no verb of its own: every use of the budget is one of its requests."""

    __slots__ = ()
    requests: tuple[Request, ...]
    schema: Schema

    def costs(self) -> tuple[Cost, ...]:
        return tuple(request.mechanism.cost() for request in self.requests)

    def noise(self) -> list[dict[str, Any]]:
        return [
            noise_entry(request.query, law_of(request, self.schema), self.schema)
            for request in self.requests
        ]


def law_of(request: Request, schema: Schema) -> NoiseLaw:
    """The noise that a request will be measured with."""
    query = request.query
    return request.mechanism.law(query.sensitivity(schema), size=query.size(schema))


def noise_entry(
    query: Query, law: NoiseLaw, schema: Schema, *, shown: dict[str, Any] | None = None
) -> dict[str, Any]:
    """One measurement as a plan shows it; `shown` stands for a query too long to be listed."""
    return {
        "query": query.to_dict() if shown is None else shown,
        "numbers": query.size(schema),
        "law": law.to_dict(),
        "std": law.std,
        "l1_sensitivity": query.sensitivity(schema).l1,
    }
