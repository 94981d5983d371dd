"""Tables that are too large for memory: refused before the charge, or released in another way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from discreet.families.tables.queries.residuals import BinnedTable, Residual
from discreet.releases.verifying import verify


def wide_schema(*sizes: int, people: str = "people = 50000") -> dc.Schema:
    columns = "".join(
        f'[columns.c{place}]\nkind = "integer"\nrange = [0, {size - 1}]\n'
        for place, size in enumerate(sizes)
    )
    return dc.Schema.loads(f'dataset = "t"\n{people}\n{columns}')


@pytest.mark.parametrize(
    ("sizes", "algorithm", "said"),
    [
        ((160_000, 9, 8), "adaptive", "160,020 cells together.*column c0 has 160,001"),
        ((5000,) * 10, "automatic", "45 tables have 1,125,450,045 cells together"),
        ((5000,) * 10, "direct", "45 tables have 1,125,450,045 cells together"),
        ((2000,) * 30, "residuals", "435 tables have 1,741,740,435 cells together"),
    ],
)
def test_tables_that_no_memory_holds_are_refused_before_the_charge(
    sizes: tuple[int, ...], algorithm: str, said: str
) -> None:
    budget = dc.Budget(epsilon=1, delta="1e-9")
    named = {"marginals(2)": algorithm}
    with pytest.raises(
        dc.BadInput, match=f"marginals\\(2\\): .*{said}.*Nothing was read or charged"
    ):
        dc.plan(wide_schema(*sizes), budget=budget, workload=["marginals(2)"], algorithms=named)


@pytest.mark.parametrize("people", ["people = 50000", ""])
@pytest.mark.parametrize("algorithm", ["adaptive", "adaptive-even", None])
def test_a_model_is_refused_too_where_all_tables_together_are_too_large(
    people: str, algorithm: str | None
) -> None:
    """It measures how many rows it gets wrong in each table: 435 tables of 2,001 x 2,001 cells, which took 82 GB after the charge."""
    budget, schema = dc.Budget(epsilon=1, delta="1e-9"), wide_schema(*(2000,) * 30, people=people)
    named = {} if algorithm is None else {"marginals(2)": algorithm}
    with pytest.raises(
        dc.BadInput, match=r"1,741,740,435 cells together.*Nothing was read or charged"
    ):
        dc.plan(schema, budget=budget, workload=["marginals(2)"], algorithms=named)


@pytest.mark.parametrize("budget", [dc.Budget(epsilon=1, delta="1e-9"), dc.Budget(epsilon=1)])
def test_a_model_of_tables_that_are_too_large_to_be_looked_at_is_told_of_single_columns(
    budget: dc.Budget, tmp_path: Path
) -> None:
    """A pair of 1,201 x 1,201 cells is more than a look counts one by one; the release failed after the charge."""
    reader = dc.release(
        pa.table({"c0": [3, 5, 7], "c1": [1, 1, 1100]}),
        wide_schema(1200, 1200),
        budget=budget,
        workload=["marginals(2)"],
        algorithms={"marginals(2)": "adaptive"},
        ledger=tmp_path / "ledger",
    )
    queries = [each.query for each in reader.release.parts[0].noisy]
    widths = Counter(len(q.columns) for q in queries if isinstance(q, Residual | BinnedTable))
    assert widths[1] == 3 * 2, "at first, and in both rounds"
    assert not widths[2]
    assert not verify(reader.release, thorough=True).problems


def test_a_column_that_is_too_wide_for_a_model_gets_noise_on_its_tables() -> None:
    schema, budget = wide_schema(160_000, 9, 8), dc.Budget(epsilon="1/10", delta="1e-9")
    planned = dc.plan(schema, budget=budget, workload=["marginals(2)"])
    assert planned.classes[0].algorithm in ("direct", "residuals")
