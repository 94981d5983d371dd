"""Contingency tables of boolean columns: three releases, each of whole counts that agree with themselves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.answering import ReleaseReader, open_release
from discreet.artifacts.files import write_release
from discreet.artifacts.release import ANSWERS
from discreet.errors import BadRelease
from discreet.families.tables.answer.evidence import COUNTED_APART, WITHOUT_A_CELL
from discreet.families.tables.estimate.linear_programs import Block, nearest_mixed_table
from discreet.families.tables.estimate.whole_tables import WholeTable, apportioned
from discreet.privacy.budget import Budget
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.releasing import release

NAMES = ("a0", "a1", "a2", "a3")
WORKLOAD = "marginals(2)"
ALGORITHMS = ("direct", "all-cells", "fourier")
POLICIES = list(product(("cell", "exclude"), ("add-remove", "change-one")))
OTHERS = [(a, "cell") for a in ("residuals", "adaptive", "automatic")] + [
    (a, "exclude")
    for a in ("residuals", "residuals-even", "adaptive", "adaptive-even", "automatic")
]
"""Other releases of the same tables, and what may become of nulls there."""


def schema_of(nulls, adjacency="add-remove"):
    return Schema.loads(
        f'dataset = "t"\nadjacency = "{adjacency}"\npeople = 120\n'
        + "".join(f'[columns.{name}]\nkind = "boolean"\nnulls = "{nulls}"\n' for name in NAMES)
    )


def sparse_rows(rows=120):
    """Few ones, so that noise takes many cells below 0; and some nulls."""
    public = np.random.default_rng(7)
    table = pandas.DataFrame(
        {name: pandas.array(public.random(rows) < 0.1, dtype="boolean") for name in NAMES}
    )
    table.loc[public.random(rows) < 0.1, "a2"] = pandas.NA
    return table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Releases with noise of their own, each made once: what is tested holds for every one of them."""
    folder = tmp_path_factory.mktemp("contingency")

    @cache
    def one(algorithm, nulls="cell", adjacency="add-remove", epsilon="1/4"):
        return release(
            sparse_rows(), schema_of(nulls, adjacency), budget=Budget(epsilon=epsilon),
            workload=[WORKLOAD], algorithms={WORKLOAD: algorithm},
            ledger=folder / f"{len(list(folder.iterdir()))}.db",
        )  # fmt: skip

    return one


def grouped(reader, by, where=""):
    return reader.ask(f"SELECT {by}, count(*) FROM t {where} GROUP BY {by}").columns[0]


