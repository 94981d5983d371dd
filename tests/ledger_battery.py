"""Processes that charge one ledger at once, or are killed while they do: for wherever its events are kept.

A ledger's place is a path, or the address of a database.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import discreet
from discreet.ledger import EntryState, Ledger, steps
from discreet.ledger.opening import home_of
from discreet.privacy.budget import Budget

Place = Path | str

ROOT = Path(discreet.__file__).parent
COST = Budget(epsilon="1/10", delta="1e-12")

# The packages' own __init__ files are skipped: hundreds of children start, and need the ledger alone.
PREAMBLE = """
import os, signal, sys, types
root = sys.argv[1]
for name in ("discreet", "discreet.core", "discreet.privacy"):
    sys.modules[name] = package = types.ModuleType(name)
    package.__path__ = [os.path.join(root, *name.split(".")[1:])]
from discreet.errors import BudgetExceeded, EntryTaken
from discreet.ledger import Ledger
from discreet.ledger import steps
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
COST = Budget(epsilon="1/10", delta="1e-12")
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""

RACER = (
    PREAMBLE
    + """
ledger = Ledger.open(sys.argv[2], patience=300)
say("ready")
for line in sys.stdin:
    dataset, attempts = line.split()
    granted = 0
    for number in range(int(attempts)):
        try:
            entry = ledger.charge(dataset, COST, protects=Protected(), purpose="race", request=f"{os.getpid()} {number}")
        except BudgetExceeded:
            continue
        ledger.begin_reading(entry)
        granted += 1
    say(granted)
"""
)

CLAIMER = (
    PREAMBLE
    + """
ledger = Ledger.open(sys.argv[2], patience=300)
say("ready")
for line in sys.stdin:
    entry = ledger.charge("people", COST, protects=Protected(), purpose="same", request=line.strip())
    try:
        ledger.begin_reading(entry)
        say(entry.id)
    except EntryTaken:
        say(0)
"""
)

VICTIM = (
    PREAMBLE
    + """
who, moment, left = sys.argv[3], sys.argv[4], int(sys.argv[5])
def step(name):
    global left
    if name == moment:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
if moment in steps.OF_A_NEW_LEDGER:
    steps.step = step
ledger = Ledger.open(sys.argv[2], patience=300)
steps.step = step
say("ready")
number = 0
while True:
    request = f"{who} {number}"
    say("asked", request)
    entry = ledger.charge("people", COST, protects=Protected(), purpose="victim", request=request)
    say("granted", request)
    ledger.begin_reading(entry)
    say("reading", request)
    ledger.record_answer(entry, request.encode())
    say("answered", request)
    ledger.publish(entry, request)
    say("published", request)
    number += 1
"""
)


