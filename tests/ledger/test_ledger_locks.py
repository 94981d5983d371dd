"""SQLite's file locks hold whatever else the process does, so that no charge is granted twice.

They are POSIX locks: they belong to the process, and are gone when any descriptor of the file is closed. Then
another process that closes the ledger takes itself for the last one, and deletes the log under the first.
Nothing here waits for chance: processes are stopped at named moments and told to go on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Ledger, place
from discreet.ledger.mark import MarkFile
from discreet.privacy.budget import Budget
from tests.ledger_battery import PREAMBLE, start
from tests.paying import pay

LAST = Budget(epsilon="1/10", delta="1e-12")

# Charges the last of the budget, and stops inside the write lock after the event is inserted.
FIRST = (
    PREAMBLE
    + """
from discreet.errors import DiscreetError
path, how = sys.argv[2], sys.argv[3]
ledger = Ledger.open(path, patience=60)
if how == "opened twice":
    Ledger.open(path, patience=60).close()
if how == "read by somebody":
    os.close(os.open(path, os.O_RDONLY))
def step(name):
    if name == "after-insert":
        say("inside")
        sys.stdin.readline()
steps.step = step
try:
    ledger.charge("people", COST, protects=Protected(), purpose="first", request="first")
    say("granted")
except DiscreetError as error:
    say(type(error).__name__)
"""
)

# Opens and closes, then charges the same last of the budget, and something else if it is told to.
SECOND = (
    PREAMBLE
    + """
from discreet.errors import DiscreetError
Ledger.open(sys.argv[2], patience=60).close()
try:
    with Ledger.open(sys.argv[2], patience=1) as ledger:
        ledger.charge("people", COST, protects=Protected(), purpose="second", request="second")
        say("granted")
        if sys.argv[3] == "and more":
            ledger.charge("firms", COST, protects=Protected(), purpose="more", request="more")
except DiscreetError as error:
    say(type(error).__name__)
"""
)


def raced(path: Path, how: str, more: str) -> list[str]:
    """What the two processes said, the second having run while the first was inside the write lock."""
    with Ledger.open(path) as ledger:
        ledger.declare("people", LAST)
        ledger.declare("firms", LAST)
    first = start(FIRST, path, how)
    assert first.stdin and first.stdout
    assert first.stdout.readline() == b"inside\n"
    second = start(SECOND, path, more).communicate(timeout=60)[0]
    rest = first.communicate(b"go on\n", timeout=60)[0]
    return [rest.decode().strip(), second.decode().strip()]


def test_a_ledger_opened_twice_in_a_process_keeps_its_locks(tmp_path):
    path = tmp_path / "ledger.db"
    assert raced(path, "opened twice", "no more") == ["granted", "LedgerBusy"]
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceeded):
        pay(ledger, LAST, "second")


@pytest.mark.parametrize("more", ["no more", "and more"])
def test_the_last_charge_is_granted_once_even_where_the_locks_were_dropped(tmp_path, more):
    """Something in the process opened and closed the file. The mark tells the two histories apart."""
    said = raced(tmp_path / "ledger.db", "read by somebody", more)
    assert said == ["LedgerDamaged", "granted"]


SHOW = "from discreet.cli import main; main()"


def test_two_curators_go_on_after_another_process_has_looked(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n2\n", encoding="utf-8")
    schema = dc.Schema.loads(
        'dataset = "people"\n[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
    )
    path = tmp_path / "ledger.db"
    curators = [
        dc.Curator(
            tmp_path / "people.csv", schema, ledger=path, cap=Budget(epsilon=1), analyst=name
        )
        for name in ("ann", "bob")
    ]
    asked = 0
    for _ in range(2):
        for curator in curators:
            asked += 1
            curator.ask(
                f"SELECT count(*) FROM people WHERE age < {asked}", budget=Budget(epsilon="1/10")
            )
        shown = subprocess.run(
            [sys.executable, "-c", SHOW, "ledger", "show", "--ledger", str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "people" in shown.stdout
    assert curators[0].spent == Budget(epsilon="4/10")
    for curator in curators:
        curator.close()


FORKED = (
    PREAMBLE
    + """
ledger = Ledger.open(sys.argv[2], patience=60)
ledger.charge("people", COST, protects=Protected(), purpose="parent", request="before")
if os.fork():
    os._exit(0)  # the parent's locks go with it
for request in ("a", "b"):
    ledger.charge("people", COST, protects=Protected(), purpose="child", request=request)
    say("granted")
    sys.stdin.readline()
"""
)


def test_a_forked_child_has_locks_of_its_own(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.declare("people", LAST.times(4))
    child = start(FORKED, path)
    assert child.stdin and child.stdout
    assert child.stdout.readline() == b"granted\n"
    child.wait(60)
    Ledger.open(path).close()  # would delete the log of a process without locks
    child.stdin.write(b"\n")
    child.stdin.flush()
    assert child.stdout.readline() == b"granted\n"
    child.stdin.close()
    child.stdout.close()
    with Ledger.open(path) as ledger:
        assert ledger.spent("people") == LAST.times(3)


FORKING_THREADS = (
    PREAMBLE
    + """
