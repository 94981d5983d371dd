"""Charges under load, under retries and under kill -9: none lost, none doubled, no cap passed."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import Ledger
from discreet.service.accounts import KeyState, Role, SqliteAccounts
from discreet.service.house import open_house
from tests.service.running import COUNT, Running, let_in, make_settings, running

CAP = Fraction(10)


def test_many_at_once_spend_an_allowance_to_the_last_and_never_more(tmp_path: Path) -> None:
    """40 questions of 1/10 by two analysts of 3 each: 30 fit for each, whoever comes first."""
    with running(tmp_path, release=False) as service:
        asked = [(who, at) for at in range(40) for who in ("ann", "bob")]
        with ThreadPoolExecutor(16) as threads:
            found = list(
                threads.map(lambda each: service.ask(each[0], COUNT.format(each[1]), "0.1"), asked)
            )
        for who in ("ann", "bob"):
            own = [
                reply.status for (name, _), reply in zip(asked, found, strict=True) if name == who
            ]
            assert sorted(own) == [200] * 30 + [409] * 10
            assert service.house.ledger.spent("people", analyst=who).epsilon == 3
        assert service.charges == 60
        assert service.house.ledger.spent("people").epsilon == 6


def test_a_key_repeats_its_request_and_refuses_another(service: Running) -> None:
    before = service.charges
    with ThreadPoolExecutor(8) as threads:
        replies = list(
            threads.map(
                lambda _: service.ask("ann", COUNT.format(50), Idempotency_Key="k1"), range(16)
            )
        )
    assert {reply.status for reply in replies} == {200}
    assert len({json.dumps(reply.data["rows"]) for reply in replies}) == 1
    assert service.charges == before + 1
    other = service.ask("ann", COUNT.format(51), Idempotency_Key="k1")
    dearer = service.ask("ann", COUNT.format(50), "0.02", Idempotency_Key="k1")
    assert (other.status, other.kind) == (dearer.status, dearer.kind) == (409, "KeyTaken")
    assert service.charges == before + 1


def test_a_refused_request_leaves_its_key_usable(service: Running) -> None:
    refused = service.ask("ann", COUNT.format(52), "9", Idempotency_Key="k2")
    again = service.ask("ann", COUNT.format(52), "9", Idempotency_Key="k2")
    assert refused.kind == again.kind == "BudgetExceeded"


def test_a_key_is_bound_to_the_state_of_the_data(tmp_path: Path) -> None:
    """Else a retry after the table changed would be charged a second time."""
    store = SqliteAccounts(tmp_path / "accounts.db")
    store.add("ann", Role.ANALYST, by="test")
    states = [
        store.claim_key("ann", "k", request=request, version=version)
        for request, version in (("r", "1"), ("r", "1"), ("s", "1"), ("r", "2"))
    ]
    assert states == [KeyState.NEW, KeyState.SAME, KeyState.OTHER_REQUEST, KeyState.OTHER_DATA]
    assert store.claim_key("bob", "k", request="s", version="1") is KeyState.NEW
    store.close()


SERVER = """
import sys
from pathlib import Path
from discreet.service.serving import address_of, bound_socket, serve_here
from discreet.service.desk import Desk
from discreet.service.house import open_house
from tests.service.running import settings_again
settings = settings_again(Path(sys.argv[1]))
sock = bound_socket(settings)
desk = Desk.at(open_house(settings))
print(address_of(sock), flush=True)
serve_here(desk, sock)
"""


class KilledServer:
    """A server in a process of its own, killed and started again on the same files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        self.place = ("", 0)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self.process.stdout is not None
        host, _, port = (
            self.process.stdout.readline().strip().removeprefix("http://").rpartition(":")
        )
        self.place = host, int(port)

    def kill(self, how: int = signal.SIGKILL) -> int:
        assert self.process is not None and self.process.stdout is not None
        os.kill(self.process.pid, how)
        code = self.process.wait()
        self.process.stdout.close()
        return code

    def ask(self, token: str, sql: str, key: str) -> Any:
        connection = http.client.HTTPConnection(*self.place, timeout=30)
        try:
            connection.request(
                "POST",
                "/api/v1/datasets/people/ask",
                json.dumps({"sql": sql, "budget": {"epsilon": "0.001"}}),
                {
                    "Authorization": f"Bearer {token}",
                    "Content-Type": "application/json",
                    "Idempotency-Key": key,
                },
            )
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()


