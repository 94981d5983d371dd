"""Where a key has which value is looked up, and the answer is that of a walk through all cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any

import numpy as np
import pytest

from discreet.answering.regions.selecting import select
from discreet.errors import BadQuestion, NotAnswerable
from discreet.questions.cells import equalities, halving, truths
from discreet.questions.cells.boxes import boxes_of
from discreet.questions.cells.reach import NULL, Reach, one
from discreet.questions.cells.reaching import comparisons
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.cells.truths import selections, truth_stretches
from discreet.questions.conditions import both, columns_named
from discreet.questions.dialects.sql import parse_question
from discreet.questions.expressions import Call, ColumnValue, Constant, Expression
from discreet.questions.keys import ComputedKey
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from discreet.schema.columns.column import Nulls

NUMBERS = [
    "{0} + {1}", "{0} * {0} % {2}", "{0} // {2}", "{0} % {2}", "abs({0} - {1})", "round({0} / {2})", "-{0} % {2}",
    "CASE WHEN {0} % 3 = 1 THEN {0} // {2} WHEN {0} < {1} THEN NULL ELSE 7 END", "nullif({0} % {2}, 1)",
    "{0} IN (1, 2, NULL, {2})", "CASE WHEN {0} IN (1, 4, {1}) THEN 'few' ELSE 'many' END", "{0} / ({0} % {2})",
]  # fmt: skip
DATES = [
    "month({0})",
    "date_trunc('week', {0})",
    "year({0}) * 100 + month({0})",
    "isodow({0}) % {2}",
    "{0} + {2}",
]
TEXTS = [
    "upper({0})", "substr({0}, 1, 1)", "length({0})", "right({0}, 1)", "replace({0}, 'a', 'b')", "{0} || 'x'",
    "CASE WHEN {0} LIKE 'a%' THEN 1 WHEN {0} = 'zz' THEN 2 END", "{0} IN ('aa', 'zz')", "coalesce({0}, 'none')",
]  # fmt: skip
PAIRS = [
    "{0} % 3 + {3}",
    "CASE WHEN {4} THEN {0} // {2} ELSE {3} END",
    "{3} > {0}",
    "{0} * {3} % {2}",
]


def random_schema(random: Random) -> Schema:
    """Columns of every kind, with cells of one value and of many, and with every way to count nulls and others."""

    def nulls() -> Nulls:
        return "cell" if random.random() < 0.5 else "exclude"

    width = random.choice([1, 1, 2, 5])
    low = random.randint(-20, 5)
    letters = ["aa", "ab", "Ba", "b", "", "a b", "7", "zz"]
    columns: tuple[Column, ...] = (
        IntegerColumn(
            "i", low, low + width * random.randint(1, 12) - 1, width,
            random.choice(["edge", "other", "exclude"]), nulls(),
        ),
        IntegerColumn("j", 0, random.randint(0, 5), 1, random.choice(["edge", "other"]), nulls()),
        NumberColumn("x", -1.5, 8.0, cuts=tuple(sorted(random.sample([0.0, 1.0, 2.5, 3.0, 7.25], 3))), nulls=nulls()),
        DateColumn(
            "d", date(2019, 12, 30), date(2020, 3, random.randint(1, 31)), random.choice(["day", "month"]),
            nulls=nulls(),
        ),
        CategoryColumn("s", tuple(random.sample(letters, random.randint(1, 7))), random.random() < 0.5, nulls()),
        BooleanColumn("b", nulls()),
    )  # fmt: skip
    return Schema(dataset="t", columns=columns)


def random_key(random: Random) -> str:
    kinds: list[tuple[list[str], list[str]]] = [
        (NUMBERS, ["i", "j"]), (NUMBERS[:6], ["floor(x)"]), (DATES, ["d"]), (TEXTS, ["s"]), (PAIRS, ["i"]),
    ]  # fmt: skip
    templates, columns = random.choice(kinds)
    return random.choice(templates).format(
        random.choice(columns), random.randint(-3, 9), random.randint(2, 7), "j", "b"
    )


def in_both_ways(monkeypatch: pytest.MonkeyPatch, found: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found by walking through the cells for each value, and by looking the values up."""
    both_ways = []
    for walked in (10**9, 0):
        monkeypatch.setattr(equalities, "FIRST_WALKED", walked)
        for kept in (
            equalities._kept_boxes,
            equalities._kept_stretches,
            truths._truth_boxes,
            truth_stretches,
        ):
            kept.cache_clear()
        both_ways.append(found())
    return both_ways[0], both_ways[1]


def selected(condition: Expression, schema: Schema) -> list[Any]:
    """All that a condition selects, of tables and of ranges."""
    try:
        found = select(condition, schema)
    except NotAnswerable as refusal:
        return [str(refusal)]
    numbers: list[Any] = [found.names, found.inner(), found.outer(), found.share()]
    names = tuple(sorted(columns_named(condition)))
    if names and all(schema.column(name).is_ordered for name in names):
        try:
            ranges = boxes_of(condition, schema, names)
        except NotAnswerable as refusal:
            return [*numbers, str(refusal)]
        boxes = (ranges.inner, ranges.outer)
        numbers += [each for own in boxes for each in (own.first, own.last)]
    return numbers


