"""`keys(town)`: which values are named, what is counted, and whom that can move."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifacts.release import Naming
from discreet.audits.guessing.releases import audit_release
from discreet.audits.guessing.tables import GeneratedTable
from discreet.audits.observing import recording
from discreet.engines import open_engine
from discreet.families.keys.queries import KeyCounts
from discreet.families.keys.release import GAUSSIAN, OPTIMAL
from discreet.privacy.adjacency import Adjacency
from discreet.queries.tallies import keys_touched
from discreet.releases.verifying import verify
from tests.harness.replay import check_neighbours
from tests.keys.towns import BUDGET, TOWNS, frame_of, schema_of
from tests.releasing import release, release_to_file

UNITS: tuple[dict[str, Any], ...] = ({}, {"rows": 3}, {"rows": 3, "groups": 2})


def test_values_of_many_are_named_and_counted_and_all_others_are_counted_together(
    tmp_path: Path,
) -> None:
    """The names of a fourth town would be chance: below 1e-3 at delta 1e-6, so it is only said which are there."""
    with recording() as tape:
        made = release(
            frame_of(TOWNS), schema_of(), budget=BUDGET, workload=["keys(town)"], ledger=tmp_path / "l.db"
        )  # fmt: skip
    naming, counts = tape.steps
    named = [text for (text,) in naming.named]
    assert {"Rome", "Oslo", "Lima"} <= set(named)
    rows = [sum(town == text for town in TOWNS) for text in named]
    nulls = sum(town is None for town in TOWNS)
    assert counts.exact.tolist() == [*rows, len(TOWNS) - sum(rows) - nulls, nulls]
    (part,) = made.parts
    published, measured = part.measurements
    assert isinstance(published, Naming) and published.keys == naming.named
    assert published.cost.epsilon == naming.keeping.epsilon == 2  # type: ignore[union-attr]
    assert published.cost.delta == Fraction(1, 10**6)
    assert made.budget == BUDGET
    assert part.noisy == [measured] and part.noisy[0].law == counts.laws[0]
    assert 1 / counts.laws[0].scale == 2  # type: ignore[attr-defined]


PERSONS: tuple[tuple[str | None, ...], ...] = (
    (), ("a",), ("b",), ("c",), (None,), ("a", "b"), ("a", "a", "a"), ("b", "b", "b"), ("c", "c", "c"),
    (None, None, None), ("a", "b", "c"), ("a", "b", "c", None), ("a", "a", "b", "c"), ("a", "b", "c", "c"),
)  # fmt: skip
"""What one person's rows may hold; at most 3 of them are used, in at most 2 found groups."""


def test_no_person_moves_the_counts_by_more_than_their_sensitivity() -> None:
    """Tables of one person against each other; the stated bound is reached."""
    schema, query = schema_of(rows=3, groups=2), KeyCounts("town", ("a", "b"))
    counted = []
    for texts in PERSONS:
        with open_engine(frame_of(list(texts), person=["p"] * len(texts)), schema) as engine:
            tallied = engine.tally(query.tallies(schema))
        counted.append(query.answered(tallied, schema))
        assert counted[-1].min() >= 0 and counted[-1].sum() == min(3, len(texts))
    for adjacency in Adjacency:
        others = counted if adjacency is Adjacency.CHANGE_ONE else counted[:1]
        moves = [np.abs(one - other) for one, other in product(counted, others)]
        said = query.sensitivity(replace(schema, adjacency=adjacency))
        assert max(int(each.sum()) for each in moves) == said.l1
        assert max(int((each * each).sum()) for each in moves) == said.l2_squared


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", UNITS)
def test_a_neighbour_is_told_apart_by_no_more_than_was_charged(
    adjacency: str, unit: dict[str, Any]
) -> None:
    """Replay: with the same names and noisy numbers, everything else is alike. Values are named from few on."""
    schema = schema_of(adjacency, **unit)
    has_unit = bool(unit)
    header = (("person",) if has_unit else ()) + schema.names
    texts = ["a"] * 9 + ["b"] * 6 + ["c"] * 2 + [""]
    rows = [((f"p{k}",) if has_unit else ()) + (text, "F") for k, text in enumerate(texts)]
    somebody = [(("q",) if has_unit else ()) + (text, "M") for text in ("a", "b", "new")]
    table = GeneratedTable(schema=schema, header=header, rows=tuple(rows))
    budget = dc.Budget(epsilon=8, delta="1/5")

    def run(path: Path, ledger: Any, progress: Any) -> Any:
        return release(
            path, schema, budget=budget, workload=["keys(town)"], ledger=ledger, progress=progress
        )

    if adjacency == "add-remove":
        added = somebody if has_unit else somebody[:1]
        neighbours = [replace(table, rows=tuple(rows[1:])), replace(table, rows=(*rows, *added))]
    else:
        other = [("p0", *row[1:]) for row in somebody] if has_unit else somebody[-1:]
        neighbours = [replace(table, rows=(*other, *rows[1:]))]
    found = check_neighbours(table, neighbours, run)
    assert all(any(loss.epsilon for loss in losses) for losses in found)


