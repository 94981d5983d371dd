"""Residuals: integers with an exact sensitivity, and tables put together from them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom

from discreet.answering import ReleaseReader
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.core.noise import DrawnNoise
from discreet.families.shared.estimate.linear_widths import linear_half_width, variance_of_repeated
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.consistent import ConsistentTables
from discreet.families.tables.estimate.residuals import ResidualTables, centred
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.residuals import BinnedTable, ModelDistance, Residual, subsets
from discreet.families.tables.release.residual import ResidualMarginals
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost, allowance
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from discreet.releases.verifying import verify
from discreet.schema import IntegerColumn, Schema
from tests.releasing import release

UNITS = [PrivacyUnit(), PrivacyUnit("person", 2)]
SHAPES = [(2,), (3,), (5,), (2, 2), (2, 3), (4, 3), (2, 2, 2), (3, 2, 4)]


def variance_of_linear(coefficients):
    return variance_of_repeated([(law, row, 1) for law, row in coefficients])


def schema_of(sizes, adjacency=Adjacency.ADD_REMOVE, unit=None, **more) -> Schema:
    """Columns whose cells number `sizes`, the last one for nulls."""
    columns = tuple(
        IntegerColumn(f"c{place}", 0, size - 2)
        if size > 1
        else IntegerColumn(f"c{place}", 0, 0, nulls="exclude")
        for place, size in enumerate(sizes)
    )
    return Schema(
        dataset="t", columns=columns, adjacency=adjacency, unit=unit or PrivacyUnit(), **more
    )


def names(sizes) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(len(sizes)))


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_the_sensitivity_of_a_residual_is_the_largest_move_of_any_pair_of_neighbours(
    sizes, unit, adjacency
):
    schema = schema_of(sizes, adjacency, unit)
    query = Residual(names(sizes))
    cells = list(product(*(range(size) for size in sizes)))

    def moved(*rows):
        table = np.zeros(sizes, dtype=np.int64)
        for cell in rows:
            table[cell] += 1
        return query.evaluate(table)

    people = [(cell,) * unit.max_rows for cell in cells]
    if unit.max_rows == 2 and len(cells) <= 6:
        people = list(combinations(cells, 2)) + people
    if adjacency is Adjacency.ADD_REMOVE:
        changes = [moved(*rows) for rows in people]
    else:
        changes = [moved(*a) - moved(*b) for a in people for b in people]
        if unit.identifier is not None:
            changes += [moved(*a) for a in people]
    declared = query.sensitivity(schema)
    assert declared.l1 == max(int(np.abs(change).sum()) for change in changes)
    assert declared.l2_squared == max(int((change**2).sum()) for change in changes)


def test_change_one_costs_a_binary_residual_four_times_as_much():
    one, other = (Residual(("c0",)).sensitivity(schema_of((2,), each)) for each in Adjacency)
    assert other.l2_squared == 4 * one.l2_squared


def test_bins_are_counted_like_the_wider_cells_that_they_are():
    schema = schema_of((5, 3))
    table = np.arange(15).reshape(5, 3)
    coarse = Residual(("c0", "c1"), ((0, 0, 1, 1, 1), None))
    wide = np.stack([table[:2].sum(axis=0), table[2:].sum(axis=0)])
    assert coarse.shape(schema) == (2, 3)
    assert (coarse.evaluate(table) == Residual(("a", "b")).evaluate(wide)).all()
    assert Residual.from_dict(coarse.to_dict()) == coarse


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_distance_from_a_model_moves_by_at_most_its_sensitivity(adjacency):
    schema = schema_of((3, 3), adjacency)
    table = np.full((3, 3), 4)
    reference = np.arange(9).reshape(3, 3)
    query = ModelDistance.to(("c0", "c1"), reference)
    worst = 0
    for cell, other in product(product(range(3), repeat=2), repeat=2):
        changed = table.copy()
        changed[cell] += 1
        if adjacency is Adjacency.CHANGE_ONE:
            changed[other] -= 1
        worst = max(worst, abs(int(query.evaluate(changed)[0] - query.evaluate(table)[0])))
    assert worst == query.sensitivity(schema).l1
    assert ModelDistance.from_dict(query.to_dict()) == query


def exact_tables(schema, table, sets, scale=Fraction(1, 1000)):
    """Residuals measured with noise that is 0."""
    order = tuple(column.name for column in schema.columns)
    found = []
    for own in {each for columns in sets for each in subsets(columns)}:
        axes = tuple(place for place, name in enumerate(order) if name not in own)
        query, law = Residual(own), DiscreteLaplaceLaw(scale)
        counts = table.sum(axis=axes)
        found.append(
            Measurement(
                query=query,
                law=law,
                sensitivity=query.sensitivity(schema),
                cost=Cost.pure(query.sensitivity(schema).l1 / scale),
                values=query.evaluate(np.asarray(counts)),
            )
        )
    return found


def test_residuals_without_noise_give_every_marginal_back():
    schema = schema_of((3, 2, 4))
    table = np.random.default_rng().integers(0, 50, (3, 2, 4))
    tables = ResidualTables(schema, exact_tables(schema, table, [("c0", "c1", "c2")]))
    assert np.allclose(tables.table(("c0", "c1", "c2")), table)
    assert np.allclose(tables.table(("c0", "c2")), table.sum(axis=1))
    assert np.allclose(tables.table(()), table.sum())


def noisy(schema, sets, adjacency=Adjacency.ADD_REMOVE, law=None):
    noise = DrawnNoise()
    found = []
    for own in sorted({each for columns in sets for each in subsets(columns)}):
        query = Residual(own)
        chosen = law or DiscreteGaussianLaw(Fraction(100 * (len(own) + 1)))
        size = query.size(schema)
        found.append(
            Measurement(
                query=query,
                law=chosen,
                sensitivity=query.sensitivity(schema),
                cost=Cost.pure(Fraction(1)),
                values=noise.draw(chosen, size),
            )
        )
    return found


def test_smaller_marginals_agree_however_they_are_computed():
    schema = schema_of((5, 3, 4, 2))
    sets = list(combinations(names((5, 3, 4, 2)), 3))
    tables = ResidualTables(schema, noisy(schema, sets))
    for columns in sets:
        whole = tables.table(columns)
        for axis, name in enumerate(columns):
            rest = tuple(each for each in columns if each != name)
            assert np.abs(whole.sum(axis=axis) - tables.table(rest)).max() < 1e-9


@pytest.mark.parametrize(
    "law", [None, DiscreteLaplaceLaw(Fraction(7))], ids=["gaussian", "laplace"]
)
def test_the_variance_of_any_weighted_sum_is_the_one_computed(law):
    """4,000 draws: the sample variance of one estimate has a relative error of about .022 (.04 for Laplace
    sums at worst); 6 of those: false alarm below 1e-8. Caught: a variance off by 30%."""
    schema, columns = schema_of((3, 4)), ("c0", "c1")
    weights = np.random.default_rng().integers(0, 3, (3, 4)).astype(float) + np.eye(3, 4)
    draws = [noisy(schema, [columns], law=law) for _ in range(4000)]
    values = [
        float((ResidualTables(schema, each).table(columns) * weights).sum()) for each in draws
    ]
    predicted = variance_of_linear(ResidualTables(schema, draws[0]).coefficients(columns, weights))
    assert np.var(values) == pytest.approx(predicted, rel=0.25)
    cell = np.zeros((3, 4))
    cell[1, 2] = 1
    tables = ResidualTables(schema, draws[0])
    assert tables.cell_variance(columns) == pytest.approx(
        variance_of_linear(tables.coefficients(columns, cell))
    )


@pytest.mark.parametrize(
    "kinds", [(BinnedTable,), (Residual, BinnedTable), (BinnedTable, Residual, BinnedTable)]
)
def test_a_residual_is_known_from_cells_or_from_itself_and_from_both_together(kinds):
    """Each coefficient is what a row more in one measured number changes: nothing is left to chance."""
    schema, columns = schema_of((3, 4)), ("c0", "c1")
    counts = np.arange(12).reshape(3, 4) ** 2
    measured = []
    for number, kind in enumerate(kinds):
        for own in subsets(columns):
            query = kind(own) if own else Residual(own)
            axes = tuple(place for place, name in enumerate(columns) if name not in own)
            measured.append(
                Measurement(
                    query=query,
                    law=DiscreteLaplaceLaw(Fraction(3 + number + len(own))),
                    sensitivity=query.sensitivity(schema),
                    cost=Cost.pure(Fraction(1)),
                    values=query.evaluate(np.asarray(counts.sum(axis=axes))),
                )
            )
    tables = ResidualTables(schema, measured)
    assert tables.determines(columns) and np.allclose(tables.table(columns), counts)
    weights = generator(1).normal(size=(3, 4))
    by_hand = 0.0
    for place, each in enumerate(measured):
        for number in range(len(each.values)):
            more = each.values.copy()
            more[number] += 1
            others = [*measured[:place], replace(each, values=more), *measured[place + 1 :]]
            moved = ResidualTables(schema, others).table(columns) - counts
            by_hand += float((moved * weights).sum()) ** 2 * each.law.variance
    assert variance_of_linear(tables.coefficients(columns, weights)) == pytest.approx(by_hand)
    known = ConsistentTables(tables, ())
    rows = known.coefficients(columns, weights)
    assert variance_of_repeated(rows) == pytest.approx(by_hand)


def test_laplace_noise_on_cells_leaves_no_more_in_a_residual_than_noise_on_the_residual():
    for adjacency in Adjacency:
        for sizes in SHAPES:
            schema = schema_of(sizes, adjacency)
            on_cells, on_itself = BinnedTable(names(sizes)), Residual(names(sizes))
            moved = on_cells.sensitivity(schema).l1 * on_cells.times(schema)
            assert moved <= on_itself.sensitivity(schema).l1


def test_measuring_twice_halves_the_variance():
    schema = schema_of((3, 2))
    one, two = noisy(schema, [("c0", "c1")]), noisy(schema, [("c0", "c1")])
    single = ResidualTables(schema, one).cell_variance(("c0", "c1"))
    double = ResidualTables(schema, [*one, *two]).cell_variance(("c0", "c1"))
    assert double == pytest.approx(single / 2)


@pytest.mark.parametrize("sigma_squared", [Fraction(16), Fraction(400)])
def test_the_normal_width_of_wide_gaussian_noise_is_never_short(sigma_squared):
    """Against 400,000 draws: a true 95% width keeps fewer than .948 with probability below 1e-8;
    caught: a width that keeps 94.5%."""
    law, noise = DiscreteGaussianLaw(sigma_squared), DrawnNoise()
    weights = np.array([1.0, 0.5, 0.25])
    width = linear_half_width([(law, weights)], 0.95)
    sums = noise.draw(law, 1_200_000).reshape(-1, 3) @ weights
    kept = int((np.abs(sums) <= width).sum())
    assert binom.cdf(kept, len(sums), 0.95) > 1e-8
    assert kept / len(sums) < 0.965


SCHEMA = schema_of((3, 4, 3, 3))


def release_of(table, budget, adjacency=Adjacency.ADD_REMOVE, workload=2):
    """A release of a contingency table, by hand, with fresh noise."""
    schema = schema_of(table.shape, adjacency)
    accounting = Accounting.BASIC if budget.is_pure else Accounting.CONCENTRATED
    share = allowance(budget, accounting)
    prepared = ResidualMarginals().prepare(
        Marginals(workload), schema, share=share, accounting=accounting
    )
    order, noise = tuple(column.name for column in schema.columns), DrawnNoise()
    measured = []
    for request, law in zip(prepared.requests, prepared.laws, strict=True):
        axes = tuple(p for p, name in enumerate(order) if name not in request.query.columns)
        exact = request.query.evaluate(np.asarray(table.sum(axis=axes)))
        measured.append(
            Measurement(
                query=request.query,
                law=law,
                sensitivity=request.query.sensitivity(schema),
                cost=request.mechanism.cost(),
                values=exact + noise.draw(law, exact.size),
            )
        )
    public = int(table.sum()) if adjacency is Adjacency.CHANGE_ONE else None
    part, claims = prepared.finish(None, measured, public_rows=public, confidence=0.95)
    return Release(
        schema=schema,
        budget=budget,
        accounting=accounting,
        parts=(part,),
        public_rows=public,
        claims=claims,
        software="test",
    )


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/20")], ids=str)
def test_a_release_of_residuals_verifies_and_a_cheaper_one_does_not(budget, adjacency):
    table = np.random.default_rng().integers(0, 30, (3, 4, 3, 3))
    release = release_of(table, budget, adjacency)
    assert verify(release).ok
    (part,) = release.parts
    first = part.measurements[-1]
    cheated = replace(first, sensitivity=replace(first.sensitivity, l1=first.sensitivity.l1 + 1))
    forged = replace(part, measurements=(*part.measurements[:-1], cheated))
    assert not verify(replace(release, parts=(forged,))).ok
    twice = Part(part.kind, part.query_class, part.algorithm, (*part.measurements, first))
    assert not verify(replace(release, parts=(twice,))).ok


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("budget", [Budget(epsilon=2), Budget(rho="1/20")], ids=str)
def test_intervals_of_cells_sums_of_cells_and_ranges_cover_as_often_as_they_say(budget, adjacency):
    """Answers of one draw share noise, so each draw counts as one trial of its mean coverage: 70 draws,
    about 44 answers each. A true 95% falls below .92 with probability < 1e-6 (a draw's mean coverage has
    a standard deviation below .045); caught: intervals that hold 90%."""
    table = np.random.default_rng().integers(5, 200, (3, 4, 3, 3))
    kept = []
    for _ in range(70):
        reader = ReleaseReader(release_of(table, budget, adjacency))
        held = []
        groups = reader.ask("SELECT c0, c1, count(*) FROM t GROUP BY c0, c1").columns[0]
        truth = table.sum(axis=(2, 3)).reshape(-1)
        held += list((groups.lower <= truth) & (truth <= groups.upper))
        for low, high in combinations(range(3), 2):
            found = reader.ask(
                f"SELECT count(*) FROM t WHERE c1 BETWEEN {low} AND {high - 1} AND c2 = 1"
            ).only
            exact = table[:, low:high, 1].sum()
            held.append(found.lower <= exact <= found.upper)
        many = reader.count_many("c1", [0, 1, 0], [0, 2, 2], codes=True)
        exact = [table[:, a : b + 1].sum() for a, b in ((0, 0), (1, 2), (0, 2))]
        held += [lo <= x <= up for lo, x, up in zip(many.lower, exact, many.upper, strict=True)]
        kept.append(np.mean(held))
    assert 0.92 <= np.mean(kept) <= 0.985


def test_a_batch_gives_the_answers_that_questions_give():
    table = np.random.default_rng().integers(0, 200, (3, 4, 3, 3))
    reader = ReleaseReader(release_of(table, Budget(rho="1/20")))
    many = reader.count_many("c1", [0, 1], [1, 2], codes=True)
    for place, (low, high) in enumerate([(0, 1), (1, 2)]):
        one = reader.ask(f"SELECT count(*) FROM t WHERE c1 BETWEEN {low} AND {high}").only
        assert (one.estimate, one.lower, one.upper) == (
            many.estimate[place], many.lower[place], many.upper[place],
        )  # fmt: skip
    cells = reader.count_cells(("c0", "c1"), [[1, 2]])
    one = reader.ask("SELECT count(*) FROM t WHERE c0 = 1 AND c1 = 2").only
    assert (one.lower, one.upper) == (cells.lower[0], cells.upper[0])


def test_the_planned_error_is_the_error_of_real_noise():
    """1,000 draws of 33 cells: the mean error is known within 2%; caught: a plan that is off by 8%."""
    shape = (3, 4, 3, 3)
    schema = schema_of(shape)
    prepared = ResidualMarginals().prepare(
        Marginals(2), schema, share=Budget(rho="1/20"), accounting=Accounting.CONCENTRATED
    )
    noise, errors = DrawnNoise(), []
    for _ in range(1000):
        measured = [
            Measurement(r.query, law, r.query.sensitivity(schema), r.mechanism.cost(),
                        noise.draw(law, r.query.size(schema)))
            for r, law in zip(prepared.requests, prepared.laws, strict=True)
        ]  # fmt: skip
        tables = ResidualTables(schema, measured)
        errors.append(
            np.concatenate([np.abs(tables.table(c)).ravel() for c in prepared.sets]).mean()
        )
    planned = prepared.error(rows=None, confidence=0.95).expected
    assert np.mean(errors) == pytest.approx(planned, rel=0.06)


def test_shares_add_up_and_no_other_split_of_the_budget_has_a_smaller_mean_deviation():
    """Moving a tenth of any residual's share to any other does not lower the sum of deviations."""
    schema = schema_of((3, 5, 2))
    prepared = ResidualMarginals().prepare(
        Marginals(2), schema, share=Budget(rho=1), accounting=Accounting.CONCENTRATED
    )
    shares = [request.mechanism.rho for request in prepared.requests]
    assert sum(shares) == 1

    def deviation(rhos):
        measured = [
            Measurement(r.query, DiscreteGaussianLaw(r.query.sensitivity(schema).l2_squared / (2 * rho)),
                        r.query.sensitivity(schema), r.mechanism.cost(),
                        np.zeros(r.query.size(schema), dtype=np.int64))
            for r, rho in zip(prepared.requests, rhos, strict=True)
        ]  # fmt: skip
        tables = ResidualTables(schema, measured)
        return sum(
            math.prod(tables.sizes(c)) * math.sqrt(tables.cell_variance(c)) for c in prepared.sets
        )

    best = deviation(shares)
    for giver, taker in combinations(range(len(shares)), 2):
        for a, b in ((giver, taker), (taker, giver)):
            moved = list(shares)
            moved[a], moved[b] = moved[a] * Fraction(9, 10), moved[b] + moved[a] / 10
            assert deviation(moved) >= best * (1 - 1e-4)


