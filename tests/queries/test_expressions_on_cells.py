"""Any condition and any computed key on the cells of a release: intervals hold, and whole cells are exact."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.answering.regions.selecting import select
from discreet.artifacts.answer import Covers
from discreet.errors import BadQuestion, NotAnswerable
from discreet.questions.cells.boxes import boxes_of
from discreet.questions.cells.reach import one
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.cells.truths import bits_of, truth_stretches
from discreet.questions.conditions import asks_for_a_value
from discreet.questions.dialects.sql import parse_question
from discreet.questions.expressions import Expression
from discreet.questions.keys import ComputedKey
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    OrderedColumn,
    Schema,
)
from tests.curator.random_sql import Conditions
from tests.curator.reference import evaluate
from tests.releases_by_hand import release_of_tables

SCHEMA = Schema(
    dataset="t",
    columns=(
        IntegerColumn("x", -6, 5, 3),
        IntegerColumn("z", 0, 4, 1, outside="other"),
        NumberColumn("y", 0, 8, cuts=(1.5, 4.0)),
        CategoryColumn("s", ("F", "f", "7 ")),
        DateColumn("d", date(2011, 12, 26), date(2012, 3, 4), "week"),
        BooleanColumn("b"),
    ),
)
COLUMNS = {
    "number": ["x", "z", "y"], "integer": ["x", "z"], "text": ["s"], "date": ["d"], "boolean": ["b"],
}  # fmt: skip


def rows_of(random: Random, count: int) -> list[dict[str, Any]]:
    first = date(2011, 12, 20)
    return [
        {
            "x": random.choice([None, *range(-8, 8)]),
            "z": random.choice([None, *range(-2, 7)]),
            "y": random.choice([None, 0.0, 0.5, 1.5, 2.25, 3.0, 4.0, 7.9, 8.0, 11.0]),
            "s": random.choice([None, "F", "f", "7 ", "other", "M"]),
            "d": random.choice([None, *(first + timedelta(days=k) for k in range(80))]),
            "b": random.choice([None, True, False]),
        }
        for _ in range(count)
    ]


def counted(row: dict[str, Any]) -> dict[str, Any]:
    """The values as the schema counts them: clamped where it says so."""
    found = dict(row)
    for column in SCHEMA.columns:
        value = row[column.name]
        if isinstance(column, OrderedColumn) and column.outside == "edge" and value is not None:
            low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
            unit = column.unit_of(value)
            assert unit is not None
            if column.kind == "date":
                found[column.name] = date(1970, 1, 1) + timedelta(days=min(max(unit, low), high))
            else:
                found[column.name] = min(max(unit, low), high)
    return found


def where(text: str) -> Expression:
    return parse_question(f"SELECT count(*) FROM t WHERE {text}", SCHEMA).condition


def drawn(random: Random, count: int, depth: int = 2) -> list[str]:
    made, found = Conditions(random, COLUMNS), list[str]()
    while len(found) < count:
        text = made.condition(depth)
        try:
            where(text)
        except BadQuestion:
            continue
        found.append(text)
    return found


def check_counts(seed: int, count: int) -> tuple[int, int]:
    """Noise is silent, so every interval must hold the truth, and one of noise alone must be the truth."""
    random = Random(seed)
    rows = rows_of(random, 150)
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows))
    values = [counted(row) for row in rows]
    answered = exact = 0
    for text in drawn(random, count):
        truth = sum(evaluate(where(text), row, SCHEMA) is True for row in values)
        try:
            found = reader.ask(f"SELECT count(*) FROM t WHERE {text}").only
        except (NotAnswerable, BadQuestion) as refusal:
            assert (
                "too many" in str(refusal)
                or "at most" in str(refusal)
                or "more than" in str(refusal)
            ), text
            continue
        answered += 1
        assert found.lower <= truth <= found.upper, text
        if found.covers is Covers.NOISE:
            exact += 1
            assert found.estimate == truth, text
    return answered, exact


@pytest.mark.parametrize("seed", range(2))
def test_counts_of_random_conditions_lie_in_their_intervals(seed: int) -> None:
    answered, exact = check_counts(seed, 30)
    assert answered >= 25
    assert exact >= 5


@pytest.mark.trust
@pytest.mark.parametrize("seed", range(100, 110))
def test_counts_of_many_random_conditions_lie_in_their_intervals(seed: int) -> None:
    assert check_counts(seed, 150)[0] >= 130


def inside(column: OrderedColumn, code: int) -> list[Any]:
    first, last = column.extent(code)
    if column.kind == "number":
        return [first, last, *np.linspace(first, last, 33).tolist()]
    if column.kind == "date":
        return [date(1970, 1, 1) + timedelta(days=k) for k in range(int(first), int(last) + 1)]
    return list(range(int(first), int(last) + 1))


ONE_COLUMN = [
    ("x", "abs(x) <= 3"), ("x", "x % 2 = 0"), ("x", "2*x + 1 > 7"), ("x", "x % 3 = 0 OR x IS NULL"),
    ("x", "floor(x / 3.0) * 3 = 3"), ("x", "x / 0 IS NULL"), ("x", "CASE WHEN x < 0 THEN 'a' END = 'a'"),
    ("x", "coalesce(x, 4) > 3"), ("x", "nullif(x, 2) IS NULL"), ("x", "greatest(x, 1) = 1"),
    ("x", "CAST(x AS VARCHAR) LIKE '-%'"), ("x", "x IS DISTINCT FROM 2"), ("x", "x * x = 4"),
    ("x", "CAST(x / 2.0 AS INTEGER) = 1"), ("x", "round(x / 4.0) <> 1"),
    ("d", "date_trunc('month', d) = DATE '2012-01-01'"), ("d", "extract(year FROM d) = 2012"),
    ("d", "dayofweek(d) = 0"), ("d", "extract(isodow FROM d) BETWEEN 1 AND 7"),
    ("d", "d > DATE '2011-12-31' + INTERVAL '1 month'"), ("d", "d + 7 >= '2012-02-06'"),
    ("d", "week(d) = 5"), ("d", "extract(day FROM d) = 29"), ("d", "d = '2012-02-06'"),
    ("y", "y * 2 >= 3"), ("y", "floor(y) = 3"), ("y", "y / 0.5 < 8"), ("y", "round(y, 1) > 1.4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), ONE_COLUMN, ids=[text for _, text in ONE_COLUMN])
def test_a_cell_is_inside_if_all_its_values_are_and_outside_if_none_is(
    name: str, text: str
) -> None:
    column = SCHEMA.column(name)
    assert isinstance(column, OrderedColumn)
    condition = where(text)
    empty = {each.name: None for each in SCHEMA.columns}
    truths = [
        [
            evaluate(condition, {**empty, name: value}, SCHEMA) is True
            for value in inside(column, code)
        ]
        for code in range(column.value_cells)
    ]
    selection = select(condition, SCHEMA, keep=[name])
    inner, outer = (
        np.broadcast_to(each, column.cells) for each in (selection.inner(), selection.outer())
    )
    assert inner[: column.value_cells].tolist() == [all(each) for each in truths]
    assert outer[: column.value_cells].tolist() == [any(each) for each in truths]
    null = evaluate(condition, empty, SCHEMA) is True
    assert inner[column.null_cell] == outer[column.null_cell] == null
    assert asks_for_a_value(condition, name) is not null
    if null:
        return
    boxes = boxes_of(condition, SCHEMA, [name])
    for made, expected in ((boxes.inner, inner), (boxes.outer, outer)):
        cells = np.zeros(column.value_cells, dtype=np.bool_)
        for first, last in zip(made.first[:, 0], made.last[:, 0], strict=True):
            cells[int(first) : int(last) + 1] = True
        assert np.array_equal(cells, expected[: column.value_cells])


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("floor(k / 500.0) * 500 = 1000", 1000, 1499),
        ("2 * k + 1 > 7 AND k <= 9", 4, 9),
        ("abs(k - 1000000) <= 3", 999_997, 1_000_003),
        ("CASE WHEN k < 77 THEN 'low' ELSE 'high' END = 'low'", 0, 76),
    ],
)
def test_a_huge_domain_is_cut_into_ranges_without_listing_its_cells(
    text: str, first: int, last: int
) -> None:
    schema = Schema(dataset="t", columns=(IntegerColumn("k", 0, 2**60 - 1),))
    condition = parse_question(f"SELECT count(*) FROM t WHERE {text}", schema).condition
    found = boxes_of(condition, schema, ["k"])
    assert found.is_exact
    assert (found.inner.first.tolist(), found.inner.last.tolist()) == ([[first]], [[last]])


def test_a_condition_of_too_many_ranges_is_refused_and_not_listed() -> None:
    schema = Schema(dataset="t", columns=(IntegerColumn("k", 0, 2**60 - 1),))
    condition = parse_question("SELECT count(*) FROM t WHERE k % 2 = 0", schema).condition
    with pytest.raises(NotAnswerable, match="ranges"):
        boxes_of(condition, schema, ["k"])


KEYS = [
    "date_trunc('month', d)", "extract(dow FROM d)", "floor(y / 2) * 2", "x % 4", "upper(s)",
    "CASE WHEN x < 0 THEN 'below' ELSE 'above' END", "CASE WHEN z > 1 THEN z END", "x < 2",
    "coalesce(s, 'none')", "x >= 0 OR b", "length(s)", "d::timestamp",
]  # fmt: skip


@pytest.mark.parametrize("text", KEYS)
def test_groups_of_a_computed_key_are_the_rows_with_its_value(text: str) -> None:
    rows = rows_of(Random(3), 300)
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows))
    found = reader.ask(f"SELECT {text} AS k, count(*) FROM t GROUP BY k")
    assert found.groups == ("k",)
    question = parse_question(f"SELECT {text}, count(*) FROM t GROUP BY {text}", SCHEMA)
    (key,) = question.group_by
    assert isinstance(key, ComputedKey)
    truth: Counter[int] = Counter()
    for row in map(counted, rows):
        named = [SCHEMA.column(name) for name in key.bins.columns]
        is_other = any(column.code_of(row[column.name]) == column.other_cell for column in named)
        value = evaluate(key.expression, row, SCHEMA)
        if is_other and key.other is not None:
            truth[key.other] += 1
        else:
            truth[key.values.index(value)] += 1
    for place, code in enumerate(found.codes[:, 0].tolist()):
        answer = found[place].answer
        assert answer.lower <= truth[code] <= answer.upper, found.label(0, code)
        if answer.covers is Covers.NOISE:
            assert answer.estimate == truth[code]
    assert set(truth) <= set(found.codes[:, 0].tolist())
    assert found.value(0, 0) == key.value(0)


def test_groups_that_the_condition_rules_out_are_left_out() -> None:
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows_of(Random(1), 50)))
    found = reader.ask(
        "SELECT month(d) AS m, b, count(*) FROM t WHERE d >= '2012-02-06' GROUP BY m, b"
    )
    assert {found.value(0, int(code)) for code in found.codes[:, 0]} == {2, 3}
    assert [found.value(1, code) for code in range(3)] == [False, True, None]
    assert found.groups == ("m", "b")


def test_a_note_names_the_edges_of_a_divided_cell() -> None:
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows_of(Random(1), 50)))
    for text in ("x >= 1", "2 * x >= 2"):
        notes = " ".join(reader.ask(f"SELECT count(*) FROM t WHERE {text}").notes)
        assert "the cell 0 to 2 of column 'x'; its nearest edges are 0 and 3" in notes
    assert "divides" not in " ".join(reader.ask("SELECT count(*) FROM t WHERE x >= 0").notes)
    grouped = reader.ask("SELECT date_trunc('month', d) AS m, count(*) FROM t GROUP BY m")
    assert "GROUP BY m divides the cell 2011-12-26 to 2012-01-01" in " ".join(grouped.notes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("y * 2", "coarser"),
        ("x + y", "coarser"),
        ("1", "no literal"),
        ("sum(x)", "GROUP BY takes no"),
    ],
)
def test_a_key_that_makes_no_groups_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadQuestion, match=says):
        parse_question(f"SELECT count(*) FROM t GROUP BY {text}", SCHEMA)


def test_two_columns_are_compared_on_the_product_of_their_cells() -> None:
    """All rows lie in a combination that the comparison cuts: it may be all of them, or none."""
    rows = [{**rows_of(Random(1), 1)[0], "x": 1, "z": 1} for _ in range(50)]
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows))
    for text in ("x <> z", "x > z OR b AND NOT b", "x * z = 2", "abs(x) > z"):
        found = reader.ask(f"SELECT count(*) FROM t WHERE {text}").only
        assert (found.lower, found.upper) == (0, 50), text
    assert reader.ask("SELECT count(*) FROM t WHERE x + 2 >= z").only.estimate == 50
    assert reader.ask("SELECT count(*) FROM t WHERE x > z + 9 OR x = z - 9").only.estimate == 0


def test_conditions_that_a_cell_leaves_open_are_many_or_refused_and_never_without_end() -> None:
    """Each of them doubles the pieces of the cell of undeclared texts."""
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows_of(Random(1), 50)))

    def asked(count: int) -> str:
        parts = " OR ".join(f"upper(s) = 'F{place}'" for place in range(count))
        return f"SELECT count(*) FROM t WHERE {parts}"

    assert reader.ask(asked(10)).only.lower == 0
    with pytest.raises(NotAnswerable, match="fewer of them"):
        reader.ask(asked(40))


def test_an_undeclared_text_is_none_of_the_declared_ones() -> None:
    rows = rows_of(Random(4), 200)
    reader = ReleaseReader(release_of_tables(SCHEMA, [SCHEMA.names], rows))
    for text, holds in (
        ("s IS DISTINCT FROM 'F'", lambda s: s != "F"),
        ("nullif(s, 'f') = 'F'", lambda s: s == "F"),
        ("CASE WHEN s IN ('F', 'f') THEN 1 ELSE 0 END = 0", lambda s: s not in ("F", "f")),
    ):
        found = reader.ask(f"SELECT count(*) FROM t WHERE {text}").only
        truth = sum(holds(row["s"]) for row in rows)
        assert (found.lower, found.upper) == (truth, truth), text


def test_a_computed_group_cuts_cells_only_where_its_truth_changes() -> None:
    """`i % 3` must be looked at cell by cell, but all cells before and after a group's are one stretch."""
    column = IntegerColumn("i", 0, 99, 1)
    schema = Schema(dataset="t", columns=(column,))
    for sql, many in (("i % 1e-300 + i = 40", 3), ("i % 50 = 7", 5), ("i % 2 = 0", 100)):
        atom = parse_question(f"SELECT count(*) FROM t WHERE {sql}", schema).condition
        found = truth_stretches(atom, column)
        assert len(found) == many, sql
        ends = [(first, last) for first, last, _ in found]
        assert [first for first, _ in ends] == [0, *(last + 1 for _, last in ends[:-1])]
        assert ends[-1][1] == 99
        for first, last, truth in found:
            for value in range(int(first), int(last) + 1):
                row = {"i": one(value)}
                assert bits_of(reach_of(atom, row)) == bits_of(truth), (sql, value)
