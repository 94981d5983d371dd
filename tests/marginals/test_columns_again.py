"""An adaptive release whose looks find nothing that is worth measuring: single columns get the budget of pairs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from discreet import Budget, Schema, release
from discreet.answering import ReleaseReader
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.queries.residuals import BinnedTable, Residual
from discreet.releases.verifying import verify
from tests.no_noise import without_noise

NAMES, VALUES, ROWS = "abcdefgh", 5, 20_000


def released(folder: Path, dependent: bool, budget: Budget) -> ReleaseReader:
    """Columns that are all the same, or independent ones. Nobody says how many people there are, so there is no first selection."""
    public = generator(2)
    first = public.integers(0, VALUES, ROWS)
    table = {
        name: first if dependent else public.choice(VALUES, ROWS, p=[0.4, 0.3, 0.15, 0.1, 0.05])
        for name in NAMES
    }
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, {VALUES - 1}]\n' for name in NAMES
    )
    return release(
        pa.table(table),
        Schema.loads(f'dataset = "t"\n{columns}'),
        budget=budget,
        workload="marginals(2)",
        algorithms={"marginals(2)": "adaptive"},
        ledger=folder / "ledger",
    )


def times_measured(reader: ReleaseReader, width: int) -> Counter[tuple[str, ...]]:
    return Counter(
        each.query.columns
        for each in reader.release.parts[0].noisy
        if isinstance(each.query, Residual | BinnedTable) and len(each.query.columns) == width
    )


@pytest.mark.parametrize("budget", [Budget(epsilon="1/5", delta="1e-9"), Budget(epsilon=1)])
def test_independent_columns_are_measured_again_instead_of_pairs(
    budget: Budget, tmp_path: Path
) -> None:
    """Noise off: every pair differs from independent columns by chance alone, which noise on the pair would exceed."""
    with without_noise():
        reader = released(tmp_path, False, budget)
    assert set(times_measured(reader, 1).values()) == {3}
    assert not times_measured(reader, 2)
    assert not verify(reader.release).problems


def test_columns_that_depend_on_one_another_are_measured_in_pairs(tmp_path: Path) -> None:
    with without_noise():
        reader = released(tmp_path, True, Budget(epsilon=1, delta="1e-9"))
    assert len(times_measured(reader, 2)) >= len(NAMES) - 1, "as many pairs as connect all columns"
    assert set(times_measured(reader, 1).values()) <= {1, 2}, (
        "where these explain all, columns gain"
    )