@pytest.mark.parametrize(("nulls", "adjacency"), POLICIES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_three_releases_of_a_contingency_table_run_whatever_becomes_of_nulls(
    made, algorithm, nulls, adjacency
):
    """Each verifies, and answers the tables that it was made for."""
    found = made(algorithm, nulls, adjacency)
    assert found.parts[0].algorithm == algorithm and verify(found).ok
    reader = ReleaseReader(found)
    for pair in combinations(NAMES, 2):
        column = grouped(reader, ", ".join(pair))
        assert len(column.estimate) == (9 if nulls == "cell" else 4)
        assert (column.estimate >= 0).all()


@pytest.mark.parametrize(
    ("algorithm", "nulls", "adjacency"),
    [(a, n, j) for a in ALGORITHMS for n, j in POLICIES]
    + [(a, n, j) for a, n in OTHERS for j in ("add-remove", "change-one")],
)
def test_answers_agree_however_they_are_summed_also_where_noise_went_below_zero(
    made, algorithm, nulls, adjacency
):
    """Exact, for every column and every way to sum over another. Noise of ten times the counts: cells cut off one by one
    disagree in all but one of a thousand releases, so that a fault is found in one run of this test."""
    found = made(algorithm, nulls, adjacency)
    apart = found.parts[0].facts.get(WITHOUT_A_CELL) == COUNTED_APART
    reader = ReleaseReader(found)
    for one in NAMES:
        alone = grouped(reader, one).estimate
        where = float(reader.ask(f"SELECT count(*) FROM t WHERE {one}").only.estimate)
        assert where == alone[1] == reader.ask(f"SELECT sum({one}) FROM t").only.estimate
        for other in NAMES:
            if other != one:
                summed = grouped(reader, other, f"WHERE {one}").estimate.sum()
                both = grouped(reader, f"{one}, {other}").estimate.reshape(len(alone), -1)
                assert both.sum(axis=1)[1] == summed
                if apart:  # the others have no cell in the second column
                    assert (both.sum(axis=1) <= alone).all()
                else:
                    assert summed == where and np.array_equal(both.sum(axis=1), alone)
    total = reader.ask("SELECT count(*) FROM t").only.estimate
    leaves_out = algorithm in ("direct", "all-cells", "automatic") and nulls == "exclude"
    assert alone.sum() <= total
    if not apart and (not leaves_out or adjacency == "add-remove"):
        assert alone.sum() == total  # else rows without a cell are public and in no table


@pytest.mark.parametrize("algorithm", ["all-cells", "fourier"])
def test_a_sum_of_zero_one_way_is_a_sum_of_zero_the_other_way(made, algorithm):
    """The same over columns of exactly two cells, which the linear program treats by parities."""
    reader = ReleaseReader(made(algorithm, "exclude", epsilon="1/10"))
    sums = {g: grouped(reader, g, "WHERE a0").estimate.sum() for g in ("a1", "a2", "a3")}
    assert len(set(sums.values())) == 1


@pytest.mark.parametrize("nulls", ["cell", "exclude"])
@pytest.mark.parametrize("algorithm", ["all-cells", "fourier"])
def test_synthetic_rows_and_single_cells_are_those_of_the_table_that_questions_read(
    made, algorithm, nulls
):
    reader = ReleaseReader(made(algorithm, nulls))
    rows = reader.synthesize(seed=3)
    again = reader.synthesize(seed=4)
    assert len(rows) == reader.ask("SELECT count(*) FROM t").only.estimate == len(again)
    for pair in combinations(NAMES, 2):
        asked = grouped(reader, ", ".join(pair)).estimate
        size = round(len(asked) ** 0.5)
        for drawn in (rows, again):
            places = [drawn.names.index(name) for name in pair]
            codes = drawn.codes[:, places[0]] * size + drawn.codes[:, places[1]]
            counts = np.bincount(codes, minlength=size * size)
            # Rows of measured pairs are drawn as evenly as these allow, and then moved until they have them, but for a row or two.
            assert np.abs(counts - asked).max() <= (0 if algorithm == "all-cells" else 2)
        cells = np.array(list(product(range(size), repeat=2)))
        assert np.array_equal(reader.count_cells(pair, cells).estimate, asked)
    half = reader.synthesize(len(rows) // 2, seed=3)
    assert len(half) == len(rows) // 2


def test_three_columns_of_synthetic_rows_are_as_even_as_their_pairs_allow(tmp_path):
    """What whole counts hold of three columns is an accident: .096 +- .003 of their rows are in a wrong cell (6 releases), and .013 +- .001
    of even rows. Chance fails this far less often than once in a million times; drawing a third of the rows from whole counts does too."""
    public, names = np.random.default_rng(), "abcdefghi"
    attitude = public.standard_normal((3000, 1))
    true = (attitude + public.standard_normal((3000, 9)) > 0.3).astype(np.int64)
    columns = "".join(f'[columns.{name}]\nkind = "boolean"\nnulls = "exclude"\n' for name in names)
    made = release(
        pandas.DataFrame({name: true[:, place] == 1 for place, name in enumerate(names)}),
        Schema.loads(f'dataset = "t"\n{columns}'),
        budget=Budget(epsilon=5),
        workload="marginals(2)",
        algorithms={"marginals(2)": "residuals-even"},
        ledger=tmp_path / "ledger.db",
    )
    drawn = ReleaseReader(made).synthesize(seed=1)
    own = drawn.codes[:, [drawn.names.index(name) for name in names]]

    def off(kept):
        found = [np.bincount(each[:, kept] @ [4, 2, 1], minlength=8) for each in (own, true)]
        return np.abs(found[0] / len(own) - found[1] / len(true)).sum() / 2

    assert np.mean([off(kept) for kept in combinations(range(9), 3)]) < 0.04


@pytest.mark.parametrize(("nulls", "adjacency"), POLICIES)
@pytest.mark.parametrize("algorithm", ["all-cells", "fourier"])
def test_an_interval_holds_what_the_measured_one_holds_and_the_answer(
    made, algorithm, nulls, adjacency
):
    """So it covers as often as the measured interval, whose law is exact."""
    found = made(algorithm, nulls, adjacency)
    reader, measured = ReleaseReader(found), ReleaseReader(as_measured(found))
    for pair in combinations(NAMES, 2):
        one, other = grouped(reader, ", ".join(pair)), grouped(measured, ", ".join(pair))
        assert (one.lower <= other.lower).all() and (one.upper >= other.upper).all()
        assert (one.lower <= one.estimate).all() and (one.estimate <= one.upper).all()


def as_measured(found):
    """The same release as older versions wrote it: without the word that answers are read from a whole table."""
    parts = [
        replace(part, facts={k: v for k, v in part.facts.items() if k != ANSWERS})
        for part in found.parts
    ]
    return replace(found, parts=tuple(parts))


def test_an_older_file_is_read_as_it_was_measured(made, tmp_path):
    """Its claims are about the measured cells: answers from a whole table could break them."""
    found = as_measured(made("fourier", "exclude"))
    write_release(found, tmp_path / "old.release")
    reader = open_release(tmp_path / "old.release")
    table, _ = reader.noisy_table(["a0", "a1"])
    asked = grouped(reader, "a0, a1").estimate.reshape(2, 2)
    assert np.array_equal(asked, np.maximum(np.rint(table), 0))


@pytest.mark.parametrize("algorithm", ["direct", "all-cells", "fourier"])
def test_claims_allow_for_the_distance_between_the_table_and_what_was_measured(made, algorithm):
    """The stated bound is as large as the farthest that a true count can be, if it is near the measured one and not below 0; exact."""
    found = made(algorithm)
    reader, measured = ReleaseReader(found), ReleaseReader(as_measured(found))
    moved = max(
        float(np.abs(grouped(reader, ", ".join(pair)).estimate - reader.noisy_table(pair)[0].reshape(-1)).max())
        for pair in combinations(NAMES, 2)
    )  # fmt: skip
    assert moved > 0
    stated = [each.usefulness(WORKLOAD, delta="1/20").bound for each in (reader, measured)]
    farthest = max(
        float(
            np.maximum(told - np.maximum(noisy - stated[1], 0), noisy + stated[1] - 1 - told).max()
        )
        for told, noisy in (
            (grouped(reader, ", ".join(pair)).estimate, reader.noisy_table(pair)[0].reshape(-1))
            for pair in combinations(NAMES, 2)
        )
    )
    assert farthest <= stated[0] <= stated[1] + moved + 1
    planned = {claim.simultaneous: claim.bound for claim in found.claims}
    assert planned[True] > planned[False] >= moved


@pytest.mark.parametrize(
    "forged", [np.zeros(3, dtype=np.int64), np.full(16, -1), np.zeros(16), np.full(16, 1 << 60)]
)
def test_a_whole_table_that_cannot_be_is_refused(made, forged):
    found = made("fourier", "exclude")
    (part,) = found.parts
    bad = replace(found, parts=(replace(part, estimates={"table": forged}),))
    with pytest.raises(BadRelease, match="whole table"):
        ReleaseReader(bad)


@pytest.mark.parametrize("algorithm", ["all-cells", "direct"])
def test_rows_without_a_cell_are_named_where_they_are_in_no_table(made, algorithm):
    reader = ReleaseReader(made(algorithm, "exclude"))
    notes = reader.ask("SELECT count(*) FROM t WHERE a0").notes
    assert any("a0, a1, a2, a3" in note and "not counted by these tables" in note for note in notes)
    complete = sparse_rows().dropna()
    answer = reader.ask("SELECT count(*) FROM t WHERE NOT a0", confidence=1 - 1e-9).only
    assert answer.lower <= int((~complete.a0).sum()) <= answer.upper  # false alarm 1e-9


@pytest.mark.parametrize("noise", [0.0, 1.0, 300.0])
def test_the_program_for_columns_of_three_cells_finds_the_optimum_of_the_full_program(noise):
    source = np.random.default_rng()
    sizes = (3, 2, 3, 2)
    table = source.poisson(source.dirichlet(np.full(36, 0.2)) * 500).reshape(sizes).astype(float)
    blocks, rows = [], []
    for size in range(3):
        for axes in combinations(range(4), size):
            factors = [
                np.array([[1.0, -1.0]])
                if all(sizes[a] == 2 for a in axes)
                else sizes[axis] * np.eye(sizes[axis]) - 1
                for axis in axes
            ]
            own = table.sum(axis=tuple(a for a in range(4) if a not in axes))
            matrix = np.ones((1, 1))
            for factor in factors:
                matrix = np.kron(matrix, factor)
            numbers = matrix @ own.reshape(-1) + source.laplace(0, noise, len(matrix))
            std = 1.0 + size
            blocks.append(Block(axes, numbers, std))
            codes = np.array(list(product(*map(range, sizes))))
            place = np.zeros(36, dtype=int)
            for axis in axes:
                place = place * sizes[axis] + codes[:, axis]
            rows.append(matrix[:, place] / std)
    found = nearest_mixed_table(sizes, blocks)
    matrix = np.vstack(rows)
    values = np.concatenate([each.numbers / each.std for each in blocks])
    ones = np.ones((len(values), 1))
    full = linprog(
        np.r_[np.zeros(36), 1.0],
        A_ub=np.vstack([np.hstack([matrix, -ones]), np.hstack([-matrix, -ones])]),
        b_ub=np.r_[values, -values],
        bounds=(0, None),
    )
    assert found.is_optimal
    assert found.distance == pytest.approx(full.x[-1], abs=1e-5 * (1 + noise))
    counts = np.zeros(36)
    counts[found.cells] = found.counts
    assert np.abs(matrix @ counts - values).max() <= found.distance * (1 + 1e-5) + 1e-5
    if noise == 0:
        assert np.allclose(matrix @ counts, values, atol=1e-4)


@example([0.0, 2.225073858507e-311], 1)  # a total that is too small to divide by
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.integers(min_value=0, max_value=10**6)
)
def test_apportioned_counts_add_up_and_are_nearly_in_proportion(numbers, total):
    given_numbers = np.array(numbers)
    found = apportioned(given_numbers, total)
    assert found.sum() == total and found.min() >= 0
    if given_numbers.max() > 0:
        parts = [Fraction(number) for number in numbers]
        wanted = np.array([float(part * total / sum(parts)) for part in parts])
        assert np.abs(found - wanted).max() <= 1 + 1e-6


def test_the_nearest_whole_table_keeps_the_sum_and_has_no_negative_count():
    noisy = np.array([[-30.0, 4.0], [50.0, -3.0]])
    found = WholeTable.near(("x", "y"), noisy, None)
    assert found.counts.sum() == 21 and found.counts.min() >= 0 and found.counts[1, 0] == 21
    assert WholeTable.near(("x", "y"), noisy, 40).counts.sum() == 40
    assert found.over(("y", "x")).shape == (2, 2) and found.over(("y",)).tolist() == [21, 0]
    assert WholeTable.near(("x", "y"), -np.ones((2, 2)), None).counts.sum() == 0