def start(program: str, path: Place, *arguments: str) -> subprocess.Popen[bytes]:
    bare = ("-S", "-E") if isinstance(path, Path) else ()  # a database needs its driver
    return subprocess.Popen(
        [sys.executable, *bare, "-c", program, str(ROOT), str(path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


@contextmanager
def running(program: str, path: Place, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    children = [start(program, path) for _ in range(count)]
    try:
        for child in children:
            assert child.stdout and child.stdout.readline() == b"ready\n"
        yield children
    finally:
        for child in children:
            child.communicate(timeout=60)
    assert [child.returncode for child in children] == [0] * count


def ask_all(children: Sequence[subprocess.Popen[bytes]], line: str) -> list[int]:
    """Send `line` to all at once, and gather what each says."""
    for child in children:
        assert child.stdin
        child.stdin.write(line.encode() + b"\n")
        child.stdin.flush()
    return [int(child.stdout.readline()) for child in children if child.stdout]


def race(path: Place, *, processes: int, rounds: int, attempts: int, room: int) -> None:
    """In each round the processes race for `room` charges; exactly that many are granted."""
    with Ledger.open(path) as ledger, running(RACER, path, processes) as children:
        for number in range(rounds):
            dataset = f"round-{number}"
            ledger.declare(dataset, COST.times(room))
            assert sum(ask_all(children, f"{dataset} {attempts}")) == room
            assert ledger.spent(dataset) == ledger.cap(dataset)
            assert len(ledger.entries(dataset)) == room
        ledger.verify()


def claim(path: Place, *, processes: int, rounds: int) -> None:
    """In each round the processes ask the same; exactly one of them reads on each charge."""
    with Ledger.open(path) as ledger, running(CLAIMER, path, processes) as children:
        ledger.declare("people", COST.times(1000))
        for number in range(rounds):
            readers = [entry for entry in ask_all(children, f"question-{number}") if entry]
            charges = [view for view in ledger.entries() if view.request == f"question-{number}"]
            assert sorted(readers) == [view.id for view in charges]
            assert all(view.state is EntryState.READING for view in charges)


# Kills


@dataclass
class Toll:
    """What killed processes had said before they fell silent."""

    kills: int = 0
    said: dict[str, set[str]] = field(default_factory=dict)

    def add(self, output: bytes) -> None:
        self.kills += 1
        for line in output.decode().splitlines(keepends=True):
            word, _, request = line.partition(" ")
            if request.endswith("\n"):  # a line cut short was not said
                self.said.setdefault(word, set()).add(request.strip())

    def settle(self, path: Place) -> None:
        """Nothing that was granted is lost, and each kill cost at most the one charge in flight."""
        mark = home_of(path, patience=0).marks.read()
        with Ledger.open(path) as ledger:
            # Each kill leaves at most one event that the mark had not reached; the next event heals.
            assert mark is not None
            assert mark.seq <= ledger._journal._book.seq <= mark.seq + self.kills
            entries = {view.request: view for view in ledger.entries()}
            assert len(entries) == len(ledger.entries())
            granted = self.said.get("granted", set())
            assert granted <= set(entries) <= self.said.get("asked", set())
            assert len(entries) <= len(granted) + self.kills
            assert ledger.spent("people") == COST.times(len(entries))
            for request in self.said.get("reading", set()):
                assert entries[request].state is not EntryState.CHARGED
            for request in self.said.get("answered", set()):
                assert ledger.recorded_answer("people", request) == request.encode()
            for request in self.said.get("published", set()):
                assert entries[request].digest == request
            ledger.verify()


def ledger_for_victims(path: Place) -> Place:
    with Ledger.open(path) as ledger:
        ledger.declare("people", COST.times(10**6))
    return path


def kill_at(path: Place, toll: Toll, moment: str, occurrence: int) -> None:
    child = start(VICTIM, path, f"{toll.kills}", moment, str(occurrence))
    output = child.communicate(timeout=60)[0]
    assert child.returncode == -signal.SIGKILL
    toll.add(output)


def kill_some_time(path: Place, toll: Toll, *, together: int) -> None:
    """Let `together` processes charge, and kill each at a moment of its own."""
    children = [start(VICTIM, path, f"{toll.kills}-{one}", "never", "0") for one in range(together)]
    outputs = []
    for child in children:
        assert child.stdout
        outputs.append(child.stdout.readline())
    for child in children:
        time.sleep(random.uniform(0, 0.03))
        os.kill(child.pid, signal.SIGKILL)
    for child, first in zip(children, outputs, strict=True):
        assert first == b"ready\n"
        assert child.stdout and child.stdin
        toll.add(child.stdout.read())  # not communicate, which passes over what readline buffered
        child.stdout.close()
        child.stdin.close()
        child.wait(60)
        assert child.returncode == -signal.SIGKILL


def kill_many(path: Place, *, kills: int) -> None:
    """Half at named moments of each of the four events of a charge, half at random ones."""
    ledger_for_victims(path)
    toll = Toll()
    named = [(moment, event) for event in range(1, 5) for moment in steps.OF_AN_EVENT]
    for number in range(kills // 2):
        moment, event = named[number % len(named)]
        kill_at(path, toll, moment, event + 4 * random.randrange(2))
        if number % 25 == 0:
            toll.settle(path)
    while toll.kills < kills:
        kill_some_time(path, toll, together=2)
        if toll.kills % 50 == 0:
            toll.settle(path)
    toll.settle(path)
    assert toll.said["published"]
