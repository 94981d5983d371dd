"""Tables of a model that has not caught up with what was measured: they are moved to it, and no further than noise allows."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

from discreet.families.tables.estimate.mixture import Target, bin_matrix
from discreet.families.tables.estimate.residuals import centred
from discreet.families.tables.queries.residuals import ModelDistance
from discreet.families.tables.release.mending import mended
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.releasing import release

VALUES = 16


def measured(table, std, bins=(None, None)):
    return Target(
        columns=(0, 1),
        bins=tuple(bin_matrix(each) for each in bins),
        table=centred(table).astype(np.float32),
        std=std,
    )


def test_a_table_beyond_the_noise_gets_the_measured_bins_and_keeps_its_shape_inside_them():
    model = np.outer([0.1, 0.4, 0.3, 0.2], [0.3, 0.2, 0.25, 0.25])
    truth = np.array([[0.5, 0.0], [0.0, 0.5]])
    halves = (0, 0, 1, 1)
    found = mended(model, [measured(truth, 1e-4, (halves, halves))])
    assert found.reshape(2, 2, 2, 2).sum(axis=(1, 3)) == pytest.approx(truth, abs=1e-3)
    assert found[:2, :2] / found[:2, :2].sum() == pytest.approx(model[:2, :2] / model[:2, :2].sum())


def test_a_table_that_noise_explains_stays_as_it_is():
    model = np.full((6, 6), 1 / 36)
    noise = np.random.default_rng(1).normal(0, 0.01, (6, 6))
    assert np.array_equal(mended(model, [measured(model + noise, 0.01)]), model)
    nearer = mended(model, [measured(model + noise, 0.001)])
    assert np.abs(nearer - model).sum() > 0.05


@pytest.fixture
def twins():
    """A column that tells another one value by value, in another order, beside columns of chance."""
    random = np.random.default_rng(2)
    rows = 30_000
    first = random.choice(VALUES, rows, p=random.dirichlet(np.full(VALUES, 1.0)))
    other = random.permutation(VALUES)[first]
    codes = {"first": first, "other": other}
    for place in range(6):
        codes[f"chance{place}"] = (first * (place + 1) + random.integers(0, 9, rows)) % 12
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, {each.max()}]\nnulls = "exclude"\n'
        for name, each in codes.items()
    )
    # Nobody says how many people there are: a model is made, whatever the first look says.
    return pyarrow.table(codes), Schema.loads(f'dataset = "t"\n{columns}')


def test_what_was_measured_but_not_fitted_yet_does_not_look_wrong_again(twins, tmp_path):
    table, schema = twins
    made = release(
        table,
        schema,
        budget=Budget(epsilon=1, delta="1e-9"),
        workload=["marginals(2)"],
        algorithms={"marginals(2)": "adaptive-even"},
        ledger=tmp_path / "ledger.db",
    )
    looks = [
        int(each.values[0])
        for each in made.parts[0].measurements
        if isinstance(each.query, ModelDistance)
        and each.query.columns == ("first", "other")
        and each.query.bins is None
    ]
    first, second = looks[:2]
    assert first > 20_000  # independent columns get most rows wrong
    assert second < first / 10
