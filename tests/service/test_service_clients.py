"""Clients that people already have: `discreet.connect`, the database API, SQLAlchemy and pandas."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.dialects import registry

import discreet as dc
from discreet.client import dbapi
from discreet.client.connection import answers_in
from discreet.client.transport import HttpTransport, Unreachable
from tests.service.running import COUNT, Running

GROUPS = "SELECT sex, count(*), avg(income) FROM people GROUP BY sex"
registry.register("discreet", "discreet.client.sqlalchemy_dialect", "DiscreetDialect")


def test_a_connected_service_asks_as_a_curator_does(service: Running) -> None:
    there = dc.connect(service.url, service.tokens["ann"])
    assert there.me() == {"name": "ann", "role": "analyst"}
    assert there.datasets() == ["people"] and there.releases() == ["open", "closed"]
    dataset = there.dataset("people")
    before, left = service.charges, dataset.left
    found = dataset.ask(GROUPS, budget=dc.Budget(epsilon="0.2"))
    assert found.groups == ("sex",) and [each.name for each in found.columns] == [
        "count",
        "avg(income)",
    ]
    row = found[0]
    assert row["count"].lower <= row["count"].estimate <= row["count"].upper
    assert dataset.left == left.minus(dc.Budget(epsilon="0.2"))
    assert service.charges == before + 1
    assert "interval" in str(found) and "<table>" in found._repr_html_()
    assert dataset.preview(GROUPS, budget=dc.Budget(epsilon="0.2"))["recorded"]
    by_accuracy = dataset.ask(COUNT.format(20), accuracy="±50 at 95%")
    assert by_accuracy.only.upper - by_accuracy.only.estimate <= 50
    assert "people" in repr(dataset) and "<table>" in dataset._repr_html_()
    assert there.history(limit=1)[0]["dataset"] == "people"


def test_errors_of_a_service_are_raised_as_discreets_own(service: Running) -> None:
    dataset = dc.connect(service.url, service.tokens["ann"]).dataset("people")
    with pytest.raises(dc.BudgetExceeded, match="analyst 'ann'"):
        dataset.ask(COUNT.format(21), budget=dc.Budget(epsilon=5))
    with pytest.raises(dc.BadQuestion):
        dataset.ask("SELECT name FROM people", budget=dc.Budget(epsilon=1))
    with pytest.raises(dc.DiscreetError, match="not valid"):
        dc.connect(service.url, "discreet_wrong").datasets()
    with pytest.raises(dc.BadInput, match="http"):
        dc.connect("people.release")
    with pytest.raises(Unreachable):
        dc.connect("http://127.0.0.1:1").releases()


def test_a_lost_reply_is_asked_for_again_and_charged_once(service: Running) -> None:
    class Losing(HttpTransport):
        lost = 0

        def send(self, *given: Any, **more: Any) -> bytes:
            found = super().send(*given, **more)
            if given[0] == "POST" and self.lost < 2:
                self.lost += 1
                raise Unreachable("lost on the way back")
            return found

    from discreet.client.connection import Service

    before = service.charges
    transport = Losing(service.url, service.tokens["ann"])
    found = (
        Service(transport).dataset("people").ask(COUNT.format(22), budget=dc.Budget(epsilon="0.01"))
    )
    assert transport.lost == 2 and service.charges == before + 1
    assert found.only.std > 0


def test_a_remote_release_answers_as_the_file_does(service: Running, tmp_path: Path) -> None:
    release = dc.connect(service.url).release("open")
    file = release.download(tmp_path / "mine.release")
    here = dc.open_release(file)
    for sql in (GROUPS, COUNT.format(30), "SELECT age, count(*) FROM people GROUP BY age"):
        assert release.ask(sql).to_dict() == here.ask(sql).to_dict()
    assert release.verify()["ok"] and "<table>" in release._repr_html_()
    with pytest.raises(dc.BadInput, match="exists"):
        release.download(file)


def test_dates_and_unbounded_ends_survive_the_way() -> None:
    answer = {"confidence": 0.95, "std": None, "covers": "noise", "vague": False}
    data = {
        "question": "q",
        "confidence": 0.95,
        "notes": ["n"],
        "rows": [
            {
                "group": {"g": "a"},
                "values": {"g": "a"},
                "answers": {
                    "median": {
                        **answer,
                        "estimate": "1990-05-17",
                        "lower": "1990-01-01",
                        "upper": None,
                    },
                    "count": {**answer, "estimate": 30.0, "lower": 28.0, "upper": 32.0},
                },
            }
        ],
    }
    found = answers_in(data)
    assert found.to_dict()["rows"] == data["rows"]
    assert found.to_dict()["notes"] == ["n"]
    with pytest.raises(dc.BadInput, match="not understood"):
        answers_in({"rows": [{}], "confidence": 1})


def test_many_threads_share_a_connection(service: Running) -> None:
    release = dc.connect(service.url).release("open")
    expected, found = release.ask(COUNT.format(30)).to_dict(), []
    threads = [
        threading.Thread(target=lambda: found.append(release.ask(COUNT.format(30)).to_dict()))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [expected] * 8


def test_importing_the_client_loads_neither_the_core_nor_a_database() -> None:
    script = (
        "import sys, discreet; discreet.connect('http://127.0.0.1:1');"
        "print({'duckdb', 'fastapi', 'discreet.core.vault', 'discreet.engines'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


# The database API


@pytest.fixture
def file(service: Running) -> str:
    return str(service.house.settings.releases[0].file)


def test_the_database_api_gives_each_estimate_beside_its_ends(file: str) -> None:
    assert (dbapi.apilevel, dbapi.paramstyle) == ("2.0", "qmark")
    with dbapi.connect(file) as connection:
        cursor = connection.cursor()
        cursor.execute(GROUPS)
        assert [each[0] for each in cursor.description or ()] == [
            "sex", "count", "count_lower", "count_upper",
            "avg(income)", "avg(income)_lower", "avg(income)_upper",
        ]  # fmt: skip
        rows = cursor.fetchall()
        assert len(rows) == cursor.rowcount and all(row[2] <= row[1] <= row[3] for row in rows)
        cursor.execute(GROUPS)
        assert [cursor.fetchone(), *cursor.fetchmany(1), *cursor] == rows
        assert cursor.fetchone() is None
        connection.commit()
        connection.rollback()
        cursor.close()
        with pytest.raises(dbapi.InterfaceError):
            cursor.execute(GROUPS)
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor().execute(GROUPS)


def test_the_database_api_drops_no_column_by_its_name_and_makes_no_comment(file: str) -> None:
    """An alias that ends in _std is an estimate, and a parameter below 0 behind a minus is no comment."""
    cursor = dbapi.connect(file).cursor()
    cursor.execute("SELECT avg(age) AS age_std FROM people")
    assert [each[0] for each in cursor.description or ()] == [
        "age_std",
        "age_std_lower",
        "age_std_upper",
    ]
    assert [each[1] for each in cursor.description or ()] == [dbapi.NUMBER] * 3
    wanted = cursor.execute("SELECT count(*) FROM people WHERE age + 40 > 90").fetchall()
    assert (
        cursor.execute("SELECT count(*) FROM people WHERE age -? > ?", [-40, 90]).fetchall()
        == wanted
    )
    marked = "SELECT count(*) FROM people -- all?\nWHERE /* or some? */ age + ? > ?"
    assert cursor.execute(marked, [np.float64(40), 90]).fetchall() == wanted
    for odd in (math.nan, math.inf):
        with pytest.raises(dbapi.DataError, match="finite"):
            cursor.execute("SELECT count(*) FROM people WHERE age > ?", [odd])


def test_parameters_are_written_as_literals_and_never_as_sql(file: str) -> None:
    cursor = dbapi.connect(file).cursor()
    cursor.execute("SELECT count(*) FROM people WHERE sex = ? AND age >= ?", ("F", 20))
    with_literals = dc.open_release(file).ask(
        "SELECT count(*) FROM people WHERE sex = 'F' AND age >= 20"
    )
    assert cursor.fetchall()[0][0] == with_literals.only.estimate
    cursor.execute("SELECT count(*) FROM people WHERE sex = ?", ("F' OR '1' = '1",))
    literal = dc.open_release(file).ask(
        "SELECT count(*) FROM people WHERE sex = 'F'' OR ''1'' = ''1'"
    )
    assert cursor.fetchall()[0][0] == literal.only.estimate
    cursor.execute("SELECT count(*) FROM people WHERE sex = '?'")
    for sql, given in (("SELECT ?", ()), ("SELECT 1", (1,)), ("SELECT ?", (b"x",))):
        with pytest.raises(dbapi.DatabaseError):
            cursor.execute(sql, given)
    with pytest.raises(dbapi.NotSupportedError):
        cursor.executemany("SELECT ?", [(1,), (2,)])
    with pytest.raises(dbapi.ProgrammingError, match="column 'name'"):
        cursor.execute("SELECT name, count(*) FROM people GROUP BY name")


def test_the_database_api_asks_a_service_live_and_at_no_cost(service: Running) -> None:
    token, before = service.tokens["bob"], service.charges
    free = dbapi.connect(f"{service.url}/releases/closed", token=token).cursor().execute(GROUPS)
    assert service.charges == before and free.fetchall()
    with pytest.raises(dbapi.InterfaceError, match="price"):
        dbapi.connect(f"{service.url}/datasets/people", token=token)
    live = dbapi.connect(f"{service.url}/datasets/people", token=token, epsilon="0.05")
    live.cursor().execute(GROUPS)
    live.cursor().execute(GROUPS)
    assert service.charges == before + 1
    with pytest.raises(dbapi.DatabaseError):
        dbapi.connect(f"{service.url}/datasets/people", token=token, epsilon="50").cursor().execute(
            COUNT.format(3)
        )


def test_pandas_reads_through_sqlalchemy_from_a_file_and_from_a_service(
    service: Running, file: str
) -> None:
    host = service.url.removeprefix("http://")
    token = service.tokens["ann"]
    frames = []
    for address in (
        f"discreet:///{file}",
        f"discreet://{host}/releases/open",
        f"discreet://:{token}@{host}/datasets/people?epsilon=0.2",
    ):
        engine = create_engine(address)
        with engine.connect() as connection:
            frames.append(pd.read_sql(text(GROUPS), connection))
        seen = inspect(engine)
        assert seen.get_table_names() == ["people"] and seen.has_table("people")
        assert [each["name"] for each in seen.get_columns("people")] == ["age", "sex", "income"]
        engine.dispose()
    assert frames[0].equals(frames[1])
    assert list(frames[2].columns[:4]) == ["sex", "count", "count_lower", "count_upper"]
