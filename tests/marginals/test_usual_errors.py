"""Intervals of counts that a model fills in: as far as such counts usually are off, by their own table's distance."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.models.cell_errors import CellErrors, farthest_misfit
from discreet.families.tables.answer.models.column_counts import ColumnCounts
from discreet.families.tables.answer.models.misfits import (
    CHANCES,
    KNOTS,
    LUCKY,
    MISFITS,
    misfits_of,
)
from discreet.families.tables.answer.models.model_table import ModelTable, model_residuals
from discreet.families.tables.answer.models.usual_errors import UsualErrors, usual_deviations
from discreet.families.tables.answer.table_source import USUAL_NOTE
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.queries.residuals import ModelDistance
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.releases import plan
from discreet.schema import Schema
from tests.releasing import release

LAW = DiscreteLaplaceLaw(Fraction(10))
SIZES = (40, 30, 6, 5)
SCHEMA = 'dataset = "d"\npeople = 3000\n' + "".join(
    f'[columns.c{place}]\nkind = "integer"\nrange = [0, {size - 1}]\nnulls = "exclude"\n'
    for place, size in enumerate(SIZES)
)
CLASS = "marginals(2)"
SMALL = np.full((2, 2), 500.0)
QUIET = [(0.0, 0.0)]
FAR = [1e9]
"""No misfit is ruled out."""
MANY = [False]
"""Many errors are free, so a distance owes nothing to chance."""


@pytest.fixture(scope="module")
def rows():
    """Two columns that follow each other, and two that follow none."""
    source = generator(5)
    first = np.minimum(source.geometric(0.12, 3000) - 1, 39)
    second = np.where(source.random(3000) < 0.5, first * 3 // 4, source.integers(0, 30, 3000))
    others = [source.integers(0, size, 3000) for size in SIZES[2:]]
    return np.stack([first, second, *others], axis=1)


@pytest.fixture(scope="module")
def made(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    path = folder / "d.csv"
    np.savetxt(path, rows, fmt="%d", delimiter=",", header="c0,c1,c2,c3", comments="")
    return release(
        path,
        Schema.loads(SCHEMA),
        budget=Budget(epsilon=1, delta="1e-6"),
        workload=CLASS,
        algorithms={CLASS: "adaptive-even"},
        ledger=folder / "ledger.db",
    )


@pytest.fixture(scope="module")
def reader(made):
    return ReleaseReader(made)


def filled(reader):
    return [
        columns
        for columns, model in reader._library.made(TableLibrary).models.items()
        if model.usual is not None
    ]


def truth_of(rows, columns):
    counts = np.zeros([SIZES[int(name[1:])] for name in columns])
    np.add.at(counts, tuple(rows[:, int(name[1:])] for name in columns), 1)
    return counts.ravel()


def asked(reader, columns, **more):
    names = ", ".join(columns)
    found = reader.ask(f"SELECT {names}, count(*) FROM d GROUP BY {names}", **more)
    return found.columns[0]


def cells_of(table, variances):
    """Errors of a table whose columns have the model's own counts, known with these variances."""
    lines = [table.sum(axis=1 - axis) for axis in (0, 1)]
    known = zip(lines, variances, strict=True)
    return CellErrors.of(table, [ColumnCounts(line, np.full(line.shape, v)) for line, v in known])


def typical(weights):
    """The misfit in the middle, of each table."""
    return np.exp(weights @ np.log(MISFITS))


def test_a_misfit_is_what_was_measured_or_what_other_tables_have_where_noise_hides_it():
    """Twenty tables alike with a misfit of 3, and one that is off ten times as far."""
    expected = [100 * KNOTS] * 21
    far, sizes = [300.0] * 20 + [3000.0], np.full(21, 50.0)
    clear = typical(misfits_of(far, [5.0] * 21, expected, QUIET * 21, sizes, FAR * 21, MANY * 21))
    assert clear[:20] == pytest.approx(3, rel=0.1) and clear[20] == pytest.approx(30, rel=0.1)
    hidden = typical(
        misfits_of(far, [5.0] * 20 + [1e6], expected, QUIET * 21, sizes, FAR * 21, MANY * 21)
    )
    assert hidden[20] == pytest.approx(3, rel=0.5)


