"""Several processes at work through one ledger file: every public method, in free random order.

Each process has a few threads, and objects of its own that they share. Every drill is made there, with datasets of
its own in the ledger that all processes share. Where what is shared lies in a file (`Drill.across`: a dataset of the
ledger, a curator's record, a ledger file of its own, a release), the calls of one drill are divided among the
processes: then together they must have got what eight threads of one process may get. Noise is turned off through the
test door, so every answer is known exactly.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet import errors
from discreet.families.shared.estimate.public_random import generator
from tests.harness.threads.drills import Drill
from tests.harness.threads.free_order import Planned, planned, run_in_free_order
from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.reading_drills import all_drills, drills_across
from tests.harness.threads.shared_world import World

ROOT = Path(__file__).resolve().parents[3]
"""Where `tests` is found by a process of its own."""
PROCESSES = 4
THREADS_OF_A_PROCESS = 2
CALLS = 8
"""Calls of a drill in all: as many as its judge expects."""
CALLS_WITHOUT_A_JUDGE = 2
"""Calls of a drill in each process, where each call is compared with the same call made alone."""
CHANCE = 0.02
PATIENCE = 1800.0
"""Seconds that processes wait for one another before they begin."""


@dataclass(slots=True)
class Told:
    """What one process tells: what was wrong, which methods it called, and what became of the calls across."""

    calls: int
    complaints: list[str]
    called: set[str]
    across: dict[int, list[tuple[int, Any, tuple[str, str] | None]]] = field(default_factory=dict)
    """By the place of the drill: number, result, and the error's class and text."""


def drill_processes(folder: Path, *, seed: int) -> tuple[int, set[str], list[str]]:
    """How many calls the processes made, which methods they called, and everything that was wrong."""
    World.make(folder).close()
    world = World.join(folder, prefix="")
    together = planned(world, drills_across(), ())  # before any call changes what is declared
    command = [sys.executable, "-W", "ignore", "-m", "tests.harness.concurrency", "worker"]
    running = [
        subprocess.Popen([*command, str(folder), str(number), str(seed)], cwd=ROOT)
        for number in range(PROCESSES)
    ]
    codes = [each.wait() for each in running]
    complaints = [f"a process ended with exit code {code}" for code in codes if code]
    told = [_received(folder, number) for number in range(PROCESSES) if not codes[number]]
    for each in told:
        complaints += each.complaints
    if len(told) == PROCESSES:
        complaints += _judged_together(together, told)
        complaints += world.unbalanced()
    world.ledger.verify()
    world.close()
    called = {name for each in told for name in each.called}
    return sum(each.calls for each in told), called, complaints


def _judged_together(together: Sequence[Planned], told: Sequence[Told]) -> Iterator[str]:
    """What was wrong with the calls that were divided among the processes."""
    for place, each in enumerate(together):
        if each.drill.judge is None:
            continue  # each process compared its own
        for one in told:
            each.outcomes += [
                Outcome(number, result=result, error=None if error is None else _error(*error))
                for number, result, error in one.across[place]
            ]
        yield from (f"{each.drill.name}, by all processes: {one}" for one in each.complaints())


def _error(name: str, text: str) -> Exception:
    """An error of another process: of the same class, so that a judge knows it."""
    kind = getattr(errors, name, None)
    if kind is None:
        return RuntimeError(f"{name}: {text}")
    made: Exception = kind.__new__(kind)
    made.args = (text,)
    return made


def _received(folder: Path, number: int) -> Told:
    with (folder / f"told {number}").open("rb") as file:
        told: Told = pickle.load(file)
    return told


def drills_of_a_process(world: World) -> tuple[list[Drill], list[Drill]]:
    """All that one process drills: by itself, and together with the others."""
    return [each for each in all_drills(world) if not each.across], drills_across()


def worker(folder: Path, process: int, seed: int) -> None:
    """One process: make its calls in an order of its own, and write down what became of them."""
    own = World.join(folder, prefix=f"{process}.")
    together = World.join(folder, prefix="")
    drills, shared = drills_of_a_process(own)
    first = process * (CALLS // PROCESSES)
    few = generator(seed + process).permutation(CALLS)[:CALLS_WITHOUT_A_JUDGE].tolist()
    judged = planned(own, [each for each in drills if each.judge is not None], range(CALLS))
    others = planned(own, [each for each in drills if each.judge is None], few)
    across = planned(together, shared, range(first, first + CALLS // PROCESSES))
    everything = [*judged, *others, *across]
    _wait_for_all(folder, process)
    calls = run_in_free_order(
        everything, threads=THREADS_OF_A_PROCESS, seed=seed + process, chance=CHANCE
    )
    complaints = [
        f"{each.drill.name}, in process {process}: {found}"
        for each in (*judged, *others, *(one for one in across if one.drill.judge is None))
        for found in each.complaints()
    ]
    complaints += own.unbalanced()
    told = Told(
        calls=calls,
        complaints=complaints,
        called={f"{each.drill.owner}.{each.drill.member}" for each in everything},
        across={place: _sent(each) for place, each in enumerate(across)},
    )
    with (folder / f"told {process}").open("wb") as file:
        pickle.dump(told, file)
    own.close()
    together.close()


def _sent(each: Planned) -> list[tuple[int, Any, tuple[str, str] | None]]:
    return [
        (
            one.thread,
            one.result,
            None if one.error is None else (type(one.error).__name__, str(one.error)),
        )
        for one in each.outcomes
    ]


def _wait_for_all(folder: Path, process: int) -> None:
    """Begin together: nothing depends on it but how often the processes meet."""
    (folder / f"ready {process}").touch()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if all((folder / f"ready {number}").exists() for number in range(PROCESSES)):
            return
        os.sched_yield()
        time.sleep(0.01)