def kill_under_load(folder: Path, *, kills: int, answers_before_each: int) -> None:
    """Clients that retry with their keys, while the server is killed again and again."""
    house = open_house(make_settings(folder, release=False))
    tokens = let_in(house)
    house.close()
    server = KilledServer(folder)
    server.start()
    given: dict[str, Any] = {}
    lost: set[str] = set()
    step, ended = threading.Condition(), threading.Event()

    def client(number: int) -> None:
        at = 0
        while not ended.is_set():
            at += 1
            key = f"{number}-{at}"
            sql = COUNT.format(number * 100_000 + at)
            while True:
                try:
                    status, body = server.ask(tokens["ann"], sql, key)
                    break
                except (OSError, http.client.HTTPException):
                    if ended.wait(0.02):
                        return
            with step:
                if status == 200:
                    given[key] = body["rows"]
                else:
                    assert (status, body["error"]["kind"]) == (409, "AnswerLost"), body
                    lost.add(key)
                step.notify_all()

    def reached(goal: int) -> bool:
        return len(given) >= goal

    clients = [threading.Thread(target=client, args=(number,)) for number in range(4)]
    for each in clients:
        each.start()
    try:
        for _ in range(kills):
            with step:
                goal = len(given) + answers_before_each
                assert step.wait_for(partial(reached, goal), timeout=60)
            server.kill()
            server.start()
        with step:
            goal = len(given) + answers_before_each
            assert step.wait_for(lambda: len(given) >= goal, timeout=60)
    finally:
        ended.set()
        for each in clients:
            each.join()
    # What left is given again, the same, and every answer that left is charged exactly once.
    for key, rows in list(given.items())[:: max(1, len(given) // 10)]:
        number, at = map(int, key.split("-"))
        status, body = server.ask(tokens["ann"], COUNT.format(number * 100_000 + at), key)
        assert (status, body["rows"]) == (200, rows)
    server.kill(signal.SIGTERM)
    with Ledger.open(folder / "state" / "ledger.db") as ledger:
        ledger.verify()
        purposes = [entry.purpose for entry in ledger.entries("people")]
        assert len(set(purposes)) == len(purposes)
        for key in given:
            number, at = map(int, key.split("-"))
            assert f"ask: {COUNT.format(number * 100_000 + at)}" in purposes
        spent = ledger.spent("people").epsilon
        assert spent == Fraction(len(purposes), 1000)
        assert len(given) + len(lost) <= len(purposes) <= len(given) + len(lost) + 4
    assert len(given) >= (kills + 1) * answers_before_each


def test_every_answer_that_left_a_killed_server_is_charged_once_and_given_again(
    tmp_path: Path,
) -> None:
    kill_under_load(tmp_path, kills=1, answers_before_each=8)


@pytest.mark.trust
def test_the_same_over_many_kills(tmp_path: Path) -> None:
    kill_under_load(tmp_path, kills=25, answers_before_each=6)


def test_a_server_that_is_ended_lets_running_questions_finish(tmp_path: Path) -> None:
    house = open_house(make_settings(tmp_path, release=False))
    tokens = let_in(house)
    house.close()
    server = KilledServer(tmp_path)
    server.start()
    server.ask(tokens["ann"], COUNT.format(1), "first")
    with ThreadPoolExecutor(4) as threads:
        asked = [
            threads.submit(server.ask, tokens["ann"], COUNT.format(2 + at), f"{at}")
            for at in range(4)
        ]
        assert asked[0].result()[0] == 200
        server.kill(signal.SIGTERM)
        ends = []
        for each in asked[1:]:
            try:
                ends.append(each.result()[0])
            except (OSError, http.client.HTTPException):
                ends.append(0)
    with Ledger.open(tmp_path / "state" / "ledger.db") as ledger:
        entries = ledger.entries("people")
    assert all(entry.answered for entry in entries)
    assert ends.count(200) + 2 <= len(entries)
