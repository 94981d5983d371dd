"""A small table with nulls, DuckDB beside it for the true answers, and both ways to ask it without noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.artifacts.answers import Answers
from discreet.curator import Curator
from discreet.privacy.budget import Budget
from discreet.releases import release
from discreet.schema import Schema
from tests.no_noise import without_noise

ROWS = 3_000
TABLES = (
    "marginals(town, sex, age, score, member)",
    "marginals(town, sex, age, day)",
    "marginals(town, grade)",
)
SCHEMA = """
dataset = "people"
people = 3000
[columns.town]
kind = "category"
values = ["ash", "elm", "oak"]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.age]
kind = "integer"
range = [0, 8]
[columns.score]
kind = "integer"
range = [0, 4]
[columns.member]
kind = "boolean"
[columns.day]
kind = "date"
range = ["2020-01-01", "2020-02-29"]
[columns.grade]
kind = "category"
values = ["1", "2", "3"]
"""


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema.loads(SCHEMA)


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance, graded = random.Random(7), random.Random(8)
    place = tmp_path_factory.mktemp("people") / "people.csv"
    lines = ["town,sex,age,score,member,day,grade"]
    for _ in range(ROWS):
        town = chance.choices(["ash", "elm", "oak", "!fir", ""], [5, 3, 2, 1, 1])[0]
        sex = chance.choices(["f", "m", "!x", ""], [6, 5, 2, 1])[0]
        age = min(8, chance.randrange(8) + (town == "ash" and chance.random() < 0.9))
        score = chance.randrange(5)
        member = chance.choice(["true", "false", ""])
        day = f"2020-{chance.choice(['01', '02'])}-{chance.randrange(1, 30):02}"
        row = [town, sex, age, score, member, day]
        row[2:] = ["" if chance.random() < 0.05 else str(each) for each in row[2:]]
        row.append(graded.choice(["1", "2", "2", "3", "!x", ""]))
        lines.append(",".join(map(str, row)))
    place.write_text("\n".join(lines) + "\n")
    return place


@pytest.fixture(scope="session")
def truth(path: Path) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """What DuckDB answers."""
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE people AS SELECT * FROM read_csv(?, header=true, columns={'town': 'VARCHAR', "
            "'sex': 'VARCHAR', 'age': 'INTEGER', 'score': 'INTEGER', 'member': 'BOOLEAN', 'day': 'DATE', 'grade': 'VARCHAR'})",
            [str(path)],
        )
        yield lambda sql: database.execute(sql).fetchall()


@pytest.fixture(scope="session")
def exact_release(
    path: Path, schema: Schema, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Answers]:
    """Asks a release of the whole joint table, made without noise."""
    with without_noise():
        made = release(
            path,
            schema,
            budget=Budget(epsilon=2),
            workload=list(TABLES),
            algorithms=dict.fromkeys(TABLES, "direct"),
            ledger=tmp_path_factory.mktemp("ledger") / "ledger.db",
        )
    return made.ask


@pytest.fixture(scope="session")
def exact_curator(
    path: Path, schema: Schema, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Answers]]:
    """Asks a curator whose noise is turned off."""
    ledger = tmp_path_factory.mktemp("curator") / "ledger.db"
    with without_noise(), pytest.warns(UserWarning):  # a vault's noise is decided when it is opened
        curator = Curator(path, schema, ledger=ledger, cap=Budget(epsilon=1000))
    with curator:
        yield lambda sql: curator.ask(sql, budget=Budget(epsilon=1))
