"""A release that a database breaks off: one sentence, the charge stays, and no file is written. How often it scans."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from discreet import postgres_addresses
from discreet.engines.postgres import session as postgres_session
from discreet.errors import EngineFailed
from discreet.ledger import Ledger
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.releases import release_to_file
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from tests.postgres_server import Server, postgres_source, server
from tests.spark_session import session

COLUMNS = (IntegerColumn("age", 0, 9), CategoryColumn("sex", ("F", "M")))
SCHEMA = Schema(dataset="people", columns=COLUMNS)
PEOPLE = Schema(dataset="people", unit=PrivacyUnit("who", 2), columns=COLUMNS)
ENDLESS = Schema(dataset="people", columns=(IntegerColumn("id", 0, 9),))


def until(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened within a minute")


def broken_off(
    source: object,
    schema: Schema,
    folder: Path,
    *,
    raised: type[BaseException] = EngineFailed,
    **more: Any,
) -> str:
    """What a release says that does not come to its end, once all is as it must be then."""
    ledger = folder / "ledger.db"
    with pytest.raises(raised) as caught:
        release_to_file(
            source,
            schema,
            folder / "people.release",
            budget=Budget(epsilon=1),
            workload=[f"histogram({schema.columns[0].name})"],
            ledger=ledger,
            **more,
        )
    if raised is EngineFailed:
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert "\n" not in str(caught.value) and "stays charged" in str(caught.value)
    with Ledger.open(ledger) as book:
        assert book.spent("people") == Budget(epsilon=1)
    assert not [one for one in folder.iterdir() if not one.name.startswith("ledger")]
    return str(caught.value)


# -- PostgreSQL --------------------------------------------------------------------------------


@pytest.fixture
def postgres() -> Server:
    return server()


@pytest.fixture
def locked(postgres: Server) -> Iterator[str]:
    """A table for which every reader waits: its query has surely begun, and does not end by itself."""
    source = postgres_source(pa.table({"age": [1, 2, None, 40], "sex": ["F", "M", None, "x"]}))
    with closing(psycopg.connect(postgres.admin)) as connection:  # which a restart ends
        connection.execute("SET lock_timeout = '20s'")
        real = postgres_session.Session.plan

        def planned(self: Any, query: Any) -> None:
            real(self, query)
            table = source.partition("#")[2]
            connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(postgres_session.Session, "plan", planned)
            yield source


def asked(postgres: Server, query: str) -> int:
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        (number,) = connection.execute(query.encode()).fetchone() or (0,)
        return int(number)


def waiting(postgres: Server) -> bool:
    who = "application_name = 'discreet' AND wait_event_type = 'Lock'"
    return asked(postgres, f"SELECT count(*) FROM pg_stat_activity WHERE {who}") > 0


def after(condition: Callable[[], bool], act: Callable[[], object]) -> threading.Thread:
    """Does something in a thread, once a condition holds."""

    def waits_and_acts() -> None:
        until(condition)
        act()

    thread = threading.Thread(target=waits_and_acts)
    thread.start()
    return thread


def test_a_lost_connection_to_postgresql_leaves_the_charge_and_no_file(
    postgres: Server, locked: str, tmp_path: Path
) -> None:
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
    )
    thread = after(lambda: waiting(postgres), lambda: postgres.execute(end))
    said = broken_off(locked, SCHEMA, tmp_path)
    thread.join()
    assert "connection to the database was lost" in said


def test_a_restart_of_postgresql_leaves_the_charge_and_no_file(
    postgres: Server, locked: str, tmp_path: Path
) -> None:
    thread = after(lambda: waiting(postgres), postgres.stop)
    said = broken_off(locked, SCHEMA, tmp_path)
    thread.join()
    postgres.start()  # not by the thread: the server ends with whoever started it
    assert "connection to the database was lost" in said


def test_ctrl_c_stops_postgresqls_query_and_leaves_the_charge_and_no_file(
    postgres: Server, locked: str, tmp_path: Path
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread = after(lambda: waiting(postgres), lambda: os.kill(os.getpid(), signal.SIGINT))
        broken_off(locked, SCHEMA, tmp_path, raised=KeyboardInterrupt)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not waiting(postgres)


def test_a_full_disk_of_postgresql_leaves_the_charge_and_no_file(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that a large sort is written to are links to a device that is always full."""
    rows = 20_000
    source = postgres_source(
        pa.table({"who": [f"p{n}" for n in range(rows)], "age": [1] * rows, "sex": ["F"] * rows})
    )
    data = postgres.folder / "data"
    files = data / "base" / "pgsql_tmp"
    files.mkdir(exist_ok=True)
    os.chown(files, data.stat().st_uid, data.stat().st_gid)
    connected = postgres_addresses.connected

    def on_a_full_disk(address: Any) -> Any:
        connection = connected(address)
        for number in range(10):
            link = files / f"pgsql_tmp{connection.info.backend_pid}.{number}"
            link.unlink(missing_ok=True)
            link.symlink_to("/dev/full")
        return connection

    monkeypatch.setattr(postgres_session, "connected", on_a_full_disk)
    try:
        said = broken_off(source, PEOPLE, tmp_path, memory_limit="1MB")
    finally:
        for left in files.iterdir():
            left.unlink()
    assert said == ("The database ran out of memory or of disk. What was charged stays charged.")


