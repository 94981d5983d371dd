"""What noise on everything would cost, predicted from public facts."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.families.shared.estimate.combination import likely_rows
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.residuals import Residual
from discreet.families.tables.release.direct import PreparedMarginals
from discreet.families.tables.release.pair_choice import (
    Candidate,
    beyond_chance,
    choose,
    part_mended,
)
from discreet.families.tables.release.predicted_variation import (
    DEPENDENCE,
    MEAN_ABSOLUTE_NORMAL,
    OVERHEAD,
    drawing_error,
    model_variation,
    predicted_variation,
    sampling_variation,
)
from discreet.privacy.budget import Budget
from discreet.releases import plan, release
from discreet.releases.preparing import prepare
from discreet.schema import Schema
from tests.no_noise import without_noise


@pytest.mark.parametrize("cells", [1, 2, 9, 400, 250_000])
@pytest.mark.parametrize("error", [0.0, 0.3, 3.0, 120.0, 1e6])
def test_a_cell_is_predicted_to_be_off_by_no_more_than_it_holds(cells: int, error: float) -> None:
    """Against the sum over all cells of Zipf's law, cell by cell."""
    ranks = np.arange(1, cells + 1)
    held = 20_000 / ranks / np.sum(1 / ranks)
    off = np.where(held > error, error / 2, held)  # the rows of a lost cell turn up elsewhere
    by_hand = min(off.sum() / 20_000, 1)
    assert predicted_variation(cells, error, 20_000) == pytest.approx(by_hand, rel=0.12, abs=1e-3)


def test_more_noise_is_never_predicted_to_be_better():
    for cells in (2, 30, 5000):
        found = [predicted_variation(cells, error, 1000) for error in np.geomspace(1e-3, 1e4, 60)]
        assert found == sorted(found) and max(found) <= 1


@pytest.mark.parametrize(
    ("cells", "people"), [(9, 300), (50, 1000), (3000, 1788), (20_000, 90_000)]
)
def test_the_chance_of_drawing_is_that_of_counts_drawn_from_zipfs_law(
    cells: int, people: int
) -> None:
    """Against 400 tables; their mean has a deviation of less than 1% and may be off by 6%."""
    means = people / np.arange(1, cells + 1) / np.sum(1 / np.arange(1, cells + 1))
    drawn = generator(1).poisson(means, (400, cells))
    by_hand = np.abs(drawn - means).sum(axis=1).mean() / people / 2
    assert sampling_variation(cells, people) == pytest.approx(by_hand, rel=0.06)


def test_a_model_is_foreseen_to_be_little_worse_than_noise_and_no_worse_than_single_columns():
    for cells in (4, 400, 40_000):
        alone = DEPENDENCE + sampling_variation(cells, 5000)
        for error in np.geomspace(1e-3, 1e4, 30):
            found = model_variation(cells, error, 5000)
            noise = predicted_variation(cells, error, 5000)
            assert found <= OVERHEAD * noise * (1 + 1e-12) and found <= alone * (1 + 1e-12)


def schema_of(sizes: list[int], people: int) -> Schema:
    columns = "".join(
        f'[columns.c{place}]\nkind = "integer"\nrange = [0, {size - 1}]\n'
        for place, size in enumerate(sizes)
    )
    return Schema.loads(f'dataset = "t"\npeople = {people}\n{columns}')


