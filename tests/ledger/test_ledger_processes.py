"""Many processes on one ledger, and processes killed in the middle of a charge.

A kill -9 loses nothing that the system was handed, so it cannot show a missing fsync;
`test_commits_wait_for_the_disk` pins that setting instead.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.ledger import Ledger, steps
from discreet.privacy.protection import Protected
from tests.ledger_battery import (
    COST,
    PREAMBLE,
    RACER,
    Toll,
    claim,
    kill_at,
    kill_many,
    ledger_for_victims,
    race,
    running,
    start,
)


def test_two_processes_race_for_the_last_charge_and_one_gets_it(tmp_path):
    race(tmp_path / "ledger.db", processes=2, rounds=20, attempts=1, room=1)


def test_eight_processes_with_25_charges_each_share_exactly_100(tmp_path):
    race(tmp_path / "ledger.db", processes=8, rounds=1, attempts=25, room=100)


@pytest.mark.trust
def test_64_processes_race_20_times_for_100_charges(tmp_path):
    race(tmp_path / "ledger.db", processes=64, rounds=20, attempts=5, room=100)


def test_of_processes_that_ask_the_same_at_once_exactly_one_reads_on_each_charge(tmp_path):
    claim(tmp_path / "ledger.db", processes=4, rounds=15)


def test_processes_that_open_a_new_ledger_at_once_make_one(tmp_path):
    for number in range(2):
        with running(RACER, tmp_path / f"{number}.db", 4):
            pass
        with Ledger.open(tmp_path / f"{number}.db") as ledger:
            assert ledger._journal._book.seq == 1


def test_the_ledger_needs_no_heavy_import():
    program = (
        PREAMBLE + "say(*sorted({'numpy', 'scipy', 'duckdb', 'cryptography'} & set(sys.modules)))"
    )
    assert start(program, Path("unused")).communicate()[0] == b"\n"


# Kills


def test_50_kills_lose_no_granted_charge_and_cost_at_most_one_each(tmp_path):
    kill_many(tmp_path / "ledger.db", kills=50)


@pytest.mark.trust
def test_1000_kills_lose_no_granted_charge_and_cost_at_most_one_each(tmp_path):
    kill_many(tmp_path / "ledger.db", kills=1000)


@pytest.mark.parametrize("moment", steps.OF_AN_EVENT)
def test_a_rerun_after_a_kill_pays_once_if_nothing_was_read(tmp_path, moment):
    path = ledger_for_victims(tmp_path / "ledger.db")
    toll = Toll()
    kill_at(path, toll, moment, 1)
    with Ledger.open(path) as ledger:
        paid = moment not in ("before-begin", "after-begin", "after-insert")
        assert len(ledger.entries()) == paid
        entry = ledger.charge("people", COST, protects=Protected(), purpose="rerun", request="0 0")
        assert entry.taken_over == paid
        assert ledger.spent("people") == COST
        ledger.begin_reading(entry)


@pytest.mark.parametrize("moment", steps.OF_AN_EVENT)
def test_a_rerun_after_a_kill_pays_again_if_rows_may_have_been_read(tmp_path, moment):
    path = ledger_for_victims(tmp_path / "ledger.db")
    kill_at(path, Toll(), moment, 2)
    with Ledger.open(path) as ledger:
        reading = moment not in ("before-begin", "after-begin", "after-insert")
        assert ledger.entries()[0].is_lost == reading
        entry = ledger.charge("people", COST, protects=Protected(), purpose="rerun", request="0 0")
        assert entry.taken_over == (not reading)
        assert len(ledger.entries()) == 1 + reading


@pytest.mark.parametrize("moment", steps.OF_A_NEW_LEDGER)
def test_a_kill_while_a_ledger_is_begun_leaves_one_that_opens(tmp_path, moment):
    path = tmp_path / "ledger.db"
    kill_at(path, Toll(), moment, 1)
    ledger_for_victims(path)
    with Ledger.open(path) as ledger:
        ledger.verify()