@pytest.mark.parametrize("true", [10.0, 40.0])
def test_tables_whose_distances_noise_hides_tell_together_how_far_a_model_is_off(true):
    """A hundred distances, each with noise of 14,000 rows: their mean has noise of 1,400. No misfit may be above 60, and that says nothing else."""
    far = [100 * true + 20_000 * (-1) ** place for place in range(100)]
    sizes = np.full(100, 50.0)
    parts = [14_000.0] * 100, [100 * KNOTS] * 100, QUIET * 100, sizes, [60.0] * 100, MANY * 100
    found = misfits_of(far, *parts)
    assert true / 2 < typical(found).mean() < 2 * true
    assert (found[:, true < MISFITS].sum(axis=1) > 0.2).all(), "far more may be off"


def test_a_cell_that_a_bad_model_empties_may_hold_rows():
    """A model that puts all rows on the diagonal; independent columns would have 100 rows in each cell."""
    cells = cells_of(np.diag([1000.0] * 10), [0.0, 0.0])
    bad, good = np.zeros((2, len(MISFITS)))
    bad[np.argmin(np.abs(MISFITS - 10))] = good[np.argmin(np.abs(MISFITS - 1))] = 1.0
    ends = [UsualErrors(cells, own, 0.0).ends(cells, "0.95") for own in (bad, good)]
    assert cells.expected[0, 1] < 2 < 60 < ends[0][1][0, 1] < 150 and ends[1][1][0, 1] < 8


def test_misfits_of_large_cells_follow_those_of_other_large_cells():
    """Misfits that double from table to table with their counts: a hidden one at either end is foreseen on its own side."""
    sizes = 4.0 ** np.arange(-6, 7)
    true = 6 * sizes**0.3
    far = list(100 * true)
    noise = [1e6, *[5.0] * 11, 1e6]
    found = typical(
        misfits_of(far, noise, [100 * KNOTS] * 13, QUIET * 13, sizes, FAR * 13, MANY * 13)
    )
    assert found[0] < 4 and found[-1] > 15


def test_a_distance_that_noise_of_columns_explains_says_little_of_the_misfit():
    """A distance of 1,000 rows, of which noise of single columns explains 900, give or take 100 by chance: so misfits vary."""
    expected = np.hypot(900, 100 * KNOTS)
    wide, narrow = (
        misfits_of([1000.0], [5.0], [expected], [(900.0, chance)], np.array([50.0]), FAR, MANY)[0]
        for chance in (300.0, 0.0)
    )
    spreads = [
        math.sqrt(each @ (np.log(MISFITS) - each @ np.log(MISFITS)) ** 2) for each in (wide, narrow)
    ]
    assert spreads[0] > 1.5 * spreads[1]


def test_sampling_varies_as_much_as_random_rows_do_given_the_counts_of_columns():
    """Shuffled columns keep their counts: 4,000 shuffles of 300 rows. False alarm below 1e-9 (ten deviations of a variance)."""
    source = generator(3)
    one, other = source.integers(0, 2, 300), np.minimum(source.geometric(0.4, 300) - 1, 3)
    tables = np.zeros((4000, 2, 4))
    for table in tables:
        np.add.at(table, (one, source.permutation(other)), 1)
    expected = np.outer(np.bincount(one), np.bincount(other)) / 300
    errors = cells_of(expected, [0.0, 0.0])
    limit = 10 * math.sqrt(2 / 4000)
    assert errors.sampling == pytest.approx(tables.var(axis=0), rel=limit)
    assert errors.deviation(1.0) ** 2 == pytest.approx(errors.sampling)
    assert errors.deviation(3.0).min() >= 3 * np.sqrt(errors.sampling).min() * 0.999


