"""Awkward tables: many columns, a column of thousands of categories, a constant one, few rows."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.privacy.budget import Budget
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.releasing import release


@pytest.mark.parametrize("many", [300, pytest.param(9_998, marks=pytest.mark.trust)])
def test_many_categories_a_constant_column_and_two_hundred_rows(tmp_path, many):
    values = ", ".join(f'"v{k}"' for k in range(many))
    text = 'dataset = "awkward"\npeople = 200\n'
    text += f'[columns.many]\nkind = "category"\nvalues = [{values}]\n'
    text += '[columns.same]\nkind = "integer"\nrange = [7, 7]\nnulls = "exclude"\n'
    text += "".join(f'[columns.c{k}]\nkind = "boolean"\n' for k in range(4))
    schema = Schema.loads(text)
    source = np.random.default_rng()
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in schema.columns])
        for _ in range(200):
            bits = source.random(4) < 0.5
            writer.writerow([f"v{source.integers(many)}", 7, *bits])
    made = release(
        tmp_path / "t.csv",
        schema,
        budget=Budget(epsilon=1, delta="1e-9"),
        workload="marginals(2)",
        algorithms={"marginals(2)": "adaptive-even"},
        ledger=tmp_path / "ledger.db",
    )
    assert verify(made).ok
    reader = ReleaseReader(made)
    rows = reader.synthesize(100, seed=0)
    assert set(rows.column("same")) == {7} and len(rows.names) == 6
    found = reader.ask("SELECT count(*) FROM awkward WHERE many = 'v3' AND c0").only
    assert found.lower <= 200
