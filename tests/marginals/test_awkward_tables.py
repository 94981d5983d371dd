"""Tables that are easily forgotten: 10,000 categories, one value only, 200 rows, none at all."""

from __future__ import annotations

import csv

import pytest

from discreet.answering import open_release
from discreet.errors import NotAnswerable
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.releases.verifying import verify
from discreet.report import LARGEST, render_report
from discreet.schema import BooleanColumn, CategoryColumn, IntegerColumn, Schema
from tests.releasing import release_to_file

COLUMNS = (
    CategoryColumn("code", tuple(f"c{place}" for place in range(10_000))),
    CategoryColumn("same", ("only",), other=False, nulls="exclude"),
    IntegerColumn("age", 0, 9),
    BooleanColumn("member"),
)
CASES = [
    ("marginals(2)", None, Budget(epsilon=1), Adjacency.ADD_REMOVE),
    ("marginals(2)", None, Budget(epsilon=1, delta="1e-6"), Adjacency.CHANGE_ONE),
    ("marginals(1)", 200, Budget(epsilon=1), Adjacency.ADD_REMOVE),
    ("marginals(same)", 200, Budget(epsilon=1), Adjacency.ADD_REMOVE),
    pytest.param(
        "marginals(2)", 200, Budget(epsilon=1), Adjacency.ADD_REMOVE, marks=pytest.mark.trust
    ),
]


@pytest.mark.parametrize("rows", [200, 0])
@pytest.mark.parametrize(("workload", "people", "budget", "adjacency"), CASES)
def test_it_is_released_asked_drawn_from_and_reported(
    rows, workload, people, budget, adjacency, tmp_path
):
    """5 intervals at 1 - 1e-8 hold what is true: false alarm below 1e-7."""
    schema = Schema(dataset="d", columns=COLUMNS, people=people, adjacency=adjacency)
    source = generator(1)
    with (tmp_path / "d.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(schema.names)
        for _ in range(rows):
            code = f"c{int(source.integers(0, 10_000))}"
            writer.writerow([code, "only", int(source.integers(0, 10)), source.random() < 0.4])
    path = tmp_path / "d.release"
    release_to_file(
        tmp_path / "d.csv", schema, path, budget=budget, workload=workload,
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip
    assert verify(path).ok
    reader = open_release(path)
    asked = {"same = 'only'": rows}
    if workload != "marginals(same)":
        asked |= {"code IS NOT NULL": rows, "age >= 0": rows, "code = 'not there'": 0}
    for condition, truth in asked.items():
        question = f"SELECT count(*) FROM d WHERE {condition}"
        found = reader.ask(question, confidence=1 - 1e-8).only
        assert found.lower <= truth <= found.upper
    drawn = reader.synthesize(150, seed=1)
    assert len(drawn) == 150 and set(drawn.column("same")) == {"only"}
    drawn.write(tmp_path / "rows.csv")
    assert set(drawn.names) == ({"same"} if workload == "marginals(same)" else set(schema.names))
    page = render_report(reader)
    assert len(page.encode()) <= LARGEST and "same" in page


@pytest.mark.parametrize("budget", [Budget(epsilon=4), Budget(epsilon=4, delta="1e-9")], ids=str)
def test_rows_without_a_cell_are_in_no_answer_about_that_column(budget, tmp_path):
    """18 intervals at 1 - 1e-8: false alarm below 1e-6. Spread evenly, 300 rows would be in each cell."""
    columns = (
        BooleanColumn("survived", nulls="exclude"),
        CategoryColumn("place", ("a", "b", "c")),
        BooleanColumn("member"),
    )
    schema = Schema(dataset="d", columns=columns, people=1000)
    lines = [f"{'' if k % 2 else 'true'},{'abc'[k % 3]},true" for k in range(1200)]
    (tmp_path / "d.csv").write_text("\n".join(["survived,place,member", *lines, ""]))
    truths = {"survived": 600, "NOT survived": 0, "place = 'a'": 400, "member": 1200}
    truths |= {f"survived AND place = '{each}'": 200 for each in "abc"}
    truths |= {"NOT survived AND place = 'a'": 0, "survived AND member": 600}
    for algorithm in ("automatic", "adaptive"):
        path = tmp_path / f"{algorithm}.release"
        release_to_file(
            tmp_path / "d.csv", schema, path, budget=budget, workload="marginals(2)",
            algorithms={"marginals(2)": algorithm}, ledger=tmp_path / f"{algorithm}.db",
        )  # fmt: skip
        reader = open_release(path)
        for condition, truth in truths.items():
            try:
                found = reader.ask(f"SELECT count(*) FROM d WHERE {condition}", confidence=1 - 1e-8)
            except NotAnswerable:
                assert condition in ("survived", "NOT survived")
                continue
            assert found.only.lower <= truth <= found.only.upper
