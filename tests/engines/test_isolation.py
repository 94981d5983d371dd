"""What an engine keeps to itself: files, settings, temporary pieces of rows, and its own messages."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import open_engine
from discreet.engines.duckdb import session
from discreet.engines.duckdb.session import SIDE_BY_SIDE
from discreet.engines.spill import PREFIX, SpillDirectory
from discreet.errors import DiscreetError, EngineFailed
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import IntegerColumn, Schema

CANARY = "CANARY-7719"


def written(query: str, path: Path) -> None:
    relation = duckdb.sql(query)
    assert relation is not None
    relation.write_parquet(str(path))


SCHEMA = Schema(dataset="s", columns=(IntegerColumn("a", 0, 9),))
TABLE = pa.table({"a": [1, 2, None]})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory of its own, so that other engines' are not counted."""
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spills))
    return spills


def inside(engine: Any, query: str, connection: int = 0) -> Any:
    """Runs SQL behind the engine's back."""
    return engine._session._connections[connection].execute(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{other}')",
        "SELECT * FROM read_parquet('{other}')",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO '{place}/out.csv'",
        "ATTACH '{place}/new.duckdb'",
        "EXPORT DATABASE '{place}/all'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['/etc/passwd']",
        "SET temp_directory = '{place}'",
        "RESET lock_configuration",
        "SELECT * FROM TABLE_OUTSIDE",
    ],
)
def test_an_open_engine_reaches_nothing_but_its_source(place: Path, query: str) -> None:
    pq.write_table(TABLE, place.parent / "t.parquet")
    pq.write_table(TABLE, place.parent / "other.parquet")
    TABLE_OUTSIDE = TABLE  # noqa: N806, F841 (a replacement scan would find it by this name)
    with open_engine(place.parent / "t.parquet", SCHEMA) as engine:
        asked = query.format(place=place.parent, other=place.parent / "other.parquet")
        for connection in range(SIDE_BY_SIDE):
            with pytest.raises(duckdb.Error):
                inside(engine, asked, connection)
        assert engine.row_count() == 3


