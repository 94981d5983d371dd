"""Work in PostgreSQL that is broken off, and work of several threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from discreet.engines import open_engine
from discreet.errors import EngineFailed
from tests.engines.four_people import AGES, SCHEMA, counted, wrong_in_threads
from tests.postgres_server import Server


def test_a_query_that_takes_too_long_ends_in_one_sentence_and_the_engine_goes_on(
    postgres: Server, source: str
) -> None:
    table = source.partition("#")[2]
    postgres.execute(f"INSERT INTO {table} SELECT 1, 'F' FROM generate_series(1, 200000)")
    with open_engine(source, SCHEMA) as engine:
        session: Any = engine._session  # type: ignore[attr-defined]
        session.catalog("SELECT set_config('statement_timeout', '1', true)")
        with pytest.raises(EngineFailed, match=r"statement_timeout.*stays charged") as caught:
            engine.marginals([("age", "sex")])
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert engine.marginals([("age",)])[0].sum() == 200_004  # the setting went with what failed


@pytest.mark.parametrize("how", ["one connection", "the server"])
def test_a_lost_connection_ends_in_one_sentence(how: str, postgres: Server, source: str) -> None:
    with open_engine(source, SCHEMA) as engine:
        assert engine.row_count() == 4
        if how == "the server":
            postgres.stop()
            postgres.start()
        else:
            postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
            )
        with pytest.raises(
            EngineFailed, match=r"connection to the database was lost.*stays charged"
        ):
            engine.row_count()
        with pytest.raises(EngineFailed, match="closed"):
            engine.marginals([("age",)])
    assert counted(source)[0] == AGES


@pytest.fixture
def locked(postgres: Server, source: str) -> Iterator[psycopg.Connection[Any]]:
    """Another's transaction, for which every reader of the table waits."""
    with psycopg.connect(postgres.admin) as connection:
        connection.execute("SET lock_timeout = '20s'")
        yield connection


def waiting(postgres: Server) -> int:
    """How many queries of engines wait for a lock: such a query has surely begun, and does not end by itself."""
    with psycopg.connect(postgres.admin, autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' AND wait_event_type = 'Lock'"
        (number,) = connection.execute(query).fetchone() or (0,)
        return int(number)


def test_ctrl_c_stops_the_query_on_the_server(
    postgres: Server, source: str, locked: psycopg.Connection[Any]
) -> None:
    table = source.partition("#")[2]
    with open_engine(source, SCHEMA) as engine:
        locked.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())

        def interrupt() -> None:
            while not waiting(postgres):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        before = signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a background job ignores it
        try:
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                engine.row_count()
            thread.join()
        finally:
            signal.signal(signal.SIGINT, before)
        assert waiting(postgres) == 0
        with pytest.raises(EngineFailed, match="closed"):
            engine.row_count()


def test_verbs_of_several_threads_see_their_own_results(source: str) -> None:
    assert wrong_in_threads(source, times=10) == []
