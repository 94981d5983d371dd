"""The exponential mechanism over all small databases: its exact law, by dynamic programming and by listing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import BadInput
from discreet.queries.multisets import listed, multisets
from discreet.reference.general.scores import ListedDatabases
from discreet.samplers.entropy import system_entropy
from discreet.samplers.walks import WalkLaw, WalkTable, drawn_walk, level_chances
from tests.theory.test_sample_sizes import conjunctions, parities

PRECISION = 200


@dataclass(frozen=True)
class Walks:
    size: int
    rows: int
    levels: int
    of_intervals: bool


def levels_by_hand(counts, walks):
    """The level of every database, in the order of their numbers."""
    databases = listed(len(counts), walks.size)
    stands_for = walks.rows * np.cumsum(databases, axis=1) // walks.size
    gaps = (stands_for - np.cumsum(counts))[:, :-1]
    gaps = np.hstack([np.zeros((len(gaps), 1), dtype=np.int64), gaps])
    found = gaps.max(axis=1) - gaps.min(axis=1) if walks.of_intervals else np.abs(gaps).max(axis=1)
    return np.minimum(found, walks.levels)


def law_by_counting(counts, walks, unit):
    """The chance of a database of each level, as the sampler makes it: whole numbers, then one division."""
    table = WalkTable(counts, walks)
    within = table.within_levels()
    first = next((level for level, many in enumerate(within) if many), len(within))
    up_to = level_chances(within[first:], table.all, unit, PRECISION) if first < len(within) else []
    sums = [0, *(low for low, _ in up_to), 1 << PRECISION]
    chances = [Fraction(after - before, 1 << PRECISION) for before, after in pairwise(sums)]
    shares = [
        chance / many for chance, many in zip(chances, [*within[first:], table.all], strict=True)
    ]
    by_level = [float(sum(shares[place:])) for place in range(len(shares))]
    return first, by_level


def random_tables(seed, many):
    public = np.random.default_rng(seed)
    for _ in range(many):
        kinds, size = int(public.integers(1, 6)), int(public.integers(1, 6))
        counts = public.multinomial(int(public.integers(0, 30)), public.dirichlet(np.ones(kinds)))
        walks = Walks(
            size, int(counts.sum()), int(public.integers(1, 40)), bool(public.integers(2))
        )
        yield counts.astype(np.int64), walks


def test_walks_of_each_level_are_counted_as_by_hand():
    for counts, walks in random_tables(1, 200):
        levels = levels_by_hand(counts, walks)
        expected = [int((levels <= level).sum()) for level in range(walks.levels)]
        assert WalkTable(counts, walks).within_levels() == expected


@pytest.mark.parametrize("unit", [Fraction(1, 2), Fraction(1, 20), Fraction(5)])
def test_the_law_by_dynamic_programming_is_that_of_all_databases_to_12_digits(unit):
    for counts, walks in random_tables(2, 60):
        levels = levels_by_hand(counts, walks)
        weights = np.exp(-float(unit) * (levels - levels.min()))
        expected = weights / weights.sum()
        first, found = law_by_counting(counts, walks, unit)
        for level, chance in zip(levels, expected, strict=True):
            assert found[level - first] == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("of_intervals", [False, True])
def test_databases_are_drawn_by_their_law(of_intervals):
    """Chi-square on 70 databases, 3,000 draws: false alarm 1e-9; a database drawn twice too often is always seen."""
    counts, draws = np.array([3, 0, 7, 2, 5]), 3000
    walks, unit = Walks(4, 17, 12, of_intervals), Fraction(1, 4)
    levels = levels_by_hand(counts, walks)
    expected = np.exp(-float(unit) * levels)
    expected *= draws / expected.sum()
    law, entropy = WalkLaw(counts, walks, unit), system_entropy()
    seen = np.bincount([law.draw(entropy) for _ in range(draws)], minlength=70)
    common = expected >= 8
    pooled = [
        np.append(each[common], each[~common].sum()) if (~common).any() else each[common]
        for each in (seen, expected)
    ]
    assert chisquare(*pooled).pvalue > 1e-9


def test_changing_a_row_moves_no_level_by_more_than_one():
    moved = 0
    for counts, walks in random_tables(3, 150):
        levels = levels_by_hand(counts, walks)
        for start, end in product(range(len(counts)), repeat=2):
            if start == end or not counts[start]:
                continue
            neighbour = counts.copy()
            neighbour[start] -= 1
            neighbour[end] += 1
            distance = np.abs(levels - levels_by_hand(neighbour, walks)).max()
            assert distance <= 1
            moved += distance
    assert moved > 100


def listing(workload, size, rows):
    kinds = workload.shape[1]
    return ListedDatabases(("x",), np.arange(kinds), workload, size, rows)


@pytest.mark.parametrize("workload", [conjunctions(2), parities(2), conjunctions(3)])
def test_listed_databases_score_their_worst_predicate(workload):
    public = np.random.default_rng(4)
    for size in (1, 2, 5):
        table = public.multinomial(40, public.dirichlet(np.ones(workload.shape[1])))
        scores = listing(workload, size, 40).evaluate((table,))
        databases = listed(workload.shape[1], size) @ workload.T
        expected = -np.abs(size * (table @ workload.T) - 40 * databases).max(axis=1)
        assert np.array_equal(scores, expected)


@pytest.mark.parametrize("workload", [conjunctions(2), parities(2)])
def test_no_neighbour_makes_a_database_more_likely_than_epsilon_allows(workload):
    """The exact law on every pair of neighbours of 6 rows; and the sensitivity is reached, not only kept."""
    kinds, rows, size, epsilon = workload.shape[1], 6, 3, 1.0
    candidates = listing(workload, size, rows)
    unit = epsilon / (2 * candidates.sensitivity(None))
    worst, furthest = 0.0, 0
    for table in listed(kinds, rows):
        scores = candidates.evaluate((table,))
        for start, end in product(range(kinds), repeat=2):
            if start == end or not table[start]:
                continue
            other = table.copy()
            other[start], other[end] = other[start] - 1, other[end] + 1
            there = candidates.evaluate((other,))
            furthest = max(furthest, int(np.abs(scores - there).max()))
            laws = [unit * each - math.log(np.exp(unit * each).sum()) for each in (scores, there)]
            worst = max(worst, float(np.abs(laws[0] - laws[1]).max()))
    assert furthest == candidates.sensitivity(None)
    assert 0.2 < worst <= epsilon + 1e-12


def test_a_table_without_rows_is_every_database_alike():
    counts, walks = np.zeros(3, dtype=np.int64), Walks(4, 0, 3, True)
    assert WalkTable(counts, walks).within_levels() == [multisets(3, 4)] * 3
    assert 0 <= drawn_walk(counts, walks, Fraction(1)) < multisets(3, 4)


def test_only_whole_counts_are_drawn_by():
    for bad in (np.array([1.5]), np.zeros((2, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)):
        with pytest.raises(BadInput, match="whole number"):
            drawn_walk(bad, Walks(2, 2, 2, True), Fraction(1))
