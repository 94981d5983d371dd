"""Lower bounds as behaviour: the median argument breaks every mechanism over a continuum that is proposed to it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.theory.median import (
    least_epsilon,
    median_by_intervals,
    median_counterexample,
    rows_for_median,
    sphere_counterexample,
)


def middle(table):
    return sorted(table)[(len(table) - 1) // 2]


def exact_median(table, value):
    return float(middle(table) == value)


def rounded_median(table, value):
    """Rounds to 1/1000: over a continuum it still never gives most values."""
    return float(Fraction(round(middle(table) * 1000), 1000) == value)


def median_of_the_rows(table, value):
    """The exponential mechanism over the rows themselves: only values that are there can be given."""
    ranks = {row: abs(2 * place + 1 - len(table)) for place, row in enumerate(sorted(table))}
    weights = {row: math.exp(-rank / 4) for row, rank in ranks.items()}
    return weights.get(value, 0.0) / sum(weights.values())


def constant(table, value):
    return float(value == 0)


@pytest.mark.parametrize("rows", [1, 2, 7, 30])
@pytest.mark.parametrize("chance", [exact_median, rounded_median, median_of_the_rows])
def test_every_useful_median_over_a_continuum_has_neighbours_that_break_it(chance, rows):
    candidates = (
        [Fraction(1, 7), Fraction(1, 3)] if chance is not rounded_median else [Fraction(1, 1000)]
    )
    found = median_counterexample(chance, rows, candidates=candidates)
    assert found is not None
    assert sum(a != b for a, b in zip(found.without, found.having, strict=True)) == 1
    assert (
        chance(found.without, found.value) == 0 < chance(found.having, found.value) == found.chance
    )


def test_a_median_that_looks_at_nothing_is_private_and_useless():
    assert median_counterexample(constant, 9) is None


def test_without_candidates_dense_values_are_tried():
    found = median_counterexample(exact_median, 5)
    assert found is not None and found.value == 1


def test_a_mechanism_that_gives_every_value_is_not_refuted():
    with pytest.raises(BadInput, match="finite domain"):
        median_counterexample(lambda table, value: 0.5, 3)


def test_spheres_cut_a_line_into_prefixes_so_the_same_pair_breaks_them():
    centre = (Fraction(1, 2), Fraction(2), Fraction(-1))
    without, having = sphere_counterexample(exact_median, 6, centre=centre)
    assert sum(a != b for a, b in zip(without, having, strict=True)) == 1
    radii = [math.dist(point, centre) for point in having]
    assert sorted(radii) == sorted(float(point[0] - centre[0]) for point in having)
    assert sphere_counterexample(constant, 6, centre=centre) is None


def test_a_release_of_intervals_finds_medians_by_binary_search():
    """Corollary 5.2's reduction, with answers that are off by up to eps: the rank is off by no more."""
    public = np.random.default_rng(6)
    for error in (0.0, 0.05, 0.2):
        for _ in range(40):
            table = np.sort(public.integers(0, 257, 99))
            noise = {}

            def interval(low, high, noise=noise, table=table, error=error):
                noise.setdefault(high, public.uniform(-error, error))
                inside = ((table >= 256 * low) & (table <= 256 * high)).mean()
                return float(inside + noise[high])

            found = int(256 * median_by_intervals(interval, 8))
            assert (table < found).mean() <= 0.5 + error + 1 / 99
            assert (table <= found).mean() >= 0.5 - error - 1 / 99


def test_on_a_finite_domain_a_median_costs_the_bits_of_the_domain():
    """The exponential mechanism over the domain is useful at about the bound, and never below it."""
    values, success = 256, 0.75
    for rows in (20, 60, 200):
        bound = least_epsilon(values, rows, success=success)
        for epsilon in np.geomspace(bound / 2, 8 * bound, 12):
            # n equal rows: the right value has score 0, all others -n/2, at sensitivity 1/2
            right = 1 / (1 + (values - 1) * math.exp(-epsilon * rows / 2))
            if right >= success:
                assert epsilon >= bound
    assert (
        rows_for_median(2**20, 0.1, success=0.9)
        > 1.9 * rows_for_median(2**10, 0.1, success=0.9) - 30
    )
    assert least_epsilon(values, rows_for_median(values, 0.1, success=0.9), success=0.9) <= 0.1
