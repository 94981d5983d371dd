"""A ledger in PostgreSQL: the same battery as the file's, restored backups, and plain errors.

Each test has a schema of its own on a server of the tests' own, whose commits are on disk.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.errors import (
    BadBudget,
    BadInput,
    BudgetExceeded,
    EntryTaken,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    WrongUnit,
)
from discreet.ledger import Ledger, steps
from discreet.ledger.upkeep.repair import accept_mark, copy_ledger
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from tests.ledger_battery import (
    COST,
    RACER,
    VICTIM,
    Toll,
    claim,
    kill_at,
    kill_many,
    ledger_for_victims,
    race,
    running,
    start,
)
from tests.paying import pay
from tests.postgres_server import Server, durable_server, server

_names = count(1)


@pytest.fixture
def postgres() -> Server:
    return durable_server()


@pytest.fixture
def address(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place where no ledger is yet; this machine has no mark of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return f"{postgres.admin}#ledger_{next(_names)}"


@pytest.fixture
def ledger(address: str) -> Iterator[Ledger]:
    with Ledger.open(address, patience=5) as opened:
        opened.declare("people", Budget(epsilon=1))
        yield opened


def schema_of(address: str) -> str:
    return address.partition("#")[2]


def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """From here on this process is another machine: it keeps its marks elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))


# -- The same rules ------------------------------------------------------------------------------


def test_caps_units_and_notions_are_those_of_a_file(ledger):
    pay(ledger, Budget(epsilon="0.9"), "q1")
    with pytest.raises(BudgetExceeded):
        pay(ledger, Budget(epsilon="0.1000000000001"), "q2")
    with pytest.raises(BadBudget, match="notion"):
        pay(ledger, Budget(rho="0.01"), "q2")
    with pytest.raises(WrongUnit):
        ledger.charge(
            "people",
            Budget(epsilon="0.1"),
            purpose="p",
            request="q2",
            protects=Protected(Adjacency.CHANGE_ONE),
        )
    pay(ledger, Budget(epsilon="0.1"), "q2")
    assert ledger.spent("people") == Budget(epsilon=1)
    ledger.verify()


def test_the_events_are_the_very_ones_that_a_file_would_hold(ledger, address, tmp_path):
    """A copy is an SQLite ledger with the same chain, and goes on under the same rules."""
    entry = pay(ledger, Budget(epsilon="0.5"), "q")
    ledger.begin_reading(entry)
    ledger.record_answer(entry, b"\x00 forty-two \xff")
    assert copy_ledger(address, tmp_path / "copy.db") == 1
    with pytest.raises(LedgerDamaged, match="no mark"):
        Ledger.open(tmp_path / "copy.db")
    accept_mark(tmp_path / "copy.db", reason="a copy of its own")
    with Ledger.open(tmp_path / "copy.db") as copy:
        assert copy.entries() == ledger.entries()
        assert copy.recorded_answer("people", "q") == b"\x00 forty-two \xff"


def test_a_second_machine_sees_every_charge_and_spends_from_the_same_cap(
    ledger, address, monkeypatch, tmp_path
):
    pay(ledger, Budget(epsilon="0.6"), "here")
    elsewhere(monkeypatch, tmp_path, "other")
    with Ledger.open(address) as other:
        assert [view.request for view in other.entries()] == ["here"]
        pay(other, Budget(epsilon="0.4"), "there")
        with pytest.raises(BudgetExceeded):
            pay(ledger, Budget(epsilon="0.1"), "here again")
        assert ledger.spent("people") == other.spent("people") == Budget(epsilon=1)


def test_a_charge_that_was_not_read_is_taken_over_on_another_machine(
    ledger, address, monkeypatch, tmp_path
):
    mine = pay(ledger, Budget(epsilon=1), "q")
    elsewhere(monkeypatch, tmp_path, "other")
    with Ledger.open(address) as other:
        theirs = pay(other, Budget(epsilon=1), "q")
        assert theirs.taken_over
        with pytest.raises(EntryTaken):
            ledger.begin_reading(mine)
        other.begin_reading(theirs)