def test_noise_of_single_columns_is_in_every_interval_however_well_the_model_fits():
    """By hand: a cell of 400 of 2,000 rows, in columns of which 800 and 1,000 rows were counted with deviations of 30 and 40."""
    expected = np.outer([800.0, 1200.0], [1000.0, 1000.0]) / 2000
    errors = cells_of(expected, [30.0**2, 40.0**2])
    by_hand = math.hypot(30 * 1000, 40 * 800) / 2000
    assert errors.columns[0, 0] == pytest.approx(by_hand, rel=0.01)
    sampling = math.sqrt(400 * 0.6 * 0.5)
    assert errors.deviation(1.0)[0, 0] == pytest.approx(math.hypot(sampling, by_hand), rel=0.01)
    twice = cells_of(expected, [800.0**2, 1000.0**2])
    assert twice.columns[0, 0] == pytest.approx(400 * math.sqrt(3)), "the variance of a product"
    (usual,) = UsualErrors.of([(errors, -1e6, 5.0)])
    lower, upper = usual.ends(usual.cells, "0.95")
    assert (upper - lower >= 3.5 * errors.columns).all()


def test_errors_by_their_law_are_held_as_often_as_stated():
    """Forty tables of normal errors, by misfits around 2, with noisy distances; cells of 0 to 300 rows.

    The seed is fixed, so nothing is left to chance. Over 12 other seeds the means were .974, .934 and .999, with deviations
    of .003, .005 and .0003: a law that is narrower by a quarter is found.
    """
    source = generator(17)
    tables, truths = [], []
    for _ in range(40):
        shares = [source.dirichlet(np.full(size, 0.6)) for size in (50, 50)]
        cells = cells_of(5000 * np.outer(*shares), [15.0**2, 15.0**2])
        misfit = math.exp(source.normal(math.log(2), 0.4))
        errors = cells.deviation(misfit) * source.normal(size=cells.expected.shape)
        truth = np.maximum(np.rint(cells.expected + errors), 0)
        distance = np.abs(truth - np.rint(cells.expected)).sum()
        tables.append((cells, float(distance + source.normal(0, 1000)), 1000.0))
        truths.append(truth)
    for level, least, most in (("0.95", 0.945, 0.99), ("0.9", 0.895, 0.955), ("0.99", 0.985, 1.0)):
        held = []
        for usual, truth in zip(UsualErrors.of(tables), truths, strict=True):
            lower, upper = usual.ends(usual.cells, level)
            held.append((lower <= truth) & (truth <= upper))
        assert least < np.concatenate(held).mean() < most


def test_a_table_that_a_model_gets_wrong_has_wide_intervals_beside_many_that_it_gets_right():
    """Distances of all tables together would make the intervals of the wrong one 20 times too narrow."""
    small, large = (cells_of(each, [1.0, 1.0]) for each in (SMALL, np.full((40, 40), 1.25)))
    tables = [(small, 1600.0, LAW.std), *((large, 1000.0, LAW.std),) * 19]
    wrong, *right = UsualErrors.of(tables)
    lower, upper = wrong.ends(wrong.cells, "0.95")
    assert (upper - lower >= 800).all(), "the mean error of a cell is 400"
    lower, upper = right[0].ends(right[0].cells, "0.95")
    assert (upper - lower <= 5).all()


def test_the_upper_end_gets_the_whole_risk_only_where_no_count_is_below_the_interval():
    """By hand: 1.96 deviations of 10 at either end of 1,000; of an exponential law of mean 10, 5% are beyond 30."""
    cells = CellErrors(np.array([1000.0, 10.0]), np.array([100.0, 100.0]), *np.zeros((4, 2)))
    usual = UsualErrors(cells, np.asarray(MISFITS == 1.0, dtype=float), 0.0)
    lower, upper = usual.ends(cells, "0.95")
    assert lower[0] == 980 and upper[0] == 1020
    assert lower[1] == 0 and upper[1] == math.ceil(10 * -math.log(0.05) - 0.5)


