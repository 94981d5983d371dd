"""Additive answers: as they were measured, put together so that sums agree."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas
import pytest
from hypothesis import given, settings

from discreet.answering import ReleaseReader
from discreet.errors import NotAnswerable
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.marginals.adding_up.random_tables import (
    FEW,
    OF_ANY,
    counts_fewer,
    drawn,
    released,
    sums,
)
from tests.releasing import release


@settings(max_examples=FEW, deadline=None)
@given(table=drawn(("boolean", "category", "integer"), OF_ANY))
def test_additive_answers_add_up_for_columns_of_any_kind(table):
    """Up to the rounding of doubles; refused where tables leave out different rows, for then there is nothing to agree on."""
    found = released(*table)
    if found is None:
        return
    reader, names = ReleaseReader(found), table[0].names
    alone = {}
    for one, other in permutations(names, 2):
        try:
            told = sums(reader, one, other, additive=True)
        except NotAnswerable as refusal:
            assert "leave out different rows" in str(refusal)
            assert any(part.algorithm == "direct" for part in found.parts)
            continue
        if not counts_fewer(found, table[0], other):
            assert np.allclose(alone.setdefault(one, told), told, rtol=0, atol=1e-6)
    totals = [float(each.sum()) for name, each in alone.items() if not counts_fewer(found, table[0], name)]  # fmt: skip
    assert not totals or np.ptp(totals) < 1e-6


def test_additive_answers_are_those_measured_and_others_are_refused(tmp_path):
    schema = Schema.loads(
        'dataset = "t"\n[columns.a]\nkind = "integer"\nrange = [0, 3]\n[columns.b]\nkind = "integer"\nrange = [0, 2]\n'
    )
    table = pandas.DataFrame({"a": [0, 1, 2, 3] * 5, "b": [0, 1] * 10})
    reader = ReleaseReader(
        release(table, schema, budget=Budget(epsilon=1), workload=["marginals(a, b)"],
                algorithms={"marginals(a, b)": "residuals"}, ledger=tmp_path / "l.db")
    )  # fmt: skip
    told = reader.ask("SELECT a, b, count(*) FROM t GROUP BY a, b", additive=True)
    measured, _ = reader.noisy_table(["a", "b"])
    assert np.allclose(told.columns[0].estimate, measured.reshape(-1))
    assert (told.columns[0].lower < told.columns[0].estimate).all()
    assert any("add up" in note for note in told.notes)
    with pytest.raises(NotAnswerable, match="only counts"):
        reader.ask("SELECT sum(a) FROM t", additive=True)
    alone = ReleaseReader(
        release(table, schema, budget=Budget(epsilon=1), workload=["marginals(a)"], ledger=tmp_path / "m.db")
    )  # fmt: skip
    with pytest.raises(NotAnswerable, match="would have needed"):
        alone.ask("SELECT b, count(*) FROM t GROUP BY b", additive=True)
