"""Claims of counts: never below the intervals that readers see, never above all rows."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.answering.usefulness import TRIVIAL
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.families.tables.answer.models.model_table import ModelTable
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.release.claims import _farthest
from discreet.families.tables.release.pair_choice import one_way_share
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.releases import plan
from discreet.schema import Schema
from tests.releasing import release

SCHEMA = """
dataset = "d"
people = 60
adjacency = "{adjacency}"
[columns.age]
kind = "integer"
range = [0, 19]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.town]
kind = "category"
values = ["a", "b", "c"]
"""
WORKLOADS = [
    ("marginals(2)", "adaptive"),
    ("marginals(2)", "residuals"),
    ("marginals(2)", "direct"),
    ("intervals(age)", None),
]


def released(tmp_path, adjacency, workload, algorithm, epsilon, rows=60):
    source = generator(3)
    with (tmp_path / "d.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "town"])
        for _ in range(rows):
            town = int(source.integers(0, 3))
            writer.writerow([int(source.integers(0, 20)), "fm"[town % 2], "abc"[town]])
    return release(
        tmp_path / "d.csv",
        Schema.loads(SCHEMA.format(adjacency=adjacency)),
        budget=Budget(epsilon=epsilon),
        workload=workload,
        algorithms={} if algorithm is None else {workload: algorithm},
        ledger=tmp_path / "ledger.db",
    )


@pytest.mark.parametrize(("workload", "algorithm"), WORKLOADS)
def test_where_the_number_of_rows_is_public_no_claim_of_counts_exceeds_it(
    workload, algorithm, tmp_path
):
    """At epsilon 1/1000 the noise exceeds 60 rows by far but for a chance below e^-20."""
    made = released(tmp_path, "change-one", workload, algorithm, "1/1000")
    assert made.claims and all(claim.bound <= 60 for claim in made.claims)
    assert any("no" in claim.theorem and "off by more" in claim.theorem for claim in made.claims)
    whole = ReleaseReader(made).usefulness(workload, delta="1/100")
    assert whole.bound == 60 and whole.theorem == TRIVIAL


@pytest.mark.parametrize("epsilon", ["1/10", "1", "20"])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_no_interval_of_a_cell_reaches_farther_than_a_models_claim_nor_that_than_all_rows(
    adjacency, epsilon, tmp_path
):
    """No noise decides it, so there is no false alarm."""
    made = released(tmp_path, adjacency, "marginals(2)", "adaptive", epsilon)
    (claim,) = made.claims
    reader = ReleaseReader(made)
    total = reader.ask("SELECT count(*) FROM d", confidence=1 - 0.05 / 10).only.upper
    reaches, widths, moved = [], [], []
    for pair in (("age", "sex"), ("age", "town"), ("sex", "town")):
        names = ", ".join(pair)
        cells = reader.ask(f"SELECT {names}, count(*) FROM d GROUP BY {names}")
        found = [row.answer for row in cells]
        reaches += [max(each.value - each.lower, each.upper - each.value) for each in found]
        table = reader._library.made(TableLibrary).table(pair)
        assert isinstance(table, WeightedTable)
        one = np.zeros(table.counts.shape)
        one[0, 0] = 1
        width = table.reach(one, 0.95)[0]
        # What a model fills in is capped by the total, and where that is public so is everything.
        is_capped = table.is_model or made.public_rows is not None
        widths.append(min(width, total) if is_capped else width)
        if table.whole is not None:  # answers lie that far from the measured cells
            moved.append(float(np.abs(table.counts - table.whole.counts).max()))
    assert claim.bound >= max(reaches) * (1 - 1e-9)
    allowed = [max(moved, default=0.0) + each * 1.2 + 2 for each in widths]
    model_rows = float(made.parts[0].facts["rows"])
    assert claim.bound <= max(*allowed, total + 1, model_rows + 40)


@pytest.mark.parametrize(
    ("counts", "single", "reach", "off"),
    [
        ([[50.0], [30.0]], {"a": [50.0, 30.0]}, 1000.0, 50.0),  # any cell may be empty
        ([[5.0, 1.0], [4.0, 2.0]], {"a": [20.0, 6.0]}, 1000.0, 21.0),
        ([[5.0, 1.0], [4.0, 2.0]], {"a": [20.0, 6.0], "b": [9.0, 3.0]}, 1000.0, 6.0),
        ([[5.0, 1.0], [4.0, 2.0]], {"a": [20.0, 6.0], "b": [9.0, 3.0]}, 5.5, 5.5),
        ([[5.0, 1.0], [4.0, 2.0]], {}, 40.0, 40.0),
    ],
)
def test_a_cell_of_a_model_is_off_by_what_its_columns_allow(counts, single, reach, off):
    @dataclass
    class OfOneColumn:
        counts: np.ndarray

        def reach(self, weights: np.ndarray, confidence: Fraction) -> tuple[float, float]:
            return 2.0, 1.0

    model = ModelTable(("a", "b"), np.array(counts), 3.0, DiscreteLaplaceLaw(scale=Fraction(1)))
    known = {name: OfOneColumn(np.array(each)) for name, each in single.items()}
    assert _farthest(model, reach, known, 0.95) == off  # type: ignore[arg-type]


def test_a_plan_says_where_noise_drowns_the_table(tmp_path):
    schema = Schema.loads(SCHEMA.format(adjacency="add-remove"))
    for epsilon, is_drowned in (("1/100", True), ("10", False)):
        planned = plan(schema, budget=Budget(epsilon=epsilon), workload="marginals(age, sex)")
        assert ("may exceed all 60 rows" in planned.classes[0].error.note) == is_drowned


def test_the_share_of_one_way_tables_grows_with_the_noise_and_is_public():
    found = [one_way_share(each) for each in (None, 0, 1e-3, 0.1, 1, 10, 1e6)]
    assert found[0] == Fraction(2, 5)
    assert found[1:] == sorted(found[1:])
    assert (found[1], found[4], found[-1]) == (Fraction(20, 100), Fraction(54, 100), Fraction(3, 5))