def test_a_known_misfit_has_normal_tails_and_an_unknown_one_longer_ones():
    assert usual_deviations(0.05) == pytest.approx(1.95996, rel=1e-4)
    assert usual_deviations(0.01) == pytest.approx(2.57583, rel=1e-4)
    nothing, off = np.zeros(1), np.array([100.0])
    cells = CellErrors(np.array([1e6]), nothing, off, off, nothing, nothing)
    place = int(np.searchsorted(MISFITS, 5.0))
    spread = np.exp(-0.5 * np.log(MISFITS / MISFITS[place]) ** 2)
    reaches = []
    for weights in (np.eye(len(MISFITS))[place], spread):
        usual = UsualErrors(cells, weights / weights.sum(), 0.0)
        reaches.append([float(usual._reach(cells, risk)[0]) for risk in (0.5, 0.05, 0.01)])
    assert reaches[0][2] / reaches[0][1] == pytest.approx(2.576 / 1.96, rel=0.02)
    assert reaches[1][2] / reaches[1][1] > 1.2 * reaches[0][2] / reaches[0][1]
    assert reaches[0][1] == pytest.approx(1.96 * 100 * math.sqrt(MISFITS[place] ** 2 - 1), rel=0.01)


def test_errors_that_follow_from_one_have_two_values_where_the_misfit_is_known():
    """Two by two cells: all are off by the same. With noise of columns, both at their worst at once is rare."""
    table = cells_of(np.outer([9000.0, 1000.0], [0.3, 0.7]), [0.0, 0.0])
    assert table.one_is_free
    place = int(np.searchsorted(MISFITS, 5.0))
    known = np.eye(len(MISFITS))[place]
    off = float(table.deviation(MISFITS[place])[0, 0])
    assert off == pytest.approx(MISFITS[place] * math.sqrt(10_000 * 0.9 * 0.1 * 0.3 * 0.7))
    lower, _ = UsualErrors(table, known, 0.0).ends(table, "0.95")
    assert table.expected - lower == pytest.approx(off, rel=0.03)
    noisy = cells_of(np.full((2, 2), 1e4), [1e6, 1e6])
    off = float(np.sqrt(noisy.sampling)[0, 0]) * MISFITS[place]
    reach = UsualErrors(noisy, known, 0.0)._reach(noisy, 0.05)
    assert (reach > 1.64 * noisy.columns).all() and (reach > off).all()
    assert (reach < off + 1.96 * noisy.columns).all()
    large = np.array([1e-12, *([0.0] * 3), 1e12])
    sets = CellErrors(large, large, large, large, large[::-1], large, one_is_free=True)
    assert np.isfinite(UsualErrors(sets, known, 0.0)._reach(sets, 0.05)).all()


def test_counts_of_two_by_two_cells_have_narrow_intervals_that_hold_for_most_of_them():
    """400 tables by misfits around 3, whose distances noise does not hide, or hides in part.

    The seed is fixed, so nothing is left to chance. Over 8 seeds the means were 1.00, .956 and .939 with deviations of at
    most .017, and the widths 2.27, 2.76 and 3.81 mean errors with deviations of at most .09. Normal tails: at least 4.5.
    """
    source = generator(29)
    for noise, widest in ((5.0, 2.5), (60.0, 3.2), (200.0, 4.3)):
        cells = cells_of(np.full((2, 2), 2500.0), [25.0, 25.0])
        misfits = np.exp(source.normal(math.log(3), 0.3, 400))
        own = np.array([cells.deviation(each)[0, 0] for each in misfits]) * source.normal(size=400)
        rows, columns = source.normal(0, 2.5, (2, 400))
        errors = np.stack([own + rows + columns, rows - own, columns - own, own])
        truths = (2500 + errors).T.reshape(400, 2, 2)
        distances = np.abs(errors).sum(axis=0) + source.normal(0, noise, 400)
        found = UsualErrors.of([(cells, float(each), noise) for each in distances])
        ends = np.array([usual.ends(cells, "0.95") for usual in found])
        held = (ends[:, 0] <= truths) & (truths <= ends[:, 1])
        assert held.mean() > 0.9
        assert (ends[:, 1] - ends[:, 0]).mean() < widest * np.abs(errors).mean()


