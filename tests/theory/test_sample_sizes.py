"""Lemma 3.2 and theorem 3.1 with their constants: every size is checked against all databases."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.queries.multisets import listed, multisets, number_of, numbered
from discreet.theory import vc_dimension
from discreet.theory.sample_sizes import (
    INTERVALS_REACH,
    PREFIXES_REACH,
    QueryShape,
    alpha_needed,
    best_size,
    by_count,
    by_dimension,
    by_rounding,
    error_reached,
    price_of_privacy,
    rows_as_printed,
    rows_needed,
    rows_without_privacy,
)


def prefixes(cells):
    return np.tril(np.ones((cells, cells), dtype=bool))


def intervals(cells):
    values = np.arange(cells)
    return np.array([(low <= values) & (values <= high) for low in values for high in values[low:]])


def conjunctions(columns):
    points = np.array(list(product((0, 1), repeat=columns)))
    return np.array(
        [
            np.all((np.array(wanted) == 2) | (points == wanted), axis=1)
            for wanted in product((0, 1, 2), repeat=columns)
        ]
    )


def parities(columns):
    points = np.array(list(product((0, 1), repeat=columns)))
    return np.array([points @ chosen % 2 == 1 for chosen in product((0, 1), repeat=columns)])


def boxes(side):
    one = intervals(side)
    return np.array([np.outer(a, b).reshape(-1) for a in one for b in one])


def shape_of(workload):
    distinct = np.unique(workload, axis=0)
    return QueryShape(
        kinds=workload.shape[1], queries=len(distinct), dimension=vc_dimension.searched(distinct)
    )


@pytest.mark.parametrize(
    ("workload", "dimension"),
    [
        (prefixes(6), vc_dimension.prefixes(6)),
        (intervals(6), vc_dimension.intervals(6)),
        (intervals(1), vc_dimension.intervals(1) - 1),  # one query: it tells nothing apart
        (conjunctions(2), vc_dimension.conjunctions(2)),
        (conjunctions(3), vc_dimension.conjunctions(3)),
        (parities(3), vc_dimension.parities(3)),
        (boxes(4), vc_dimension.rectangles((4, 4))),
    ],
)
def test_the_vc_dimension_by_formula_is_the_one_that_a_search_finds(workload, dimension):
    assert vc_dimension.searched(workload) == dimension


@pytest.mark.parametrize("workload", [intervals(6), conjunctions(3), parities(3), boxes(4)])
def test_a_class_of_dimension_d_has_at_least_two_to_the_d_queries(workload):
    assert len(np.unique(workload, axis=0)) >= 2 ** vc_dimension.searched(workload)


def test_unions_of_intervals_have_twice_the_dimension_of_their_number():
    one = intervals(7)
    two = np.unique(np.array([a | b for a in one for b in one]), axis=0)
    assert vc_dimension.searched(two) == vc_dimension.intervals(7, pieces=2) == 4
    assert vc_dimension.halfspaces(2) == 3


def test_halfspaces_of_the_plane_shatter_three_points_and_no_four():
    points = np.array([(x, y) for x in range(4) for y in range(4)], dtype=float)
    cuts = [
        points @ np.array([math.cos(angle), math.sin(angle)]) >= offset
        for angle in np.linspace(0, 2 * math.pi, 64, endpoint=False)
        for offset in np.arange(-5, 5, 0.25)
    ]
    assert vc_dimension.searched(np.array(cuts)) == vc_dimension.halfspaces(2)


@pytest.mark.parametrize(
    ("workload", "reach"),
    [
        (prefixes(5), PREFIXES_REACH),
        (intervals(4), INTERVALS_REACH),
        (prefixes(5), None),
        (conjunctions(2), None),
        (parities(2), None),
    ],
)
def test_some_database_of_the_size_of_the_lemma_is_as_near_as_it_says(workload, reach):
    """Every table of 12 rows over these points, and every database of m rows: the lemma, by hand."""
    kinds = workload.shape[1]
    shape, rows = replace(shape_of(workload), reach=reach), 12
    tables = listed(kinds, rows) @ workload.T / rows
    for size in (1, 2, 3, 5, 8):
        databases = listed(kinds, size) @ workload.T / size
        nearest = [np.abs(databases - table).max(axis=1).min() for table in tables]
        assert max(nearest) <= shape.cover_error(size) + 1e-12


def test_each_of_the_three_sizes_is_enough_and_grows_as_it_should():
    shape = QueryShape(kinds=16, queries=81, dimension=4)
    for error in (0.5, 0.2, 0.05, 0.01):
        size = shape.cover_size(error)
        assert size == min(
            by_count(error, queries=81),
            by_dimension(error, dimension=4),
            by_rounding(error, reach=4),
        )
        assert shape.cover_error(size) <= error * (1 + 1e-9)
    assert by_count(0.01, queries=81) == pytest.approx(100 * by_count(0.1, queries=81), rel=0.01)
    assert by_rounding(0.01, reach=4) == 10 * by_rounding(0.1, reach=4)


@pytest.mark.parametrize("workload", [prefixes(4), conjunctions(2), parities(2)])
@pytest.mark.parametrize("rows", [10, 60, 400])
def test_the_exact_law_of_the_mechanism_keeps_the_promise_of_theorem_3_1(workload, rows):
    """The chance that a database worse than promised is drawn, summed over all databases, for many tables."""
    shape, alpha, delta = shape_of(workload), 1.0, 0.05
    size = best_size(
        shape, rows=rows, alpha=alpha, delta=delta, most=lambda m: multisets(shape.kinds, m) < 4000
    )
    bound = error_reached(shape, rows=rows, alpha=alpha, delta=delta, size=size)
    databases = listed(shape.kinds, size) @ workload.T / size
    public = np.random.default_rng(rows)
    for _ in range(30):
        table = public.multinomial(rows, public.dirichlet(np.full(shape.kinds, 0.5)))
        error = np.abs(databases - table @ workload.T / rows).max(axis=1)
        weights = np.exp(-alpha * rows / 2 * (error - error.min()))
        assert weights[error > bound + 1e-12].sum() <= delta * weights.sum()


def test_the_theorem_is_solved_in_every_direction():
    shape = QueryShape(kinds=32, queries=500, dimension=5)
    for error in (0.3, 0.1, 0.03):
        rows = rows_needed(shape, error=error, alpha=0.5, delta=0.01)
        size = best_size(shape, rows=rows, alpha=0.5, delta=0.01)
        reached = error_reached(shape, rows=rows, alpha=0.5, delta=0.01, size=size)
        assert reached <= error * (1 + 1e-9)
        fewer = error_reached(
            shape,
            rows=int(rows * 0.98),
            alpha=0.5,
            delta=0.01,
            size=best_size(shape, rows=int(rows * 0.98), alpha=0.5, delta=0.01),
        )
        assert fewer > error
        alpha = alpha_needed(shape, error=error, rows=rows, delta=0.01)
        assert alpha <= 0.5 * (1 + 1e-9) and alpha > 0.5 * (1 - 2 / rows) - 1e-3


def test_the_printed_sizes_are_never_less_than_the_solved_ones():
    """N = 2^(dm) sequences and the VC bound ask for more than multisets and the best of three proofs."""
    shape = QueryShape(kinds=16, queries=81, dimension=4)
    size, printed = rows_as_printed(bits=4, dimension=4, error=0.1, alpha=1, delta=0.05)
    assert size == by_dimension(0.05, dimension=4)
    assert printed == math.ceil(40 * (4 * size * math.log(2) + math.log(20)))
    assert rows_needed(shape, error=0.1, alpha=1, delta=0.05) < printed / 100


def test_privacy_has_a_price_and_a_sample_without_it_needs_fewer_rows():
    shape = QueryShape(kinds=16, queries=81, dimension=4)
    cheap = price_of_privacy(shape, error=0.1, alpha=10, delta=0.05)
    dear = price_of_privacy(shape, error=0.1, alpha=0.01, delta=0.05)
    assert 1 < cheap.factor < dear.factor
    assert cheap.without_privacy == dear.without_privacy == shape.sample_size(0.1, 0.05)
    assert shape.sample_size(0.1, 0.05) <= rows_without_privacy(error=0.1, delta=0.05, dimension=4)


def test_a_sample_of_the_stated_size_is_as_near_to_its_population_as_it_says():
    """2,000 samples of each size; at most 5% may fail by the bound, and 12% would have chance 1e-30."""
    workload = conjunctions(3)
    shape, public = shape_of(workload), np.random.default_rng(1)
    population = public.dirichlet(np.ones(8))
    rows = shape.sample_size(0.1, 0.05)
    drawn = public.multinomial(rows, population, size=2000) / rows
    worst = np.abs((drawn - population) @ workload.T).max(axis=1)
    assert (worst > 0.1).mean() <= 0.12


def test_numbers_of_multisets_are_their_places_in_the_list():
    for kinds, size in ((1, 5), (2, 4), (4, 3), (6, 5)):
        found = listed(kinds, size)
        assert len(found) == multisets(kinds, size)
        for place, counts in enumerate(found.tolist()):
            assert number_of(counts) == place
            assert list(numbered(place, kinds, size)) == counts


def test_nonsense_is_refused():
    shape = QueryShape(kinds=4, queries=4, dimension=2)
    for bad in (0, 1, -0.1, 2):
        with pytest.raises(BadInput, match="error"):
            rows_needed(shape, error=bad, alpha=1, delta=0.05)
    with pytest.raises(BadInput, match="alpha"):
        error_reached(shape, rows=10, alpha=0, delta=0.05, size=3)
    with pytest.raises(BadInput, match="number"):
        numbered(35, 4, 4)
    with pytest.raises(BadInput, match="at least one query"):
        vc_dimension.searched(np.zeros((0, 3), dtype=bool))