def test_nothing_is_written_outside_the_private_directory(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = place.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    with open_engine(TABLE, SCHEMA) as engine:
        engine.marginals([("a",)])
        (private,) = place.iterdir()
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert list(home.iterdir()) == []
    assert list(place.iterdir()) == []
    engine.close()


def test_a_closed_engine_says_so(place: Path) -> None:
    engine = open_engine(TABLE, SCHEMA)
    engine.close()
    with pytest.raises(EngineFailed, match="closed"):
        engine.row_count()


def test_a_source_that_cannot_be_opened_leaves_nothing_behind(place: Path) -> None:
    with pytest.raises(DiscreetError):
        open_engine(pa.table({"b": [1]}), SCHEMA)
    assert list(place.iterdir()) == []


KILLED = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from discreet.engines import open_engine
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import IntegerColumn, Schema
schema = Schema(dataset="s", unit=PrivacyUnit("p", 1), columns=(IntegerColumn("a", 0, 9),))
engine = open_engine(sys.argv[2], schema, memory_limit="40MB", threads=1)
engine.row_count()
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_spilled_is_removed_by_the_next_one(place: Path) -> None:
    path = place.parent / "t.parquet"
    written("SELECT range AS p, range % 10 AS a FROM range(1500000)", path)
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(place), str(path)],
        env={"PYTHONPATH": "src"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert run.stdout == "ready\n"
    (left,) = place.iterdir()
    spilled = sum(one.stat().st_size for one in left.rglob("*") if one.is_file())
    assert spilled > 1_000_000
    with open_engine(TABLE, SCHEMA):
        assert not left.exists()
        assert len(list(place.iterdir())) == 1


def test_a_sweep_spares_the_living_and_what_is_not_ours(place: Path) -> None:
    living = SpillDirectory()
    foreign = place / f"{PREFIX}without-a-lock"
    foreign.mkdir()
    outside = place.parent / "outside"
    outside.mkdir()
    (outside / "lock").touch()
    (place / f"{PREFIX}link").symlink_to(outside)
    second = SpillDirectory()
    assert living.path.exists()
    assert foreign.exists()
    assert outside.exists()
    child = os.fork()
    if child == 0:  # a forked child must not remove its parent's directory
        living.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert living.path.exists()
    for one in (living, second):
        one.remove()
        one.remove()
        assert not one.path.exists()


INTERRUPTED = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from discreet.engines import open_engine
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import IntegerColumn, Schema
schema = Schema(dataset="s", unit=PrivacyUnit("p", 2), columns=(IntegerColumn("a", 0, 9),))
engine = open_engine(sys.argv[2], schema, threads=1)
try:
    print("ready", flush=True)
    engine.row_count()
except KeyboardInterrupt:
    import os
    print("stopped", os.listdir(sys.argv[1]), flush=True)
"""


def test_control_c_stops_the_query_and_leaves_no_file(place: Path) -> None:
    path = place.parent / "t.parquet"
    written("SELECT hash(range) AS p, hash(range) % 10 AS a FROM range(6000000)", path)
    run = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(place), str(path)],
        env={"PYTHONPATH": "src"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    assert run.stdout.read() == "stopped []\n"
    assert run.wait() == 0
    run.stdout.close()


def test_progress_is_reported_and_a_callback_can_stop_the_engine(place: Path) -> None:
    path = place.parent / "t.parquet"
    written("SELECT hash(range) AS p, hash(range) % 10 AS a FROM range(3000000)", path)
    schema = Schema(dataset="s", unit=PrivacyUnit("p", 2), columns=SCHEMA.columns)
    seen: list[float] = []
    with open_engine(path, schema, threads=1, progress=seen.append) as engine:
        engine.row_count()
    assert seen
    assert all(0 <= fraction <= 1 for fraction in seen)

    class Enough(Exception):
        pass

    def stop(fraction: float) -> None:
        raise Enough

    engine = open_engine(path, schema, threads=1, progress=stop)
    with pytest.raises(Enough):
        engine.row_count()
    assert list(place.iterdir()) == []
    with pytest.raises(EngineFailed, match="closed"):
        engine.row_count()


def test_an_engine_works_in_any_thread(place: Path) -> None:
    found: list[int] = []
    with open_engine(TABLE, SCHEMA) as engine:
        thread = threading.Thread(target=lambda: found.append(engine.row_count()))
        thread.start()
        thread.join()
    assert found == [3]


def test_a_message_of_the_database_is_never_passed_on(place: Path) -> None:
    """Whatever fails inside, neither the error nor its traceback holds a value."""
    with open_engine(TABLE, SCHEMA) as engine:
        for query in (
            f"SELECT CAST(x AS INTEGER) FROM (VALUES ('{CANARY}')) t(x)",
            f"SELECT error('{CANARY}')",
            f"SELECT '{CANARY}'::DATE",
            f"SELECT * FROM read_csv('/{CANARY}')",
        ):
            with pytest.raises(EngineFailed) as failed:
                engine._session.rows(query)  # type: ignore[attr-defined]
            error = failed.value
            assert error.__cause__ is None
            assert error.__context__ is None
            assert CANARY not in "".join(traceback.format_exception_only(error))


def test_memory_beyond_the_limit_is_an_error_without_values(place: Path) -> None:
    values = [f"{CANARY}-{n}" for n in range(200_000)]
    schema = Schema(dataset="s", unit=PrivacyUnit("p", 1), columns=SCHEMA.columns)
    table = pa.table({"a": [1] * len(values), "p": values})
    with (
        open_engine(table, schema, memory_limit="2MB", threads=1) as engine,
        pytest.raises(EngineFailed, match="memory") as failed,
    ):
        engine.row_count()
    assert CANARY not in "".join(map(str, failed.value.args))
    assert failed.value.__context__ is None


def test_a_source_that_vanishes_is_an_error_without_its_content(place: Path) -> None:
    path = place.parent / "t.parquet"
    pq.write_table(pa.table({"a": [CANARY] * 9}), path)
    with open_engine(path, SCHEMA) as engine:
        path.unlink()
        with pytest.raises(EngineFailed) as failed:
            engine.row_count()
            engine.marginals([("a",)])
    assert CANARY not in str(failed.value)


class _Noted:
    """A connection that notes what it is asked."""

    def __init__(self, connection: Any, asked: list[list[str]]) -> None:
        self._connection, self._all = connection, asked
        self._own: list[str] = []
        asked.append(self._own)

    def execute(self, text: str) -> Any:
        self._own.append(text)
        return self._connection.execute(text)

    def cursor(self) -> _Noted:
        return _Noted(self._connection.cursor(), self._all)

    def __enter__(self) -> _Noted:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_no_connection_is_asked_anything_before_it_is_told_not_to_print(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB prints a progress bar to standard output once a query is slow, also into a pipe."""
    asked: list[list[str]] = []
    connect = duckdb.connect
    monkeypatch.setattr(
        duckdb, "connect", lambda *given, **more: _Noted(connect(*given, **more), asked)
    )
    session.Session(memory_limit="64MB", threads=1, progress=None).close()
    assert len(asked) == session.SIDE_BY_SIDE
    for statements in asked:
        assert statements[0].startswith("SET enable_progress_bar_print = false"), statements[0][:80]
