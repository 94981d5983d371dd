"""Models of rows: fitted to residuals, honest about their own error, and rows drawn from them."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from discreet.answering import ReleaseReader, open_release
from discreet.answering.regions.selecting import select
from discreet.artifacts.answer import Covers
from discreet.artifacts.files import write_release
from discreet.core.mechanisms import DiscreteLaplace
from discreet.errors import BadInput, NotAnswerable
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.counting import count_rows
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.families.tables.answer.models.model_table import ModelTable
from discreet.families.tables.estimate.fitting import WHOLE_STEPS
from discreet.families.tables.estimate.log_linear import LogLinear
from discreet.families.tables.estimate.mixture import (
    Mixture,
    Target,
    even_bins,
    model_counts,
    smooth_shares,
)
from discreet.families.tables.estimate.residuals import centred
from discreet.families.tables.estimate.settling import (
    WORK,
    _take_off,
    settle,
)
from discreet.families.tables.release.pair_choice import Candidate, choose
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.questions.dialects.sql import parse_question
from discreet.releases.preparing import prepare
from discreet.releases.verifying import verify
from discreet.schema import CategoryColumn, Schema
from tests.releasing import release

SCHEMA = """
dataset = "people"
people = 2000
[columns.age]
kind = "integer"
range = [0, 99]
width = 10
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.born]
kind = "date"
range = ["2000-01-01", "2000-12-31"]
granularity = "month"
[columns.pay]
kind = "number"
bounds = [0, 8]
bits = 3
[columns.member]
kind = "boolean"
"""

POOR = Budget(epsilon="1/10", delta="1e-6")
"""Noise on everything would leave tables more wrong than right: a model is made."""


def people(path, rows=2000):
    """Older people earn more; sex follows membership; some values are missing."""
    source = np.random.default_rng()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "born", "pay", "member"])
        for _ in range(rows):
            age = int(source.integers(0, 100))
            member = bool(source.random() < 0.4)
            sex = ("f" if member else "m") if source.random() < 0.9 else ""
            pay = min(7.9, age / 14 + source.random())
            writer.writerow([age, sex, f"2000-{source.integers(1, 13):02}-03", pay, member])
    return path


@pytest.fixture(scope="module")
def schema():
    return Schema.loads(SCHEMA)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return people(tmp_path_factory.mktemp("people") / "people.csv")


def released(table, schema, tmp_path, algorithm, budget=None):
    return release(
        table,
        schema,
        budget=budget or Budget(epsilon=2, delta="1e-6"),
        workload="marginals(2)",
        algorithms={"marginals(2)": algorithm},
        ledger=tmp_path / "ledger.db",
    )


def truth_of(table, schema, columns):
    counts = np.zeros([schema.column(name).cells for name in columns])
    with table.open() as file:
        for row in csv.DictReader(file):
            counts[tuple(schema.column(name).code_of(row[name] or None) for name in columns)] += 1
    return counts


@pytest.mark.parametrize(
    ("budget", "kinds"),
    [
        (Budget(rho=5), ("residuals",)),
        (Budget(epsilon=2, delta="1e-6"), ("residuals", "model")),
        (POOR, ("model",)),
        (Budget(epsilon=3), ("model",)),
    ],
    ids=str,
)
def test_an_adaptive_release_spends_what_it_was_given_and_verifies(
    table, schema, tmp_path, budget, kinds
):
    """With little noise all pairs are measured: independent columns get 400 rows and more of an average pair wrong, and noise leaves
    fewer than 40. With much noise, or no delta, public facts decide for a model."""
    made = released(table, schema, tmp_path, "adaptive", budget)
    assert made.parts[0].kind in kinds and made.parts[0].algorithm == "adaptive"
    write_release(made, tmp_path / "x.release")
    verified = verify(tmp_path / "x.release")
    assert verified.ok, verified.problems
    assert verified.total.amount > 0
    assert verified.allowed.covers(verified.total)
    assert verified.allowed.minus(verified.total) == verified.total.times(0)


def test_every_answer_of_a_model_is_within_its_measured_error_and_says_so(table, schema, tmp_path):
    """Intervals at 1 - 1e-8: of 10 tables, each with less than 30 cells of single columns that cap it, one
    fails with a probability below 4e-7."""
    reader = ReleaseReader(released(table, schema, tmp_path, "adaptive", POOR))
    covered = set()
    for one, other in combinations([column.name for column in schema.columns], 2):
        found = reader.ask(
            f"SELECT {one}, {other}, count(*) FROM people GROUP BY {one}, {other}",
            confidence=1 - 1e-8,
        ).columns[0]
        truth = truth_of(table, schema, (one, other)).ravel()
        assert ((found.lower <= truth) & (truth <= found.upper)).all()
        covered.add(found.covers)
    assert Covers.NOISE_AND_MODEL in covered
    one_way = reader.ask("SELECT sex, count(*) FROM people GROUP BY sex").columns[0]
    assert one_way.covers is Covers.NOISE, "one-way tables were measured"


def test_a_model_count_is_capped_by_the_measured_tables_of_its_columns(table, schema, tmp_path):
    """At a tenth of epsilon the model's own check says little; the tables of single columns say more.

    A count of a pair ends at most where the count of one of its columns does, at a confidence that
    leaves a tenth of the risk to two columns; without the cap it would end some thousands higher.
    No assertion depends on the noise.
    """
    reader = ReleaseReader(released(table, schema, tmp_path, "adaptive", POOR))
    models = 0
    for one, other in combinations([column.name for column in schema.columns], 2):
        found = reader.ask(f"SELECT {one}, {other}, count(*) FROM people GROUP BY {one}, {other}")
        column = found.columns[0]
        if column.covers is not Covers.NOISE_AND_MODEL:
            continue
        models += 1
        shape = [schema.column(name).cells for name in (one, other)]
        upper = np.asarray(column.upper).reshape(shape)
        caps = [
            np.asarray(
                reader.ask(f"SELECT {name}, count(*) FROM people GROUP BY {name}", confidence=0.995)
                .columns[0]
                .upper
            )
            for name in (one, other)
        ]
        assert (upper <= np.minimum.outer(*caps)).all()
        codes = np.stack(np.unravel_index(np.arange(upper.size), shape), axis=1)
        batch = reader.count_cells((one, other), codes)
        assert np.array_equal(batch.upper, upper.ravel()), "both ways of asking answer alike"
    assert models > 0


def test_a_model_and_the_tables_that_cap_it_share_the_risk_of_an_interval():
    """Each cap fails on one side; what they and the model may fail by adds up to all that is allowed."""
    asked = []

    class Margin(WeightedTable):
        columns, counts = ("a",), np.array([3.0, 4.0])

        def reach(self, weights, confidence):
            asked.append(confidence)
            return 1.0, 1.0

    table = ModelTable(("a", "b"), np.zeros((2, 2)), 100.0, DiscreteLaplaceLaw(scale=Fraction(10)))
    table.margins.update({0: Margin(), 1: Margin()})
    assert table.ceilings(np.ones((2, 2), dtype=bool), (), "0.95") == 8.0
    assert (table.ceilings(np.ones((2, 2), dtype=bool), (1,), "0.95") == [4.0, 5.0]).all()
    assert (table.ceilings_of_cells([np.array([0, 1]), np.array([1, 1])], "0.95") == [4, 5]).all()
    (level,) = set(asked)
    by_ceilings = len(table.margins) * (1 - level) / 2
    assert by_ceilings + (1 - table.model_level("0.95")) == Fraction(1, 20)


@pytest.mark.parametrize("total", [None, 40.0])
def test_a_measured_distance_below_zero_leaves_the_noise_in_every_interval(total):
    """Noise of scale 10 that fell to -500 bounds the distance by its quantile; no chance here."""
    law = DiscreteLaplaceLaw(scale=Fraction(10))
    table = ModelTable(("a", "b"), np.full((2, 2), 10.0), -500.0, law)
    table.total = total
    noise = law.half_width(0.9)
    weights = np.array([[1.0, 0.0], [0.0, 0.0]])
    width, std = table.reach(weights, "0.95")
    assert width >= (noise if total is None else noise / 2) and std > 0
    at_zero = replace(table, distance=0.0)
    assert (width, std) == at_zero.reach(weights, "0.95")


def test_a_ceiling_below_zero_or_below_the_model_leaves_the_noise_in_every_interval():
    class Margin(WeightedTable):
        columns, counts = ("a",), np.array([-30.0, 4.0])

        def reach(self, weights, confidence):
            return 7.0, 3.0

    schema = Schema(
        dataset="d",
        columns=tuple(CategoryColumn(name, ("x", "y"), False, "exclude") for name in "ab"),
    )
    table = ModelTable(("a", "b"), np.full((2, 2), 500.0), 0.0, DiscreteLaplaceLaw(Fraction(10)))
    table.margins = {0: Margin()}
    most = table.ceilings(np.ones((2, 2), dtype=bool), (0,), "0.95")
    assert most.tolist() == [7.0, 11.0], "a count of -30 shows a count of 0 at most, and its noise"
    assert table.ceilings(np.array([[True, True], [False, False]]), (), "0.95") == 7.0
    assert table.ceilings_of_cells([np.array([0]), np.array([1])], "0.95") == 7.0
    question = parse_question("SELECT a, b, count(*) FROM d GROUP BY a, b", schema)
    chosen = select(question.condition, schema, keep=["a", "b"])
    found = count_rows(table, chosen, group_axes=(0, 1), confidence=0.95, public_rows=None)
    found = found.plausible(None)
    assert (found.upper <= most[:, None]).all()
    assert (found.lower == 0).all(), (
        "the model says 500 +- 30: as wide as that, down from the ceiling"
    )


def test_a_question_beyond_the_workload_is_refused_not_guessed(table, schema, tmp_path):
    reader = ReleaseReader(released(table, schema, tmp_path, "adaptive"))
    with pytest.raises(NotAnswerable, match="marginals"):
        reader.ask("SELECT count(*) FROM people WHERE age < 10 AND sex = 'f' AND member")


@pytest.mark.parametrize("algorithm", ["adaptive", "residuals", "direct"])
def test_synthetic_rows_have_the_columns_types_and_values_of_the_schema(
    table, schema, tmp_path, algorithm
):
    reader = ReleaseReader(released(table, schema, tmp_path, algorithm))
    rows = reader.synthesize(400, seed=5)
    assert len(rows) == 400 and rows.names == tuple(column.name for column in schema.columns)
    values = rows.to_dict()
    assert all(v is None or (type(v) is int and 0 <= v <= 99) for v in values["age"])
    assert {type(v) for v in values["born"]} <= {date, type(None)}
    assert {type(v) for v in values["member"]} <= {bool, type(None)}
    assert all(v is None or 0 <= v <= 8 for v in values["pay"])
    for name in rows.names:
        codes = [schema.column(name).code_of(value) for value in values[name]]
        assert codes == rows.codes[:, rows.names.index(name)].tolist() or "other" in str(
            values[name]
        )


def test_the_same_seed_gives_the_same_rows_and_a_written_file_reads_back(table, schema, tmp_path):
    made = released(table, schema, tmp_path, "residuals")
    write_release(made, tmp_path / "x.release")
    reader = open_release(tmp_path / "x.release")
    one, two, three = (reader.synthesize(300, seed=seed) for seed in (7, 7, 8))
    assert one.to_dict() == two.to_dict() != three.to_dict()
    one.write(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [row["sex"] or None for row in read] == one.column("sex")
    with pytest.raises(BadInput, match=r"\.csv"):
        one.write(tmp_path / "rows.xlsx")
    assert not [path for path in tmp_path.iterdir() if "rows.xlsx" in path.name]


def test_parquet_keeps_names_types_and_nulls(table, schema, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = ReleaseReader(released(table, schema, tmp_path, "residuals")).synthesize(300, seed=1)
    rows.write(tmp_path / "rows.parquet")
    read = parquet.read_table(tmp_path / "rows.parquet")
    assert read.column_names == list(rows.names)
    assert read.to_pydict() == rows.to_dict()


def test_synthetic_rows_keep_the_dependences_that_stand_out_from_the_noise(table, schema, tmp_path):
    """At epsilon 20 total variations are .004 +- .0015, .018 +- .002, .022 +- .002: those of the noise.

    They are Lipschitz in many independent draws, so their tails are normal ones, and the limits are
    beyond 10 deviations: false alarm far below 1e-6. Columns taken as independent have .4 and .7 in the
    planted pairs. The last pair has nothing but noise in it, and catches rows that stay where a model of
    300 components happened to draw them (.07), and a fit that is not at its end (.06 and more).
    """
    budget = Budget(epsilon=20, delta="1e-6")
    for algorithm in ("adaptive", "residuals"):
        place = tmp_path / algorithm
        place.mkdir()
        reader = ReleaseReader(released(table, schema, place, algorithm, budget))
        rows = reader.synthesize(seed=0)
        assert abs(len(rows) - 2000) < 50
        limits = {("sex", "member"): 0.024, ("age", "pay"): 0.045, ("age", "born"): 0.045}
        for columns, most in limits.items():
            made = np.zeros([schema.column(name).cells for name in columns])
            places = [rows.names.index(name) for name in columns]
            np.add.at(made, tuple(rows.codes[:, place] for place in places), 1)
            truth = truth_of(table, schema, columns)
            assert np.abs(made / made.sum() - truth / truth.sum()).sum() / 2 < most


def test_a_model_whose_total_is_known_is_off_by_half_its_distance_in_a_count():
    """Exact, with noise of almost 0: 30 rows too many in one cell are missing in another."""
    law = DiscreteLaplace(epsilon=Fraction(1000)).law(Sensitivity(l1=1, l2_squared=1), size=1)
    table = ModelTable(("a",), np.array([70.0, 30.0, 0.0]), 60.0, law)
    one = np.array([1.0, 0.0, 0.0])
    assert table.reach(one, 0.95)[0] == pytest.approx(60, abs=1)
    table.total = 100.0
    assert table.reach(one, 0.95)[0] == pytest.approx(30, abs=1)
    table.total = 90.0
    assert table.reach(one, 0.95)[0] == pytest.approx(35, abs=1), "the total's error is shared"
    assert table.reach(np.ones(3), 0.95)[0] >= 10, "all rows are off by the total's error"
    truth = np.array([35.0, 55.0, 0.0])
    for cells in product((0.0, 1.0), repeat=3):
        weights = np.array(cells)
        assert abs(weights @ (truth - table.counts)) <= table.reach(weights, 0.95)[0] + 1e-9


def test_the_release_is_chosen_by_public_facts(schema):
    rich = prepare(schema, budget=Budget(epsilon=50, delta="1e-6"), workload="marginals(2)")
    poor = prepare(schema, budget=Budget(epsilon="1/10", delta="1e-6"), workload="marginals(2)")
    single = prepare(schema, budget=Budget(epsilon="1/10"), workload="marginals(age, sex)")
    assert rich.parts[0].algorithm in ("residuals", "direct")
    assert poor.parts[0].algorithm == "adaptive"
    assert single.parts[0].algorithm == "direct"
    unknown = Schema.loads(SCHEMA.replace("people = 2000", ""))
    blind = prepare(unknown, budget=Budget(epsilon="1/10", delta="1e-6"), workload="marginals(2)")
    assert blind.parts[0].algorithm in ("residuals", "direct"), "n is never looked at"


# --- the models themselves ---------------------------------------------------------------------


def targets_of(table, std=1e-4):
    """Residuals of all one- and two-column tables of a distribution."""
    found = []
    axes = range(table.ndim)
    for own in [(a,) for a in axes] + list(combinations(axes, 2)):
        small = table.sum(axis=tuple(a for a in axes if a not in own))
        found.append(Target(own, (None,) * len(own), centred(small).astype(np.float32), std))
    return found


def test_the_log_linear_model_finds_the_table_of_most_entropy_for_its_pairs():
    """A table that is itself a product of pairwise terms is its own table of most entropy."""
    source = np.random.default_rng()
    sizes = (3, 2, 4)
    log = sum(
        source.normal(size=[s if a in pair else 1 for a, s in enumerate(sizes)])
        for pair in combinations(range(3), 2)
    )
    table = np.exp(log) / np.exp(log).sum()
    model = LogLinear(sizes)
    model.fit(targets_of(table, 1e-5), steps=2000)
    assert np.abs(model.table.ravel() - table.ravel()).sum() < 0.01
    assert np.allclose(model.marginal((2, 0)), table.sum(axis=1).T, atol=1e-3)


def test_the_log_linear_fit_ends_where_empty_cells_are_measured_with_little_noise():
    """No table has such residuals: noise makes empty cells negative. The mean total variation of the six
    tables is .0096 +- .0008 in 12 draws, and Lipschitz in hundreds of them: false alarm far below 1e-6.
    Penalised by the square of the noise alone it was .059 and more.
    """
    source = np.random.default_rng()
    table = np.zeros((12, 10, 9, 4))
    for age in range(12):
        table[age, age * 10 // 12, :, :] = source.dirichlet(np.ones(9))[:, None] / 48
        table[age, age * 10 // 12, age % 9, :] += 1 / 96
    table /= table.sum()
    noisy = [
        replace(
            each,
            table=centred(each.table + source.normal(size=each.table.shape) * 5e-4).astype(
                np.float32
            ),
        )
        for each in targets_of(table, 5e-4)
    ]
    model = LogLinear(table.shape)
    model.fit(noisy, steps=WHOLE_STEPS)
    missed = [
        np.abs(
            model.marginal(own) - table.sum(axis=tuple(a for a in range(4) if a not in own))
        ).sum()
        / 2
        for own in combinations(range(4), 2)
    ]
    assert np.mean(missed) < 0.025


def test_a_mixture_reproduces_the_pairs_that_it_is_fitted_to():
    table = np.random.default_rng().dirichlet(np.ones(24)).reshape(3, 2, 4)
    model = Mixture.independent([np.full(s, 1 / s) for s in table.shape], generator(0))
    model.fit(targets_of(table, 1e-3), rows=1000.0, steps=600, fitted=0.5)
    for one, other in combinations(range(3), 2):
        true = table.sum(axis=3 - one - other)
        assert np.abs(model.marginal((one, other)) - true).sum() < 0.03
    rows = model.sample(4000, generator(1))
    drawn = np.zeros(table.shape)
    np.add.at(drawn, tuple(rows.T), 1 / 4000)
    for one, other in combinations(range(3), 2):
        axis = 3 - one - other
        assert np.abs(drawn.sum(axis=axis) - model.marginal((one, other))).sum() < 0.05
    assert model_counts(model, (0, 1), 100.0).dtype == np.int64


def test_moving_rows_brings_the_counts_of_pairs_to_what_is_wanted():
    source = generator(3)
    table = np.random.default_rng().dirichlet(np.ones(24)).reshape(3, 2, 4)
    model = LogLinear((3, 2, 4))
    model.table = table.reshape(model.table.shape)
    cells = source.choice(24, size=3000, p=table.ravel())
    rows = np.stack(np.unravel_index(cells, (3, 2, 4)), axis=1)

    def missed():
        counts = np.zeros((3, 4))
        np.add.at(counts, (rows[:, 0], rows[:, 2]), 1)
        return np.abs(counts - 3000 * table.sum(axis=1)).sum()

    before = missed()
    settle(rows, (3, 2, 4), 3000 * model._pairs(model.table), source)
    assert missed() < 0.4 * before


def test_rows_of_a_large_table_are_moved_however_often_that_works():
    """336,776 rows that all start in one cell: every step brings them nearer, sixty times for each column."""
    many, sizes = 336_776, (12, 16, 24)
    edges = np.cumsum((0, *sizes))
    shares = np.concatenate([np.full(size, 1 / size) for size in sizes])
    wanted = many * np.outer(shares, shares)
    for low, high in pairwise(edges):
        wanted[low:high, low:high] = np.diag(many * shares[low:high])
    rows = np.zeros((many, 3), dtype=np.int64)
    settle(rows, sizes, wanted, generator(2))
    assert (rows >= 0).all() and (rows < sizes).all()
    moved = [int((column > 0).sum()) for column in rows.T]
    assert min(moved) >= 50 * 256, "at each of sixty steps about all rows that are looked at"


def test_few_columns_of_many_values_are_settled_to_the_end():
    """They have few values to compare in a step, so the same work is many steps. By sixty alone much is left."""
    source = np.random.default_rng(5)
    sizes, many = (300, 90, 4), 15_000
    first = source.choice(sizes[0], many, p=source.dirichlet(np.full(sizes[0], 0.7)))
    true = np.stack([first, (first * 7 + source.integers(9, size=many)) % 90, first % 4], axis=1)
    shuffled = np.stack([source.permutation(column) for column in true.T], axis=1)
    edges = np.cumsum((0, *sizes))
    wanted = np.zeros((edges[-1], edges[-1]), dtype=np.float32)
    _take_off(wanted, true, edges)
    np.negative(wanted, out=wanted)

    def missed(rows):
        off = wanted.copy()
        _take_off(off, rows, edges)
        return float(np.abs(off).sum())

    before, left = missed(shuffled), []
    for work in (0, WORK):  # the first is sixty steps
        settled = shuffled.copy()
        settle(settled, sizes, wanted.copy(), generator(2), work=work)
        left.append(missed(settled) / before)
    assert left[0] > 0.3 and left[1] < 0.1


def test_shares_that_noise_alone_could_have_made_stay_even():
    source = np.random.default_rng()
    quiet = smooth_shares(100 + source.normal(size=10) * 0.5, 1000.0, 1000.0)
    assert np.allclose(quiet, 0.1)
    loud = np.array([700.0, 200.0, 100.0])
    assert np.allclose(smooth_shares(loud, 0.5, 1000.0), loud / 1000, atol=0.01)


def test_bins_are_neighbouring_cells_of_about_equal_share():
    bins = even_bins(np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1]), 3)
    assert bins is not None and list(bins) == sorted(bins) and max(bins) + 1 <= 3
    assert even_bins(np.ones(3) / 3, 4) is None


def test_a_pair_with_a_large_error_is_chosen_before_one_without():
    def candidate(pair, error, size=4):
        return Candidate(
            pair=pair, level=pair, error=error, cells=np.full(size, 100.0), shrink=0.7, price=0.5, power=2
        )  # fmt: skip

    chosen = choose([candidate(0, 900.0), candidate(1, 1.0), candidate(2, 0.0)], 0.05)
    assert [each.pair for each in chosen] == [0]
    assert choose([candidate(0, -5.0)], 0.05)[0].pair == 0, "something is always measured"
    assert not choose([], 1.0)


def test_all_pairs_of_a_small_domain_come_from_one_matrix():
    table = np.random.default_rng().dirichlet(np.ones(12)).reshape(3, 2, 2)
    model = LogLinear((3, 2, 2))
    model.table = table.reshape(model.table.shape)
    pairs = model._pairs(model.table)
    edges = model.edges
    for one, other in product(range(3), repeat=2):
        if one != other:
            found = pairs[edges[one] : edges[one + 1], edges[other] : edges[other + 1]]
            assert np.allclose(found, model.marginal((one, other)))


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 50), (60, 2, 2), (2, 3, 2, 4), (3, 4, 3, 2, 2)])
def test_pairs_and_terms_of_a_log_linear_model_are_those_of_every_cell(
    sizes: tuple[int, ...],
) -> None:
    """Also where one half of the columns is a single one, which takes a way of its own."""
    chance = np.random.default_rng(4)
    model, width = LogLinear(sizes), sum(sizes)
    terms = chance.normal(size=(width, width))
    table, log_total = model._exponential(terms)
    starts = np.cumsum([0, *sizes])[:-1]
    places = [starts + np.array(cell) for cell in np.ndindex(*sizes)]
    whole = np.array([terms[np.ix_(own, own)].sum() for own in places])
    assert table.ravel() == pytest.approx(np.exp(whole - log_total), rel=1e-9)
    assert table.sum() == pytest.approx(1)
    pairs = np.zeros((width, width))
    for own, share in zip(places, table.ravel(), strict=True):
        pairs[np.ix_(own, own)] += share
    assert model._pairs(table) == pytest.approx(pairs, abs=1e-12)
