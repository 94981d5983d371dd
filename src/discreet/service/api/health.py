"""Health, readiness and counters."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import PlainTextResponse

from discreet.errors import DiscreetError
from discreet.service.accounts import Person, Role
from discreet.service.api.callers import desk_of, may, roles_of
from discreet.service.watching import Labels

router = APIRouter(tags=["operation"])
OPEN = {"x-roles": ["public"]}


@router.get("/healthz", response_class=PlainTextResponse, openapi_extra=OPEN)
async def health() -> str:
    """The process runs."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse, openapi_extra=OPEN)
async def ready(request: Request) -> PlainTextResponse:
    """The ledger and the accounts answer, and the service is not shutting down."""
    desk = desk_of(request)
    try:
        desk.house.ledger.datasets()
        fine = desk.house.accounts.is_ready() and not desk.is_closing
    except DiscreetError:
        fine = False
    return PlainTextResponse("ready\n" if fine else "not ready\n", status_code=200 if fine else 503)


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    openapi_extra=roles_of(Role.CUSTODIAN, Role.REVIEWER),
)
async def metrics(
    request: Request, person: Annotated[Person, Depends(may(Role.CUSTODIAN, Role.REVIEWER))]
) -> str:
    """Counters for Prometheus: of this worker, and the budgets of all."""
    desk = desk_of(request)
    gauges: dict[tuple[str, Labels], float] = {
        ("discreet_questions_inside", ()): float(desk.runner.inside)
    }
    for name, dataset in desk.house.datasets.items():
        for what, budget in (("cap", dataset.cap), ("spent", dataset.spent)):
            labels = (("dataset", name), ("notion", budget.notion.value))
            gauges[f"discreet_budget_{what}", labels] = float(budget.amount)
    return desk.metrics.text(gauges)
