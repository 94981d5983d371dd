"""A release charges before it reads, never refunds, and refuses without charging."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from discreet.answering.verification.signing import content_digest
from discreet.artifacts.files import read_members, release_members
from discreet.artifacts.release import Release
from discreet.core.vault import Grant
from discreet.errors import BadInput, BadSource, BudgetExceeded, EngineFailed
from discreet.families.numbers.queries.one_number import Means
from discreet.families.tables.queries.marginals import Marginals
from discreet.ledger import EntryState, Ledger
from discreet.privacy.budget import Budget
from discreet.releases import output_file, run
from discreet.releases.run import STEPS
from discreet.releases.watched_grant import WatchedGrant
from tests.releasing import release, release_to_file

HALF = Budget(epsilon="1/2")


def test_a_release_is_charged_once_and_published_with_the_digest_of_its_bytes(
    engines, ledger, make_schema, make_person
):
    made = release(
        [make_person()], make_schema(), budget=HALF, workload=["marginals(1)"], ledger=ledger
    )
    (entry,) = ledger.entries("people")
    assert entry.cost == HALF
    assert entry.state is EntryState.PUBLISHED
    assert entry.digest == content_digest(release_members(made)).hex()
    assert engines[0].closed


def test_all_classes_are_read_together_in_one_pass_of_each_kind(
    engines, ledger, make_schema, make_person
):
    release(
        [make_person()],
        make_schema(),
        budget=HALF,
        workload=["marginals(2)", "marginals(age)", "means(age)", "sums(income)"],
        ledger=ledger,
    )
    assert engines[0].calls == ["marginals", "sums"]


def test_a_second_release_beyond_the_cap_is_refused_before_anything_is_read(
    engines, ledger, make_schema, make_person
):
    schema = make_schema(cap='epsilon = "3/4"')
    release([make_person()], schema, budget=HALF, workload="marginals(1)", ledger=ledger)
    with pytest.raises(BudgetExceeded, match="No row was read"):
        release([make_person()], schema, budget=HALF, workload="marginals(1)", ledger=ledger)
    assert engines[1].calls == []
    assert ledger.spent("people") == HALF


@pytest.mark.parametrize("second", [HALF, Budget(epsilon="1/100")])
def test_without_a_declared_cap_the_first_release_is_the_only_one(
    engines, ledger, make_schema, make_person, second
):
    release([make_person()], make_schema(), budget=HALF, workload="marginals(1)", ledger=ledger)
    with pytest.raises(BudgetExceeded):
        release(
            [make_person()], make_schema(), budget=second, workload="marginals(1)", ledger=ledger
        )
    assert engines[1].calls == []
    assert ledger.cap("people") == HALF


@pytest.mark.parametrize("error", [EngineFailed("stopped"), KeyboardInterrupt(), MemoryError()])
def test_a_run_that_fails_after_the_charge_stays_paid_and_leaves_no_file(
    engines, ledger, make_schema, tmp_path, error
):
    path = tmp_path / "people.release"
    with pytest.raises(type(error)):
        release_to_file(
            error, make_schema(), path, budget=HALF, workload="marginals(1)", ledger=ledger
        )
    (entry,) = ledger.entries("people")
    assert entry.state is EntryState.READING
    assert ledger.spent("people") == HALF
    assert sorted(each.name for each in tmp_path.iterdir() if "release" in each.name) == []
    assert engines[0].closed


def test_an_interruption_while_writing_leaves_no_file_and_nothing_published(
    engines, ledger, make_schema, make_person, tmp_path, monkeypatch
):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output_file, "write_members", interrupted)
    path = tmp_path / "people.release"
    with pytest.raises(KeyboardInterrupt):
        release_to_file(
            [make_person()],
            make_schema(),
            path,
            budget=HALF,
            workload="marginals(1)",
            ledger=ledger,
        )
    assert not path.exists()
    assert [entry.state for entry in ledger.entries("people")] == [EntryState.READING]


def test_the_file_is_whole_before_the_ledger_says_published(
    engines, ledger, make_schema, make_person, tmp_path, monkeypatch
):
    path = tmp_path / "people.release"
    seen: list[bool] = []
    publish = Ledger.publish

    def watched(self: Ledger, entry: object, digest: str) -> None:
        seen.append(content_digest(read_members(path)).hex() == digest)
        publish(self, entry, digest)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "publish", watched)
    release_to_file(
        [make_person()], make_schema(), path, budget=HALF, workload="marginals(1)", ledger=ledger
    )
    assert seen == [True]


def test_a_charge_that_was_never_read_is_taken_over_and_not_paid_twice(
    engines, ledger, make_schema, make_person
):
    def stop(step: str, done: float) -> None:
        if step == "reading" and engines and done == 0:
            raise KeyboardInterrupt

    asked = {"budget": HALF, "workload": "marginals(1)", "ledger": ledger}
    with pytest.raises(KeyboardInterrupt):
        release([make_person()], make_schema(), progress=stop, **asked)
    assert [entry.state for entry in ledger.entries("people")] == [EntryState.CHARGED]
    release([make_person()], make_schema(), **asked)
    assert [entry.state for entry in ledger.entries("people")] == [EntryState.PUBLISHED]


@pytest.mark.parametrize(
    "change",
    [
        {"workload": "marginals(2)"},
        {"workload": [Marginals(1, weight=2)]},
        {"confidence": 0.9},
        {"schema": {"age": 'nulls = "exclude"'}},
    ],
    ids=str,
)
def test_a_charge_is_not_taken_over_by_another_request(engines, ledger, make_schema, change):
    change = dict(change)
    schema = {"cap": "epsilon = 10"}
    other = make_schema(**(schema | change.pop("schema", {})))

    def stop(step: str, done: float) -> None:
        if step == "reading" and done == 0:
            raise KeyboardInterrupt

    asked = {"budget": HALF, "workload": "marginals(1)", "ledger": ledger}
    with pytest.raises(KeyboardInterrupt):
        release([], make_schema(**schema), progress=stop, **asked)
    release([], other, **(asked | change))
    assert [entry.state for entry in ledger.entries("people")] == [
        EntryState.CHARGED,
        EntryState.PUBLISHED,
    ]


REFUSED = {
    "an empty workload": ({"workload": []}, "workload is empty"),
    "an unknown class": ({"workload": "medians(age)"}, "not known"),
    "an unknown column": ({"workload": "marginals(agee)"}, "agee"),
    "a class twice": ({"workload": ["marginals(age)", "histogram(age)"]}, "twice"),
    "something else in the workload": ({"workload": [3]}, "not int"),
    "a sum of categories": ({"workload": "sums(sex)"}, "only integer and number"),
    "too many columns": ({"workload": "marginals(9)"}, "the schema has 3"),
    "a confidence of 1": ({"confidence": 1}, "between 0 and 1"),
    "a budget that is a number": ({"budget": 1.0}, "must be a Budget"),
    "an unknown algorithm": ({"algorithms": {"marginals(1)": "magic"}}, "no algorithm 'magic'"),
    "an algorithm for nothing": ({"algorithms": {"means(age)": "direct"}}, "not in the workload"),
    "noise beyond 64 bits": ({"budget": Budget(epsilon="1e-14")}, "too large to draw"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_bad_request_is_refused_in_words_before_anything_is_opened(
    engines, ledger, make_schema, what
):
    change, words = REFUSED[what]
    asked = {"budget": HALF, "workload": ["marginals(1)"], "ledger": ledger} | change
    with pytest.raises(BadInput, match=words) as refused:
        release([], make_schema(), **asked)
    assert "\n" not in str(refused.value)
    assert engines == []
    assert ledger.datasets() == []


def test_a_table_that_cannot_be_opened_costs_nothing(ledger, make_schema, monkeypatch):
    def missing(*_: object, **__: object) -> None:
        raise BadSource("no such file")

    monkeypatch.setattr(run, "open_engine", missing)
    with pytest.raises(BadSource):
        release(
            "nowhere.parquet", make_schema(), budget=HALF, workload="marginals(1)", ledger=ledger
        )
    assert ledger.datasets() == []


def test_an_existing_file_is_not_overwritten_and_nothing_is_charged(
    engines, ledger, make_schema, tmp_path
):
    path = tmp_path / "paid.release"
    path.write_bytes(b"paid")
    for place, words in [
        (path, "exists"),
        (tmp_path, "directory"),
        (tmp_path / "no" / "x", "not exist"),
    ]:
        with pytest.raises(BadInput, match=words):
            release_to_file(
                [], make_schema(), place, budget=HALF, workload="marginals(1)", ledger=ledger
            )
    assert path.read_bytes() == b"paid"
    assert engines == [] and ledger.datasets() == []
    release_to_file(
        [], make_schema(), path, budget=HALF, workload="marginals(1)", ledger=ledger, overwrite=True
    )
    assert path.read_bytes() != b"paid"


def test_progress_goes_through_the_steps_in_order(engines, ledger, make_schema, make_person):
    told: list[str] = []
    release(
        [make_person()],
        make_schema(),
        budget=HALF,
        workload="marginals(1)",
        ledger=ledger,
        progress=lambda step, done: told.append(step),
    )
    firsts = list(dict.fromkeys(step for step in told if step != "reading"))
    assert firsts == [step for step in STEPS if step != "reading"]
    assert told.index("charging") < len(told) - 1 - told[::-1].index("reading")


def test_a_ledger_can_be_given_by_its_path(engines, make_schema, make_person, tmp_path):
    path = tmp_path / "own.db"
    release([make_person()], make_schema(), budget=HALF, workload="marginals(1)", ledger=path)
    with Ledger.open(path) as book:
        assert book.spent("people") == HALF


def _bytes(made: Release) -> bytes:
    return b"".join(name.encode() + data for name, data in release_members(made).items())


SAID = {
    "add-remove": ["marginals(1)", "means(age)", "sums(income)"],
    "change-one": ["marginals(0)", "means(age)"],
}


@pytest.mark.parametrize("adjacency", SAID)
def test_nothing_but_noisy_numbers_depends_on_the_rows(
    engines, tmp_path, make_schema, make_person, watch, adjacency
):
    """The noise source says the same numbers whatever the rows: then the releases are the same bytes."""
    watch(lambda size: np.arange(size) % 7 + 12)
    strange = [float("nan"), float("inf"), -1e300, None, "not a number", 2**70, b"\xff", ""]
    tables = [
        [make_person(age=1, sex="f", income=0.0) for _ in range(8)],
        [make_person(age=each, sex=each, income=each) for each in strange],
    ]
    if adjacency == "add-remove":
        tables += [[], [make_person(age=None, sex=None, income=None)]]
    made = {
        _bytes(
            release(
                table,
                make_schema(adjacency),
                budget=HALF,
                workload=SAID[adjacency],
                ledger=tmp_path / f"{place}.db",
            )
        )
        for place, table in enumerate(tables)
    }
    assert len(made) == 1


def test_the_number_of_rows_is_published_only_where_it_is_public(
    engines, tmp_path, make_schema, make_person
):
    rows = [make_person(person=place) for place in range(5)]
    public = {
        (adjacency, identifier): release(
            rows,
            make_schema(adjacency, identifier=identifier),
            budget=HALF,
            workload="marginals(sex)",
            ledger=tmp_path / f"{adjacency}{identifier}.db",
        ).public_rows
        for adjacency in ("add-remove", "change-one")
        for identifier in (False, True)
    }
    assert [key for key, value in public.items() if value is not None] == [("change-one", False)]
    assert "row_count" not in engines[0].calls


def test_classes_share_the_budget_by_weight(engines, ledger, make_schema, make_person):
    made = release(
        [make_person()],
        make_schema(),
        budget=Budget(epsilon=1),
        workload=[Marginals("sex", weight=3), Means("age")],
        ledger=ledger,
    )
    spent = [sum(each.cost.epsilon for each in part.measurements) for part in made.parts]
    assert [str(each) for each in spent] == ["3/4", "1/4"]


def test_the_engine_is_let_go_of_once_nothing_can_be_read_any_more():
    """Not before: whatever can still be paid for may read."""
    told = []
    grant = SimpleNamespace(left=Budget(epsilon=1, delta="1e-6"), measure=tuple)
    watched = WatchedGrant(cast(Grant, grant), lambda: told.append(grant.left))
    nothing = Budget.nothing(grant.left.notion)
    for left in (grant.left, Budget(epsilon="1/10"), nothing):
        assert told == []
        grant.left = left
        assert watched.measure([]) == ()
    assert told == [nothing]


@pytest.mark.parametrize("budget", [HALF, Budget(epsilon="1/2", delta="1e-6"), Budget(rho="1/8")])
def test_no_verb_comes_after_the_engine_was_let_go_of(
    engines, ledger, make_schema, make_person, monkeypatch, budget
):
    spend = Grant._spend

    def spending(grant, costs):
        assert not engines[0].closed
        spend(grant, costs)

    monkeypatch.setattr(Grant, "_spend", spending)
    workload = ["marginals(2)", "marginals(age, sex)", "means(age)"]
    release([make_person()], make_schema(), budget=budget, workload=workload, ledger=ledger)
    assert engines[0].closed
