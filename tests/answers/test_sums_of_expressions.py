"""Sums and means of expressions over several columns, from a table of wide cells."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import duckdb
import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet import samplers
from discreet.answering.regions.selecting import select
from discreet.families.tables.answer.linear_tables import CombinedTable
from discreet.families.tables.answer.sums.added_values import expression_values
from discreet.families.tables.answer.sums.summing import weighted_rows
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.questions.dialects.statement import parsed
from discreet.questions.expression_bounds import over_clamped_columns
from discreet.questions.expressions import TRUE
from discreet.questions.reading.expressions import ExpressionReader

SCHEMA = dc.Schema.loads(
    'dataset = "t"\n[columns.x]\nkind = "integer"\nrange = [0, 19]\nwidth = 5\n'
    '[columns.y]\nkind = "number"\nbounds = [1, 9]\nbits = 2\n'
    '[columns.g]\nkind = "category"\nvalues = ["a", "b"]\n'
)
EXPRESSIONS = (
    "x * y",
    "x / y",
    "least(x, 7) - y",
    "ln(y) * sqrt(x)",
    "CASE WHEN g = 'a' THEN x ELSE -y END",
    "abs(x - 2 * y)",
    "coalesce(x, 3) + y",
)
LAW = DiscreteLaplaceLaw(Fraction(3))


def read(text: str):
    tree = parsed(f"SELECT {text} FROM t", shape="").expressions[0]
    return over_clamped_columns(ExpressionReader(SCHEMA, ()).read(tree, 0))


def rows(count: int) -> list[tuple[int | None, float | None, str]]:
    chance = Random(5)
    return [
        (
            None if chance.random() < 0.1 else chance.randrange(20),
            None if chance.random() < 0.1 else chance.uniform(1, 9),
            chance.choice("ab"),
        )
        for _ in range(count)
    ]


def true_sum(text: str, condition: str, table) -> float:
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t (x INTEGER, y DOUBLE, g VARCHAR)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", table)
        found = database.execute(f"SELECT sum({text}) FROM t WHERE {condition}").fetchone()
    assert found is not None
    return float(found[0])


@pytest.mark.parametrize("condition", ["TRUE", "x >= 7 AND g = 'a'"])
@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("draws", [100, pytest.param(400, marks=pytest.mark.trust)])
def test_the_sum_of_an_expression_lies_in_its_interval(
    text: str, condition: str, draws: int
) -> None:
    """A 95% interval misses more often than is allowed here with a chance of at most 1e-6.

    The condition `x >= 7` cuts a cell of five numbers. The smallest coverage that is caught almost surely is 0.7 in
    100 draws and 0.82 in 400.
    """
    table = rows(300)
    true = true_sum(text, condition, table)
    expression = read(text)
    where = ExpressionReader(SCHEMA, ()).condition(
        parsed(f"SELECT 1 FROM t WHERE {condition}", shape="").args["where"].this
    )
    selection = select(where, SCHEMA, keep=["x", "y", "g"])
    counts = np.zeros(selection.shape)
    for row in table:
        counts[tuple(SCHEMA.column(n).code_of(v) for n, v in zip("xyg", row, strict=True))] += 1
    values = expression_values(selection, expression)
    missed, widths = 0, []
    for _ in range(draws):
        noisy = counts + samplers.draw(LAW, counts.size).reshape(counts.shape)
        found = weighted_rows(
            CombinedTable(("x", "y", "g"), noisy, ((1.0, LAW, 1),)),
            selection,
            values,
            group_axes=(),
            confidence=0.95,
            public_rows=None,
        )
        missed += not found.lower <= true <= found.upper
        widths.append(float(found.upper - found.lower))
    assert missed <= binom.isf(1e-6, draws, 0.05)
    # Not vacuous: the least and the greatest that the true cells allow, and the noise of all cells.
    least, greatest, _ = (float((counts * each).sum()) for each in values)
    most = max(abs(values[0]).max(), abs(values[1]).max())
    assert np.mean(widths) <= greatest - least + 2 * 5 * most * LAW.std * counts.size**0.5


def test_rows_without_a_value_are_not_counted_among_those_of_a_mean() -> None:
    selection = select(TRUE, SCHEMA, keep=["x", "y"])
    least, greatest, _ = expression_values(selection, read("x * y"), counts=True)
    x, y = SCHEMA.column("x"), SCHEMA.column("y")
    assert least[x.null_cell].max() == greatest[:, y.null_cell].max() == 0
    assert least[: x.value_cells, : y.value_cells].min() == 1


def test_a_divisor_that_can_be_zero_is_refused() -> None:
    with pytest.raises(dc.NotAnswerable, match="greatest"):
        expression_values(select(TRUE, SCHEMA, keep=["x", "y"]), read("y / x"))


def test_a_row_that_may_have_no_value_may_add_nothing() -> None:
    """x from 0 to 4 is one cell: sqrt(x - 2) has no value for 0 and 1, and 3 and more else is added."""
    selection = select(TRUE, SCHEMA, keep=["x"])
    least, greatest, _ = expression_values(selection, read("3 + sqrt(x - 2)"))
    assert least[0] == 0 and greatest[0] == pytest.approx(3 + 2**0.5)
    assert least[1] == pytest.approx(3 + 3**0.5)
