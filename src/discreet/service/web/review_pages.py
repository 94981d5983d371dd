"""The ledger and the review: read-only views of promises, charges, verifications and changes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.service.accounts import Role
from discreet.service.api.callers import desk_of
from discreet.service.desk import Desk
from discreet.service.web.budgets import budget_card
from discreet.service.web.drawings import spending
from discreet.service.web.rendering import page
from discreet.service.web.sessions import signed_in

router = APIRouter(include_in_schema=False)
LONGEST = 300


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
