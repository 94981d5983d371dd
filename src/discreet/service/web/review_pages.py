"""The ledger, the review, and what a promise means: read-only views of promises, charges, verifications and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import BadInput, DiscreetError
from discreet.privacy.budget import Budget
from discreet.privacy.explanation import Explanation, explain
from discreet.report.disclosure.meaning import density_figure, lead_of, parts_of, ratio_figure
from discreet.service.accounts import Role
from discreet.service.api.callers import desk_of
from discreet.service.api.errors import message_of, status_of
from discreet.service.desk import Desk
from discreet.service.shelf import ShelvedRelease
from discreet.service.web.drawings import budget_card, spending
from discreet.service.web.release_pages import release_for
from discreet.service.web.rendering import page
from discreet.service.web.sessions import session_of, signed_in

router = APIRouter(include_in_schema=False)
LONGEST = 300
LONGEST_NUMBER = 20
LEAST_EPSILON, GREATEST_EPSILON = "1/1000", "100"


@router.get("/ledger")
async def ledger(request: Request) -> Response:
    """Spending over time, every charge, every change of a cap, and what was done to accounts."""
    session, desk = signed_in(request, Role.CUSTODIAN, Role.REVIEWER), desk_of(request)
    found = await desk.run(session.person, lambda: _ledger(desk))
    return page(request, "ledger.html", session=session, **found)


def _ledger(desk: Desk) -> dict[str, Any]:
    house = desk.house
    try:
        house.ledger.verify()
        broken = ""
    except DiscreetError as error:
        broken = str(error)
    entries = house.ledger.entries()
    names = list(dict.fromkeys(house.ledger.datasets()))
    return {
        "broken": broken,
        "charts": [
            (name, _spending(f"spending{at}", desk, name)) for at, name in enumerate(names[:6])
        ],
        "entries": list(reversed(entries))[:LONGEST],
        "total": len(entries),
        "changes": list(reversed(house.ledger.changes()))[:LONGEST],
        "events": list(house.accounts.events())[:LONGEST],
    }


def _spending(chart: str, desk: Desk, name: str) -> Any:
    cap = desk.house.ledger.cap(name)
    total, points = 0.0, [(0.0, 0.0)]
    for at, entry in enumerate(desk.house.ledger.entries(name), start=1):
        total += float(entry.cost.amount)
        points.append((float(at), total))
    return spending(chart, points, float(cap.amount) if cap else 0.0)


@router.get("/review")
async def review(request: Request) -> Response:
    """What is promised of each table, and whether each release keeps to it."""
    session, desk = signed_in(request, Role.CUSTODIAN, Role.REVIEWER), desk_of(request)

    def look() -> dict[str, Any]:
        return {
            "datasets": [
                (each, budget_card(each, session.person, f"gauge{at}"))
                for at, each in enumerate(desk.house.datasets.values())
            ],
            "releases": [
                (each, each.verification(), each.reader.statement().words[:2])
                for each in desk.house.shelf.all()
            ],
        }

    return page(request, "review.html", session=session, **await desk.run(session.person, look))


@dataclass(frozen=True, slots=True)
class Wondered:
    """The boxes of the page that explains a budget, as they were typed."""

    epsilon: str = "1"
    delta: str = "0"
    rows_each: str = "1"
    household: str = "4"

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Wondered:
        known = {name: query[name].strip() for name in cls.__slots__ if query.get(name)}
        return cls(**{name: text[:LONGEST_NUMBER] for name, text in known.items()})

    def explained(self) -> Explanation:
        """What the typed budget means; refuses what is not a number in range."""
        budget = Budget(epsilon=self.epsilon, delta=self.delta)
        if (
            not Budget(epsilon=GREATEST_EPSILON).epsilon
            >= budget.epsilon
            >= Budget(epsilon=LEAST_EPSILON).epsilon
        ):
            raise BadInput(f"Epsilon is {self.epsilon}; type one from 0.001 to {GREATEST_EPSILON}.")
        return explain(
            budget,
            rows_each=_whole(self.rows_each, "Rows of one person"),
            household=_whole(self.household, "People who live together"),
        )


def _whole(text: str, name: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise BadInput(f"{name}: {text!r} is not a whole number from 1 to 1,000.")
    return int(text)


@router.get("/explain")
async def meaning(request: Request) -> Response:
    """What a budget means to one person: one that was typed, or a release's. For everybody; nothing is read."""
    query = request.query_params
    typed, release = Wondered.read(query), None
    if "release" in query:
        session, desk, release = release_for(query["release"], request)
    else:
        session, desk = session_of(request), desk_of(request)

    def look() -> dict[str, Any]:
        found: dict[str, Any] = {"mistake": "", "status": 200, "parts": [], "lead": ""}
        try:
            means = typed.explained() if release is None else _of_release(release)
        except DiscreetError as error:
            return {**found, "mistake": message_of(error), "status": status_of(error)}
        figures = [density_figure(means), ratio_figure(means)]
        return {
            **found,
            "means": means,
            "lead": lead_of(means),
            "parts": parts_of(means),
            "figures": figures,
        }

    found = await desk.run(None if session is None else session.person, look)
    return page(request, "explain.html", session=session, typed=typed, release=release, **found)


def _of_release(release: ShelvedRelease) -> Explanation:
    made = release.reader.release
    return explain(made.budget, household=4, identifier=made.schema.unit.identifier)
