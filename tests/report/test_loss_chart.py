"""The privacy-loss chart: one grid for all measurements, and nothing beyond the budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars
import pytest

from discreet import Budget, Schema, release
from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.report.loss import loss_figure
from tests.releases_by_hand import measured, part_of, people, release_of_tables

NUMBERS = """
dataset = "d"
people = 300
[columns.a]
kind = "integer"
range = [0, 15]
[columns.b]
kind = "integer"
range = [0, 7]
"""


def many_measurements(kinds: int, budget: Budget):
    """So many counts, each with noise of its own, which cost the budget together."""
    schema = people()
    query = CellCount(("sex",), (0,))
    weights = [3 + place for place in range(kinds)]
    parts = [
        part_of(
            Marginals(columns=["sex"]),
            measured(
                schema,
                query,
                [7],
                DiscreteLaplaceLaw(Fraction(sum(weights), weight) / budget.epsilon),
            ),
            kind="marginals",
        )
        for weight in weights
    ]
    assert query.sensitivity(schema) == Sensitivity(l1=1, l2_squared=1)
    return release_of_tables(schema, [], [], parts=parts, budget=budget)


@pytest.mark.parametrize("kinds", [2, 30, 120])
def test_many_measurements_lose_no_more_than_the_budget(kinds):
    figure = loss_figure(many_measurements(kinds, Budget(epsilon=1)))
    assert figure is not None
    *_, (loss, chance) = figure.table.rows
    assert (loss, chance) == ("+1.00", "0%")
    assert figure.legend[1][1] == "the largest loss there is, 1"
    losses = [float(row[0]) for row in figure.table.rows]
    assert min(losses) >= -1 and losses == sorted(losses)
    chances = [float(row[1].removeprefix("below ").removesuffix("%")) for row in figure.table.rows]
    assert chances == sorted(chances, reverse=True) and chances[0] > 50


@pytest.mark.parametrize("text", ["intervals(a)", "halfspaces(a, b)", 'predicates("a >= 5")'])
@pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/8")], ids=str)
def test_every_class_has_a_chart(text, budget, tmp_path):
    table = polars.DataFrame({"a": np.arange(300) % 16, "b": np.arange(300) % 8})
    made = release(
        table, Schema.loads(NUMBERS), budget=budget, workload=[text], ledger=tmp_path / "l.db"
    ).release
    figure = loss_figure(made)
    assert figure is not None
    *_, (loss, chance) = figure.table.rows
    if budget == Budget(epsilon=1):
        assert float(loss) <= 1 and chance == "0%"
    else:
        assert chance in ("0%", "below 0.0000001%")