def test_threads_of_one_ledger_take_exactly_what_the_cap_holds(ledger):
    granted: list[int] = []

    def work(thread: int) -> None:
        for number in range(5):
            try:
                granted.append(pay(ledger, Budget(epsilon="1/10"), f"{thread}-{number}").id)
            except BudgetExceeded:
                continue

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 10
    ledger.verify()


# -- Many processes, and kills -------------------------------------------------------------------


def test_processes_race_for_the_last_charges_and_take_exactly_those(address):
    race(address, processes=4, rounds=3, attempts=8, room=20)


@pytest.mark.trust
def test_64_processes_race_20_times_for_100_charges(address):
    race(address, processes=64, rounds=20, attempts=5, room=100)


def test_of_processes_that_ask_the_same_at_once_exactly_one_reads_on_each_charge(address):
    claim(address, processes=3, rounds=5)


def test_processes_that_open_a_new_ledger_at_once_make_one(address):
    with running(RACER, address, 3):
        pass
    with Ledger.open(address) as ledger:
        assert ledger._journal._book.seq == 1


def test_12_kills_of_clients_lose_no_granted_charge_and_cost_at_most_one_each(address):
    kill_many(address, kills=12)


@pytest.mark.trust
def test_400_kills_of_clients_lose_no_granted_charge_and_cost_at_most_one_each(address):
    kill_many(address, kills=400)


@pytest.mark.parametrize("moment", ["after-insert", "after-commit"])
def test_a_rerun_after_a_kill_pays_once_if_nothing_was_read(address, moment):
    ledger_for_victims(address)
    kill_at(address, Toll(), moment, 1)
    with Ledger.open(address) as ledger:
        paid = moment == "after-commit"
        assert len(ledger.entries()) == paid
        assert pay(ledger, COST, "0 0").taken_over == paid
        assert ledger.spent("people") == COST


@pytest.mark.parametrize("moment", steps.OF_A_NEW_LEDGER)
def test_a_kill_while_a_ledger_is_begun_leaves_one_that_opens(address, moment):
    kill_at(address, Toll(), moment, 1)
    ledger_for_victims(address)
    with Ledger.open(address) as ledger:
        ledger.verify()


def kill_the_server(postgres: Server, address: str, *, kills: int) -> None:
    """Processes charge, the server's processes are all killed, and it starts again: nothing granted is lost."""
    ledger_for_victims(address)
    toll = Toll()
    for number in range(kills):
        child = start(VICTIM, address, f"{number}", "never", "0")
        assert child.stdout and child.stdout.readline() == b"ready\n"
        lines = [child.stdout.readline() for _ in range(8 + number % 5)]
        postgres.kill()
        said = child.stdout.read()  # until it ends, with the error of a lost connection
        child.stdout.close()
        assert child.stdin
        child.stdin.close()
        assert child.wait(60) == 1
        toll.add(b"".join(lines) + said)
        postgres.start()
    toll.settle(address)
    assert toll.said["published"]


def test_a_killed_server_comes_back_with_every_granted_charge(postgres, address):
    kill_the_server(postgres, address, kills=1)


@pytest.mark.trust
def test_20_killed_servers_come_back_with_every_granted_charge(postgres, address):
    kill_the_server(postgres, address, kills=20)


def test_an_open_ledger_goes_on_after_the_server_was_restarted(postgres, ledger):
    pay(ledger, Budget(epsilon="0.1"), "before")
    postgres.stop()
    with pytest.raises(LedgerError, match=r"cannot be opened|lost") as caught:
        pay(ledger, Budget(epsilon="0.1"), "meanwhile")
    assert not isinstance(caught.value, LedgerDamaged)
    postgres.start()
    pay(ledger, Budget(epsilon="0.1"), "after")
    assert [view.request for view in ledger.entries()] == ["before", "after"]


# -- Restored backups ----------------------------------------------------------------------------


def restore(postgres: Server, address: str, dump: bytes) -> None:
    postgres.execute(f"DROP SCHEMA {schema_of(address)} CASCADE")
    postgres.program("psql", "-q", "-v", "ON_ERROR_STOP=1", "postgres", input=dump)


def dumped(postgres: Server, address: str) -> bytes:
    return postgres.program("pg_dump", "-n", schema_of(address), "postgres").stdout


