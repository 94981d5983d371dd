"""The three classical releases of a contingency table: what the survey says of each."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.answering import ReleaseReader
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.linear_programs import _signs, nearest_table, walsh_hadamard
from discreet.families.tables.queries.parities import Parities, Parity
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.releases.verifying import verify
from discreet.schema import BooleanColumn, Schema
from tests.releasing import release

COLUMNS = 4


def schema_of(columns=COLUMNS, adjacency=Adjacency.ADD_REMOVE):
    names = [BooleanColumn(f"b{place}", nulls="exclude") for place in range(columns)]
    return Schema(dataset="bits", columns=tuple(names), adjacency=adjacency)


def sets_up_to(degree, columns):
    chosen = [c for size in range(degree + 1) for c in combinations(range(columns), size)]
    return np.array(sorted(sum(1 << place for place in each) for each in chosen))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("bits") / "bits.csv"
    bits = generator(4).random((600, COLUMNS)) < [0.2, 0.5, 0.7, 0.4]
    lines = [",".join(f"b{k}" for k in range(COLUMNS))]
    lines += [",".join("true" if bit else "false" for bit in row) for row in bits]
    path.write_text("\n".join(lines) + "\n")
    return path


def released(table, tmp_path, algorithm, workload="marginals(2)", budget=None):
    return release(
        table,
        schema_of(),
        budget=budget or Budget(epsilon=1),
        workload=workload,
        algorithms={workload: algorithm},
        ledger=tmp_path / "ledger.db",
    )


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_sensitivity_of_a_parity_is_the_largest_move_of_any_pair_of_neighbours(adjacency):
    query = Parity(("b0", "b1", "b2"))
    cells = list(product(range(2), repeat=3))

    def value(*rows):
        counts = np.zeros((2, 2, 2), dtype=np.int64)
        for row in rows:
            counts[row] += 1
        return int(query.evaluate(counts)[0])

    if adjacency is Adjacency.ADD_REMOVE:
        moves = [abs(value(cell)) for cell in cells]
    else:
        moves = [abs(value(one) - value(other)) for one in cells for other in cells]
    assert query.sensitivity(schema_of(3, adjacency)).l1 == max(moves)


def test_a_fast_transform_is_the_slow_one():
    numbers = np.random.default_rng().normal(size=64)
    slow = _signs(np.arange(64), np.arange(64)) @ numbers
    assert np.allclose(walsh_hadamard(numbers), slow)


@pytest.mark.parametrize("noise", [1.0, 300.0])
def test_column_generation_finds_the_optimum_of_the_full_program(noise):
    source = np.random.default_rng()
    table = source.poisson(source.dirichlet(np.full(1024, 0.05)) * 2000).astype(float)
    sets = sets_up_to(2, 10)
    values = walsh_hadamard(table)[sets] + source.laplace(0, noise, len(sets))
    values[0] = abs(values[0])
    found = nearest_table(sets, values, columns=10)
    signs, ones = _signs(sets, np.arange(1024)), np.ones((len(sets), 1))
    full = linprog(
        np.r_[np.zeros(1024), 1.0],
        A_ub=np.vstack([np.hstack([signs, -ones]), np.hstack([-signs, -ones])]),
        b_ub=np.r_[values, -values],
        bounds=(0, None),
        method="highs",
    )
    assert found.is_optimal
    assert found.distance == pytest.approx(full.x[-1], abs=1e-5 * (1 + noise))
    assert (found.counts >= 0).all()


def test_noise_on_all_cells_grows_with_the_cells_summed(table, tmp_path):
    whole = "marginals(b0, b1, b2, b3)"
    cells = ReleaseReader(released(table, tmp_path, "direct", whole))
    rest = " AND ".join(f"(b{k} OR NOT b{k})" for k in (1, 2, 3))
    question = f"SELECT count(*) FROM bits WHERE b0 AND {rest}"
    one = cells.ask("SELECT count(*) FROM bits WHERE b0 AND b1 AND b2 AND b3").only.std
    assert cells.ask(question).only.std == pytest.approx(one * np.sqrt(8), rel=0.01)


def test_noise_on_each_marginal_is_inconsistent_and_on_coefficients_consistent(table, tmp_path):
    places = [tmp_path / name for name in ("direct", "fourier")]
    for place in places:
        place.mkdir()
    direct, fourier = (released(table, p, p.name, budget=Budget(epsilon="1/5")) for p in places)
    by_hand = {m.query.kept: m.values.reshape(2, 2) for m in direct.parts[0].measurements}
    ways = {
        tuple(t.sum(axis=1 - columns.index("b0")))
        for columns, t in by_hand.items()
        if "b0" in columns
    }
    assert len(ways) > 1, "two ways of summing differ"
    library = ReleaseReader(fourier)._library.made(TableLibrary)
    tables = {
        pair: library.residuals.table(pair) for pair in combinations(["b0", "b1", "b2", "b3"], 2)
    }
    sums = [t.sum(axis=1 - pair.index("b0")) for pair, t in tables.items() if "b0" in pair]
    assert all(np.abs(each - sums[0]).max() < 1e-9 for each in sums)
    counts = fourier.parts[0].estimates["table"]
    assert counts.dtype.kind == "i" and counts.min() >= 0 and len(counts) == 16


@pytest.mark.parametrize("workload", ["marginals(2)", "parities(2)"])
def test_a_fourier_release_verifies_and_its_intervals_cover(table, tmp_path, workload):
    """Intervals at 1 - 1e-8 for 24 cells: false alarm below 1e-6."""
    made = released(table, tmp_path, "fourier", workload)
    assert verify(made).ok
    reader = ReleaseReader(made)
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    for one, other in combinations(range(4), 2):
        found = reader.ask(
            f"SELECT b{one}, b{other}, count(*) FROM bits GROUP BY b{one}, b{other}",
            confidence=1 - 1e-8,
        ).columns[0]
        truth = [
            sum(row[one] == a and row[other] == b for row in rows)
            for a in ("false", "true")
            for b in ("false", "true")
        ]
        assert ((found.lower <= truth) & (truth <= found.upper)).all()
    assert len(reader.synthesize(100, seed=0)) == 100


def test_classes_are_spelt_as_they_are_read():
    for text in ("parities(2)", "parities(b0, b1)", "marginals(2)"):
        assert parse_class(text).text == text
    assert parse_class("conjunctions(3)") == parse_class("marginals(3)")
    assert isinstance(parse_class("parities(1) * 3"), Parities)
