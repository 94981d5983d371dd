"""Whole counts that agree, found from the top down."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.artifacts.release import ErrorClaim
from discreet.families.tables.answer.linear_tables import Agreed
from discreet.families.tables.estimate.agreeing import (
    AgreeingCounts,
    can_agree,
    largest_sets,
    split_rows,
    split_table,
)
from discreet.families.tables.release.whole_answers import claims_of_agreed_counts

NAMES = ("a", "b", "c", "d", "e")


@st.composite
def tables(draw):
    """Noisy numbers of up to five columns, and some of their tables."""
    names = NAMES[: draw(st.integers(1, 5))]
    shape = [draw(st.integers(1, 5)) for _ in names]
    public = np.random.default_rng(draw(st.integers(0, 10_000)))
    scale = draw(st.sampled_from([0.0, 1.0, 1e6]))
    full = public.poisson(2, shape) + scale * public.normal(size=shape)
    chosen = draw(st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=4))
    sets = [tuple(name for name in names if name in each) for each in chosen]
    pairs = list(combinations(names, min(2, len(names))))
    return names, full, draw(st.sampled_from([sets, pairs, [names]]))


def measured_of(names, full):
    return lambda columns: full.sum(
        axis=tuple(place for place, name in enumerate(names) if name not in columns)
    )


@given(drawn=tables())
def test_counts_are_whole_and_not_below_zero_and_agree_however_they_are_summed(drawn):
    names, full, sets = drawn
    if not can_agree(sets):
        return
    found = AgreeingCounts(sets, names, measured_of(names, full))
    for table in sets:
        whole = found.over(table)
        for many in range(len(table) + 1):
            for columns in combinations(table, many):
                own = found.over(columns)
                rest = tuple(place for place, name in enumerate(table) if name not in columns)
                assert np.array_equal(own, whole.sum(axis=rest))
                assert np.array_equal(own, np.rint(own)) and own.min() >= 0
                assert own.sum() == max(0, round(full.sum()))


@given(drawn=tables())
def test_counts_without_noise_come_back_as_they_are(drawn):
    names, full, sets = drawn
    counts = np.maximum(np.rint(full), 0)
    if not can_agree(sets):
        return
    measured = measured_of(names, counts)
    found = AgreeingCounts(sets, names, measured)
    for table in sets:
        assert np.array_equal(found.over(table), measured(table))


@given(drawn=tables(), share=st.sampled_from([0.1, 0.5, 0.9]))
def test_cells_that_are_declared_empty_stay_empty_and_all_others_agree(drawn, share):
    """Some cells of the first columns are closed, whatever the noise says."""
    names, full, sets = drawn
    first = names[: min(3, len(names))]
    public = np.random.default_rng(7)
    closed = public.random(full.shape[: len(first)]) < share
    closed[(0,) * len(first)] = False
    if not can_agree(sets, [first]):
        return
    found = AgreeingCounts(sets, names, measured_of(names, full), empty={first: closed})
    assert found.over(first)[closed].sum() == 0
    for table in [*sets, first]:
        whole = found.over(table)
        assert np.array_equal(whole, np.rint(whole)) and whole.min() >= 0
        for many in range(len(table) + 1):
            for columns in combinations(table, many):
                rest = tuple(place for place, name in enumerate(table) if name not in columns)
                assert np.array_equal(found.over(columns), whole.sum(axis=rest))


@pytest.mark.parametrize(
    ("sets", "agree"),
    [
        ([("a", "b"), ("b", "c"), ("a", "c")], True),
        ([("a", "b", "c"), ("c", "d", "e")], True),
        ([("a", "b", "c"), ("a", "b", "d"), ("a", "b")], True),
        ([("a", "b", "c"), ("a", "b", "d"), ("b", "c", "e")], False),
        (list(combinations("abcd", 3)), False),
        (list(combinations("abcde", 4)), False),
    ],
)
def test_tables_can_agree_where_what_they_share_is_nested(sets, agree):
    assert can_agree(sets) is agree


def test_ranges_and_rectangles_of_sparse_tables_are_hardly_biased():
    """Rows along the diagonal of 60 x 60 mostly empty cells: off by at most 1.3 times what the noisy sums are, single cells by much less.

    The counts that are nearest cell by cell would be off by twice as much. The numbers are drawn by a fixed seed.
    """
    public = np.random.default_rng(1)
    size, rows, off = 60, 3000, np.zeros((2, 2))
    for _ in range(6):
        first = np.clip(public.normal(size / 2, size / 6, rows), 0, size - 1).astype(int)
        second = np.clip(first + public.normal(0, size / 20, rows), 0, size - 1).astype(int)
        true = np.zeros((size, size))
        np.add.at(true, (first, second), 1)
        noisy = true + np.rint(public.laplace(0, 1, true.shape))
        total = round(noisy.sum())
        sums = [split_rows(noisy.sum(axis=axis), total) for axis in (1, 0)]
        found = split_table(noisy, *sums)
        assert [found.sum(axis=axis).tolist() for axis in (1, 0)] == [s.tolist() for s in sums]
        for place in range(300):
            ends = np.sort(public.integers(0, size + 1, (2, 2)), axis=1)
            if place % 2:
                ends[:, 1] = np.minimum(ends[:, 0], size - 1) + 1
            box = tuple(slice(low, high) for low, high in ends)
            off[place % 2] += [abs(each[box].sum() - true[box].sum()) for each in (found, noisy)]
    assert off[0, 0] < 1.3 * off[0, 1]
    assert off[1, 0] < 0.7 * off[1, 1]


def test_claims_are_about_the_answers_and_not_about_the_measured_cells():
    """A true cell within 10 of -5 and not below 0 is at most 3 from 3; one within 10 of 20 is at most 18 from 12."""
    claim = ErrorClaim(query_class="t", bound=10.0, confidence=0.95, simultaneous=True, theorem="")
    agreed = Agreed(np.array([3.0, 12.0]), None)
    (told,) = claims_of_agreed_counts((claim,), [(np.array([-5.0, 20.0]), agreed)])
    assert told.bound == 18 and "lie from the measured cells" in told.theorem
    assert claims_of_agreed_counts((claim,), [(np.zeros(2), None)]) == (claim,)


def additive(names, full):
    """What pairs of columns say of any table, if nothing else is known."""

    def measured(columns):
        own, found = measured_of(names, full), 0.0
        for many in range(min(len(columns), 2) + 1):
            for part in combinations(columns, many):
                residual = own(part).astype(float)
                for axis in range(many):
                    residual = residual - residual.mean(axis=axis, keepdims=True)
                kept = [full.shape[names.index(n)] if n in part else 1 for n in columns]
                others = np.prod([full.shape[names.index(n)] for n in columns if n not in part])
                found = found + residual.reshape(kept) / others
        return np.broadcast_to(found, [full.shape[names.index(n)] for n in columns])

    return measured


def test_declarations_that_share_columns_leave_pairs_as_they_were_measured():
    """Wards that depend on the year and on the sex, with combinations that no row has: no table over all three is measured."""
    public = np.random.default_rng(5)
    year, ward, sex = np.ogrid[:60, :5, :2]
    shares = np.exp(-((year - 12 * ward - 6) ** 2) / 150) * (1 + (ward == 2) * (sex == 0) * 3)
    empty = np.broadcast_to((ward == 2) & (sex == 1), shares.shape) | ((ward == 0) & (year > 20))
    shares = np.where(empty, 0, shares)
    full = public.poisson(20_000 * shares / shares.sum())
    names = NAMES[:3]
    pairs = list(combinations(names, 2))
    found = AgreeingCounts(pairs, names, additive(names, full), empty={names: empty})
    for pair in pairs:
        off = np.abs(found.over(pair) - measured_of(names, full)(pair)).sum() / 2 / full.sum()
        assert off < 0.01  # .05 where the sum of the residuals was taken for the table


def test_the_largest_sets_are_those_that_are_no_parts_of_others():
    sets = [frozenset(each) for each in ("ab", "b", "bcd", "", "cd", "ab", "e")]
    assert largest_sets(sets) == [frozenset(each) for each in ("ab", "bcd", "e")]
