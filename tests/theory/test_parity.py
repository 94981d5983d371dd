"""The parity separation, with the constant that holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.theory.parity import (
    claim_a2_points,
    least_gap,
    most_overlap,
    overlap_chance,
    parity_gap,
    response_parity_std,
    separation,
    walsh_hadamard,
)


def test_the_transform_is_the_sum_over_all_points():
    values = np.random.default_rng(8).normal(size=16)
    signs = [[(-1) ** (x & s).bit_count() for x in range(16)] for s in range(16)]
    assert walsh_hadamard(values) == pytest.approx(np.array(signs) @ values)
    with pytest.raises(BadInput, match="2\\^d"):
        walsh_hadamard(np.ones(6))


def test_the_mean_square_of_a_table_is_the_sum_of_the_squares_of_its_coefficients():
    """Parseval's identity, for tables of any numbers; a coefficient is the transform over the number of points."""
    public = np.random.default_rng(9)
    for columns in range(8):
        values = public.normal(size=2**columns)
        coefficients = walsh_hadamard(values) / 2**columns
        assert (values**2).mean() == pytest.approx((coefficients**2).sum())


def pair_of_sets(public, columns, rows):
    """Two sets of rows, of which half are shared."""
    points = public.permutation(2**columns)[: 3 * rows // 2]
    one, other = np.zeros(2**columns), np.zeros(2**columns)
    one[points[:rows]] = other[points[rows // 2 :]] = 1
    return one, other


def test_some_parity_of_two_half_different_sets_is_off_by_half_over_root_n():
    """Lemma A.5 with the corrected constant, 200 random pairs; the benchmark has 1,000."""
    public = np.random.default_rng(9)
    for _ in range(200):
        columns = int(public.integers(5, 11))
        rows = 2 * int(public.integers(1, 2**columns // 4))
        one, other = pair_of_sets(public, columns, rows)
        assert parity_gap(one, other) >= 0.5 / math.sqrt(rows) - 1e-12


def test_the_bound_holds_for_multisets_of_unequal_sizes():
    public = np.random.default_rng(10)
    for _ in range(300):
        size = 2 ** int(public.integers(2, 8))
        tables = [
            np.bincount(public.integers(0, size, public.integers(1, 80)), minlength=size)
            for _ in "ab"
        ]
        assert parity_gap(*tables) >= least_gap(*tables) - 1e-12


def test_the_bound_is_nearly_reached_by_a_bent_function():
    """On a quarter cube of differences that are a bent function, no parity is off by more than twice the bound."""
    points = np.arange(256)
    signs = np.array([1 - 2 * ((x & 15 & (x >> 4)).bit_count() % 2) for x in points.tolist()])
    one, other = (signs > 0).astype(float), (signs < 0).astype(float)
    assert parity_gap(one, other) <= 2.2 * least_gap(one, other)


def test_a_curator_beats_every_published_table_once_alpha_root_n_is_above_two():
    assert not separation(100, alpha=0.1).is_separated
    assert separation(1000, alpha=0.1).is_separated
    assert separation(401, alpha=0.1).is_separated and not separation(400, alpha=0.1).is_separated


def test_claim_a2_needs_many_columns():
    """With few points even a table that looks at nothing shares half of the rows."""
    assert overlap_chance(64, 32) > 0.5
    assert overlap_chance(2**16, 32) < 1e-30
    columns = claim_a2_points(50, 1.0)
    assert most_overlap(2**columns, 50, 1.0) < 0.5
    assert claim_a2_points(50, 2.0) > columns


def test_randomised_response_loses_a_parity_exponentially_in_its_columns():
    """100,000 rows, 40 runs: the standard error is right within 1 in 3 (chi-square, false alarm below 1e-4 fixed by the seed)."""
    public = np.random.default_rng(11)
    rows, width, epsilon = 100_000, 3, 3.0
    bits = public.integers(0, 2, (rows, width)) * 2 - 1
    true = (bits.prod(axis=1) == 1).mean()
    keep = 1 / (1 + math.exp(-epsilon / width))
    errors = []
    for _ in range(40):
        told = np.where(public.random((rows, width)) < keep, bits, -bits).prod(axis=1).mean()
        errors.append(0.5 + told / (2 * (2 * keep - 1) ** width) - true)
    stated = response_parity_std(rows, width, epsilon=epsilon)
    assert 0.66 * stated < np.std(errors) < 1.33 * stated
    assert response_parity_std(rows, 12, epsilon=epsilon) > 1000 * stated
