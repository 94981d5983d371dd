"""The most even model of tables of pairs, against the table over all columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet.families.tables.estimate.clique_tree import (
    CliqueTree,
    cells_of,
    chosen_ties,
    cliques_of,
    most_even_rows,
    strength,
)

SIZES = (3, 4, 2, 5, 3)
GRAPHS = [
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1), (1, 2), (0, 2), (3, 4)],
    [(0, 1), (1, 2), (2, 3), (0, 3)],
    [(0, 1)],
    [],
]


def joint_table(generator):
    table = generator.gamma(0.5, size=SIZES) + 1e-3
    return table / table.sum()


def summed(table, columns):
    return table.sum(axis=tuple(c for c in range(table.ndim) if c not in columns))


def wanted_of(table):
    return {
        columns: summed(table, columns)
        for many in (1, 2)
        for columns in combinations(range(len(SIZES)), many)
    }


def whole(tree):
    """The model's table over all columns, multiplied out."""
    table = np.ones(SIZES)
    for clique, shared, own in zip(tree.cliques, tree.shared, tree.tables, strict=True):
        known = summed_in(own, clique, shared)
        for columns, factor in ((clique, own), (shared, 1 / known)):
            table = table * factor.reshape([n if c in columns else 1 for c, n in enumerate(SIZES)])
    return table


def summed_in(table, clique, columns):
    return table.sum(axis=tuple(a for a, c in enumerate(clique) if c not in columns))


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_cliques_agree_on_the_columns_that_they_share(graph):
    tree = CliqueTree(SIZES, cliques_of(SIZES, graph))
    tree.fit(wanted_of(joint_table(np.random.default_rng())))
    table = whole(tree)
    assert table.sum() == pytest.approx(1)
    for clique, found in zip(tree.cliques, tree.tables, strict=True):
        np.testing.assert_allclose(found, summed(table, clique), atol=1e-12)


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_the_fit_has_the_wanted_pairs_and_nothing_beyond_them(graph):
    """The least relative entropy to the even table, by scaling the whole table to the same pairs."""
    wanted = wanted_of(joint_table(np.random.default_rng()))
    tree = CliqueTree(SIZES, cliques_of(SIZES, graph))
    inside = [
        columns for columns in wanted if any(set(columns) <= set(clique) for clique in tree.cliques)
    ]
    tree.fit(wanted)
    expected = np.full(SIZES, 1 / np.prod(SIZES))
    for _ in range(300):
        for columns in inside:
            shape = [SIZES[c] if c in columns else 1 for c in range(len(SIZES))]
            expected = expected * (wanted[columns] / summed(expected, columns)).reshape(shape)
    assert np.abs(whole(tree) - expected).sum() / 2 < 1e-3
    for columns in inside:
        assert np.abs(summed(whole(tree), columns) - wanted[columns]).sum() / 2 < 1e-3


def test_tightly_dependent_columns_of_one_large_clique_are_met():
    """Scaling comes near slowly here: it must go on while it gains, over all cells of the clique."""
    columns = 11
    generator = np.random.default_rng(5)
    common = generator.standard_normal((4000, 1))
    rows = (
        2 * common + generator.standard_normal((4000, columns)) > generator.normal(1, 1, columns)
    ).astype(int)
    wanted = {(c,): np.bincount(rows[:, c], minlength=2) / 4000 for c in range(columns)}
    for one, other in combinations(range(columns), 2):
        counted = np.bincount(2 * rows[:, one] + rows[:, other], minlength=4)
        wanted[one, other] = counted.reshape(2, 2) / 4000
    tree = CliqueTree((2,) * columns, [tuple(range(columns))])
    tree.fit(wanted)
    off = [np.abs(summed(tree.tables[0], each) - wanted[each]).sum() / 2 for each in wanted]
    assert max(off) < 1e-5


def test_every_tie_of_the_spanning_tree_is_kept_however_little_room_there_is():
    ties = {(0, 1): 0.5, (1, 2): 0.4, (0, 2): 0.3, (2, 3): 0.2, (1, 3): 0.1, (3, 4): 0.0}
    assert chosen_ties(SIZES, ties, most=0) == [(0, 1), (1, 2), (2, 3)]
    assert set(chosen_ties(SIZES, ties)) == {pair for pair in ties if ties[pair] > 0}


def test_cliques_hold_every_tie_and_no_more_cells_than_there_is_room_for():
    generator = np.random.default_rng()
    sizes = generator.integers(2, 12, 9).tolist()
    ties = {pair: float(generator.random()) for pair in combinations(range(9), 2)}
    for most in (0, 200, 5000):
        kept = chosen_ties(sizes, ties, most)
        cliques = cliques_of(sizes, kept)
        assert all(any(set(pair) <= set(clique) for clique in cliques) for pair in kept)
        tree = cells_of(sizes, cliques_of(sizes, chosen_ties(sizes, ties, 0)))
        assert cells_of(sizes, cliques) <= tree + most


def test_rows_have_the_shares_of_a_chain_up_to_one_row_in_each_group():
    """A pair of a chain is drawn given its first column: each cell is off by one row, and by its share of what the
    first column is off, at most."""
    generator = np.random.default_rng()
    tree = CliqueTree(SIZES, cliques_of(SIZES, GRAPHS[0]))
    wanted = wanted_of(joint_table(generator))
    tree.fit(wanted)
    rows = tree.sample(10_000, generator)
    for one, other in GRAPHS[0]:
        counted = np.zeros((SIZES[one], SIZES[other]))
        np.add.at(counted, (rows[:, one], rows[:, other]), 1)
        assert np.abs(counted - 10_000 * wanted[one, other]).max() < 5


def test_no_rows_and_one_row_are_drawn_too():
    wanted = wanted_of(joint_table(np.random.default_rng()))
    for many in (0, 1):
        assert most_even_rows(SIZES, wanted, many, np.random.default_rng()).shape == (many, 5)


def test_independent_columns_have_no_strength_and_equal_ones_have_their_entropy():
    one, other = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    assert strength(np.outer(one, other)) == pytest.approx(0, abs=1e-12)
    assert strength(np.diag(one)) == pytest.approx(-(one @ np.log(one)))