def test_a_restored_dump_is_refused_on_every_machine_until_somebody_accepts_it(
    postgres, ledger, address, monkeypatch, tmp_path
):
    pay(ledger, Budget(epsilon="0.1"), "kept")
    dump = dumped(postgres, address)
    pay(ledger, Budget(epsilon="0.1"), "forgotten")
    restore(postgres, address, dump)
    with pytest.raises(LedgerDamaged, match="older copy was put back"):
        pay(ledger, Budget(epsilon="0.1"), "by a running process")
    with pytest.raises(LedgerDamaged, match="older copy was put back"):
        Ledger.open(address)
    elsewhere(monkeypatch, tmp_path, "a machine that never saw it")
    with pytest.raises(LedgerDamaged, match="a backup was restored"):
        Ledger.open(address)
    accept_mark(address, reason="the disk is lost")
    with Ledger.open(address) as accepted:
        assert [view.request for view in accepted.entries()] == ["kept"]
        pay(accepted, Budget(epsilon="0.1"), "after")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(LedgerDamaged, match=r"belongs to another history|older copy"):
        Ledger.open(address)  # this machine knows of the charge that is forgotten


def test_a_restored_dump_that_lacks_nothing_is_refused_too(postgres, ledger, address):
    dump = dumped(postgres, address)
    restore(postgres, address, dump)
    for _ in range(2):
        with pytest.raises(LedgerDamaged, match="a backup was restored"):
            pay(ledger, Budget(epsilon="0.1"), "q")


def test_a_restored_data_directory_is_refused_by_the_mark(postgres, ledger, address, tmp_path):
    """The server cannot tell: it has the same history, cut short. The machine's own mark can."""
    pay(ledger, Budget(epsilon="0.1"), "kept")
    data, copy = postgres.folder / "data", postgres.folder / "copy"
    postgres.stop()
    shutil.copytree(data, copy)
    postgres.start()
    _give_to_its_owner(copy, like=data)
    pay(ledger, Budget(epsilon="0.1"), "forgotten")
    postgres.stop()
    shutil.rmtree(data)
    copy.rename(data)
    postgres.start()
    with pytest.raises(LedgerDamaged, match="older copy was put back"):
        pay(ledger, Budget(epsilon="0.1"), "by a running process")
    with pytest.raises(LedgerDamaged, match="older copy was put back"):
        Ledger.open(address)


def test_a_server_restored_from_its_archive_is_refused_until_somebody_accepts_it(
    postgres, ledger, address
):
    """It begins a new timeline, as a standby that takes over does: its newest charges may be missing."""
    pay(ledger, Budget(epsilon="0.1"), "kept")
    signal = postgres.folder / "data" / "recovery.signal"
    postgres.stop()
    signal.touch()
    _give_to_its_owner(signal, like=postgres.folder / "data")
    postgres.settings["restore_command"] = "/bin/false"
    try:
        postgres.start()
    finally:
        del postgres.settings["restore_command"]
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        while connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
            time.sleep(0.05)
    for act in (lambda: pay(ledger, Budget(epsilon="0.1"), "q"), lambda: Ledger.open(address)):
        with pytest.raises(LedgerDamaged, match="a standby took over"):
            act()
    accept_mark(address, reason="nothing is missing: restored to the end of the archive")
    pay(ledger, Budget(epsilon="0.1"), "q")
    assert [view.request for view in ledger.entries()] == ["kept", "q"]


def _give_to_its_owner(folder: Path, *, like: Path) -> None:
    status = like.stat()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, status.st_uid, status.st_gid, follow_symlinks=False)


def test_a_ledger_that_is_gone_is_not_begun_anew(postgres, ledger, address):
    ledger.close()
    postgres.execute(f"DROP SCHEMA {schema_of(address)} CASCADE")
    with pytest.raises(LedgerDamaged, match="is gone"):
        Ledger.open(address)


# -- Damage --------------------------------------------------------------------------------------