def test_a_release_of_several_classes_of_tables_is_one_scan_in_postgresql(
    postgres: Server, tmp_path: Path
) -> None:
    """As the server counts its scans. All sums together are one more, and so is each tree."""
    source = postgres_source(pa.table({"age": [1, 2, None, 40], "sex": ["F", "M", None, "x"]}))
    table = source.partition("#public.")[2]

    def scans(*classes: str) -> int:
        query = f"SELECT seq_scan FROM pg_stat_user_tables WHERE relname = '{table}'"
        before = asked(postgres, query)
        folder = tmp_path / str(len(classes))
        folder.mkdir()
        release_to_file(
            source,
            SCHEMA,
            folder / "people.release",
            budget=Budget(epsilon=1),
            workload=classes,
            ledger=folder / "ledger.db",
        )
        here = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet'"
        until(lambda: asked(postgres, here) == 0)  # it says what it did when it ends
        return asked(postgres, query) - before

    classes = ("marginals(age, sex)", "histogram(age)", "histogram(sex)")
    assert scans(*classes) == 1
    assert scans(*classes, "means(age)", "intervals(age)") == 3


# -- Spark -------------------------------------------------------------------------------------


def running() -> int:
    return len(session().sparkContext.statusTracker().getActiveJobsIds())


def test_a_cancelled_job_of_spark_leaves_the_charge_and_no_file(tmp_path: Path) -> None:
    spark = session()
    thread = after(lambda: running() > 0, spark.sparkContext.cancelAllJobs)
    said = broken_off(spark.range(10**13), ENDLESS, tmp_path)
    thread.join()
    assert "cancelled Spark's job" in said


def test_ctrl_c_cancels_sparks_jobs_and_leaves_the_charge_and_no_file(tmp_path: Path) -> None:
    spark = session()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread = after(lambda: running() > 0, lambda: os.kill(os.getpid(), signal.SIGINT))
        broken_off(spark.range(10**13), ENDLESS, tmp_path, raised=KeyboardInterrupt)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    until(lambda: running() == 0)


@pytest.mark.trust
def test_a_stopped_session_of_spark_leaves_the_charge_and_no_file(tmp_path: Path) -> None:
    spark = session()
    thread = after(lambda: running() > 0, spark.stop)
    said = broken_off(spark.range(10**13), ENDLESS, tmp_path)
    thread.join()
    session.cache_clear()
    assert "session was stopped" in said
