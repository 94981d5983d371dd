"""`python -m discreet.audits.concurrency`: is every public object safe to use from several threads and processes?

Every public method of every public object is called by eight threads at once, on one object that they
share, with noise turned off through the test door. Each thread must be given what is right: what it would
have been given alone, or what a model that counts row by row says. One charge gives one `above`, eight
threads that want the last of a budget get just what is left of it, and the ledger's totals are the model's.
Then four processes, with two threads each and with noise, ask questions through one ledger file.

The methods are found by looking at the public objects. One that no drill calls is named and fails the audit.

    --fast   one round instead of five

Ends with exit code 1 if anything is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.audits.threads.core_drills import UNIT
from discreet.audits.threads.drills import Drill, compared, mixtures
from discreet.audits.threads.interleaving import at_once
from discreet.audits.threads.opened_files import opened_beside_sqlite
from discreet.audits.threads.reading_drills import all_drills, unknown
from discreet.audits.threads.shared_world import BANDS, World, plain, rows_in, schema_of
from discreet.core.alert import Alert
from discreet.core.vault import Grant, Vault
from discreet.curator import Curator
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.errors import BudgetExceeded
from discreet.families.shared.estimate.public_random import generator
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected

THREADS = 8
PROCESSES = 4
THREADS_OF_A_PROCESS = 2
ROUNDS = 5
CHANCE = 0.02
"""Of a pause at a line. Chosen by planting bugs: see the tests, which say how surely each is met."""
TOUCHING_LEDGERS = ("Curator", "CuratorAlert", "Ledger", "Vault", "Grant")
"""Classes whose methods may touch a ledger's files."""
BEHIND = (Vault, Grant, Alert, DuckDBEngine)
"""Not public themselves: what the public objects stand on, and share between threads."""
SURE = Budget(epsilon=5)
NEAR = 6
"""Noise at epsilon 5 strays further than this once in 10^13 draws; exact answers are 13 rows apart."""
LAST = 10
"""Charges that the cap of a dataset allows, of the many that four processes want."""


@dataclass(slots=True)
class Report:
    """What was tried, and everything that was wrong."""

    drills: int = 0
    calls: int = 0
    complaints: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        return not self.complaints and not self.unknown


def drill(world: World, each: Drill, *, chance: float = CHANCE) -> list[str]:
    """All threads at once, and what was wrong then."""
    alone: list[Any] | None = None
    if each.judge is None:
        by_itself = (each.twin or each.prepare)(world)
        alone = [_outcome(each, by_itself, number) for number in range(THREADS)]
    shared = each.prepare(world)
    outcomes = at_once([lambda number: each.call(shared, number)] * THREADS, chance=chance)
    if alone is not None:
        return list(compared(each, alone, outcomes))
    assert each.judge is not None
    return list(each.judge(world, shared, outcomes))


def _outcome(each: Drill, shared: Any, number: int) -> Any:
    try:
        return plain(each.call(shared, number))
    except Exception as error:
        return plain(error)


def drill_threads(folder: Path, *, rounds: int = 1, singly: bool = False) -> Report:
    """Every drill, `rounds` times; with `singly`, also each method by itself on an object of its own."""
    report = Report()
    for number in range(rounds):
        world = World.make(folder / f"round {number}")
        try:
            everything = all_drills(world)
            report.unknown = unknown(everything, BEHIND)
            judged = [each for each in everything if each.judge is not None or singly]
            run_drills(world, [*judged, *mixtures(everything)], report)
        finally:
            world.close()
    return report


def run_drills(world: World, drills: Sequence[Drill], report: Report) -> None:
    """Some drills, one after the other; then the ledger must say what the model says."""
    for each in (one for one in drills for _ in range(one.times)):
        report.drills += 1
        report.calls += THREADS
        report.complaints += [f"{each.name}: {found}" for found in drill(world, each)]
    report.complaints += world.unbalanced()
    world.ledger.verify()


# --- files --------------------------------------------------------------------------------


def drill_files(folder: Path) -> Report:
    """Every call once, alone, in a process that notes which database files are opened beside SQLite.

    A process of its own, for Python cannot take a listener to its events away again.
    """
    command = [sys.executable, "-m", "discreet.audits.concurrency", "files", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    report = Report(drills=1, calls=len(said))
    if done.returncode != 0 or not said:
        report.complaints.append(f"the process ended with exit code {done.returncode}")
    report.complaints += [
        f"{each['call']}: {name} was opened beside SQLite, which drops its locks"
        for each in said
        for name in each["opened"]
    ]
    return report


def file_worker(folder: Path) -> None:
    """Say of each call which database files it opened."""
    world = World.make(folder)
    for each in all_drills(world):
        if each.owner not in TOUCHING_LEDGERS:
            continue
        with opened_beside_sqlite(folder) as opened:
            _outcome(each, each.prepare(world), 0)
        _say({"call": each.name, "opened": sorted(set(opened))})
    world.close()


# --- processes ----------------------------------------------------------------------------


def drill_processes(folder: Path, *, processes: int = PROCESSES) -> Report:
    """Several processes ask through one ledger file, each with threads of its own, and with noise."""
    world = World.make(folder)
    world.ledger.declare("last", Budget(epsilon=LAST))
    world.close()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "discreet.audits.concurrency", "worker", str(folder), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(processes)
    ]
    report = Report(drills=1)
    said: list[dict[str, Any]] = []
    for each in running:
        output, _ = each.communicate()
        if each.returncode != 0:
            report.complaints.append(f"a process ended with exit code {each.returncode}")
        said += [json.loads(line) for line in output.splitlines()]
    report.calls = len(said)
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.verify()
        report.complaints += _judged(said, ledger)
    return report