def test_events_are_neither_changed_nor_deleted_nor_put_in_between(postgres, ledger, address):
    event = f"{schema_of(address)}.event"
    for statement in (
        f"UPDATE {event} SET body = 'x'",
        f"DELETE FROM {event}",
        f"TRUNCATE {event}",
        f"INSERT INTO {event} VALUES (99, 'x', NULL, 'x')",
        f"SET session_replication_role = replica; DELETE FROM {event}",
    ):
        with pytest.raises(psycopg.errors.RaiseException, match="ledger events are"):
            postgres.execute(statement)
    ledger.verify()


@pytest.mark.parametrize(
    "done",
    [
        "ALTER TABLE {} DISABLE TRIGGER event_is_never_changed",
        "DROP TRIGGER event_is_appended ON {}",
        "ALTER TABLE {} SET UNLOGGED",
        "CREATE RULE nothing AS ON INSERT TO {} DO INSTEAD NOTHING",
        "ALTER TABLE {} DROP CONSTRAINT event_pkey",
        "ALTER TABLE {} ENABLE ROW LEVEL SECURITY",
    ],
)
def test_tables_that_were_altered_are_refused_at_opening(postgres, ledger, address, done):
    postgres.execute(done.format(f"{schema_of(address)}.event"))
    with pytest.raises(LedgerDamaged, match="tables or triggers were altered"):
        Ledger.open(address)


@pytest.mark.parametrize("column", ["body", "hash", "payload"])
def test_a_changed_byte_of_an_event_is_found(postgres, ledger, address, column):
    entry = pay(ledger, Budget(epsilon="0.1"), "q")
    ledger.begin_reading(entry)
    ledger.record_answer(entry, b"42")
    event = f"{schema_of(address)}.event"
    changed = {"body": "replace(body, '0', '1')", "hash": "reverse(hash)", "payload": "'43'"}
    postgres.execute(
        f"ALTER TABLE {event} DISABLE TRIGGER ALL",
        f"UPDATE {event} SET {column} = {changed[column]} WHERE {column} IS NOT NULL",
        f"ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_appended",
        f"ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_never_changed",
        f"ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_never_emptied",
    )
    with pytest.raises(LedgerDamaged):
        Ledger.open(address)
    with pytest.raises(LedgerDamaged):
        ledger.verify()


# -- Plain errors --------------------------------------------------------------------------------


def test_a_ledger_that_another_machine_holds_too_long_is_busy_and_charges_nothing(
    postgres, ledger, address
):
    with Ledger.open(address, patience=0) as hurried:
        with (
            ledger._journal.newest() as (_, store),
            store.writing(),
            pytest.raises(LedgerBusy, match="Try again"),
        ):
            pay(hurried, Budget(epsilon=1), "q")
        assert hurried.entries() == []
        pay(hurried, Budget(epsilon=1), "q")


def test_a_server_without_fsync_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(LedgerError, match="fsync off"):
        Ledger.open(f"{server().admin}#anywhere")


def test_commits_wait_for_the_disk_whatever_the_users_settings_say(postgres, address):
    """A power cut cannot be tried; so the setting is looked at."""
    postgres.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        with (
            Ledger.open(address) as ledger,
            ledger._journal.newest() as (_, store),
            store.reading(),
        ):
            assert store._run("SHOW synchronous_commit") == [("on",)]
    finally:
        postgres.execute("ALTER ROLE postgres RESET synchronous_commit")


def test_errors_are_one_sentence_that_names_the_place_and_what_to_do(postgres, address, tmp_path):
    away = f"postgresql://nobody@/postgres?host={tmp_path}"
    wrong = postgres.admin.replace("/postgres?", "/no_such_database?")
    for place, said in ((away, "cannot be opened"), (wrong, "no_such_database")):
        with pytest.raises(LedgerError, match=said) as caught:
            Ledger.open(place)
        assert "Nothing was charged" in str(caught.value) and "\n" not in str(caught.value)
    reader = postgres.address + "#" + schema_of(address)
    with pytest.raises(LedgerError, match="does not let this user") as caught:
        Ledger.open(reader)
    assert "Grant" in str(caught.value)