def test_the_audit_of_whole_releases_plays_against_names_too() -> None:
    """False alarm: 1e-6."""
    found = audit_release(
        schema_of("change-one", rows=2, groups=2), budget=dc.Budget(epsilon=2, delta="1/10"),
        workload=["keys(town)"], runs=150, false_positive_rate=1e-6,
    )  # fmt: skip
    assert not found.refuted and found.laws


@pytest.mark.parametrize(
    ("workload", "budget", "cap", "words"),
    [
        ("keys(town)", dc.Budget(epsilon=1), "", "delta above 0"),
        ("keys(town)", dc.Budget(rho="1/10"), "", "delta above 0"),
        ("keys(town)", BUDGET, '[cap]\nrho = "100"\n', "cap counts rho, and keys\\(town\\)"),
        ("keys(town)", BUDGET, '[cap]\nmu = "9"\n', "cap counts mu, and keys\\(town\\)"),
        ("keys(sex)", BUDGET, "", "marginals\\(sex\\)"),
        ("keys(age)", BUDGET, "", "no column 'age'"),
        ("keys(town, sex)", BUDGET, "", "takes one column, not 2"),
        ("keys(town)", dc.Budget(epsilon="1e-7", delta="1e-9"), "", "too small"),
    ],
)
def test_what_names_nothing_is_refused_unread_and_uncharged(
    tmp_path: Path, workload: str, budget: dc.Budget, cap: str, words: str
) -> None:
    with pytest.raises(dc.BadInput, match=words):
        release(
            tmp_path / "not there.csv", schema_of(more=cap), budget=budget, workload=[workload],
            ledger=tmp_path / "l.db",
        )  # fmt: skip
    assert not (tmp_path / "l.db").exists()


def test_beside_other_classes_a_delta_is_counted_by_basic_composition() -> None:
    """Else it would be turned into a rho, in which names have no cost."""
    planned = dc.plan(
        schema_of(), budget=BUDGET, workload=["keys(town)", "marginals(sex)"], rows=1000
    )
    assert planned.accounting.value == "basic" and planned.charge == BUDGET
    assert sum(each.share.epsilon for each in planned.classes) == 4


@pytest.mark.parametrize(
    ("held", "used", "needed", "beside"), [(10, GAUSSIAN, "116", "201"), (50, GAUSSIAN, "268", "1,003"), (1, OPTIMAL, "21", "")]
)  # fmt: skip
def test_a_plan_says_how_many_people_a_value_needs_under_both_mechanisms(
    held: int, used: str, needed: str, beside: str
) -> None:
    """Half of epsilon 2 is for the names: the figures of epsilon 1 and delta 1e-9."""
    schema = schema_of(rows=held)
    planned = dc.plan(schema, budget=dc.Budget(epsilon=2, delta="1e-9"), workload=["keys(town)"])
    note = planned.classes[0].error.note
    assert f"probability 1/2 if {needed} people hold it, and with .95 if" in note
    assert f"do, by {used}" in note and f"would need {beside}" in note + "would need "
    assert keys_touched(schema) == held


def test_a_value_held_by_many_is_named_as_often_as_the_plan_says(tmp_path: Path) -> None:
    """Exact: the chance that the plan states is that of the coin that is thrown."""
    schema = schema_of(rows=4)
    planned = dc.plan(schema, budget=BUDGET, workload=["keys(town)"]).classes[0].error.note
    with recording() as tape:
        release(
            frame_of(["a"]),
            schema,
            budget=BUDGET,
            workload=["keys(town)"],
            ledger=tmp_path / "l.db",
        )
    law = tape.steps[0].keeping
    assert law is not None
    half = next(n for n in range(law.certain + 1) if law.chance(n) >= Fraction(1, 2))
    likely = next(n for n in range(law.certain + 1) if law.chance(n) >= Fraction(95, 100))
    assert f"1/2 if {half:,} people hold it, and with .95 if {likely:,} do" in planned


def test_an_empty_table_names_nothing_and_is_released_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "made.release"
    release_to_file(
        frame_of([]), schema_of(), path, budget=BUDGET, workload=["keys(town)"], ledger=tmp_path / "l.db"
    )  # fmt: skip
    assert verify(path).ok
    reader = dc.open_release(path)
    assert reader.ask("SELECT town, count(*) FROM people GROUP BY town").groups == ("town",)
    assert reader.ask("SELECT count(DISTINCT town) FROM people").only.lower == 0
    assert len(reader.synthesize(5, seed=1)) == 5
