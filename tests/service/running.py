"""A service that really listens, for tests: on a thread, on a free port of this machine."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn

import discreet as dc
from discreet.service.accounts import Role, SqliteAccounts
from discreet.service.application import build
from discreet.service.desk import Desk
from discreet.service.house import House, open_house
from discreet.service.serving import address_of, bound_socket, config_for
from discreet.service.settings import DatasetSettings, Limits, ReleaseSettings, Settings
from discreet.service.watching import RequestLog

SCHEMA = """
dataset = "people"
people = 400
[cap]
epsilon = "10"
[columns.age]
kind = "integer"
range = [0, 99]
width = 5
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.income]
kind = "number"
bounds = [0, 1000]
bits = 5
"""
WORKLOAD = ("marginals(age, sex)", "means(income by sex)")
PEOPLE = (
    ("ann", Role.ANALYST),
    ("bob", Role.ANALYST),
    ("eve", Role.ANALYST),  # has no budget
    ("carla", Role.CUSTODIAN),
    ("rita", Role.REVIEWER),
)
COUNT = "SELECT count(*) FROM people WHERE age >= {}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        kind: str = self.data["error"]["kind"]
        return kind


@dataclass(slots=True)
class Running:
    """A service, its files, and a token for each of its people."""

    url: str
    house: House
    tokens: dict[str, str]
    log: io.StringIO
    clock: list[float]

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    def call(
        self,
        method: str,
        path: str,
        who: str | None = None,
        body: Any = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One request, by somebody's token."""
        sent = dict(headers or {})
        token = self.tokens[who] if who is not None else token
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(*self.place, timeout=60)
        try:
            connection.request(method, path, body=content, headers=sent)
            found = connection.getresponse()
            named = {name.lower(): value for name, value in found.getheaders()}
            return Reply(found.status, named, found.read())
        finally:
            connection.close()

    def ask(self, who: str, sql: str, epsilon: str = "0.01", **headers: str) -> Reply:
        """A live question."""
        return self.call(
            "POST",
            "/api/v1/datasets/people/ask",
            who,
            {"sql": sql, "budget": {"epsilon": epsilon}},
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    @property
    def charges(self) -> int:
        return len(self.house.ledger.entries())


def make_table(folder: Path, rows: int = 400) -> Path:
    """A little table of people who never lived."""
    lines = ["age,sex,income"]
    lines += [f"{(at * 37) % 100},{'FM'[at % 2]},{(at * 91) % 700}" for at in range(rows)]
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def make_settings(
    folder: Path, *, release: bool = True, declared: str = SCHEMA, **limits: int
) -> Settings:
    """Settings over a little table, and a public and a private release of it."""
    table = make_table(folder)
    schema = folder / "people.toml"
    schema.write_text(declared)
    files = []
    if release:
        for name in ("open", "closed"):
            files.append(ReleaseSettings(file=folder / f"{name}.release", public=name == "open"))
            dc.release_to_file(
                table,
                dc.Schema.load(schema),
                folder / f"{name}.release",
                budget=dc.Budget(epsilon=1),
                workload=WORKLOAD,
                ledger=folder / "state" / "ledger.db",
            )
    tables = folder / "tables"
    tables.mkdir(exist_ok=True)
    make_table(tables)
    return Settings(
        folder=folder / "state",
        ledger=folder / "state" / "ledger.db",
        port=0,
        tables=tables,
        limits=Limits(**{"quantum_ms": 0, "requests_a_minute": 1_000_000, **limits}),
        datasets=(
            DatasetSettings(source=str(table), schema=schema, title="People", data_version="1"),
        ),
        releases=tuple(files),
    )


def let_in(house: House, clock: list[float] | None = None) -> dict[str, str]:
    """An account and a token for everybody, and budgets for two analysts."""
    tokens = {}
    for name, role in PEOPLE:
        if house.accounts.person(name) is None:
            house.accounts.add(name, role, by="test")
        tokens[name] = house.accounts.issue(name, days=1, by="test")
    for name in ("ann", "bob"):
        for dataset in house.datasets.values():
            if dataset.allowance(name) is None:
                budget = dc.Budget(**{dataset.cap.notion.words: 3})
                dataset.allow(name, budget, by="test", reason="test")
    return tokens


@contextmanager
def running(
    folder: Path,
    *,
    release: bool = True,
    declared: str = SCHEMA,
    change: Callable[[Path], None] = lambda folder: None,
    ledger: str | None = None,
    **limits: int,
) -> Iterator[Running]:
    """Serve until the block ends; `change` may alter the table before it is opened.

    With the address of a `ledger` it is one of several nodes, with accounts there and a mark of its own.
    """
    clock = [time.time()]
    settings = make_settings(folder, release=release, declared=declared, **limits)
    change(folder)
    if ledger is None:
        house = open_house(
            settings,
            accounts=lambda settings: SqliteAccounts(settings.accounts, clock=lambda: clock[0]),
        )
    else:
        house = open_house(replace(settings, ledger=ledger, mark=folder / "ledger.mark"))
    tokens = let_in(house)
    log = io.StringIO()
    sock = bound_socket(settings)
    server = uvicorn.Server(config_for(build(Desk.at(house, RequestLog(log))), settings))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])))
    thread.start()
    try:
        yield Running(address_of(sock), house, tokens, log, clock)
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


def settings_again(folder: Path) -> Settings:
    """The settings that `make_settings` made in a folder before."""
    return Settings(
        folder=folder / "state",
        ledger=folder / "state" / "ledger.db",
        port=0,
        limits=Limits(quantum_ms=0, requests_a_minute=1_000_000),
        datasets=(
            DatasetSettings(
                source=str(folder / "people.csv"), schema=folder / "people.toml", data_version="1"
            ),
        ),
    )