@pytest.mark.parametrize("seed", range(40))
def test_looking_a_key_up_selects_what_walking_through_the_cells_selects(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    compared = 0
    while compared < 4:
        schema = random_schema(random)
        beside = random.choice(
            ["true", "i > 2", "b", "d < DATE '2020-02-03' OR j = 1", "NOT (i % 2 = 1)"]
        )
        text = f"SELECT count(*) FROM t WHERE {beside} GROUP BY {random_key(random)}"
        try:
            question = parse_question(text, schema)
        except BadQuestion:
            continue
        (key,) = question.group_by
        assert isinstance(key, ComputedKey)
        conditions = [
            both(question.condition, key.condition(code, schema)) for code in range(len(key.values))
        ]

        def found(conditions: list[Expression] = conditions, schema: Schema = schema) -> list[Any]:
            return [selected(condition, schema) for condition in conditions]

        walked, looked_up = in_both_ways(monkeypatch, found)
        for one_way, other_way in zip(walked, looked_up, strict=True):
            for expected, got in zip(one_way, other_way, strict=True):
                assert np.array_equal(expected, got), text
        compared += 1


def test_a_value_that_changes_often_inside_a_cell_is_looked_up_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And found by a walk that is no less thorough: else the first question would get another answer than the last."""
    column = IntegerColumn("i", 0, 1999, 1000)
    schema = Schema(dataset="t", columns=(column,))
    atom = parse_question("SELECT count(*) FROM t WHERE i * i % 7 = 2", schema).condition
    walked, found = in_both_ways(monkeypatch, lambda: truth_stretches(atom, column))
    assert walked == found
    for first, last, truth in found:
        assert {i * i % 7 == 2 for i in range(first, last + 1)} == truth.options
    assert found[-1][1] == 1999


def test_what_a_key_is_on_the_cells_is_looked_at_once_for_all_its_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    column = IntegerColumn("i", 0, 999, 1)
    schema = Schema(dataset="t", columns=(column,))
    looks = Counter[Any]()
    seen = halving.reach_of_cells
    monkeypatch.setattr(
        halving, "reach_of_cells", lambda *where: (looks.update([where]), seen(*where))[1]
    )
    for group in range(600):
        sql = f"SELECT count(*) FROM t WHERE i * i % 601 + 0 = {group}"
        atom = parse_question(sql, schema).condition
        truth_stretches(atom, column)
        selections(atom, column)
    walks = 2 * equalities.FIRST_WALKED + 1
    assert looks.total() <= walks * 2 * column.value_cells


def random_reach(random: Random, type_: str) -> Reach:
    null = random.random() < 0.3
    if type_ == "text":
        options = frozenset(random.sample(["a", "b", "c", "d"], random.randint(0, 3)))
        if random.random() < 0.3:
            return Reach(null, any_text=True, but=options)
        return Reach(null or not options, options=options)
    if random.random() < 0.1:
        return Reach(null=True)
    low, high = sorted(random.choices(range(-2, 6), k=2))
    if type_ == "number":
        return Reach(null, low + random.choice([0.0, 0.5]), high + 0.5)
    return Reach(null, low, random.choice([low, high]))


@pytest.mark.parametrize("seed", range(20))
def test_a_list_and_a_table_of_cases_mean_what_their_equalities_mean(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        type_ = random.choice(["text", "integer", "number", "date", "datetime"])
        value = ColumnValue("v", type_)  # type: ignore[arg-type]
        listed = []
        for _ in range(random.randint(1, 4)):
            kind = {
                "integer": ["integer", "number"],
                "number": ["integer", "number"],
                "text": ["text"],
            }
            own = random.choice(kind.get(type_, ["date", "datetime"]))
            known = random.choice("abz") if own == "text" else random.randint(-1, 4)
            literal = None if random.random() < 0.15 else float(known) if own == "number" else known
            listed.append(Constant(literal, own))  # type: ignore[arg-type]
        where = {"v": random_reach(random, type_)}
        found = reach_of(Call("in", (value, *listed), "boolean"), where)
        equal = [Call("=", (value, each), "boolean") for each in listed]
        plainly = comparisons._listed(
            Call("in", (value, *listed), "boolean"),
            [where["v"], *(reach_of(each, where) for each in listed)],
        )
        assert found == plainly
        assert found.options <= reach_of(Call("or", tuple(equal), "boolean"), where).options
        if type_ != "text" or where["v"].any_text:
            continue
        few = Call("in", (value, *listed[:2]), "boolean")
        many = Call("in", (value, *listed), "boolean")
        results = (
            few,
            Constant(1, "integer"),
            many,
            Constant(2, "integer"),
            Constant(3, "integer"),
        )
        made = reach_of(Call("case", results, "integer"), where)
        rows = [one(text) for text in where["v"].options] + [NULL] * where["v"].null
        truths_of = lambda case, row: reach_of(case, {"v": row}).options == {True}  # noqa: E731
        expected = [1 if truths_of(few, row) else 2 if truths_of(many, row) else 3 for row in rows]
        assert (made.low, made.high) == (min(expected), max(expected))


def test_groups_beside_undeclared_values_are_answered_where_nulls_are_counted_nowhere() -> None:
    """A key that undeclared values have no group of asks that a value is declared, and not whether it is null."""
    column = IntegerColumn("i", 0, 5, 1, "other", "exclude")
    schema = Schema(dataset="t", columns=(column,))
    (key,) = parse_question("SELECT count(*) FROM t GROUP BY i // 2", schema).group_by
    assert isinstance(key, ComputedKey)
    found = select(key.condition(1, schema), schema)
    assert (
        found.inner().tolist()
        == found.outer().tolist()
        == [False, False, True, True, False, False, False]
    )