@pytest.mark.parametrize(
    ("sizes", "people", "budget", "taken"),
    [
        # Little noise: everything is measured.
        ([8] * 10, 1_000_000, Budget(epsilon=1, delta="1e-9"), "residuals"),
        # Noise would hide most of it.
        ([8] * 10, 2000, Budget(epsilon=1, delta="1e-9"), "adaptive"),
        # Noise is small beside what drawing leaves to chance.
        ([7, 40, 90, 280], 2000, Budget(epsilon=10, delta="1e-9"), "direct"),
        # Laplace noise on few small tables: less than Gaussian noise on residuals once they are put together.
        ([3, 7, 2, 5, 4, 3], 8000, Budget(epsilon=1, delta="1e-9"), "direct"),
        # Cells for nulls, which are mostly empty, are no reason for a model.
        ([5, 4, 4, 4, 5], 1000, Budget(epsilon=1, delta="1e-9"), "direct"),
        # Without a delta a model has much noise, for what part of the budget it lacks.
        ([3, 3, 16, 32, 2], 1000, Budget(epsilon=4), "direct"),
        ([3, 3, 16, 32, 2], 1000, Budget(epsilon="1/2"), "adaptive"),
        ([3, 3, 16, 32, 2], 1000, Budget(epsilon="1/2", delta="1e-6"), "adaptive"),
        # One wide column: noise would leave tables more wrong than right.
        ([100, 1000, 2, 2, 7, 64], 300, Budget(epsilon=1), "adaptive"),
        ([100, 1000, 2, 2, 7, 64], 300, Budget(epsilon=1, delta="1e-9"), "adaptive"),
        ([100, 1000, 2, 2, 7, 64], 300, Budget(epsilon=50), "direct"),
        # Noise would too, but of few and small tables it leaves less in single columns than a model, which has other things to pay.
        ([3, 5, 4], 200, Budget(epsilon="1/10"), "direct"),
        ([2, 3, 2, 3], 200, Budget(epsilon="1/10"), "direct"),
        # A first selection may turn the model into noise on everything: it needs no lead.
        ([2, 4, 12, 14, 5, 7, 3, 3, 2], 4000, Budget(epsilon=3), "adaptive"),
    ],
)
def test_the_release_with_the_least_foreseen_error_is_taken(
    sizes: list[int], people: int, budget: Budget, taken: str
) -> None:
    planned = plan(schema_of(sizes, people), workload="marginals(2)", budget=budget)
    assert planned.classes[0].algorithm == taken


def on_cells(schema: Schema, text: str, epsilon: str) -> PreparedMarginals:
    budget, named = Budget(epsilon=epsilon), {text: "direct"}
    (prepared,) = prepare(schema, budget=budget, workload=text, algorithms=named).parts
    assert isinstance(prepared, PreparedMarginals)
    return prepared


@pytest.mark.parametrize("text", ["marginals(2)", "marginals(3)", "marginals(c0, c1; c1, c2; c2)"])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_noise_on_tables_that_share_columns_is_foreseen_as_it_is_once_they_are_put_together(
    text: str, adjacency: str
) -> None:
    """The variance is that of `ConsistentTables`; the mean absolute error is off by less than 4%, over 300 seeded draws."""
    columns = "".join(
        f'[columns.c{place}]\nkind = "integer"\nrange = [0, {last}]\n'
        for place, last in enumerate([1, 4, 8, 2])
    )
    schema = Schema.loads(f'dataset = "t"\nadjacency = "{adjacency}"\n{columns}')
    prepared = on_cells(schema, text, "1/20")
    sets = prepared.query_class.sets(schema)
    rows = 0 if schema.rows_are_public else None
    public, off = generator(7), np.zeros(len(sets))
    for _ in range(300):
        tables = [
            DirectTable(own, drawn_laplace(public, law.std, schema.sizes(own)), law)
            for own, law in zip(sets, prepared.laws, strict=True)
        ]
        together = ConsistentTables(ResidualTables(schema, (), rows=rows), tables)
        off += [np.abs(together.table(own)).mean() / 300 for own in sets]
    assert prepared.errors_of_tables() == pytest.approx(list(off), rel=0.04)
    for own, law, error in zip(sets, prepared.laws, prepared.errors_of_tables(), strict=True):
        deviation = math.sqrt(together.cell_variance(own))
        assert law.mean_absolute() / law.std <= error / deviation * (1 + 1e-9)
        assert error / deviation <= MEAN_ABSOLUTE_NORMAL and error < law.mean_absolute()


