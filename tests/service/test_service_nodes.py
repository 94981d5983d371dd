"""Several nodes on one PostgreSQL: one ledger, one list of accounts, whichever node a request comes to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.errors import BadInput
from discreet.ledger import Ledger
from discreet.service.accounts import KeyState, Role
from discreet.service.accounts.postgres import PostgresAccounts
from discreet.service.limits.refusals import Away
from discreet.service.settings import load_settings
from tests.postgres_server import durable_server
from tests.service.running import COUNT, SCHEMA, Running, make_table, running

_names = count(1)


@pytest.fixture
def address() -> str:
    """A place for a ledger and for accounts that nobody has used yet."""
    return f"{durable_server().admin}#nodes_{next(_names)}"


@pytest.fixture
def nodes(address: str, tmp_path: Path) -> Iterator[list[Running]]:
    """Two nodes, each with files, connections and a mark of its own."""
    with ExitStack() as stack:
        found = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            found.append(
                stack.enter_context(running(tmp_path / name, release=False, ledger=address))
            )
        yield found


def test_two_nodes_spend_an_allowance_to_the_last_and_never_more(nodes: list[Running]) -> None:
    asked = [(at % 2, at) for at in range(40)]
    with ThreadPoolExecutor(8) as threads:
        replies = list(
            threads.map(lambda each: nodes[each[0]].ask("ann", COUNT.format(each[1]), "0.1"), asked)
        )
    assert sorted(reply.status for reply in replies) == [200] * 30 + [409] * 10
    for node in nodes:
        assert node.house.ledger.spent("people", analyst="ann").epsilon == 3
        assert node.charges == 30
    nodes[0].house.ledger.verify()


def test_a_key_is_charged_once_on_both_nodes_and_refuses_another_request(
    nodes: list[Running],
) -> None:
    with ThreadPoolExecutor(6) as threads:
        replies = list(
            threads.map(
                lambda at: nodes[at % 2].ask("ann", COUNT.format(50), Idempotency_Key="k1"),
                range(8),
            )
        )
    assert {reply.status for reply in replies} == {200}
    assert len({json.dumps(reply.data["rows"]) for reply in replies}) == 1
    assert nodes[0].charges == 1
    for node in nodes:
        other = node.ask("ann", COUNT.format(51), Idempotency_Key="k1")
        assert (other.status, other.kind) == (409, "KeyTaken")
    assert nodes[1].charges == 1


def test_a_token_opens_every_node_until_it_is_revoked_on_one(nodes: list[Running]) -> None:
    one, two = nodes
    assert two.call("GET", "/api/v1/me", token=one.tokens["ann"]).data["name"] == "ann"
    one.house.accounts.revoke("ann", by="test")
    for token in (one.tokens["ann"], two.tokens["ann"]):
        assert two.call("GET", "/api/v1/me", token=token).status == 401
    assert two.ask("bob", COUNT.format(1)).status == 200


def test_accounts_keep_the_same_rules_as_in_a_file(address: str) -> None:
    one, two = PostgresAccounts(address), PostgresAccounts(address)
    try:
        one.add("ann", Role.ANALYST, by="test")
        with pytest.raises(BadInput, match="already"):
            two.add("ann", Role.ANALYST, by="test")
        cookie = two.sign_in(one.issue("ann", days=1, by="test"))
        assert cookie is not None and one.session(cookie) is not None
        two.sign_out(cookie)
        assert one.session(cookie) is None
        states = [
            each.claim_key("ann", "k", request=request, version=version)
            for each, request, version in (
                (one, "r", "1"),
                (two, "r", "1"),
                (one, "s", "1"),
                (two, "r", "2"),
            )
        ]
        assert states == [KeyState.NEW, KeyState.SAME, KeyState.OTHER_REQUEST, KeyState.OTHER_DATA]
        one.save_question("ann", dataset="people", title="t", sql="SELECT 1")
        (saved,) = two.saved_questions("ann", "people")
        assert saved.sql == "SELECT 1"
        with pytest.raises(BadInput, match="NUL"):
            one.save_question("ann", dataset="people", title="t", sql="SELECT '\x00'")
        assert [event.what for event in two.events()][-1] == "added as analyst"
    finally:
        one.close()
        two.close()


def test_one_of_many_that_claim_a_key_at_once_is_the_first(address: str) -> None:
    stores = [PostgresAccounts(address) for _ in range(4)]
    barrier = threading.Barrier(4)

    def claim(place: int) -> list[KeyState]:
        found = []
        for number in range(10):
            barrier.wait()
            found.append(
                stores[place].claim_key("ann", f"k{number}", request=f"r{place}", version="1")
            )
        return found

    with ThreadPoolExecutor(4) as threads:
        rounds = list(zip(*threads.map(claim, range(4)), strict=True))
    for found in rounds:
        assert sorted(found) == [KeyState.NEW, *[KeyState.OTHER_REQUEST] * 3]
    for store in stores:
        store.close()


def test_a_database_that_is_away_is_a_refusal_that_says_so(nodes: list[Running]) -> None:
    node = nodes[0]
    assert node.call("GET", "/readyz").status == 200
    durable_server().stop()
    try:
        assert node.call("GET", "/readyz").status == 503
        reply = node.ask("ann", COUNT.format(1))
        assert (reply.status, reply.kind) == (503, "Away")
    finally:
        durable_server().start()
    assert node.ask("ann", COUNT.format(1)).status == 200
    assert node.charges == 1


def test_a_database_that_cannot_be_opened_is_named_without_a_password(tmp_path: Path) -> None:
    with pytest.raises(Away, match="cannot be opened") as caught:
        PostgresAccounts(f"postgresql://ann@/db?host={tmp_path}")
    assert "\n" not in str(caught.value)
    with pytest.raises(BadInput, match="PGPASSWORD") as refused:
        PostgresAccounts("postgresql://ann:SECRET@host/db")
    assert "SECRET" not in str(refused.value)


def test_a_service_in_postgresql_is_begun_managed_and_backed_up_by_commands(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    make_table(tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    settings = tmp_path / "curator.toml"
    words = ["curator", "init", str(settings), "--table", "people.csv", "--schema", "people.toml"]
    assert run(application, [*words, "--ledger", address]) == 0
    assert load_settings(settings).ledger == address
    for more in (
        ["add-analyst", str(settings), "ann", "--epsilon", "1"],
        ["status", str(settings), "--json"],
        ["backup", str(settings), "-o", str(tmp_path / "backup")],
    ):
        assert run(application, ["curator", *more]) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert '"ann"' in shown
    assert (tmp_path / "backup" / "accounts.db").is_file()
    assert run(application, ["curator", "restore", str(settings), str(tmp_path / "backup")]) == 2
    assert "PostgreSQL's own tools" in capsys.readouterr().err
    other = tmp_path / "other.toml"
    secret = ["curator", "init", str(other), "--ledger", "postgresql://a:SECRET@h/d"]
    assert run(application, secret) == 2
    assert not other.exists()


NODE = """
import sys
from discreet.cli import main
sys.argv = ["discreet", "serve", sys.argv[1]]
main()
"""


@pytest.mark.trust
def test_a_killed_node_loses_no_charge_and_the_other_gives_its_recorded_answers(
    address: str, tmp_path: Path
) -> None:
    """Two processes serve; one is killed under load, again and again. A retry goes to the other."""
    make_table(tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    text = (
        f'[service]\nport = 0\nledger = "{address}"\nmark = "{{mark}}"\nfolder = "{{folder}}"\n'
        '[limits]\nquantum_ms = 0\nrequests_a_minute = 1000000\n[[dataset]]\nsource = "people.csv"\n'
        'schema = "people.toml"\ndata_version = "1"\n'
    )
    for name in ("one", "two"):
        place = tmp_path / f"{name}.toml"
        place.write_text(text.format(mark=f"{name}.mark", folder=name))
    from discreet.service.house import open_house

    house = open_house(load_settings(tmp_path / "one.toml"))
    house.accounts.add("ann", Role.ANALYST, by="test")
    token = house.accounts.issue("ann", days=1, by="test")
    house.datasets["people"].allow("ann", dc.Budget(epsilon=9), by="test", reason="test")
    house.close()

    def node(name: str) -> tuple[subprocess.Popen[bytes], Running]:
        log = tmp_path / f"{name}-{asked}.log"
        with log.open("wb") as stream:
            command = [sys.executable, "-c", NODE, str(tmp_path / f"{name}.toml")]
            process = subprocess.Popen(command, stderr=stream)
        while not (said := log.read_text()).endswith("\n") or "http://" not in said:
            assert process.poll() is None, said
            time.sleep(0.05)
        url = next(word for word in said.split() if word.startswith("http://"))
        return process, Running(url, None, {"ann": token}, None, [0.0])  # type: ignore[arg-type]

    asked = 0
    survivor, steady = node("two")
    answered: dict[int, str] = {}
    try:
        for _ in range(5):
            victim, shaky = node("one")
            for turn in range(6):
                number = asked = asked + 1
                if turn == 4:
                    threading.Timer(0.02, victim.send_signal, [signal.SIGKILL]).start()
                sql, key = COUNT.format(number % 100), f"key-{number}"
                try:
                    reply = shaky.ask("ann", sql, f"0.0{number:03d}", Idempotency_Key=key)
                except OSError:
                    reply = steady.ask("ann", sql, f"0.0{number:03d}", Idempotency_Key=key)
                if reply.status == 200:
                    answered[number] = json.dumps(reply.data["rows"])
                else:
                    assert reply.kind == "AnswerLost"
            victim.kill()
            victim.wait()
        for number, rows in answered.items():
            sql, key = COUNT.format(number % 100), f"key-{number}"
            again = steady.ask("ann", sql, f"0.0{number:03d}", Idempotency_Key=key)
            assert json.dumps(again.data["rows"]) == rows
    finally:
        survivor.terminate()
        survivor.wait()
    with Ledger.open(address, mark=tmp_path / "two.mark") as ledger:
        ledger.verify()
        entries = ledger.entries()
        assert len({entry.request for entry in entries}) == len(entries) == asked
        assert len(answered) >= asked - 5
