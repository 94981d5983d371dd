"""Least squares on the pruned tree, its variances, and what is read off it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.baselines.histogram_engine import histogram_schema, opened_grant
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_boxes import BoxIndex
from discreet.families.ranges.estimate.tree_intervals import IntervalIndex
from discreet.families.ranges.estimate.tree_layers import PrunedTree, layers_of
from discreet.families.ranges.estimate.tree_shrinkage import (
    AFTER_EVEN,
    AFTER_SIDE,
    NEARLY,
    Splits,
    _fitted_weights,
    _laws,
    _likelihoods,
    first_weights,
    smoothed,
    smoothed_last,
)
from discreet.families.ranges.queries.ranges import range_tree
from discreet.families.ranges.release.shares import best_shares, level_variance
from discreet.families.ranges.release.tree import FullTree, best_levels
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws.sums import spread_factor
from tests.ranges.exact import (
    counts_in,
    dense_least_squares,
    drawing,
    prepared,
    random_boxes,
    ranges_over,
)

SHAPES = [(1,), (2,), (37,), (100,), (300,), (20, 13), (16, 16), (7, 5, 6), (3, 3, 3, 3)]


def spiky(shape, generator):
    return generator.poisson(generator.gamma(0.1, 60, shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_range_has_the_count_and_variance_of_dense_least_squares(shape):
    generator = np.random.default_rng()
    made = prepared(shape)
    with drawing(spiky(shape, generator), made) as draw:
        source = RangeSource(draw(), made.schema)
    first, last, fitted, covariance = dense_least_squares(source.tree, shape)
    low, high = random_boxes(shape, 150, generator)
    found = source.fitted(low, high)
    estimates = source.part.estimates["leaves"]
    for place in range(len(low)):
        a, b = low[place].astype(int), high[place].astype(int)
        inside = ((first >= a) & (last <= b)).all(axis=1).astype(float)
        touched = ((first <= b) & (last >= a)).all(axis=1).astype(float)
        overlap = np.clip(np.minimum(last, b) - np.maximum(first, a) + 1, 0, None)
        share = (overlap / (last - first + 1)).prod(axis=1)
        assert found.inner[place] == pytest.approx(inside @ fitted, abs=1e-6)
        assert found.outer[place] == pytest.approx(touched @ fitted, abs=1e-6)
        assert found.inner_std[place] ** 2 == pytest.approx(inside @ covariance @ inside)
        assert found.outer_std[place] ** 2 == pytest.approx(touched @ covariance @ touched)
        assert found.estimate[place] == pytest.approx(share @ estimates, abs=1e-6)


def test_the_interval_index_and_the_box_index_agree_also_when_tables_are_built_in_batches(
    monkeypatch,
):
    generator = np.random.default_rng()
    made = prepared((1000,))
    with drawing(spiky((1000,), generator), made) as draw:
        source = RangeSource(draw(), made.schema)
    low, high = random_boxes((1000,), 500, generator)
    boxes = BoxIndex(source.nodes).inside(low, high)
    monkeypatch.setattr("discreet.families.ranges.estimate.tree_intervals.MOST_ENTRIES", 0)
    monkeypatch.setattr("discreet.families.ranges.estimate.tree_intervals.MOST_LISTED", 0)
    monkeypatch.setattr("discreet.families.ranges.estimate.tree_intervals.BATCH", 64)
    small = IntervalIndex(source.nodes).between(low[:, 0], high[:, 0])
    for name in ("estimate", "inner", "outer", "inner_std", "outer_std"):
        np.testing.assert_allclose(getattr(small, name), getattr(boxes, name), atol=1e-7)


def test_a_table_of_all_boundaries_is_made_once_it_pays_and_changes_no_answer(monkeypatch):
    """A question of a large tree costs a few climbs; a table of all would take a hundred times the tree's memory."""
    generator = np.random.default_rng()
    made = prepared((1000,))
    with drawing(spiky((1000,), generator), made) as draw:
        source = RangeSource(draw(), made.schema)
    monkeypatch.setattr("discreet.families.ranges.estimate.tree_intervals.FEW_ENTRIES", 0)
    climbed = []
    climbing = IntervalIndex._boundaries
    monkeypatch.setattr(
        IntervalIndex,
        "_boundaries",
        lambda self, leaves: (climbed.append(len(leaves)), climbing(self, leaves))[1],
    )
    index = IntervalIndex(source.nodes)
    first, last = np.sort(generator.integers(0, 1000, (2, 40)), axis=0).astype(np.uint64)
    alone = [index.between(first[[place]], last[[place]]) for place in range(2)]
    assert max(climbed) <= 4
    for _ in range(len(index.leaves) // len(first) + 1):
        again = index.between(first, last)
    assert climbed[-1] == len(index.leaves)
    for place, each in enumerate(alone):
        for one, all_of_them in zip(each.numbers, again.numbers, strict=True):
            assert one[0] == all_of_them[place]


def test_smoothed_counts_are_non_negative_and_children_add_to_their_parent():
    generator = np.random.default_rng()
    made = prepared((500, 9), epsilon="1/10")
    with drawing(spiky((500, 9), generator), made) as draw:
        (measured,) = draw().measurements
    tree = PrunedTree(layers_of(measured), columns=measured.tree.columns, schema=made.schema)
    counts = smoothed(tree)
    for place, block in enumerate(tree.blocks):
        children = block.spread(counts[place + 1])
        assert (children >= 0).all()
        parents = counts[place][tree.layers[place].alive]
        np.testing.assert_allclose(children.sum(axis=1), parents, atol=1e-6)


def test_the_expected_variance_of_a_full_tree_is_that_of_random_ranges():
    """The closed form against the mean over 4,000 random ranges, which scatters by 2%."""
    generator = np.random.default_rng()
    for shape in [(256,), (64, 64)]:
        made = prepared(shape, algorithm=FullTree())
        with drawing(np.zeros(shape, dtype=int), made) as draw:
            source = RangeSource(draw(), made.schema)
        size = [generator.integers(1, n + 1, 4000) for n in shape]
        low = np.stack(
            [generator.integers(0, n - s + 1) for n, s in zip(shape, size, strict=True)], 1
        )
        high = low + np.stack(size, axis=1) - 1
        variance = source.fitted(low.astype(np.uint64), high.astype(np.uint64)).outer_std ** 2
        laws = dict(zip(made.levels, (law.variance for law in made.laws), strict=True))
        mean, worst = level_variance(made.tree, laws)
        assert variance.mean() == pytest.approx(mean, rel=0.1)
        assert variance.max() <= worst


def test_the_best_shares_beat_even_ones_and_add_to_one():
    made = prepared((4096,))
    best = best_shares(made.tree)
    assert sum(best.shares) == 1
    even = {level: len(best.shares) ** 2 for level in range(len(best.shares))}
    chosen = {level: 1 / float(share) ** 2 for level, share in enumerate(best.shares) if share}
    assert level_variance(made.tree, chosen)[0] < level_variance(made.tree, even)[0]


def test_an_interval_reaches_2_05_deviations_at_95_percent_and_more_than_normal_at_99():
    assert float(spread_factor(0.05, 1.3)) == pytest.approx(2.055, abs=0.002)
    assert float(spread_factor(0.01, 1.3)) > 3.0
    assert float(spread_factor(0.05, 0.0)) == pytest.approx(1.96, abs=0.001)


HOSTILE = {
    "at the threshold": lambda n: np.repeat([25, 15, 20, 30], n // 4),
    "spikes": lambda n: np.where(np.arange(n) % 37 == 0, 60, 0),
    "empty": lambda n: np.zeros(n, dtype=int),
    "step": lambda n: np.where(np.arange(n) < n // 2, 0, 12),
}


@pytest.mark.parametrize("shape", [(512,), (24, 24)], ids=str)
@pytest.mark.parametrize("kind", HOSTILE)
def test_intervals_cover_as_often_as_they_say_on_data_made_against_the_stopping_rule(kind, shape):
    """Mean over 60 draws of each draw's share of 300 covered ranges. Shares of one draw scatter by at
    most .25 (ranges share noise), so the mean of 60 by .033: a true .95 falls below .78 with
    probability under 1e-6; a bracket without the outer leaves (about .6 on spikes) is caught."""
    histogram = HOSTILE[kind](int(np.prod(shape))).reshape(shape)
    generator = np.random.default_rng()
    low, high = random_boxes(shape, 300, generator)
    truth = counts_in(histogram, low, high)
    made = prepared(shape)
    covered = []
    with drawing(histogram, made, draws=60) as draw:
        for _ in range(60):
            found = RangeSource(draw(), made.schema).count(low, high, confidence=0.95)
            assert ((found.lower <= found.estimate) & (found.estimate <= found.upper)).all()
            covered.append(((found.lower <= truth) & (truth <= found.upper)).mean())
    assert np.mean(covered) > 0.78


@pytest.mark.parametrize("shape", [(4096,), (64, 64)], ids=str)
def test_what_hides_inside_a_leaf_is_covered(shape):
    """All rows in one cell of a leaf too small to be split: the cell's interval reaches them, those of
    other cells reach 0. Four misses in five at 99% have a probability below 1e-7; an interval that
    forgets the cut leaf ends near 5 and misses always."""
    histogram = np.zeros(shape, dtype=int)
    histogram[(0,) * len(shape)] = 12
    made = prepared(shape)
    corner = np.zeros((1, len(shape)), dtype=np.uint64)
    covered = 0
    with drawing(histogram, made, draws=5) as draw:
        for _ in range(5):
            source = RangeSource(draw(), made.schema)
            alone = source.count(corner, corner, confidence=0.99)
            beside = source.count(corner + np.uint64(1), corner + np.uint64(1), confidence=0.99)
            assert not alone.is_exact[0]
            covered += alone.lower[0] <= 12 <= alone.upper[0] and beside.lower[0] == 0
    assert covered >= 2


@pytest.mark.parametrize("shape", [(300,), (1024,), (12, 20), (16, 64)], ids=str)
def test_a_full_tree_measures_the_levels_that_expect_less(shape):
    """Under Gaussian noise all halvings beat every fourth by a tenth or more in standard deviation; what is
    expected is what least squares on the released numbers has, over the same 3,000 random ranges ever."""
    schema = histogram_schema(shape)
    columns = [column.name for column in schema.columns]
    usual, halved = range_tree(columns, schema), range_tree(columns, schema, every=True)
    assert set(usual.depths) <= set(halved.depths)
    for power in (1, 2):
        chosen = best_levels(columns, schema, power)
        expected = [best_shares(tree, power).mean_variance for tree in (usual, halved, chosen)]
        assert expected[2] == min(expected)
    gain = best_shares(best_levels(columns, schema, 1), 1).mean_variance
    assert gain < 0.9 * best_shares(usual, 1).mean_variance
    made = FullTree().prepare(
        ranges_over(shape), schema, share=Budget(rho="1/10"), accounting=Accounting.CONCENTRATED
    )
    counts = np.ones(shape, dtype=int)
    with opened_grant(
        counts, schema, Budget(rho="1/10"), accounting=Accounting.CONCENTRATED
    ) as grant:
        part, claims = made.finish(
            grant, grant.measure(made.requests), public_rows=None, confidence=0.95
        )
    source = RangeSource(part, schema)
    generator = np.random.default_rng(0)  # variances hang on no noise: nothing is left to chance
    sizes = [generator.integers(1, n + 1, 3000) for n in shape]
    low = np.stack([generator.integers(0, n - s + 1) for n, s in zip(shape, sizes, strict=True)], 1)
    high = low + np.stack(sizes, axis=1) - 1
    variance = source.fitted(low.astype(np.uint64), high.astype(np.uint64)).outer_std ** 2
    laws = dict(zip(made.levels, (law.variance for law in made.laws), strict=True))
    mean, worst = level_variance(made.tree, laws)
    assert variance.mean() <= 1.1 * mean and variance.max() <= worst
    assert claims[0].bound > 0


def test_the_last_layer_alone_is_smoothed_as_within_the_whole_tree(monkeypatch):
    """With any noise: the mixture weights are held fixed, so what is left out changes nothing."""
    generator = np.random.default_rng()
    made = prepared((4096,))
    with drawing(spiky((4096,), generator), made) as draw:
        (measured,) = draw().measurements
    tree = PrunedTree(layers_of(measured), columns=measured.tree.columns, schema=made.schema)
    np.testing.assert_array_equal(smoothed_last(tree), smoothed(tree, sloped=False)[-1])
    monkeypatch.setattr(
        "discreet.families.ranges.estimate.tree_shrinkage._fitted_weights",
        lambda _, weights: weights,
    )
    whole = smoothed(tree, sloped=False)[-1]
    for name, value in (("MOST_FITTED", 4), ("FEWEST_FITTED", 2), ("_BLOCK", 7)):
        monkeypatch.setattr(f"discreet.families.ranges.estimate.tree_shrinkage.{name}", value)
    np.testing.assert_allclose(smoothed_last(tree), whole, rtol=1e-9, atol=1e-9)


def test_a_law_whose_weight_was_next_to_nothing_is_fitted_again():
    """Depth by depth, weights of unused laws fall below what single precision holds."""
    likelihood = np.full((3, 500), 1e-30, dtype=np.float32)
    likelihood[1] = 1
    fitted = _fitted_weights(likelihood, np.array([2.0, 1e-200, 1e-300]))
    np.testing.assert_allclose(fitted, [2, 500, 0], atol=1e-3)


@pytest.mark.parametrize("accounting", Accounting, ids=str)
@pytest.mark.parametrize("shape", [(300,), (12, 20), (16, 64), (33, 5), (7, 5, 6)], ids=str)
def test_whole_levels_are_read_in_the_order_in_which_they_were_released(shape, accounting):
    """Without noise to speak of (a draw of a few thousand is not 0 with probability below 1e-12) every box has
    its own count, estimated and fitted; leaves that are listed in another order are off by thousands."""
    generator = np.random.default_rng()
    counts = generator.integers(0, 10_000, shape)
    schema = histogram_schema(shape)
    share = {
        Accounting.BASIC: Budget(epsilon=60_000),
        Accounting.CONCENTRATED: Budget(rho=60_000),
        Accounting.GAUSSIAN: Budget(mu=350),
    }[accounting]
    made = FullTree().prepare(ranges_over(shape), schema, share=share, accounting=accounting)
    with opened_grant(counts, schema, share, accounting=accounting) as grant:
        measured = grant.measure(made.requests)
        part, _ = made.finish(grant, measured, public_rows=None, confidence=0.95)
    low, high = random_boxes(shape, 300, generator)
    found = RangeSource(part, schema).fitted(low, high)
    truth = counts_in(counts, low, high)
    np.testing.assert_allclose(found.outer, truth, atol=0.5)
    np.testing.assert_allclose(found.estimate, truth, atol=0.5)


@pytest.mark.parametrize("is_sloped", [False, True])
def test_weights_are_fitted_to_the_laws_by_which_splits_are_shrunk(is_sloped):
    """The likelihoods are computed in two ways: all laws at once for the fit, one after the other for the means."""
    generator = np.random.default_rng(1)
    count = generator.gamma(0.3, 3000, 400) + 1e-9
    spread, even = generator.uniform(0, 50, 400), generator.uniform(0, 1, 400)
    leaning = generator.normal(0, 40, 400) if is_sloped else None
    seen = generator.normal(0, 1, 400) * np.maximum(spread, 0.1 * count)
    apart = Splits(seen, spread, count, even, leaning).distances()
    laws = [True] * len(first_weights(sloped=is_sloped))
    one_by_one = np.stack([likelihood for likelihood, _ in _laws(apart, kept=laws)])
    np.testing.assert_allclose(_likelihoods(apart), one_by_one, rtol=1e-5)


def test_the_laws_of_few_rows_have_the_likelihood_and_the_mean_of_their_integrals():
    """A half-normal law of the rows on the nearer side, seen with normal noise: by sums over a fine grid."""
    spread, whole = 10.0, 10_000.0
    inside = np.array([-60.0, -20.0, -3.0, 0.0, 5.0, 30.0, 90.0, 200.0])
    is_left = np.arange(8) % 2 == 0
    seen = np.where(is_left, inside - whole / 2, whole / 2 - inside)  # from an even split
    same = np.ones(8)
    splits = Splits(seen, spread * same, whole * same, 0.5 * same, 0 * same)
    laws = [False] * len(first_weights(sloped=True))
    laws[AFTER_EVEN:AFTER_SIDE] = [True] * len(NEARLY)
    found = list(_laws(splits.distances(), kept=laws))[2:]
    rows = np.linspace(0, whole, 400_001)
    for scale, (likelihood, pull) in zip(NEARLY, found, strict=True):
        law = np.exp(-0.5 * (rows / (scale * whole)) ** 2) / (scale * whole * np.sqrt(2 * np.pi))
        joint = law * np.exp(-0.5 * ((inside[:, np.newaxis] - rows) / spread) ** 2)
        total = joint.sum(axis=1)
        np.testing.assert_allclose(likelihood, total * rows[1], rtol=0.01, atol=1e-9)
        mean = np.where(is_left, 1, -1) * (seen - pull * spread) + whole / 2
        np.testing.assert_allclose(mean, joint @ rows / total, rtol=0.01, atol=0.05)