def drawn_laplace(public: Any, std: float, shape: tuple[int, ...]) -> Any:
    return np.rint(public.laplace(0.0, std / math.sqrt(2), shape)).astype(np.int64)


def test_hardly_any_noise_is_not_foreseen_to_grow_by_putting_tables_together():
    schema = schema_of([2, 5, 9, 3], 500)
    for epsilon in ("10", "40", "200", "100000"):
        prepared = on_cells(schema, "marginals(2)", epsilon)
        for law, error in zip(prepared.laws, prepared.errors_of_tables(), strict=True):
            assert 0 <= error <= law.mean_absolute()


def test_one_table_is_foreseen_by_its_own_noise():
    schema = schema_of([4, 9], 500)
    prepared = on_cells(schema, "marginals(2)", "1")
    (law,) = prepared.laws
    assert prepared.errors_of_tables() == [pytest.approx(law.mean_absolute())]


def test_tables_that_leave_out_different_rows_are_foreseen_each_by_its_own_noise():
    columns = "".join(
        f'[columns.c{place}]\nkind = "integer"\nrange = [0, 4]\nnulls = "exclude"\n'
        for place in range(3)
    )
    schema = Schema.loads(f'dataset = "t"\n{columns}')
    prepared = on_cells(schema, "marginals(2)", "1")
    assert prepared.errors_of_tables() == [law.mean_absolute() for law in prepared.laws]


def test_a_model_is_compared_by_the_noise_that_would_be_as_bad():
    prepared = prepare(
        schema_of([8] * 10, 2000),
        budget=Budget(epsilon=1, delta="1e-9"),
        workload="marginals(2)",
        algorithms={"marginals(2)": "adaptive"},
    ).parts[0]
    noise = prepared.comparable(2000)
    as_bad = predicted_variation(64, noise, 2000)  # cells for nulls are likely to be empty
    foreseen = prepared.error(rows=2000, confidence=0.95).expected * 81 / 2 / 2000
    assert as_bad == pytest.approx(foreseen, rel=1e-6)
    assert foreseen > model_variation(64, prepared.closed.expected(), 2000)
    assert noise < prepared.closed.expected()


def test_what_is_measured_again_is_counted_together_with_what_is_known():
    """A pair that was measured well is not worth as much as one that was not, however wrong both are."""
    one, other = (
        Candidate(
            pair=place,
            level=place,
            error=300.0,
            cells=[20.0] * 40,
            shrink=1.0,
            price=1.0,
            power=2,
            known=known,
        )
        for place, known in enumerate((0.0, 1.0))
    )
    assert other.left(1.0) == pytest.approx(0.5**0.5) and one.left(1.0) == 1.0
    # Noise of 10 rows on 40 cells is worse than the error of 300; with what is known it is 1 row at most.
    assert [each.pair for each in choose([one, other], 0.01)] == [1]


def test_bins_mend_what_they_see_of_a_dependence_and_leave_what_differs_inside_them():
    """Where bins see all of it, all; where they see 3 of 5, the other 4 are left, for squares add up; and noise is not believed."""
    assert part_mended(300.0, 300.0, 0.0) == 1 and part_mended(300.0, 200.0, 0.0) == 1
    assert 300 * part_mended(300.0, 500.0, 0.0) == pytest.approx(500 - 400)
    assert part_mended(0.0, 500.0, 0.0) == 0 and part_mended(0.0, 0.0, 0.0) == 1
    parts = [part_mended(seen, 500.0, 0.0) for seen in (1.0, 100.0, 300.0, 499.0)]
    assert parts == sorted(parts) and parts[0] < 0.01
    doubtful = [part_mended(300.0, 500.0, std) for std in (0.0, 1.0, 10.0, 50.0, 100.0)]
    assert doubtful == sorted(doubtful) and doubtful[-1] == 1


