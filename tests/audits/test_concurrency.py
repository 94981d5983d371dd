"""Threads and processes share every public object, and each is given what is right.

The drills find races by themselves (see `tests.harness.concurrency`): threads start together and pause at random
lines. How surely a planted race is met stands beside the planted bugs, in tests/mutants/bugs/concurrency.py.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from enum import Enum
from functools import partial
from pathlib import Path

import mpmath
import pytest

from discreet.curator import Curator
from discreet.engines.duckdb.session import SIDE_BY_SIDE, Session
from discreet.errors import BadInput, EngineFailed
from discreet.families.shared.estimate.kept import Kept
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.conversion.rounding import PRECISION
from tests.harness import concurrency
from tests.harness.concurrency import (
    BEHIND,
    Report,
    drill_all_processes,
    drill_files,
    drill_freely,
    drill_threads,
    run_drills,
)
from tests.harness.threads import interleaving
from tests.harness.threads.drills import Drill, mixtures
from tests.harness.threads.processes import drills_of_a_process
from tests.harness.threads.public_objects import public_classes
from tests.harness.threads.reading_drills import all_drills, specimens, unknown
from tests.harness.threads.shared_world import World

AREAS = {
    "curator": ("Curator", "CuratorAlert"),
    "vault": ("Vault", "Grant", "Alert"),
    "engine": ("DuckDBEngine",),
    "ledger": ("Ledger",),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World.make(tmp_path_factory.mktemp("world"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def drills(world: World) -> list[Drill]:
    return all_drills(world)


@pytest.mark.parametrize("area", [*AREAS, "everything else"])
def test_eight_threads_on_one_object_are_each_given_what_is_right(
    area: str, world: World, drills: list[Drill]
) -> None:
    known = {name for names in AREAS.values() for name in names}
    own = [
        each
        for each in drills
        if (each.owner in AREAS[area] if area in AREAS else each.owner not in known)
    ]
    report = Report()
    judged = [
        each
        for each in own
        if each.judge is not None
        # Synthetic rows are asked of a reader of their own: a mixture of one.
        or (each.owner == "ReleaseReader" and each.member != "synthesize")
    ]
    run_drills(world, [*judged, *mixtures(own)], report)
    assert report.complaints == []
    assert report.drills > 0


def test_no_call_opens_a_ledgers_file_beside_sqlite(tmp_path: Path) -> None:
    report = drill_files(tmp_path / "world")
    assert report.complaints == []
    assert report.calls > 20


def test_what_spends_and_closes_is_safe_in_free_random_order(
    world: World, drills: list[Drill]
) -> None:
    """The seed is part of every complaint; which order it is does not decide whether a right product passes."""
    judged = [each for each in drills if each.judge is not None]
    seed = int(generator().integers(2**31))
    report = drill_freely(world, judged, seed=seed)
    assert [(seed, each) for each in report.complaints] == []
    assert report.calls == 8 * len(judged) > 300


def test_every_public_method_is_called_by_some_drill(drills: list[Drill]) -> None:
    assert unknown(drills, BEHIND) == []


def test_every_public_method_is_called_by_every_process(world: World) -> None:
    alone, together = drills_of_a_process(world)
    assert unknown([*alone, *together], BEHIND) == []
    assert {each.owner for each in together} == {"Curator", "Ledger", "Vault", "discreet"}
    assert not any(each.across for each in alone)


def test_a_method_that_is_added_is_called_too_or_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loud(self: object) -> int:
        return 1

    def asking(self: object, what: str) -> str:
        return what

    loud.__module__ = asking.__module__ = "discreet.privacy.budget"
    monkeypatch.setattr(Budget, "loud", loud, raising=False)
    monkeypatch.setattr(Budget, "asking", asking, raising=False)
    monkeypatch.setattr(Curator, "asking", asking, raising=False)
    drills = all_drills(world)
    assert "Budget.loud" in [each.name for each in drills]
    assert unknown(drills, BEHIND) == ["Budget.asking", "Curator.asking"]


@pytest.mark.parametrize("owner", [*public_classes(), *BEHIND], ids=lambda each: each.__name__)
def test_every_public_class_says_whether_it_is_thread_safe(owner: type) -> None:
    said = [each.__dict__.get("__doc__") or "" for each in owner.__mro__]
    assert any("Thread safe: " in text for text in said)


def test_what_says_that_it_never_changes_cannot_be_changed(world: World) -> None:
    found = specimens(world)
    tried = 0
    for owner, value in found.items():
        if "it never changes" not in (owner.__doc__ or "") or isinstance(value, Enum):
            continue
        for name in getattr(value, "__dataclass_fields__", ()):
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, None)
            tried += 1
    assert tried > 100


@pytest.mark.trust
def test_many_rounds_with_each_method_by_itself_too(tmp_path: Path) -> None:
    seed = int(generator().integers(2**31))
    report = drill_threads(tmp_path, seed=seed, rounds=concurrency.ROUNDS, singly=True)
    assert (seed, report.complaints, report.unknown) == (seed, [], [])


@pytest.mark.trust
def test_four_processes_share_a_ledger_and_never_each_others_answers(tmp_path: Path) -> None:
    seed = int(generator().integers(2**31))
    report = drill_all_processes(tmp_path / "world", seed=seed)
    assert (seed, report.complaints, report.unknown) == (seed, [], [])
    assert report.calls > 2_000


# --- what the drills stand on --------------------------------------------------------------


def test_threads_that_wait_for_ever_are_seen_and_slow_ones_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = threading.Event()
    with (
        monkeypatch.context() as impatient,
        pytest.raises(interleaving.Locked, match=r"[12] of 2 threads"),
    ):
        impatient.setattr(interleaving, "PATIENCE", 0.2)
        interleaving.at_once([lambda _: never.wait(), lambda _: True], chance=0.0)
    never.set()
    works = [each.result for each in interleaving.at_once([lambda n: n] * 2, chance=0.0)]
    assert works == [0, 1]


def test_queries_of_different_threads_run_at_the_same_time() -> None:
    session = Session(memory_limit="64MB", threads=1, progress=None)
    meeting = threading.Barrier(SIDE_BY_SIDE)
    met: list[int] = []

    def work() -> None:  # nobody gets past the barrier unless all are inside a query of their own
        met.append(session._work(lambda connection: meeting.wait(30)))

    threads = [threading.Thread(target=work) for _ in range(SIDE_BY_SIDE)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    session.close()
    assert sorted(met) == list(range(SIDE_BY_SIDE))


def test_closing_waits_for_the_query_that_runs_and_refuses_the_next() -> None:
    session = Session(memory_limit="64MB", threads=1, progress=None)
    begun, may_end = threading.Event(), threading.Event()
    found: list[object] = []

    def query(connection: object) -> str:
        begun.set()
        may_end.wait(30)
        return "whole"

    running = threading.Thread(target=lambda: found.append(session._work(query)))
    running.start()
    begun.wait(30)
    closing = threading.Thread(target=session.close)
    closing.start()
    with pytest.raises(EngineFailed, match="closed"):
        while True:  # until the other thread has begun to close
            session.rows("SELECT 1")
    assert closing.is_alive()
    may_end.set()
    running.join()
    closing.join()
    assert found == ["whole"]


def test_a_forked_child_is_refused_before_anything_is_charged(world: World) -> None:
    curator = world.curator(0)
    question = f'SELECT count(*) FROM "{curator.schema.dataset}"'
    child = os.fork()
    if child == 0:
        try:
            curator.ask(question, budget=Budget(epsilon=1))
        except BadInput as error:
            os._exit(0 if "Nothing was read or charged" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert curator.spent.amount == 0
    assert curator.ask(question, budget=Budget(epsilon=1)).only.estimate == 2140


def test_a_forked_child_closes_what_its_parents_threads_were_using(world: World) -> None:
    """They do not exist in the child, so it must not wait for them; the parent's curator goes on."""
    curator = world.curator(0)
    session = curator._engine._session  # type: ignore[attr-defined]
    with curator._visitors.inside(), session._taken():
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that waits
            curator.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    question = f'SELECT count(*) FROM "{curator.schema.dataset}"'
    assert curator.ask(question, budget=Budget(epsilon=1)).only.estimate == 2140


def test_a_question_to_a_closed_curator_is_refused_and_free(world: World) -> None:
    curator = world.curator(0)
    curator.close()
    with pytest.raises(BadInput, match="closed"):
        curator.ask(f'SELECT count(*) FROM "{curator.schema.dataset}"', budget=Budget(epsilon=1))
    assert curator.spent.amount == 0


def test_what_is_kept_is_made_once_and_the_oldest_goes_first() -> None:
    kept: Kept[int, int] = Kept(most=2)
    made: list[int] = []

    def make(key: int) -> int:
        made.append(key)
        return 10 * key

    for key in (1, 1, 2, 3, 2, 1):
        assert kept.get(key, partial(make, key)) == 10 * key
    assert made == [1, 2, 3, 1]


@pytest.mark.parametrize("constant", ["pi_fixed", "ln2_fixed"])
def test_constants_that_mpmath_shares_between_threads_are_made_before_any_thread_asks(
    constant: str,
) -> None:
    """One that another thread makes longer meanwhile would be read wrong, by a power of two."""
    (cell,) = getattr(mpmath.libmp, constant).__closure__
    assert cell.cell_contents.memo_prec >= 16 * PRECISION