def test_the_only_free_error_is_a_normal_number_however_large_misfits_are_expected():
    """By hand: a normal number is beyond 2 in 4.55% of cases, and beyond 1 in 31.7%."""
    assert CHANCES.sum(axis=1) == pytest.approx(np.ones(len(CHANCES)))
    at = np.exp(np.log(MISFITS[:-1]) / 2 + np.log(MISFITS[1:]) / 2)
    for expected in (0, 20):
        beyond = 1 - np.cumsum(CHANCES[expected])[:-1]
        sizes = at / MISFITS[LUCKY + expected]
        assert np.interp(2.0, sizes, beyond) == pytest.approx(0.0455, rel=0.05)
        assert np.interp(1.0, sizes, beyond) == pytest.approx(0.317, rel=0.05)


def test_a_small_distance_of_one_free_error_does_not_show_that_a_model_fits():
    """Twelve distances of 0 to 300 rows, and a hidden one. As many errors of many each would have a hidden one be as the middle ones."""
    far, sizes = [*(25.0 * np.arange(1, 13)), 150.0], np.full(13, 50.0)
    one, many = (
        misfits_of(far, [5.0] * 12 + [1e6], [100 * KNOTS] * 13, QUIET * 13, sizes, FAR * 13, each)
        for each in ([True] * 13, [False] * 13)
    )
    for place, distance in enumerate(far[:3]):
        assert typical(one)[place] == pytest.approx(distance / 100, rel=0.25)
    assert typical(many)[0] > 2 * typical(one)[0], "sampling cannot be avoided"


def test_values_that_next_to_no_rows_have_do_not_free_an_error():
    """Two by two cells, and beside them a row and a column for nulls, of which there are next to none."""
    full = np.array([[300.0, 200.0], [100.0, 400.0]])
    beside = np.full((3, 3), 1e-9)
    beside[:2, :2] = full
    alone, with_nulls = (cells_of(each, [0.0, 0.0]) for each in (full, beside))
    assert alone.one_is_free and with_nulls.one_is_free
    assert with_nulls.missed[:2, :2] == pytest.approx(alone.missed)
    assert max(with_nulls.missed[2].max(), with_nulls.missed[:, 2].max()) < 1e-3
    for more in (np.ones((2, 3)), np.ones((2, 2, 2)), np.ones((2, 1)), np.ones(4)):
        columns = [ColumnCounts(np.ones(size), np.zeros(size)) for size in more.shape]
        assert not CellErrors.of(more, columns).one_is_free


def test_counts_of_a_column_are_as_far_off_as_their_variances_say():
    """Columns of 100 to 3,000 cells by gamma laws, with noise from far less than a count to far more.

    The seed is fixed, so nothing is left to chance. Over 12 other seeds the squares of errors were .77 to 1.31 times the
    variances. Of hidden counts, the squares of measured ones are off three times as far.
    """
    source = generator(23)
    for cells, shape, noise in (
        (3000, 0.7, 0.3),
        (3000, 0.3, 2.0),
        (1000, 5.0, 0.5),
        (100, 1.0, 1e-3),
    ):
        truth = source.gamma(shape, 100 / shape, cells)
        measured = truth + source.normal(0, 100 * noise, cells)
        found = ColumnCounts.of(measured, (100 * noise) ** 2, 100 * cells)
        squares = ((found.mean - truth) ** 2).mean()
        assert 0.6 < squares / found.variance.mean() < 1.5
        assert squares < 1.1 * ((measured - truth) ** 2).mean()
        if noise == 2.0:
            assert squares < ((measured - truth) ** 2).mean() / 2
    exact = ColumnCounts.of(np.array([3.0, -2.0]), 0.0, 3.0)
    assert exact.mean.tolist() == [3, 0] and exact.variance.tolist() == [0, 0]


@pytest.mark.parametrize("measured", [[-1e9, 5.0, 1e9], [-50.0, -40.0, -60.0], [0.0]])
@pytest.mark.parametrize("rows", [1.0, 1e12])
def test_no_measured_column_however_odd_has_counts_that_are_not_numbers(measured, rows):
    found = ColumnCounts.of(np.array(measured), 100.0, rows)
    assert np.isfinite(found.mean).all() and (found.mean >= 0).all()
    assert np.isfinite(found.variance).all() and (found.variance <= 14**2 * 100).all()


