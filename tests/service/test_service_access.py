"""Every route against everybody who may not use it: 401 or 403, and no charge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.service.accounts import Role, SqliteAccounts
from discreet.service.accounts.sqlite import SqliteDatabase
from discreet.service.accounts.tokens import name_in, new_token
from tests.service.running import COUNT, PEOPLE, Running

BODIES: dict[str, Any] = {
    "/api/v1/datasets/{name}/ask": {"sql": COUNT.format(1), "budget": {"epsilon": 0.01}},
    "/api/v1/datasets/{name}/preview": {"sql": COUNT.format(1), "budget": {"epsilon": 0.01}},
    "/api/v1/releases/{name}/ask": {"sql": COUNT.format(1)},
    "/api/v1/accounts": {"name": "mallory", "role": "custodian"},
    "/api/v1/accounts/{name}/tokens": {"days": 3},
    "/api/v1/accounts/{name}/budgets/{dataset}": {"budget": {"epsilon": 9}},
}
ROLES = {name: role.value for name, role in PEOPLE}


def routes(service: Running) -> Iterator[tuple[str, str, str, list[str]]]:
    """Method, template, path and roles of every operation in OpenAPI."""
    described = service.call("GET", "/api/openapi.json").data
    token = service.house.accounts.tokens("bob")[0].id
    for template, operations in described["paths"].items():
        name = (
            {"releases": "closed", "accounts": "bob"}.get(template.split("/")[3:4][0], "people")
            if template.count("/") > 2
            else ""
        )
        path = template.replace("{dataset}", "people").replace("{token_id}", token)
        for method, said in operations.items():
            yield method.upper(), template, path.replace("{name}", name), said["x-roles"]


def test_the_description_names_the_roles_of_every_route(service: Running) -> None:
    found = list(routes(service))
    assert len(found) >= 22
    assert all(roles for *_, roles in found)


@pytest.mark.parametrize(
    "case", ["no token", "wrong", "made up", "expired", "revoked", "wrong role", "no budget"]
)
def test_nobody_passes_a_route_that_is_not_theirs(service: Running, case: str) -> None:
    before, accounts = service.charges, len(service.house.accounts.people())
    store, tried = service.house.accounts, 0
    store_token = service.tokens["ann"]
    for method, template, path, roles in routes(service):
        is_private = "/releases/{name}" in template
        if roles == ["public"] and not is_private:
            continue
        body = BODIES.get(template) if method in ("POST", "PUT") else None
        if case == "no token":
            reply, allowed = service.call(method, path, None, body), (401,)
        elif case == "wrong":
            wrong = store_token[:-1] + ("A" if store_token[-1] != "A" else "B")
            reply, allowed = service.call(method, path, None, body, token=wrong), (401,)
        elif case == "made up":
            token = new_token()[1]
            reply, allowed = service.call(method, path, None, body, token=token), (401,)
        elif case in ("expired", "revoked"):
            token = _ended(service, case)
            reply, allowed = service.call(method, path, None, body, token=token), (401,)
        elif case == "wrong role":
            others = [name for name, role in ROLES.items() if role not in roles and not is_private]
            for other in others:
                tried += 1
                reply = service.call(method, path, other, body)
                assert reply.status == 403, (method, path, other)
            continue
        else:  # an analyst without a budget on the dataset
            if "{name}" not in template or "/datasets/" not in template:
                continue
            reply, allowed = service.call(method, path, "eve", body), (403,)
        tried += 1
        assert reply.status in allowed, (case, method, path, reply.body)
        assert set(reply.data) == {"error"}
    assert tried >= 4
    assert service.charges == before
    assert len(store.people()) == accounts


_ended_tokens: dict[tuple[int, str], str] = {}


def _ended(service: Running, how: str) -> str:
    """A custodian's token that has ended: every role's routes would have taken it."""
    known = _ended_tokens.get((id(service), how))
    if known is None:
        store = service.house.accounts
        known = store.issue("carla", days=1, by="test")
        if how == "revoked":
            store.revoke_token(name_in(known) or "", by="test")
        else:
            started = service.clock[0]
            service.clock[0] = started - 2 * 86_400
            known = store.issue("carla", days=1, by="test")
            service.clock[0] = started
        _ended_tokens[id(service), how] = known
    return known


def test_an_idempotency_key_of_one_analyst_means_nothing_to_another(service: Running) -> None:
    before = service.charges
    mine = service.ask("ann", COUNT.format(7), Idempotency_Key="shared")
    theirs = service.ask("bob", COUNT.format(8), Idempotency_Key="shared")
    assert mine.status == theirs.status == 200
    assert service.charges == before + 2


def test_one_analyst_never_sees_anothers_questions(service: Running) -> None:
    service.ask("ann", "SELECT count(*) FROM people WHERE income > 123")
    for path in ("/api/v1/history", "/api/v1/datasets/people", "/api/v1/datasets/people/left"):
        assert b"123" not in service.call("GET", path, "bob").body.replace(b"entries", b"")


def test_what_ends_a_token_waits_for_the_disk(tmp_path: Path) -> None:
    """Else a power cut would make a revoked token valid again."""
    store = SqliteAccounts(tmp_path / "accounts.db")
    store.add("ann", Role.ANALYST, by="test")
    token = store.issue("ann", days=1, by="test")
    cookie = store.sign_in(token)
    assert cookie is not None
    database = store.database
    assert isinstance(database, SqliteDatabase)
    said: list[str] = []
    database._connection.set_trace_callback(said.append)
    for ending in (
        lambda: store.sign_out(cookie),
        lambda: store.revoke_token(store.tokens("ann")[0].id, by="test"),
        lambda: store.revoke("ann", by="test"),
    ):
        said.clear()
        ending()
        begun = said.index("BEGIN IMMEDIATE")
        assert said[begun - 1] == "PRAGMA synchronous = FULL" and said[-1] == "COMMIT"
        assert not any("synchronous" in each for each in said[begun:])
    store.close()


def test_neither_tokens_nor_sessions_stand_in_the_accounts_file(tmp_path: Path) -> None:
    store = SqliteAccounts(tmp_path / "accounts.db")
    store.add("ann", Role.ANALYST, by="test")
    token = store.issue("ann", days=1, by="test")
    cookie = store.sign_in(token)
    assert cookie is not None and store.session(cookie) is not None
    store.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert token.encode() not in content and token.split("_", 2)[2].encode() not in content
    assert cookie.encode() not in content
    assert (tmp_path / "accounts.db").stat().st_mode & 0o077 == 0


def test_a_session_ends_with_its_token_its_time_and_its_person(tmp_path: Path) -> None:
    now = [1000.0]
    store = SqliteAccounts(tmp_path / "accounts.db", clock=lambda: now[0])
    for name in ("ann", "bob", "dan"):
        store.add(name, Role.ANALYST, by="test")
    cookies = {
        name: store.sign_in(store.issue(name, days=1, by="test")) or ""
        for name in ("ann", "bob", "dan")
    }
    assert all(store.session(cookie) for cookie in cookies.values())
    store.revoke_token(store.tokens("ann")[0].id, by="test")
    store.revoke("bob", by="test")
    assert store.session(cookies["ann"]) is None and store.session(cookies["bob"]) is None
    assert store.session(cookies["dan"]) is not None
    now[0] += 12 * 3600
    assert store.session(cookies["dan"]) is None
    with pytest.raises(Exception, match="no active account"):
        store.issue("bob", days=1, by="test")
    store.close()
