"""What classes that are measured by their requests alone share: noise for a share, cost, part, claims."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from discreet.answering.usefulness import TRIVIAL
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part, Release
from discreet.core.vault import Request
from discreet.families.shared.release.noise_choice import check_drawable, mechanism_for
from discreet.families.shared.release.protocol import (
    Algorithm,
    ClassError,
    PreparedClass,
    Verbs,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.class_tables import counts_rows
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Query
from discreet.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredByRequests(PreparedClass):
    """A `Prepared` that uses no verb of its own: every use of the budget is one of its requests."""

    laws: tuple[NoiseLaw, ...]
    """The noise of each request."""

    @classmethod
    def noisy(
        cls,
        algorithm: Algorithm,
        query_class: QueryClass,
        schema: Schema,
        shared: Iterable[tuple[Query, Budget]],
        *,
        share: Budget,
        accounting: Accounting,
        **own: Any,
    ) -> Self:
        """Each query with the noise that its part of the share pays for; refuses what cannot be drawn."""
        requests: list[Request] = []
        laws: list[NoiseLaw] = []
        for query, part in shared:
            mechanism = mechanism_for(query, schema, share=part, accounting=accounting)
            law = mechanism.law(query.sensitivity(schema), size=query.size(schema))
            check_drawable(law, what=query_class.text[:200])
            requests.append(Request(query, mechanism))
            laws.append(law)
        drawn = {"requests": tuple(requests), "laws": tuple(laws)}
        return cls.of(algorithm, query_class, schema, share, **drawn, **own)

    @property
    def law(self) -> NoiseLaw:
        """The noise of the only request."""
        (only,) = self.laws
        return only

    def costs(self) -> tuple[Cost, ...]:
        return tuple(request.mechanism.cost() for request in self.requests)

    def noise(self) -> list[dict[str, Any]]:
        return [
            noise_entry(request.query, law, self.schema)
            for request, law in zip(self.requests, self.laws, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredAtOnce(MeasuredByRequests, ABC):
    """A `Prepared` whose part is its measurements, and what follows from them."""

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

    def claims_of(
        self, part: Part, claims: tuple[ErrorClaim, ...], public_rows: int | None
    ) -> tuple[ErrorClaim, ...]:
        """The claims, once the part is there: the same, unless its answers are other numbers than those measured."""
        return claims

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
        part = self.part(
            measured,
            estimates=self.estimates(measured, public_rows),
            facts=self.facts(),
        )
        return part, self.claims_of(part, self.claims(confidence), public_rows)


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


def no_more_than_all_rows(
    claims: tuple[ErrorClaim, ...], part: Part, public_rows: int | None
) -> tuple[ErrorClaim, ...]:
    """Claims about counts, where the number of rows is public: answers are cut to it, so errors are too."""
    if (
        public_rows is None
        or not counts_rows(part.query_class.name)
        or part.is_answered_as_measured
    ):
        return claims
    return tuple(
        replace(claim, bound=float(public_rows), theorem=TRIVIAL)
        if claim.bound >= public_rows
        else claim
        for claim in claims
    )


def drowned(release: Release) -> set[str]:
    """Classes of counts of which a claim is larger than the number of people that the schema states."""
    people = release.schema.people
    counted = {
        part.query_class.text for part in release.parts if counts_rows(part.query_class.name)
    }
    return {
        claim.query_class
        for claim in release.claims
        if people is not None and claim.bound >= people and claim.query_class in counted
    }
