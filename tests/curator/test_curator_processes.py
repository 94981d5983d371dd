"""Many processes on one ledger, and processes killed while they ask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.ledger import Ledger
from tests.curator.conftest import SCHEMA, table_of

ASKER = """
import os, sys
import discreet as dc
folder, number, asks, shared = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "shared"
schema = dc.Schema.load(folder + "/people.toml")
with dc.Ledger.open(folder + "/ledger.db", patience=300) as ledger:
    with dc.Curator(folder + "/people.parquet", schema, ledger=ledger, threads=1) as curator:
        os.write(1, b"ready\\n")
        sys.stdin.readline()
        for place in range(asks):
            limit = place if shared else number * 1000 + place
            try:
                answer = curator.ask(
                    f"SELECT count(*) FROM people WHERE age * 1000 > {limit}",
                    budget=dc.Budget(epsilon="1/10"),
                ).only
            except dc.BudgetExceeded:
                os.write(1, b"refused\\n")
                continue
            os.write(1, f"left {limit} {answer.estimate}\\n".encode())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table_of(200).to_parquet(tmp_path / "people.parquet")
    text = SCHEMA.format(adjacency="add-remove", unit="")
    (tmp_path / "people.toml").write_text(text, encoding="utf-8")
    return tmp_path


def askers(folder: Path, count: int, asks: int, how: str) -> list[subprocess.Popen[str]]:
    found = [
        subprocess.Popen(
            [sys.executable, "-c", ASKER, str(folder), str(number), str(asks), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(dc.__file__).parents[1])},
        )
        for number in range(count)
    ]
    for one in found:
        assert one.stdout is not None and one.stdin is not None
        assert one.stdout.readline() == "ready\n"
    for one in found:
        one.stdin.write("go\n")  # type: ignore[union-attr]
        one.stdin.flush()  # type: ignore[union-attr]
    return found


def race(folder: Path, count: int, asks: int, how: str, cap: str) -> tuple[list[str], Ledger]:
    ledger = Ledger.open(folder / "ledger.db")
    ledger.declare("people", dc.Budget(epsilon=cap))
    outputs = [one.communicate(timeout=500)[0] for one in askers(folder, count, asks, how)]
    return [line for text in outputs for line in text.splitlines()], ledger


def check_race(folder: Path, count: int, asks: int) -> None:
    """Half of what they ask for fits: exactly that is granted, whoever gets it."""
    granted = count * asks // 2
    lines, ledger = race(folder, count, asks, "own", f"{granted}/10")
    with ledger:
        ledger.verify()
        assert sum(line.startswith("left") for line in lines) == granted
        assert sum(line == "refused" for line in lines) == count * asks - granted
        assert ledger.spent("people") == ledger.cap("people")
        entries = ledger.entries("people")
        assert len(entries) == granted == len({entry.request for entry in entries})
        assert all(entry.answered for entry in entries)


def test_racing_processes_spend_the_cap_to_the_last_part_and_no_more(folder: Path) -> None:
    check_race(folder, 4, 6)


@pytest.mark.trust
def test_sixteen_racing_processes_spend_the_cap_to_the_last_part_and_no_more(folder: Path) -> None:
    check_race(folder, 16, 60)


def test_a_question_that_several_processes_ask_is_charged_once_and_answered_alike(
    folder: Path,
) -> None:
    lines, ledger = race(folder, 4, 5, "shared", "100")
    with ledger:
        assert ledger.spent("people") == dc.Budget(epsilon="5/10")
        assert len(lines) == 20
        assert len(set(lines)) == 5


def check_kill(folder: Path, answers: int) -> None:
    """Killed as soon as one of them has given so many answers."""
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.declare("people", dc.Budget(epsilon=1000))
    workers = askers(folder, 3, 900, "own")
    lines = [workers[0].stdout.readline() for _ in range(answers)]  # type: ignore[union-attr]
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)
    for worker in workers:
        lines += worker.stdout  # type: ignore[arg-type]
        worker.communicate()
    left = [line.split() for line in lines if line.endswith("0\n")]
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.verify()
        entries = ledger.entries("people")
        schema = dc.Schema.load(folder / "people.toml")
        assert sum(entry.answered for entry in entries) >= len(left) > 0
        spent = ledger.spent("people")
        assert spent.amount == sum(entry.cost.amount for entry in entries)
        with dc.Curator(folder / "people.parquet", schema, ledger=ledger) as curator:
            for _, limit, estimate in left[:5]:  # every answer that left is on record, and free
                again = curator.ask(
                    f"SELECT count(*) FROM people WHERE age * 1000 > {limit}",
                    budget=dc.Budget(epsilon="1/10"),
                ).only
                assert again.estimate == float(estimate)
        assert ledger.spent("people") == spent


def test_every_answer_that_left_a_killed_process_is_charged_and_on_record(folder: Path) -> None:
    check_kill(folder, 4)


@pytest.mark.trust
@pytest.mark.parametrize("answers", [1, 9, 27, 81])
def test_every_answer_that_left_is_charged_whenever_the_process_dies(
    folder: Path, answers: int
) -> None:
    check_kill(folder, answers)
