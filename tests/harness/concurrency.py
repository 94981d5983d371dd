"""`python -m tests.harness.concurrency`: is every public object safe to use from several threads and processes?

Every public method of every public object is called by eight threads at once, on one object that they
share, with noise turned off through the test door. Each thread must be given what is right: what it would
have been given alone, or what a model that counts row by row says. One charge gives one `above`, eight
threads that want the last of a budget get just what is left of it, and the ledger's totals are the model's.
First methods of one object meet in systematic mixtures; then all calls of all drills are made in free random
order. Last, four processes with two threads each make them all in free random order through one ledger file.

The methods are found by looking at the public objects. One that is not called by threads and by processes is named
and fails the audit.

    --fast      one round instead of five
    --seed N    the random orders; the seed of a run is on its last line

Ends with exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core.alert import Alert
from discreet.core.vault import Grant, Vault
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.families.shared.estimate.public_random import generator
from tests.harness.progress import Progress
from tests.harness.threads.drills import Drill, compared, mixtures
from tests.harness.threads.free_order import outcome_of, planned, run_in_free_order
from tests.harness.threads.interleaving import at_once
from tests.harness.threads.opened_files import opened_beside_sqlite
from tests.harness.threads.processes import PROCESSES, ROOT, drill_processes, worker
from tests.harness.threads.reading_drills import all_drills, unknown, wanted
from tests.harness.threads.shared_world import World

THREADS = 8
ROUNDS = 5
CHANCE = 0.02
"""The chance of a pause at a line. Chosen by planting bugs: see the tests, which say how surely each is met."""
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
    progress: Progress | None = None

    @property
    def is_well(self) -> bool:
        return not self.complaints and not self.unknown


def drill(world: World, each: Drill, *, chance: float = CHANCE) -> list[str]:
    """All threads at once, and what was wrong then."""
    alone: list[Any] | None = None
    if each.judge is None:
        by_itself = (each.twin or each.prepare)(world)
        alone = [outcome_of(each, by_itself, number) for number in range(THREADS)]
    shared = each.prepare(world)
    outcomes = at_once([lambda number: each.call(shared, number)] * THREADS, chance=chance)
    if alone is not None:
        return list(compared(each, alone, outcomes))
    assert each.judge is not None
    return list(each.judge(world, shared, outcomes))


def drill_threads(
    folder: Path,
    *,
    seed: int,
    rounds: int = 1,
    singly: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Every drill, `rounds` times, then all in free order; with `singly`, also each method by itself."""
    report = Report(progress=progress)
    for number in range(rounds):
        world = World.make(folder / f"round {number}")
        try:
            everything = all_drills(world)
            report.unknown = unknown(everything, BEHIND)
            judged = [each for each in everything if each.judge is not None or singly]
            run_drills(world, [*judged, *mixtures(everything)], report)
            freely = drill_freely(world, everything, seed=seed + number)
            report.drills += freely.drills
            report.calls += freely.calls
            report.complaints += freely.complaints
        finally:
            world.close()
    return report


def drill_freely(
    world: World, drills: Sequence[Drill], *, seed: int, numbers: Sequence[int] = range(THREADS)
) -> Report:
    """All calls of some drills by eight threads in free random order."""
    everything = planned(world, drills, numbers)
    report = Report(drills=len(everything))
    report.calls = run_in_free_order(everything, threads=THREADS, seed=seed, chance=CHANCE)
    for each in everything:
        report.complaints += [
            f"{each.drill.name}, in free order: {one}" for one in each.complaints()
        ]
    report.complaints += world.unbalanced()
    world.ledger.verify()
    return report


def run_drills(world: World, drills: Sequence[Drill], report: Report) -> None:
    """Some drills, one after the other; then the ledger must say what the model says."""
    for each in (one for one in drills for _ in range(one.times)):
        report.drills += 1
        report.calls += THREADS
        if report.progress is not None:
            report.progress.advance(THREADS, last=each.name)
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
            outcome_of(each, each.prepare(world), 0)
        _say({"call": each.name, "opened": sorted(set(opened))})
    world.close()


def drill_all_processes(folder: Path, *, seed: int) -> Report:
    """Four processes, and the public methods that none of them called."""
    calls, called, complaints = drill_processes(folder, seed=seed)
    return Report(1, calls, complaints, [name for name in wanted(BEHIND) if name not in called])


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def main(words: Sequence[str]) -> int:
    """Print what was wrong, and a summary; the exit code says whether all is well."""
    if words[:1] == ["files"]:
        file_worker(Path(words[1]))
        return 0
    if words[:1] == ["worker"]:
        worker(Path(words[1]), int(words[2]), int(words[3]))
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.harness.concurrency")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args(words)
    seed = int(generator().integers(2**31)) if given.seed is None else given.seed
    progress = Progress("calls")
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as place:
        reports = [
            drill_threads(
                Path(place) / "threads",
                seed=seed,
                rounds=1 if given.fast else ROUNDS,
                singly=not given.fast,
                progress=progress,
            ),
            drill_files(Path(place) / "files"),
            drill_all_processes(Path(place) / "processes", seed=seed),
        ]
    for report in reports:
        for line in (*report.complaints, *(f"{name} was not called" for name in report.unknown)):
            sys.stdout.write(line + "\n")
    calls, drills = (sum(getattr(each, what) for each in reports) for what in ("calls", "drills"))
    sys.stdout.write(
        f"{drills:,} drills, {calls:,} calls by {THREADS} threads and {PROCESSES} processes, "
        f"{sum(len(each.complaints) for each in reports)} wrong, seed {seed}, {progress.seconds:.0f} s.\n"
    )
    return 0 if all(report.is_well for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