def test_counts_are_expected_where_the_columns_own_tables_say():
    """The model has 60 rows of a value that was measured 90 times, and none of one that was measured 10 times."""
    model = np.array([[50.0, 10.0], [10.0, 30.0], [0.0, 0.0]])
    counts = [np.array([90.0, 40.0, 10.0]), np.array([80.0, 60.0])]
    cells = CellErrors.of(
        model * 1.4, [ColumnCounts(each, np.zeros(each.shape)) for each in counts]
    )
    assert cells.expected.sum(axis=1) == pytest.approx(counts[0], rel=0.02)
    assert cells.expected.sum(axis=0) == pytest.approx(counts[1], rel=0.02)
    odds = cells.expected[0, 0] * cells.expected[1, 1] / cells.expected[0, 1] / cells.expected[1, 0]
    assert odds == pytest.approx(50 * 30 / 100, rel=0.15), "the model's dependence is kept"
    assert cells.expected[2] == pytest.approx([10 * 80 / 140, 10 * 60 / 140], rel=0.2)
    assert cells.moved == pytest.approx(cells.expected - model * 1.4)
    assert cells.distances(KNOTS)[0] >= 0.79 * np.abs(cells.moved).sum()


def test_no_misfit_is_larger_than_a_dependence_makes_it():
    """Columns of two values that determine each other, 1,000 rows: chi-square is 1,000, so the misfit is 31.6."""
    assert farthest_misfit((2, 2), 1000) == pytest.approx(math.sqrt(1001))
    table, halves = np.diag([500.0, 500.0]), np.full((2, 2), 250.0)
    assert farthest_misfit((2, 2), 1000) ** 2 - 1 == pytest.approx(
        ((table - halves) ** 2 / halves).sum()
    )
    hidden = misfits_of([0.0], [1e9], [100 * KNOTS], QUIET, np.array([250.0]), [31.6], MANY)[0]
    unlimited = misfits_of([0.0], [1e9], [100 * KNOTS], QUIET, np.array([250.0]), FAR, MANY)[0]
    assert hidden[MISFITS > 60].sum() < 0.02 < 0.2 < unlimited[MISFITS > 60].sum()


def test_sampling_errors_of_a_set_add_up_in_squares_and_all_others_as_they_are():
    cells = cells_of(np.outer([30.0, 50.0], [25.0, 55.0]) / 80, [9.0, 16.0])
    both = cells.changed(lambda each: each.sum(axis=1))
    assert both.sampling == pytest.approx(cells.sampling[:, 0] + cells.sampling[:, 1])
    assert both.columns == pytest.approx(cells.columns[:, 0] + cells.columns[:, 1])
    assert (both.deviation(2.0) <= cells.deviation(2.0).sum(axis=1)).all()
    assert (both.deviation(2.0) >= cells.deviation(2.0).max(axis=1)).all()


def test_errors_of_few_cells_are_spread_evenly_and_of_many_by_their_counts():
    """In two by two cells, three errors follow from the fourth. In a hundred by a hundred, hardly any do."""
    few = cells_of(np.outer([9900.0, 100.0], [9900.0, 100.0]) / 10_000, [0.0, 0.0])
    assert few.sampling == pytest.approx(np.full((2, 2), few.sampling[0, 0]))
    shares = 1 / np.arange(1.0, 101.0)
    many = cells_of(np.outer(shares, shares) * 1000, [0.0, 0.0]).deviation(2.0)
    assert many.max() > 40 * many.min()


@pytest.mark.parametrize("distance", [-1e6, 0.0, 1e12])
def test_no_distance_however_odd_leaves_an_interval_without_a_width(distance):
    cells = cells_of(np.zeros((3, 4)), [1.0, 1.0])
    (usual,) = UsualErrors.of([(cells, distance, LAW.std)])
    assert np.isfinite(usual.weights).all() and usual.weights.sum() == pytest.approx(1)
    table = ModelTable(("a", "b"), np.zeros((3, 4)), distance, LAW)
    table.find_usual = lambda own=usual: own
    below, above, _ = table.cell_widths([np.array([0]), np.array([0])], "0.95")
    assert below >= 1 and above >= 1, "a row to either side at least"


