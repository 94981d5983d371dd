"""What classes that are measured by their requests alone share: noise for a share, cost, part, claims."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.vault import Request
from discreet.families.shared.release.noise_choice import check_drawable, mechanism_for
from discreet.families.shared.release.protocol import ClassError, Verbs
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
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


class MeasuredAtOnce(MeasuredByRequests, ABC):
    """Of a `Prepared` whose part is its measurements, and what follows from them."""

    __slots__ = ()
    query_class: Any
    """A `QueryClass`; each algorithm says which."""
    algorithm: str
    kind: ClassVar[str]
    """Of its parts: which answerer understands them."""
    alone: ClassVar[str]
    """Why the bound of a single query holds."""
    together: ClassVar[str]
    """Why the bound of all queries at once does."""

    @abstractmethod
    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        """What to expect, from public facts."""

    def facts(self) -> dict[str, Any]:
        """What else the part says of itself."""
        return {}

    def estimates(
        self, measured: Sequence[Measurement], public_rows: int | None
    ) -> dict[str, npt.NDArray[np.generic]]:
        """What is computed from the noisy numbers once, for all who ask."""
        return {}

    def claims(self, confidence: float) -> tuple[ErrorClaim, ...]:
        """The two bounds that were known before any row was read."""
        error = self.error(rows=None, confidence=confidence)
        assert error.half_width is not None and error.simultaneous is not None
        text = self.query_class.text
        return (
            ErrorClaim(text, error.half_width, confidence, False, self.alone),
            ErrorClaim(text, error.simultaneous, confidence, True, self.together),
        )

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        part = Part(
            kind=self.kind,
            query_class=self.query_class,
            algorithm=self.algorithm,
            measurements=tuple(measured),
            estimates=self.estimates(measured, public_rows),
            facts=self.facts(),
        )
        return part, self.claims(confidence)


def noisy_requests(
    shared: Iterable[tuple[Query, Budget]],
    query_class: QueryClass,
    schema: Schema,
    *,
    accounting: Accounting,
) -> tuple[tuple[Request, ...], tuple[NoiseLaw, ...]]:
    """Each query with the noise that its part of the budget pays for; refuses what cannot be drawn."""
    requests: list[Request] = []
    laws: list[NoiseLaw] = []
    for query, part in shared:
        mechanism = mechanism_for(query, schema, share=part, accounting=accounting)
        request = Request(query, mechanism)
        law = law_of(request, schema)
        check_drawable(law, what=query_class.text[:200])
        requests.append(request)
        laws.append(law)
    return tuple(requests), tuple(laws)


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