def test_a_constant_column_needs_no_residual_and_its_tables_are_there():
    schema = schema_of((1, 3))
    sized = [schema.column(name).cells for name in ("c0", "c1")]
    assert sized == [1, 3]
    table = np.array([[4, 5, 6]])
    measured = exact_tables(schema_of((3,)), table[0], [("c0",)])
    renamed = [replace(m, query=Residual(tuple("c1" for _ in m.query.columns))) for m in measured]
    tables = ResidualTables(schema, renamed)
    assert tables.determines(("c0", "c1"))
    assert np.allclose(tables.table(("c0", "c1")), table)


def test_centring_is_a_projection():
    table = np.random.default_rng().normal(size=(3, 4))
    assert np.allclose(centred(centred(table)), centred(table))
    assert np.allclose(centred(table).sum(axis=0), 0)


@pytest.mark.parametrize("algorithm", ["residuals", "direct"])
def test_ten_thousand_ranges_of_a_thousand_cells_are_answered_as_one_by_one(tmp_path, algorithm):
    """Pure differential privacy: sums of few and many Laplace draws with different weights."""
    text = 'dataset = "t"\n[columns.x]\nkind = "integer"\nrange = [0, 997]\n'
    schema = Schema.loads(text + '[columns.s]\nkind = "boolean"\n[columns.t]\nkind = "boolean"\n')
    table = tmp_path / "t.csv"
    table.write_text("x,s,t\n" + "".join(f"{k % 998},{k % 2},{k % 3 == 0}\n" for k in range(3000)))
    made = release(
        table,
        schema,
        budget=Budget(epsilon=1),
        workload="marginals(x, s; s, t)",
        algorithms={"marginals(x, s; s, t)": algorithm},
        ledger=tmp_path / "ledger.db",
    )
    reader = ReleaseReader(made)
    ends = np.sort(np.random.default_rng().integers(0, 998, (10_000, 2)), axis=1)
    found = reader.count_many("x", ends[:, 0], ends[:, 1])
    for place in range(0, 10_000, 500):
        low, high = ends[place].tolist()
        one = reader.ask(f"SELECT count(*) FROM t WHERE x BETWEEN {low} AND {high}").only
        many = found.estimate[place], found.lower[place], found.upper[place]
        assert (one.estimate, one.lower, one.upper) == pytest.approx(many, abs=1)
