"""How fast the ledger is: durable charges, a race, and opening a long history.

Prints one JSON line per bar, `{"bar", "value", "limit", "ok"}`, and exits 1 if one is missed.
Figures depend on the disk: a charge waits for it twice (the event, then the mark). The
bare cost of those two waits is printed too, as a bar without a limit.

    python benchmarks/ledger.py [directory]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from discreet.ledger import Ledger
from discreet.ledger.account import Loss
from discreet.ledger.chain import draft
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected

COST = Budget(epsilon="1/10", delta="1e-12")
RACER = """
import sys
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
cost = Budget(epsilon="1/10", delta="1e-12")
with Ledger.open(sys.argv[1]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        ledger.charge("race", cost, protects=Protected(), purpose="bench", request=f"{sys.argv[2]} {number}")
    print("done", flush=True)
"""


def two_waits_per_second(directory: Path, *, times: int = 200) -> float:
    """What the disk allows: a block appended and a block overwritten, each waited for."""
    with (directory / "raw").open("wb", buffering=0) as file:
        started = time.perf_counter()
        for number in range(1, times + 1):
            for place in (4096 * number, 0):
                os.pwrite(file.fileno(), b"x" * 4096, place)
                os.fdatasync(file.fileno())
        return times / (time.perf_counter() - started)


def charges_per_second(path: Path, *, charges: int = 500) -> float:
    with Ledger.open(path) as ledger:
        ledger.declare("people", COST.times(charges))
        started = time.perf_counter()
        for number in range(charges):
            ledger.charge(
                "people", COST, protects=Protected(), purpose="bench", request=str(number)
            )
        seconds = time.perf_counter() - started
        assert ledger.spent("people") == ledger.cap("people")
    return charges / seconds


def racing_charges_per_second(path: Path, *, processes: int = 8, charges: int = 50) -> float:
    with Ledger.open(path) as ledger:
        ledger.declare("race", COST.times(processes * charges))
        children = [
            subprocess.Popen(
                [sys.executable, "-c", RACER, str(path), str(number), str(charges)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(processes)
        ]
        for child in children:
            assert child.stdout and child.stdout.readline() == "ready\n"
        started = time.perf_counter()
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            assert child.stdout and child.stdout.readline() == "done\n"
        seconds = time.perf_counter() - started
        for child in children:
            child.communicate()
        assert ledger.spent("race") == ledger.cap("race")
    return processes * charges / seconds


def seconds_to_open(path: Path, *, events: int = 100_000) -> tuple[float, float]:
    """A history of charges only, the slowest kind; opened, then verified."""
    cost = Loss.of(COST)
    with Ledger.open(path) as ledger:
        ledger.declare("people", COST.times(events))
        with ledger._journal.newest() as (book, store), store.writing():
            while book.seq < events:
                spent, _ = book.accounts["people"].after(cost, None)
                charge = draft(
                    "charge",
                    dataset="people",
                    analyst=None,
                    cost=cost.text,
                    asked=cost.text,
                    protects=Protected().text,
                    spent=spent.text,
                    analyst_spent=None,
                    purpose="a bench of a long history",
                    request=os.urandom(32).hex(),
                    token=os.urandom(16).hex(),
                )
                row = charge.row(after=book.seq, previous=book.hash)
                store.insert(row)
                book.apply(row)
    started = time.process_time()
    with Ledger.open(path) as ledger:
        opened = time.process_time()
        ledger.verify()
        verified = time.process_time()
        assert ledger.spent("people") == COST.times(events - 2)
    return opened - started, verified - opened


def main() -> int:
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        directory = Path(name)
        waits = two_waits_per_second(directory)
        alone = charges_per_second(directory / "alone.db")
        raced = racing_charges_per_second(directory / "raced.db")
        opened, verified = seconds_to_open(directory / "long.db")
    passed = [
        bar("ledger: pairs of disk waits per second", waits, None, at_least=True),
        bar("ledger: durable charges per second, 1 process", alone, 100, at_least=True),
        bar("ledger: durable charges per second, 8 processes", raced, None, at_least=True),
        bar("ledger: CPU seconds to open and check 100,000 events", opened, 2, at_least=False),
        bar("ledger: CPU seconds to verify 100,000 events", verified, None, at_least=False),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
