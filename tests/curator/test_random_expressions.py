"""Random expressions mean the same to the engine, to a plain Python reading, and to the cells of a release."""

from __future__ import annotations

from random import Random
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.engines import open_engine
from discreet.errors import BadQuestion
from discreet.queries.tallies import Rows, Tally
from discreet.questions.cells.reach import Reach, numbers
from discreet.questions.cells.reaching.expressions import reach_of, value_of
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.questions.expressions import ColumnValue, Constant, Expression
from tests.curator.random_sql import Conditions
from tests.curator.reference import column_value, evaluate

SCHEMA = dc.Schema.loads(
    'dataset = "t"\n[columns.x]\nkind = "integer"\nrange = [-100, 99]\n[columns.z]\nkind = "integer"\n'
    'range = [0, 9]\n[columns.y]\nkind = "number"\nbounds = [-100, 100]\nbits = 4\n'
    '[columns.s]\nkind = "category"\nvalues = ["F", "M", "7"]\n[columns.d]\nkind = "date"\n'
    'range = [2000-01-01, 2020-12-31]\n[columns.ts]\nkind = "datetime"\n'
    'range = [2000-01-01T00:00:00, 2020-12-31T00:00:00]\n[columns.b]\nkind = "boolean"\n'
)
COLUMNS = {
    "number": ["x", "z", "y"], "integer": ["x", "z"], "text": ["s"], "date": ["d", "ts"],
    "boolean": ["b"],
}  # fmt: skip
ODD: dict[str, list[Any]] = {
    "x": ["-9223372036854775808", "9223372036854775807", "0", "-1", "1", "50", "x", None, "3.7"],
    "z": ["0", "1", "2", "50", None],
    "y": ["1.7e308", "-1.7e308", "5e-324", "NaN", "inf", "0", "-0.5", "2.5", "12.345", None],
    "s": ["F", "f", "ß", "İ", " 12 ", "7", "-3.5", "2012-02-29", "", "longer text", "M%", None],
    "d": ["2012-02-29", "1999-12-31", "2020-12-28", "0100-01-03", "9900-12-31", None, "soon"],
    "ts": ["2012-02-29 23:59:59", "1969-12-31 23:59:59.999999", "2001-01-01", None],
    "b": ["true", "no", None, "maybe"],
}  # fmt: skip


def rows_of(random: Random, count: int) -> list[dict[str, Any]]:
    return [{name: random.choice(each) for name, each in ODD.items()} for _ in range(count)]


def conditions(random: Random, count: int) -> list[tuple[str, Expression]]:
    """Those of the drawn conditions whose types fit: the others are refused in a sentence."""
    drawn, found = Conditions(random, COLUMNS), list[tuple[str, Expression]]()
    while len(found) < count:
        text = drawn.condition()
        try:
            question = parse_curator_question(f"SELECT count(*) FROM t WHERE {text}", SCHEMA)
        except BadQuestion:
            continue
        found.append((text, question.condition))
    return found


def read_row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: column_value(SCHEMA, name, value) for name, value in row.items()}


def check_engine(seed: int, count: int, rows: int) -> None:
    random = Random(seed)
    asked, table = conditions(random, count), rows_of(random, rows)
    frame = pd.DataFrame(table, dtype="string")
    with open_engine(frame, SCHEMA) as engine:
        found = engine.tally([Tally(Rows(), (), condition) for _, condition in asked])
    for (text, condition), counted in zip(asked, found, strict=True):
        truths = [evaluate(condition, row, SCHEMA) for row in table]
        assert int(counted[0]) == sum(truth is True for truth in truths), text


def check_reach(seed: int, count: int, rows: int) -> None:
    """The same on single values, and on stretches no value that lies outside the reach."""
    random = Random(seed)
    table = [read_row(row) for row in rows_of(random, rows)]
    for text, condition in conditions(random, count):
        truths = [value_of(condition, row) for row in table]
        raw = [evaluate_read(condition, row) for row in table]
        assert truths == raw, text
        wide = {name: reach_between([row[name] for row in table]) for name in SCHEMA.names}
        found = reach_of(condition, wide)
        assert all(truth in found.options or (truth is None and found.null) for truth in truths), (
            text
        )


def evaluate_read(condition: Expression, row: dict[str, Any]) -> Any:
    from tests.curator import reference

    if isinstance(condition, ColumnValue):
        return row[condition.column]
    if isinstance(condition, Constant):
        return condition.value
    return reference._call(condition, [evaluate_read(one, row) for one in condition.arguments])


def reach_between(values: list[Any]) -> Reach:
    known = [value for value in values if value is not None]
    null = len(known) < len(values)
    if not known:
        return Reach(null=True)
    if isinstance(known[0], (str, bool)):
        return Reach(null, options=frozenset(known))
    return numbers(min(known), max(known), null=null)


@pytest.mark.parametrize("seed", range(3))
def test_random_conditions_count_the_same_rows_in_the_engine_and_in_python(seed: int) -> None:
    check_engine(seed, count=60, rows=120)


@pytest.mark.parametrize("seed", range(4))
def test_random_conditions_have_the_same_truth_on_cells_and_in_python(seed: int) -> None:
    check_reach(seed, count=250, rows=12)


@pytest.mark.trust
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_random_conditions_agree_everywhere(seed: int) -> None:
    check_engine(seed, count=150, rows=300)
    check_reach(seed, count=600, rows=20)
