"""Synthetic rows follow what tables of three and more columns say beyond their pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import discreet as dc
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.log_linear import LogLinear
from discreet.families.tables.estimate.mixture import Mixture
from tests.releasing import release

ROWS = 4000


def schema(nulls: str, more: str = "") -> dc.Schema:
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, {top}]\nnulls = "{nulls}"\n'
        for name, top in (("a", 3), ("x", 1), ("y", 1), ("z", 1), ("b", 2))
    )
    return dc.Schema.loads(f'dataset = "t"\npeople = {ROWS}\n{columns}{more}')


@pytest.fixture(scope="module")
def table() -> pyarrow.Table:
    """z says whether x and y differ, and no two of the three say anything of one another."""
    source = generator(3)
    a, x, y, b = (source.integers(0, top, ROWS) for top in (4, 2, 2, 3))
    return pyarrow.table({"a": a, "x": x, "y": y, "z": x ^ y, "b": b})


@pytest.mark.parametrize("nulls", ["cell", "exclude"])
@pytest.mark.parametrize(
    "workload",
    [
        ["marginals(a, x, y, z)"],
        ["marginals(x, y, z)", "marginals(2)"],
        ["marginals(a, b)", "marginals(x, y, z, b)"],
    ],
    ids=str,
)
def test_rows_follow_a_measured_table_of_three_columns(
    workload: list[str], nulls: str, table: pyarrow.Table, tmp_path: Path
) -> None:
    """Half of the rows would break the rule if only pairs were followed; at epsilon 20 noise moves next to none."""
    made = release(
        table,
        schema(nulls),
        budget=dc.Budget(epsilon=20),
        workload=workload,
        ledger=tmp_path / "l.db",
    )
    rows = dc.ReleaseReader(made).synthesize(rows=ROWS, seed=1).to_pandas().dropna()
    assert len(rows) > 0.98 * ROWS
    broken = (rows.x.astype(int) ^ rows.y.astype(int)) != rows.z.astype(int)
    assert broken.mean() < 0.02


def test_among_many_columns_rows_follow_a_measured_table_of_three_too(
    table: pyarrow.Table, tmp_path: Path
) -> None:
    """With 16 more columns no list holds all combinations of cells, so rows are drawn from cliques."""
    source = generator(4)
    more = {f"more{place}": source.integers(0, 3, ROWS) for place in range(16)}
    declared = schema(
        "cell",
        "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, 2]\n' for name in more),
    )
    made = release(
        pyarrow.table({**{name: table[name] for name in table.column_names}, **more}),
        declared,
        budget=dc.Budget(epsilon=20, delta="1e-9"),
        workload=["marginals(2)", "marginals(x, y, z)"],
        ledger=tmp_path / "l.db",
    )
    rows = dc.ReleaseReader(made).synthesize(rows=ROWS, seed=1).to_pandas().dropna()
    broken = (rows.x.astype(int) ^ rows.y.astype(int)) != rows.z.astype(int)
    assert broken.mean() < 0.1  # half of the rows, if only pairs were followed


def test_no_row_is_impossible_where_a_table_of_three_columns_was_measured(
    table: pyarrow.Table, tmp_path: Path
) -> None:
    declared = schema("cell", "[[impossible]]\nx = 1\ny = 1\n[[impossible]]\na = 0\nz = 1\n")
    made = release(
        table, declared, budget=dc.Budget(epsilon="1/2"), workload=["marginals(a, x, y, z)"],
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    rows = dc.ReleaseReader(made).synthesize(rows=ROWS, seed=1).to_pandas()
    assert not ((rows.x == 1) & (rows.y == 1)).any()
    assert not ((rows.a == 0) & (rows.z == 1)).any()


def test_a_scaled_model_has_the_tables_that_it_was_scaled_to_and_the_first_one_keeps_its_own() -> (
    None
):
    model = LogLinear((2, 3, 2, 4))
    before = model.table.copy()
    joint = generator(8).random((2, 3, 2, 4))
    joint /= joint.sum()
    tables: dict[tuple[int, ...], Any] = {
        (0, 1, 2): joint.sum(axis=3),
        (1, 2, 3): joint.sum(axis=0),
    }
    scaled = model.scaled_to(tables)
    for columns, wanted in tables.items():
        assert np.allclose(scaled.marginal(columns), wanted)
    assert np.array_equal(model.table, before)
    assert np.isclose(scaled.table.sum(), 1)


def test_a_table_that_fits_in_no_clique_is_not_made_of_a_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each component holds its cells: a table of six columns of 12 cells took 370 MB, and was then left out."""
    source = generator(5)
    sizes = {"a": 52, "b": 52, "c": 52, "d": 4}
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, {size - 1}]\n'
        for name, size in sizes.items()
    )
    made = release(
        pyarrow.table({name: source.integers(0, size, ROWS) for name, size in sizes.items()}),
        dc.Schema.loads(f'dataset = "t"\npeople = {ROWS}\n{columns}'),
        budget=dc.Budget(epsilon=20),
        workload=["marginals(a, b, c)", "marginals(a, d)"],
        ledger=tmp_path / "l.db",
    )
    widths = []
    own = Mixture.marginal

    def marginal(model: Mixture, columns: Any) -> Any:
        widths.append(len(columns))
        return own(model, columns)

    monkeypatch.setattr(Mixture, "marginal", marginal)
    assert len(dc.ReleaseReader(made).synthesize(rows=100, seed=1).to_pandas()) == 100
    assert widths, "a mixture was asked"
    assert max(widths) < 3