def _judged(said: Sequence[dict[str, Any]], ledger: Ledger) -> list[str]:
    """What the processes were told, against the exact numbers and the ledger."""
    found: list[str] = []
    answers: dict[int, set[float]] = {}
    for each in said:
        if "error" in each:
            found.append(f"a process failed: {each['error']}")
        elif "band" in each:
            answers.setdefault(each["band"], set()).add(each["estimate"])
    for band, told in answers.items():
        if len(told) > 1:
            found.append(f"one question was drawn {len(told)} times: {sorted(told)}")
        if any(abs(one - rows_in(band)) > NEAR for one in told):
            found.append(f"band {band} has {rows_in(band)} rows, and {sorted(told)} was said")
    alerts = sum("aboves" in each for each in said)
    if any(each.get("aboves", 1) != 1 for each in said):
        found.append("one charge was answered `above` more than once")
    spent = ledger.spent("asked").epsilon
    right = SURE.epsilon * (len(answers) + alerts)
    if spent != right:
        found.append(f"the ledger says that {spent} was spent on questions, and it was {right}")
    granted = sum(each.get("granted", 0) for each in said)
    if granted != LAST or ledger.spent("last").epsilon != LAST:
        found.append(f"{granted} charges were granted of a cap that allows {LAST}")
    return found


def worker(folder: Path, seed: int) -> None:
    """One process: its threads ask in an order of their own, and say what they were told."""
    ledger = Ledger.open(folder / "ledger.db")
    schema = schema_of("asked")
    cap = Budget(epsilon=10**6)
    source = folder / "people.parquet"
    with Curator(source, schema, ledger=ledger, cap=cap, threads=1) as curator:

        def work(number: int) -> list[dict[str, Any]]:
            order = generator(THREADS_OF_A_PROCESS * seed + number).permutation(BANDS).tolist()
            said: list[dict[str, Any]] = []
            for band in order:
                question = f"SELECT count(*) FROM asked WHERE band = {band}"
                told = curator.ask(question, budget=SURE).only.estimate
                said.append({"band": band, "estimate": told})
                try:
                    request = f"{seed} {number} {band}"
                    ledger.charge(
                        "last",
                        UNIT,
                        protects=Protected(),
                        purpose="the last of it",
                        request=request,
                    )
                    said.append({"granted": 1})
                except BudgetExceeded:
                    said.append({"granted": 0})
            return said

        alert = curator.alert(-(10**6), budget=SURE)

        def watch(_: int) -> bool:
            return alert.is_above("SELECT count(*) FROM asked")

        _say({"aboves": sum(each.result is True for each in at_once([watch] * 2, chance=CHANCE))})
        for each in at_once([work] * THREADS_OF_A_PROCESS, chance=CHANCE):
            for line in each.result if each.is_well else [{"error": repr(each.error)}]:
                _say(line)
    ledger.close()


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def main(words: Sequence[str]) -> int:
    """Print what was wrong, and a summary; the exit code says whether all is well."""
    if words[:1] == ["files"]:
        file_worker(Path(words[1]))
        return 0
    if words[:1] == ["worker"]:
        worker(Path(words[1]), int(words[2]))
        return 0
    if set(words) - {"--fast"}:
        sys.stderr.write(f"Unknown option {min(set(words) - {'--fast'})}; there is --fast.\n")
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as place:
        rounds = 1 if "--fast" in words else ROUNDS
        reports = [
            drill_threads(Path(place) / "threads", rounds=rounds, singly="--fast" not in words),
            drill_files(Path(place) / "files"),
            drill_processes(Path(place) / "processes"),
        ]
    for report in reports:
        for line in (*report.complaints, *(f"no drill calls {name}" for name in report.unknown)):
            sys.stdout.write(line + "\n")
    calls, drills = (sum(getattr(each, what) for each in reports) for what in ("calls", "drills"))
    sys.stdout.write(
        f"{drills:,} drills, {calls:,} calls by {THREADS} threads and {PROCESSES} processes, "
        f"{sum(len(each.complaints) for each in reports)} wrong, {time.monotonic() - started:.0f} s.\n"
    )
    return 0 if all(report.is_well for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