def test_what_was_not_measured_is_left_to_the_bound_that_is_proved(rows, reader):
    """Above 99% intervals are those of the distance, which hold for every cell; no chance is in it."""
    columns = filled(reader)[0]
    model = reader._library.made(TableLibrary).table(columns)
    usual = model.usual
    assert usual.ends(usual.cells, "0.99") is not None and usual.ends(usual.cells, "0.995") is None
    wider = [np.subtract(*usual.ends(usual.cells, each)).mean() for each in (0.99, 0.95, 0.5, 0.1)]
    assert wider == sorted(wider), "upper ends are taken from lower ones"
    one = np.zeros(model.counts.shape)
    one[0, 0] = 1.0
    proved = model.reach(one, model.model_level("0.995"))[0]
    found = asked(reader, columns, confidence=0.995)
    wide = model.counts.ravel() + proved
    assert (found.upper <= np.ceil(wide)).all()
    assert (found.upper - found.lower).mean() > 2 * (
        asked(reader, columns).upper - asked(reader, columns).lower
    ).mean()


def test_a_bound_that_is_proved_and_narrower_is_kept():
    """A model that is off by nothing, with little noise: the distance says more than the usual error does."""
    table = ModelTable(("a", "b"), np.full((2, 2), 10.0), 0.0, DiscreteLaplaceLaw(Fraction(1, 10)))
    (usual,) = UsualErrors.of([(cells_of(SMALL, [1e4, 1e4]), 1000.0, 1.0)])
    table.find_usual = lambda: usual
    one = np.zeros((2, 2))
    one[0, 0] = 1.0
    codes = [np.array([0]), np.array([0])]
    found = table.cell_widths(codes, "0.95")
    assert found is not None
    assert found[0] == table.reach(one, "0.95")[0]


def test_cells_of_a_model_have_sharp_intervals_that_hold_for_most_of_them(rows, reader):
    """All ways of asking give the same intervals, and a note says what is not proved.

    In 8 draws width over error was 4.63 with a deviation of 0.14, and 97.0% of the cells were held with a
    deviation of 0.26%: both limits are ten deviations away.
    """
    widths, errors, held = [], [], []
    for columns in filled(reader):
        found = asked(reader, columns)
        truth = truth_of(rows, columns)
        widths.append(found.upper - found.lower)
        errors.append(np.abs(found.estimate - truth))
        held.append((found.lower <= truth) & (truth <= found.upper))
        assert widths[-1].min() > 0
        sizes = [SIZES[int(name[1:])] for name in columns]
        codes = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
        batch = reader.count_cells(columns, codes)
        assert np.array_equal(batch.lower, found.lower)
        assert np.array_equal(batch.upper, found.upper)
        one = reader.ask(f"SELECT count(*) FROM d WHERE {columns[0]} = 1 AND {columns[1]} = 2")
        place = sizes[1] + 2
        assert (one.only.lower, one.only.upper) == (found.lower[place], found.upper[place])
        assert USUAL_NOTE in one.notes
    assert np.concatenate(widths).mean() < 6.1 * np.concatenate(errors).mean()
    assert np.concatenate(held).mean() > 0.94


def test_sums_over_cells_reach_no_further_than_the_bound_that_is_proved(reader):
    """And the sum of no cells is surely 0; of all cells, as far off as the total."""
    columns = filled(reader)[0]
    model = reader._library.made(TableLibrary).table(columns)
    mask = np.zeros(model.counts.shape, dtype=bool)
    mask[:3, :2] = True
    some = model.usual.cells.changed(lambda each: np.array(each[:3, :2].sum()))
    lower, upper = model.usual.ends(some, "0.95")
    proved = model.reach(mask.astype(float), "0.95")[0]
    value, below, above, _ = model.ends(mask, (), None, "0.95")
    assert below == min(max(value - lower, 1), proved)
    assert above == min(max(upper - value, 1), proved)
    everything = model.ends(~mask | mask, (), None, "0.95")
    assert max(everything[1:3]) <= model.reach(np.ones(mask.shape), "0.95")[0]
    assert model.ends(mask & ~mask, (), None, "0.95")[1:3] == (0, 0)
    certain = model.ends(mask, (), None, "0.995")
    assert certain[1] == certain[2] == model.reach(mask.astype(float), "0.995")[0]