def test_an_error_that_chance_explains_is_no_dependence():
    """Counts of mean 100 are off by about 8 each, and counts of mean 1/100 by about 1/50."""
    loud, rare = np.full(400, 100.0), np.full(400, 0.01)
    drawn = generator(3).poisson(loud)
    assert drawing_error(loud)[0] == pytest.approx(np.abs(drawn - loud).mean(), rel=0.2)
    assert beyond_chance(3000.0, loud) == 0
    assert beyond_chance(10_000.0, loud) == pytest.approx(9477, abs=1)
    assert beyond_chance(-5.0, loud) == 0 and beyond_chance(100.0, rare) == pytest.approx(100, rel=0.01)  # fmt: skip


@pytest.mark.parametrize("inside", [False, True])
def test_a_pair_is_measured_by_its_cells_if_bins_leave_much_of_its_dependence(tmp_path, inside):
    """The noise is off. Two rows of five of the second column follow the half of the first, which bins see. The others follow
    nothing, or whether the first is odd. Then bins were measured first, and left most of the error."""
    first, turn = np.repeat(np.arange(64), 200), np.tile(np.arange(200), 64)
    others = first % 2 if inside else turn // 5 % 2
    second = 2 * np.where(turn % 5 < 2, first // 32, others) + turn // 10 % 2
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, {most}]\n'
        for name, most in (("a", 63), ("b", 3))
    )
    with without_noise():
        made = release(
            pa.table({"a": first, "b": second}),
            Schema.loads(f'dataset = "t"\n{columns}'),  # nobody says how many: a model is made
            budget=Budget(rho="1/200"),
            workload="marginals(2)",
            algorithms={"marginals(2)": "adaptive"},
            ledger=tmp_path / "ledger",
        )
    measured = [
        each.query.shape(made.schema)
        for each in made.release.parts[0].noisy
        if isinstance(each.query, Residual) and len(each.query.columns) == 2
    ]
    assert (measured[0] == (65, 5)) == inside  # with a cell for nulls


def test_hidden_rows_are_as_many_as_declared():
    assert likely_rows(37.0, 300.0, 1000) == 1000
    assert likely_rows(970.0, 200.0, 1000) == 970
    assert likely_rows(970.0, 2000.0, None) == 970


@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_a_plan_of_a_model_says_how_much_it_will_claim_for_any_one_query(
    delta: str, tmp_path: Path
) -> None:
    """On three real tables claims were .28 to 1.64 of what the plan says (18 releases)."""
    sizes, rows, public = (4, 9, 6, 12, 3, 7), 3000, generator(5)
    first = public.integers(0, 12, rows)
    table = {f"c{n}": np.minimum(first * size // 12, size - 1) for n, size in enumerate(sizes)}
    for n, size in enumerate(sizes):
        table[f"c{n}"] = np.where(public.random(rows) < 0.5, table[f"c{n}"], public.integers(0, size, rows))  # fmt: skip
    columns = "".join(
        f'[columns.c{n}]\nkind = "integer"\nrange = [0, {size - 1}]\n'
        for n, size in enumerate(sizes)
    )
    schema = Schema.loads(f'dataset = "t"\npeople = {rows}\n{columns}')
    how: dict[str, Any] = {
        "budget": Budget(epsilon=1, delta=delta),
        "workload": ["marginals(2)"],
        "algorithms": {"marginals(2)": "adaptive"},
    }
    (planned,) = plan(schema, **how).classes
    said = re.search(r"up to about ±([\d,]+)", planned.error.note)
    assert said is not None
    foreseen = float(said[1].replace(",", ""))
    made = release(pa.table(table), schema, ledger=tmp_path / "ledger.db", **how)
    bound = made.release.claims[0].bound
    assert bound <= 2 * foreseen
    assert 0.15 * foreseen <= bound or made.release.parts[0].kind == "residuals"
