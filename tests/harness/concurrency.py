"""`python -m tests.harness.concurrency`: is every public object safe to use from several threads and processes?

Every public method of every public object is called by eight threads at once, on one object that they
share, with noise turned off through the test door. Each thread must be given what is right: what it would
have been given alone, or what a model that counts row by row says. One charge gives one `above`, eight
threads that want the last of a budget get just what is left of it, and the ledger's totals are the model's.
Then four processes, with two threads each and with noise, work in random order through one ledger file.

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

from discreet.core.alert import Alert
from discreet.core.vault import Grant, Vault
from discreet.engines.duckdb.engine import DuckDBEngine
from tests.harness.threads.drills import Drill, compared, mixtures
from tests.harness.threads.interleaving import at_once
from tests.harness.threads.opened_files import opened_beside_sqlite
from tests.harness.threads.processes import PROCESSES, ROOT, drill_processes, worker
from tests.harness.threads.reading_drills import all_drills, unknown
from tests.harness.threads.shared_world import World, plain

THREADS = 8
ROUNDS = 5
CHANCE = 0.02
"""Of a pause at a line. Chosen by planting bugs: see the tests, which say how surely each is met."""
TOUCHING_LEDGERS = ("Curator", "CuratorAlert", "Ledger", "Vault", "Grant")
"""Classes whose methods may touch a ledger's files."""
BEHIND = (Vault, Grant, Alert, DuckDBEngine)
"""Not public themselves: what the public objects stand on, and share between threads."""


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
    command = [sys.executable, "-m", "tests.harness.concurrency", "files", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
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


def _of_processes(folder: Path) -> Report:
    calls, complaints = drill_processes(folder)
    return Report(drills=1, calls=calls, complaints=complaints)


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def main(words: Sequence[str]) -> int:
    """Print what was wrong, and a summary; the exit code says whether all is well."""
    if words[:1] == ["files"]:
        file_worker(Path(words[1]))
        return 0
    if words[:1] == ["worker"]:
        for told in worker(Path(words[1]), int(words[2])):
            _say(told)
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
            _of_processes(Path(place) / "processes"),
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
