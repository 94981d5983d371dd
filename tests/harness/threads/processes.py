"""Several processes at work through one ledger file, each with threads of its own, and with noise.

Each thread does all there is to do, in a random order: live questions, choices, discoveries, charges of
the ledger, releases, looks at the ledger, questions to a release. What they were told is then held against
the exact numbers, and the ledger against what they were granted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.answering import open_release
from discreet.curator import Curator
from discreet.errors import BudgetExceeded, EntryTaken, LargeCap
from discreet.families.shared.estimate.public_random import generator
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from discreet.releases import release_to_file
from tests.harness.threads.drill_questions import UNIT
from tests.harness.threads.interleaving import at_once
from tests.harness.threads.shared_world import BANDS, World, rows_in, schema_of

ROOT = Path(__file__).resolve().parents[3]
"""Where `tests` is found by a process of its own."""
PROCESSES = 4
THREADS_OF_A_PROCESS = 2
CHANCE = 0.02
SURE = Budget(epsilon=5)
NAMING = Budget(epsilon=5, delta="1e-6")
"""Pays for the names of three towns that hundreds of people share: they are found for certain."""
NEAR = 6
"""Noise at epsilon 5 strays further than this once in 10^13 draws; exact answers are 13 rows apart."""
LAST = 10
"""Charges that the cap of a dataset allows, of the many that four processes want."""
EVERYONE, NOBODY = "SELECT count(*) FROM asked", "SELECT count(*) FROM asked WHERE band < 0"
TOWNS = ["town 0", "town 1", "town 2"]


def drill_processes(folder: Path, *, processes: int = PROCESSES) -> tuple[int, list[str]]:
    """How many calls the processes made, and everything that was wrong."""
    world = World.make(folder)
    world.ledger.declare("last", Budget(epsilon=LAST))
    world.close()
    with warnings.catch_warnings(action="ignore", category=LargeCap):
        release_to_file(
            folder / "people.parquet",
            schema_of("read"),
            folder / "read.release",
            budget=SURE,
            workload=["marginals(band)"],
            ledger=folder / "ledger.db",
        )
    right = (
        open_release(folder / "read.release")
        .ask("SELECT count(*) FROM read WHERE band = 1")
        .only.estimate
    )
    command = [sys.executable, "-W", "ignore", "-m", "tests.harness.concurrency", "worker"]
    running = [
        subprocess.Popen(
            [*command, str(folder), str(seed)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for seed in range(processes)
    ]
    complaints: list[str] = []
    said: list[dict[str, Any]] = []
    for each in running:
        output, _ = each.communicate()
        if each.returncode != 0:
            complaints.append(f"a process ended with exit code {each.returncode}")
        said += [json.loads(line) for line in output.splitlines()]
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.verify()
        complaints += _judged(said, ledger, right)
    return len(said), complaints


def _judged(said: Sequence[dict[str, Any]], ledger: Ledger, read: float) -> list[str]:
    """What the processes were told, against the exact numbers and the ledger."""
    found: list[str] = []
    answers: dict[int, set[float]] = {}
    for each in said:
        if "error" in each:
            found.append(f"a process failed: {each['error']}")
        elif "band" in each:
            answers.setdefault(each["band"], set()).add(each["estimate"])
        elif each.get("chosen", "all") != "all":
            found.append(f"{each['chosen']} was chosen, and it has no rows")
        elif each.get("towns", TOWNS) != TOWNS:
            found.append(f"the towns {each['towns']} were discovered")
        elif each.get("read", read) != read:
            found.append(f"a release said {each['read']}, and it says {read}")
    for band, told in answers.items():
        if len(told) > 1:
            found.append(f"one question was drawn {len(told)} times: {sorted(told)}")
        if any(abs(one - rows_in(band)) > NEAR for one in told):
            found.append(f"band {band} has {rows_in(band)} rows, and {sorted(told)} was said")
    if any(each.get("aboves", 1) != 1 for each in said):
        found.append("one charge was answered `above` more than once")
    alerts = sum("aboves" in each for each in said)
    # Each question, the one choice and the one discovery are paid for once, whoever asked them first.
    right = SURE.times(len(answers) + alerts + 1) + NAMING
    if (spent := ledger.spent("asked")) != right:
        found.append(f"the ledger says that {spent} was spent on questions, and it was {right}")
    releases = sum("released" in each for each in said)
    if (spent := ledger.spent("published")) != SURE.times(releases):
        found.append(f"{releases} releases were made, and the ledger says {spent}")
    granted = sum(each.get("granted", 0) for each in said)
    if granted != LAST or ledger.spent("last").epsilon != LAST:
        found.append(f"{granted} charges were granted of a cap that allows {LAST}")
    return found


def worker(folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """One process: its threads work in an order of their own, and say what they were told."""
    source, cap = folder / "people.parquet", Budget(epsilon=10**6, delta="1/10")
    with (
        Ledger.open(folder / "ledger.db") as ledger,
        Curator(source, schema_of("asked"), ledger=ledger, cap=cap, threads=1) as curator,
    ):
        ledger.declare("published", cap)
        alert = curator.alert(-(10**6), budget=SURE)
        both = at_once([lambda _: alert.is_above(EVERYONE)] * 2, chance=CHANCE)
        yield {"aboves": sum(each.result is True for each in both)}

        def work(number: int) -> list[dict[str, Any]]:
            jobs = _jobs(curator, ledger, folder, f"{seed} {number}")
            order = generator(THREADS_OF_A_PROCESS * seed + number).permutation(len(jobs))
            return [jobs[place]() for place in order.tolist()]

        for each in at_once([work] * THREADS_OF_A_PROCESS, chance=CHANCE):
            yield from each.result if each.is_well else [{"error": repr(each.error)}]


def _jobs(
    curator: Curator, ledger: Ledger, folder: Path, who: str
) -> list[Callable[[], dict[str, Any]]]:
    """All that one thread has to do."""

    def ask(band: int) -> dict[str, Any]:
        told = curator.ask(f"{EVERYONE} WHERE band = {band}", budget=SURE).only.estimate
        return {"band": band, "estimate": told}

    def charge(number: int) -> dict[str, Any]:
        request = f"{who} {number}"
        try:
            ledger.charge("last", UNIT, protects=Protected(), purpose="last", request=request)
        except BudgetExceeded:
            return {"granted": 0}
        return {"granted": 1}

    def choose() -> dict[str, Any]:
        candidates = {"all": EVERYONE, "none": NOBODY}
        return {"chosen": curator.choose(candidates, budget=SURE).name}

    def discover() -> dict[str, Any]:
        return {"towns": list(curator.discover("town", budget=NAMING).values)}

    def release() -> dict[str, Any]:
        place = folder / f"{who}.release"
        schema, source = schema_of("published"), folder / "people.parquet"
        try:
            release_to_file(
                source, schema, place, budget=SURE, workload=["marginals(kind)"], ledger=ledger
            )
        except EntryTaken:  # of two equal runs, one takes over what the other paid and did not read
            return {"taken": place.name}
        return {"released": place.name}

    def read() -> dict[str, Any]:
        told = open_release(folder / "read.release")
        return {"read": told.ask("SELECT count(*) FROM read WHERE band = 1").only.estimate}

    def look() -> dict[str, Any]:
        with Ledger.open(folder / "ledger.db") as own:
            own.verify()
            seen = own.entries("asked"), own.changes(), own.protects("asked"), own.cap("last")
        return {"looks": len(seen), "left": str(curator.left), "cap": str(curator.cap)}

    asked = [lambda band=band: ask(band) for band in range(BANDS)]
    charged = [lambda number=number: charge(number) for number in range(BANDS)]
    return [*asked, *charged, choose, choose, discover, discover, release, read, read, look, look]