def test_a_user_who_may_only_append_can_charge(postgres, ledger, address):
    schema = schema_of(address)
    postgres.execute(
        f"GRANT USAGE ON SCHEMA {schema} TO reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader",
        f"GRANT INSERT ON {schema}.event TO reader",
    )
    with Ledger.open(f"{postgres.address}#{schema}") as theirs:
        pay(theirs, Budget(epsilon=1), "q")
    assert ledger.spent("people") == Budget(epsilon=1)


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://ann:SECRET@host/db",
        "postgresql://host/db?password=SECRET",
        "postgres://host/db?sslpassword=SECRET#ledger",
    ],
)
def test_a_password_in_a_ledgers_address_is_refused_and_not_repeated(place, tmp_path, capsys):
    with pytest.raises(BadInput, match="PGPASSWORD") as caught:
        Ledger.open(place)
    assert "SECRET" not in str(caught.value)
    assert run(application, ["ledger", "show", "--ledger", place]) == 2
    said = capsys.readouterr()
    assert "SECRET" not in said.out + said.err


@pytest.fixture
def locked(postgres: Server, address: str) -> Iterator[str]:
    """The address of a ledger for a user who has a password, `SECRET-77`."""
    rules = postgres.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all keeper_{schema_of(address)} scram-sha-256\n{before}")
    postgres.execute(
        f"CREATE ROLE keeper_{schema_of(address)} LOGIN SUPERUSER PASSWORD 'SECRET-77'",
        "SELECT pg_reload_conf()",
    )
    yield address.replace("postgres@", f"keeper_{schema_of(address)}@")
    rules.write_text(before)
    postgres.execute("SELECT pg_reload_conf()")


def test_a_password_comes_from_the_environment_or_a_file_and_is_kept_nowhere(
    locked, tmp_path, monkeypatch
):
    with pytest.raises(LedgerError, match="PGPASSWORD") as caught:
        Ledger.open(locked)
    monkeypatch.setenv("PGPASSWORD", "WRONG-77")
    with pytest.raises(LedgerError, match="password authentication failed") as wrong:
        Ledger.open(locked)
    assert "-77" not in str(caught.value) + str(wrong.value)
    monkeypatch.setenv("PGPASSWORD", "SECRET-77")
    with Ledger.open(locked) as ledger:
        ledger.declare("people", Budget(epsilon=1))
        assert "SECRET" not in str(ledger.path)
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "passwords"
    file.write_text("*:*:*:*:SECRET-77\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    with Ledger.open(locked) as ledger:
        pay(ledger, Budget(epsilon=1), "q")
    assert copy_ledger(locked, tmp_path / "copy.db") == 1
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path != file]
    assert len(kept) >= 3
    assert not any(b"SECRET" in path.read_bytes() for path in kept)


def test_a_password_is_asked_for_once_on_a_terminal(locked, monkeypatch):
    asked: list[str] = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return "WRONG-77" if len(asked) == 1 else "SECRET-77"

    monkeypatch.setattr("getpass.getpass", typed)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(LedgerError, match="password authentication failed"):
        Ledger.open(locked)
    for _ in range(2):
        with Ledger.open(locked) as ledger:
            ledger.verify()
    assert len(asked) == 2 and "SECRET" not in "".join(asked)


@pytest.mark.parametrize("schema", ["Upper", "a b", "pg_ledger", 'x"; DROP', "a" * 70])
def test_a_schema_with_an_odd_name_is_refused(schema):
    with pytest.raises(BadInput, match="small letters"):
        Ledger.open(f"postgresql://host/db#{schema}")


def test_the_command_line_takes_an_address(ledger, address, capsys):
    pay(ledger, Budget(epsilon="0.5"), "q")
    assert run(application, ["ledger", "show", "--ledger", address]) == 0
    assert "people" in capsys.readouterr().out
    assert run(application, ["ledger", "verify", "--ledger", address]) == 0
    missing = address.partition("#")[0] + "#not_begun"
    capsys.readouterr()
    assert run(application, ["ledger", "show", "--ledger", missing]) == 2
    assert "There is no ledger" in capsys.readouterr().err


def test_a_forked_child_goes_on_with_a_connection_of_its_own(ledger):
    pay(ledger, Budget(epsilon="0.1"), "parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            pay(ledger, Budget(epsilon="0.1"), "child")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    pay(ledger, Budget(epsilon="0.1"), "parent again")
    assert ledger.spent("people") == Budget(epsilon="0.3")
