"""Parts side by side where columns leave rows out: all answers are about the rows that were asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from tests.no_noise import without_noise

BOOLEANS = """
dataset = "t"
people = 300
[columns.a]
kind = "boolean"
nulls = "exclude"
[columns.b]
kind = "boolean"
nulls = "exclude"
[columns.c]
kind = "boolean"
nulls = "exclude"
[columns.d]
kind = "boolean"
"""


def booleans() -> pd.DataFrame:
    many = np.arange(300)
    columns = {name: many // (place + 1) % 2 == 0 for place, name in enumerate("abcd")}
    table = pd.DataFrame(columns).astype(object)
    table.loc[many % 7 == 0, "b"] = None
    return table


@pytest.mark.parametrize(
    "classes", [["parities(3)", "marginals(2)"], ["parities(2)", "marginals(2)"]]
)
def test_parities_beside_tables_count_rows_without_a_cell_alike(
    classes: list[str], tmp_path: Path
) -> None:
    """Parities spread such rows evenly. A table that counts them apart does not fit beside: it failed after the charge."""
    made = dc.release(
        booleans(),
        dc.Schema.loads(BOOLEANS),
        budget=dc.Budget(epsilon=5, delta="1e-6"),
        workload=classes,
        ledger=tmp_path / "ledger.db",
    )
    assert [part.algorithm for part in made.release.parts] == ["fourier", "direct"]
    assert made.ask("SELECT a, b, count(*) FROM t GROUP BY a, b").columns[0].estimate.sum() > 200
    assert len(made.synthesize(rows=50, seed=1)) == 50


@pytest.mark.parametrize("even", ["adaptive-even", "residuals-even"])
def test_two_ways_to_count_rows_without_a_cell_are_refused_before_the_charge(
    even: str, tmp_path: Path
) -> None:
    with pytest.raises(dc.DiscreetError, match=r"column 'a' apart.*Nothing was read or charged"):
        dc.release(
            booleans(),
            dc.Schema.loads(BOOLEANS),
            budget=dc.Budget(epsilon=5),
            workload=["marginals(2)", "marginals(a, b; b, c)"],
            algorithms={"marginals(2)": even, "marginals(a, b; b, c)": "residuals"},
            ledger=tmp_path / "ledger.db",
        )


@pytest.mark.parametrize("ranges", ["intervals(e)", "intervals(e by c)"])
@pytest.mark.parametrize("algorithm", ["direct", "residuals"])
def test_a_count_of_all_rows_does_not_come_from_ranges_that_leave_some_out(
    ranges: str, algorithm: str, tmp_path: Path
) -> None:
    """Ranges of `e` count fewer rows, often with less noise: 437 of 600 were answered."""
    schema = dc.Schema.loads("""
dataset = "t"
[columns.a]
kind = "integer"
range = [0, 2]
[columns.c]
kind = "boolean"
[columns.e]
kind = "integer"
range = [0, 63]
nulls = "exclude"
""")
    many = np.arange(600)
    table = pd.DataFrame({"a": many % 3, "c": many % 2 == 0, "e": (many % 64).astype(object)})
    table.loc[many % 4 == 0, "e"] = None
    with without_noise():
        made = dc.release(
            table,
            schema,
            budget=dc.Budget(epsilon=9),
            workload=["marginals(a, c)", ranges],
            algorithms={"marginals(a, c)": algorithm},
            ledger=tmp_path / "ledger.db",
        )
    assert made.ask("SELECT count(*) FROM t").only.estimate == 600
    by_c = made.ask("SELECT c, count(*) FROM t GROUP BY c").columns[0].estimate
    assert sorted(by_c.tolist()) == [0, 300, 300]
    assert made.ask("SELECT count(e) FROM t").only.estimate == 450