def test_noise_in_distances_does_not_decide_which_table_of_a_model_is_believed():
    """Equal tables, one of whose noisy distances is below 0: whole counts would follow that one alone, whatever the others say."""
    law, counts = DiscreteLaplaceLaw(Fraction(1000)), np.full((2, 2), 500.0)
    tables = [
        ModelTable((f"a{place}", "b"), counts, distance, law)
        for place, distance in enumerate((-900.0, 700.0, 2500.0))
    ]
    cells = cells_of(counts, [1.0, 1.0])
    for table, usual in zip(
        tables, UsualErrors.of([(cells, each.distance, law.std) for each in tables]), strict=True
    ):
        table.find_usual = lambda own=usual: own
    found = model_residuals(tables)
    errors = [found[each.columns].find_std() for each in tables]
    assert max(errors) < 4 * min(errors)


def test_a_release_with_a_model_is_made_without_its_usual_errors(rows, tmp_path, monkeypatch):
    """They take longer than the claims, which do not need them: only intervals do."""
    path = tmp_path / "d.csv"
    np.savetxt(path, rows, fmt="%d", delimiter=",", header="c0,c1,c2,c3", comments="")

    def never(*_: object) -> None:
        raise AssertionError("a release asked how far counts usually are off")

    with monkeypatch.context() as patched:
        patched.setattr(UsualErrors, "of", never)
        found = release(
            path,
            Schema.loads(SCHEMA),
            budget=Budget(epsilon=1, delta="1e-6"),
            workload=CLASS,
            algorithms={CLASS: "adaptive-even"},
            ledger=tmp_path / "ledger.db",
        )
    assert found.parts[0].kind == "model" and filled(ReleaseReader(found))


def test_only_tables_that_the_model_fills_in_are_audited(made, reader):
    """What measurements determine needs no audit; so the noise of the others is less."""
    (part,) = made.parts
    audits = part.measurements[-int(part.facts["audits"]) :]
    assert all(isinstance(each.query, ModelDistance) for each in audits)
    pairs = list(combinations([f"c{place}" for place in range(4)], 2))
    by_model = [
        pair for pair in pairs if not reader._library.made(TableLibrary).consistent.determines(pair)
    ]
    assert [each.query.columns for each in audits] == (by_model or pairs)


def test_a_plan_foresees_the_error_and_the_width_of_a_model(rows, made, reader):
    """Within a factor of 4, which no noise reaches: the table and the plan agree within 2."""
    schema = Schema.loads(SCHEMA)
    error = (
        plan(
            schema,
            workload=CLASS,
            budget=Budget(epsilon=1, delta="1e-6"),
            algorithms={CLASS: "adaptive-even"},
        )
        .classes[0]
        .error
    )
    assert error.half_width is not None and error.expected is not None
    found = [asked(reader, columns) for columns in filled(reader)]
    errors = np.concatenate(
        [
            np.abs(each.estimate - truth_of(rows, columns))
            for each, columns in zip(found, filled(reader), strict=True)
        ]
    )
    above = np.concatenate([each.upper - each.estimate for each in found])
    assert 1 / 4 < error.expected / errors.mean() < 4
    assert 1 / 4 < error.half_width / above.mean() < 4
    nobody = Schema.loads(SCHEMA.replace("people = 3000\n", ""))
    unknown = plan(
        nobody,
        workload=CLASS,
        budget=Budget(epsilon=1, delta="1e-6"),
        algorithms={CLASS: "adaptive-even"},
    )
    assert unknown.classes[0].error.half_width is None
