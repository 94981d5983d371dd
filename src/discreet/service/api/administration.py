"""Accounts, tokens and budgets, for custodians; the ledger, for custodians and reviewers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from discreet.ledger import CapChange
from discreet.service.accounts import Person, Role
from discreet.service.api.callers import desk_of, may, roles_of
from discreet.service.api.datasets import entry_shape
from discreet.service.api.shapes import ERRORS, AllowanceShape, NewAccountShape, NewTokenShape
from discreet.service.desk import Desk
from discreet.service.limits.refusals import NotFound

router = APIRouter(prefix="/api/v1", tags=["administration"], responses=ERRORS)

Custodian = Annotated[Person, Depends(may(Role.CUSTODIAN))]
Overseer = Annotated[Person, Depends(may(Role.CUSTODIAN, Role.REVIEWER))]


@router.get("/accounts", openapi_extra=roles_of(Role.CUSTODIAN, Role.REVIEWER))
async def accounts(request: Request, person: Overseer) -> dict[str, Any]:
    """Everybody who has an account, with budgets and what is spent of them."""
    desk = desk_of(request)
    return {"accounts": [account_shape(desk, each) for each in desk.house.accounts.people()]}


def account_shape(desk: Desk, person: Person) -> dict[str, Any]:
    """An account and its budgets, as plain data."""
    budgets = {}
    for name, dataset in desk.house.datasets.items():
        cap = dataset.allowance(person.name)
        if cap is not None:
            spent = desk.house.ledger.spent(name, analyst=person.name)
            budgets[name] = {"cap": cap.to_dict(), "spent": spent.to_dict()}
    return {
        "name": person.name,
        "role": person.role.value,
        "revoked": person.is_revoked,
        "budgets": budgets,
        "tokens": [
            {
                "id": each.id,
                "made_at": each.made_at,
                "expires_at": each.expires_at,
                "revoked_at": each.revoked_at,
                "used_at": each.used_at,
            }
            for each in desk.house.accounts.tokens(person.name)
        ],
    }


@router.post("/accounts", status_code=201, openapi_extra=roles_of(Role.CUSTODIAN))
async def add(asked: NewAccountShape, request: Request, person: Custodian) -> dict[str, str]:
    """A new account, and its first token. The token is shown this once."""
    store = desk_of(request).house.accounts
    made = store.add(asked.name, Role(asked.role), by=person.name)
    token = store.issue(made.name, days=asked.token_days, by=person.name)
    return {"name": made.name, "role": made.role.value, "token": token}


@router.post("/accounts/{name}/tokens", status_code=201, openapi_extra=roles_of(Role.CUSTODIAN))
async def issue(
    name: str, asked: NewTokenShape, request: Request, person: Custodian
) -> dict[str, str]:
    """Another token for an account. It is shown this once."""
    return {"token": desk_of(request).house.accounts.issue(name, days=asked.days, by=person.name)}


@router.delete("/accounts/{name}/tokens/{token_id}", openapi_extra=roles_of(Role.CUSTODIAN))
async def revoke_token(
    name: str, token_id: str, request: Request, person: Custodian
) -> dict[str, str]:
    """End a token, and the sessions that it opened."""
    store = desk_of(request).house.accounts
    if token_id not in {each.id for each in store.tokens(name)}:
        raise NotFound("There is no such token of this account. Nothing was changed.")
    store.revoke_token(token_id, by=person.name)
    return {"revoked": token_id}


@router.delete("/accounts/{name}", openapi_extra=roles_of(Role.CUSTODIAN))
async def revoke(name: str, request: Request, person: Custodian) -> dict[str, str]:
    """End an account. What it spent stays in the ledger."""
    desk_of(request).house.accounts.revoke(name, by=person.name)
    return {"revoked": name}


@router.put("/accounts/{name}/budgets/{dataset}", openapi_extra=roles_of(Role.CUSTODIAN))
async def allow(
    name: str, dataset: str, asked: AllowanceShape, request: Request, person: Custodian
) -> dict[str, Any]:
    """Give an analyst a budget on a dataset, or raise it. The ledger records who did it and why."""
    desk = desk_of(request)
    found = desk.house.accounts.person(name)
    if found is None or found.is_revoked or found.role is not Role.ANALYST:
        raise NotFound(f"There is no active analyst {name[:60]!r}. Nothing was changed.")
    held = desk.dataset(dataset, person)
    held.allow(name, asked.budget.budget(), by=person.name, reason=asked.reason)
    return account_shape(desk, found)


@router.get("/ledger", openapi_extra=roles_of(Role.CUSTODIAN, Role.REVIEWER))
async def ledger(request: Request, person: Overseer) -> dict[str, Any]:
    """Every charge and every change of a cap, oldest first."""
    house = desk_of(request).house
    return {
        "entries": [entry_shape(each) for each in house.ledger.entries()],
        "caps": [change_shape(each) for each in house.ledger.changes()],
    }


def change_shape(change: CapChange) -> dict[str, Any]:
    """A change of a cap, as plain data."""
    return {
        "at": change.at,
        "dataset": change.dataset,
        "analyst": change.analyst,
        "what": change.kind.value,
        "cap": change.cap.to_dict(),
        "by": change.by,
        "reason": change.reason,
    }


@router.post("/ledger/verify", openapi_extra=roles_of(Role.CUSTODIAN, Role.REVIEWER))
async def verify_ledger(request: Request, person: Overseer) -> dict[str, Any]:
    """Check the ledger's whole hash chain, its totals and its pages."""
    desk = desk_of(request)
    await desk.run(person, desk.house.ledger.verify)
    return {"ok": True}