import threading, warnings
warnings.simplefilter("ignore")
ledger = Ledger.open(sys.argv[2], patience=60)
over = threading.Event()
def charge_on():
    number = 0
    while not over.is_set():
        ledger.charge("people", COST, protects=Protected(), purpose="thread", request=f"{number}")
        number += 1
thread = threading.Thread(target=charge_on)
thread.start()
for number in range(5):
    child = os.fork()
    if not child:
        ledger.charge("people", COST, protects=Protected(), purpose="child", request=f"child {number}")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join()
ledger.verify()
say("done")
"""
)


def test_a_fork_in_the_middle_of_another_threads_charge_disturbs_neither(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.declare("people", LAST.times(10**6))
    assert start(FORKING_THREADS, path).communicate(timeout=120)[0] == b"done\n"
    with Ledger.open(path) as ledger:
        assert sum(view.purpose == "child" for view in ledger.entries()) == 5


def test_a_child_that_is_forked_while_the_mark_is_locked_does_not_keep_the_lock(tmp_path):
    """It lives on after its parent let go, and neither it nor anybody else waits for a lock of the past."""
    marks = MarkFile(tmp_path / "mark", lock=tmp_path / "lock", patience=0)
    wait, go_on = os.pipe()
    with marks.locked():
        child = os.fork()
        if not child:
            os.close(go_on)
            os.read(wait, 1)  # until the parent has let go
            try:
                with marks.locked():
                    os._exit(0)
            except LedgerError:
                os._exit(1)
    with marks.locked():  # the child is still there
        pass
    os.close(go_on)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(wait)


# Names


def test_a_symbolic_link_leads_to_the_same_locks_mark_and_charges(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")
    with Ledger.open(tmp_path / "ledger.db") as one, Ledger.open(tmp_path / "link.db") as other:
        one.declare("people", LAST.times(2))
        pay(one, LAST, "a")
        pay(other, LAST, "b")
        with pytest.raises(BudgetExceeded):
            pay(one, LAST, "c")


def test_a_second_name_by_a_hard_link_is_refused(tmp_path):
    path, other = tmp_path / "ledger.db", tmp_path / "other.db"
    with Ledger.open(path) as ledger:
        ledger.declare("people", LAST)
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(LedgerError, match="hard link"):
            Ledger.open(name)
    other.unlink()
    Ledger.open(path).close()


def test_a_ledger_that_is_mounted_as_a_single_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    monkeypatch.setattr(place, "_mounted", lambda: {str(path)})
    with pytest.raises(LedgerError, match="mounted as a single file"):
        Ledger.open(path)


def test_the_systems_list_of_mounts_is_understood():
    assert not Path("/proc/self/mountinfo").exists() or "/" in place._mounted()


# Nothing but SQLite opens the file

TRACED = r"""
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
path = folder / "ledger.db"
opened = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        same = os.path.realpath(os.fsdecode(arguments[0])) == str(path)
        if same and not (arguments[2] or 0) & os.O_EXCL:
            opened.append(sys._getframe(1).f_code.co_name)
sys.addaudithook(watch)
os.environ["DISCREET_LEDGER"] = str(path)
import discreet as dc
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.curator import learn_schema
from discreet.ledger import Ledger
from discreet.ledger.upkeep.repair import accept_mark
from discreet.queries.classes import parse_class

source, schema_file = folder / "people.csv", folder / "people.toml"
source.write_text("age\n1\n2\n")
text = 'dataset = "people"\n[cap]\nepsilon = 5\n[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
schema_file.write_text(text)
schema = dc.Schema.loads(text)
budget = dc.Budget(epsilon="1/10")
dc.release(source, schema, budget=budget, workload=[parse_class("histogram(age)")])
learn_schema(source, dataset="people", columns=["age"], budget=budget)
with dc.Curator(source, schema) as one, dc.Curator(source, schema, analyst="ann") as other:
    one.ask("SELECT count(*) FROM people", budget=budget)
    other.ask("SELECT count(*) FROM people", budget=budget)
    one.alert(3, budget=budget).is_above("SELECT count(*) FROM people")
    for words in (["ledger", "show"], ["ledger", "show", "--json"], ["ledger", "verify"]):
        assert run(application, words) == 0
    assert run(application, ["ledger", "raise-cap", "people", "--epsilon", "6", "--reason", "a test"]) == 0
    if not os.fork():
        one._ledger.charge("people", budget, protects=schema.protects, purpose="p", request="r")
        os._exit(1 if opened else 0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
(folder / "link.db").symlink_to(path)
Ledger.open(folder / "link.db").close()
accept_mark(path, reason="a test")
with Ledger.open(path) as ledger:
    ledger.verify()
assert not opened, opened
with open(path, "rb"):
    pass
assert opened, "the hook sees nothing"
"""


def test_nothing_but_sqlite_ever_opens_the_database_file(tmp_path):
    """Traced by Python's audit hook, which sees every `open` and `os.open`, and not SQLite's own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRACED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DISCREET_DEBUG": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_a_directory_is_told_to_be_one(tmp_path):
    with pytest.raises(LedgerError, match="is a directory; name a file"):
        Ledger.open(tmp_path)
