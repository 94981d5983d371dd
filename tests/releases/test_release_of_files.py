"""From a file on disk to a release, through the real engine."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from discreet.answering import open_release
from discreet.answering.verification.signing import content_digest
from discreet.artifacts.files import read_members, read_release
from discreet.ledger import EntryState, Ledger
from discreet.privacy.budget import Budget
from discreet.releases.verifying import verify
from tests.releasing import release, release_to_file

WORKLOAD = ["marginals(0)", "marginals(2)", "means(age)", "means(income)", "sums(income)"]
AGES = ["0", "17", "99", "140", "-3", "", "old", "41.7"]
INCOMES = ["-0.5", "7.25", "1e9", "nan", "", "3.14159", "inf", "2.5"]


def rows() -> list[dict[str, str]]:
    return [
        {
            "age": AGES[place % 8],
            "sex": "fmx"[place % 3],
            "income": INCOMES[place % 7],
            "person": str(place % 9),
        }
        for place in range(60)
    ]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["age", "sex", "income", "person"])
        writer.writeheader()
        writer.writerows(rows())
    return path


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("identifier", [False, True])
def test_a_file_is_measured_as_the_same_rows_in_memory_are(
    table, tmp_path, make_schema, make_engine, watch, monkeypatch, adjacency, identifier
):
    schema = make_schema(adjacency, identifier=identifier)
    noise = watch()
    asked = {"budget": Budget(epsilon=1), "workload": WORKLOAD}
    release(table, schema, ledger=tmp_path / "file.db", **asked)
    from_file, noise.exact = noise.exact, []
    reference = make_engine(rows(), schema)
    monkeypatch.setattr("discreet.releases.run.open_engine", lambda *_, **__: reference)
    release(table, schema, ledger=tmp_path / "memory.db", **asked)
    assert len(from_file) == len(noise.exact) == 9
    for left, right in zip(from_file, noise.exact, strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_release_is_written_whole_and_recorded(table, tmp_path, make_schema):
    path, book = tmp_path / "people.release", tmp_path / "ledger.db"
    told: list[tuple[str, float]] = []
    release_to_file(
        table,
        make_schema(),
        path,
        budget=Budget(epsilon=1, delta=1e-6),
        workload=WORKLOAD,
        ledger=book,
        progress=lambda step, done: told.append((step, done)),
    )
    written = read_release(path)
    assert written.workload == tuple(WORKLOAD)
    assert told[-1] == ("publishing", 1.0)
    with Ledger.open(book) as ledger:
        (entry,) = ledger.entries("people")
    assert entry.state is EntryState.PUBLISHED
    assert entry.digest == content_digest(read_members(path)).hex()
    assert entry.cost == written.budget


@pytest.mark.parametrize(
    "budget",
    [Budget(epsilon=1), Budget(epsilon="1/10", delta="1/10"), Budget(rho="1/10")],
    ids=str,
)
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_a_release_verifies_and_answers(table, tmp_path, make_schema, adjacency, budget):
    """The cost is recomputed from the recorded laws by code that knows nothing of how it was planned."""
    path = tmp_path / "people.release"
    schema = make_schema(adjacency, age='nulls = "exclude"')
    release_to_file(
        table, schema, path, budget=budget, workload=WORKLOAD, ledger=tmp_path / "ledger.db"
    )
    assert verify(path).ok
    answers = open_release(path)
    for question in ("count(*)", "avg(age)", "avg(income)", "sum(income)"):
        answer = answers.ask(f"SELECT {question} FROM people").only
        assert answer.lower <= answer.estimate <= answer.upper
