"""Computed keys of GROUP BY on the curator: one number and one noise for each group, whatever its cells."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.engines import open_engine
from discreet.privacy.adjacency import Adjacency
from discreet.queries.tallies import Rows, Tally, Total
from discreet.questions.cells.reaching.expressions import value_of
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.questions.groups_together import possible_groups, possible_together
from discreet.questions.keys import ComputedKey, possible_codes
from discreet.schema import OrderedColumn
from tests.curator.reference import column_value, evaluate

SCHEMA = dc.Schema.loads(
    'dataset = "t"\nadjacency = "add-remove"\n[columns.x]\nkind = "integer"\nrange = [-6, 5]\nwidth = 3\n'
    '[columns.z]\nkind = "integer"\nrange = [0, 4]\noutside = "other"\n[columns.y]\nkind = "number"\n'
    'bounds = [0, 8]\ncuts = [1.5, 4]\noutside = "exclude"\n[columns.s]\nkind = "category"\n'
    'values = ["F", "f", "7 "]\n[columns.d]\nkind = "date"\nrange = [2011-12-26, 2012-03-04]\n'
    'granularity = "week"\nnulls = "exclude"\n[columns.b]\nkind = "boolean"\n'
)
KEYS = [
    "date_trunc('month', d)", "extract(dow FROM d)", "floor(y / 2) * 2", "x % 4", "upper(s)",
    "CASE WHEN x < 0 THEN 'below' ELSE 'above' END", "CASE WHEN z > 1 THEN z END", "x < 2",
    "coalesce(s, 'none')", "b AND z > 1", "length(s)", "z % 2", "coalesce(y, 1) > 3", "trunc(y / 2, 1)",
    "trunc(x / 4.0)",
]  # fmt: skip
ODD: dict[str, list[Any]] = {
    "x": ["-9223372036854775808", "9223372036854775807", "0", "-1", "1", "4", "x", None, "3.7"],
    "z": ["0", "1", "2", "3", "4", "-1", "50", None],
    "y": ["1.7e308", "NaN", "-0.5", "0", "2.5", "4", "7.99", "8", None],
    "s": ["F", "f", "7 ", "ß", "", "other", None],
    "d": ["2012-02-29", "1999-12-31", "2020-12-28", "2012-01-01", "2011-12-31", None, "soon"],
    "b": ["true", "no", None, "maybe"],
}  # fmt: skip


def rows_of(count: int) -> list[dict[str, Any]]:
    random = Random(5)
    return [{name: random.choice(each) for name, each in ODD.items()} for _ in range(count)]


def key_of(text: str, schema: dc.Schema = SCHEMA) -> ComputedKey:
    question = parse_curator_question(f"SELECT {text}, count(*) FROM t GROUP BY {text}", schema)
    (key,) = question.groups
    assert isinstance(key, ComputedKey)
    return key


def group_of(key: ComputedKey, row: dict[str, Any]) -> int | None:
    """By the row's cells and clamped values, in plain Python."""
    values, has_other = {}, False
    for name in key.bins.columns:
        column = SCHEMA.column(name)
        code = column.code_of(row[name])
        if code is None:
            return None
        has_other |= code == column.other_cell
        value = column_value(SCHEMA, name, row[name])
        if isinstance(column, OrderedColumn) and code < column.value_cells:
            low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
            value = min(max(value, low), high)
        values[name] = value
    if has_other and key.other is not None:
        return key.other
    return key.values.index(value_of(key.expression, values))


@pytest.mark.parametrize("text", KEYS)
def test_the_engine_counts_each_row_in_the_group_of_its_cell_or_in_none(text: str) -> None:
    rows, key = rows_of(250), key_of(text)
    with open_engine(pd.DataFrame(rows, dtype="string"), SCHEMA) as engine:
        alone, beside, total = engine.tally(
            [
                Tally(Rows(), (key.bins,)),
                Tally(Rows(), ("b", key.bins)),
                Tally(Total("x", 1, 0), (key.bins,)),
            ]
        )
    found = Counter(group_of(key, row) for row in rows)
    assert alone.tolist() == [found[code] for code in range(key.bins.size)]
    pairs = Counter((SCHEMA.column("b").code_of(row["b"]), group_of(key, row)) for row in rows)
    shape = (SCHEMA.column("b").cells, key.bins.size)
    assert beside.reshape(shape).tolist() == [
        [pairs[b, code] for code in range(shape[1])] for b in range(shape[0])
    ]
    assert total.shape == alone.shape


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_no_row_moves_computed_groups_by_more_than_is_paid_for(adjacency: Adjacency) -> None:
    """Every odd row beside every other: the groups are disjoint, so the price is that of plain ones."""
    schema = dc.Schema.loads(SCHEMA.dumps().replace("add-remove", adjacency.value))
    key = key_of("date_trunc('month', d)", schema)
    tally = Tally(Rows(), (key.bins, "b"))
    assert tally.sensitivity(schema) == Tally(Rows(), ("s", "b")).sensitivity(schema)
    rows = rows_of(12)
    counts = []
    for row in rows:
        with open_engine(pd.DataFrame([row], dtype="string"), schema) as engine:
            counts.append(engine.tally([tally])[0])
    for one in counts:
        for other in counts:
            moved = one if adjacency is Adjacency.ADD_REMOVE else one - other
            assert abs(moved).sum() <= tally.sensitivity(schema).l1


def test_a_curators_groups_are_named_typed_and_have_one_noise_each(tmp_path: Path) -> None:
    rows = [{**row, "d": "2012-01-15"} for row in rows_of(60)]
    frame = pd.DataFrame(rows, dtype="string")
    cap = dc.Budget(epsilon=3)
    with dc.Curator(frame, SCHEMA, ledger=tmp_path / "l.db", cap=cap) as curator:
        text = "SELECT date_trunc('month', d) AS m, count(*) AS n FROM t GROUP BY m"
        found = curator.ask(text, budget=dc.Budget(epsilon=1))
        spelled = text.replace(" AS m", "").replace("BY m", "BY Date_Trunc('MONTH', d)")
        again = curator.ask(spelled, budget=dc.Budget(epsilon=1))
        assert curator.left == dc.Budget(epsilon=2)  # the same question: answered from the record
        plain = curator.ask("SELECT b, count(*) FROM t GROUP BY b", budget=dc.Budget(epsilon=1))
    assert found.groups == ("m",)
    assert again.groups == ("date_trunc('MONTH', d)",)
    assert [found.label(0, code) for code in range(4)] == [
        "2011-12-01", "2012-01-01", "2012-02-01", "2012-03-01",
    ]  # fmt: skip
    assert len(found) == 4
    assert found.columns[0].std[0] == plain.columns[0].std[0]
    assert [plain.value(0, code) for code in range(3)] == [False, True, None]


def test_groups_that_no_row_could_be_in_are_left_out_and_raw_values_count() -> None:
    """A condition of the curator sees raw values: those beyond the bounds are in the groups at the ends."""
    key = key_of("x % 4 = 0 OR x < -3")
    condition = parse_curator_question("SELECT count(*) FROM t WHERE x > 100", SCHEMA).condition
    assert [key.values[code] for code in key.possible(condition, SCHEMA, raw=True)] == [False]
    assert key.possible(condition, SCHEMA) == []
    months = key_of("date_trunc('month', d)")
    asked = "SELECT count(*) FROM t WHERE d BETWEEN '2012-01-05' AND '2012-02-02'"
    condition = parse_curator_question(asked, SCHEMA).condition
    kept = months.possible(condition, SCHEMA, raw=True)
    assert [months.label(code) for code in kept] == ["2012-01-01", "2012-02-01"]


REPEATING = [
    "hour(ts)", "minute(ts) / 30", "dayofweek(ts)", "isodow(d)", "k % 7", "k % 7 = 3 OR k % 2 = 0",
    "CASE WHEN hour(ts) < 6 THEN 'night' ELSE 'day' END",
]  # fmt: skip


@pytest.mark.parametrize("text", REPEATING)
def test_a_key_that_repeats_needs_bins_for_one_period_only(text: str) -> None:
    """Moments of every second of a year: 31,536,000 cells, and a few dozen bins."""
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.ts]\nkind = "datetime"\nrange = [1969-07-01T00:00:00, 1970-06-30T23:59:59]\n'
        '[columns.d]\nkind = "date"\nrange = [1969-07-01, 1970-06-30]\n'
        '[columns.k]\nkind = "integer"\nrange = [3, 1000000]\noutside = "other"\n'
    )
    key = key_of(text, schema)
    assert key.bins.period
    assert len(key.bins.starts) <= 60
    random = Random(2)
    moments = [
        pd.Timestamp(random.randrange(-15_897_600, 15_638_399), unit="s") for _ in range(300)
    ]
    rows = [
        {"ts": str(at), "d": str(at.date()), "k": str(random.randrange(0, 1_000_050))}
        for at in moments
    ]
    with open_engine(pd.DataFrame(rows, dtype="string"), schema) as engine:
        (found,) = engine.tally([Tally(Rows(), (key.bins,))])
    expected: Counter[int] = Counter()
    for row in rows:
        read = {name: column_value(schema, name, value) for name, value in row.items()}
        outside = not 3 <= read["k"] <= 1_000_000 and key.bins.columns == ("k",)
        expected[key.other if outside else key.values.index(value_of(key.expression, read))] += 1  # type: ignore[index]
    assert found.tolist() == [expected[code] for code in range(key.bins.size)]


def test_a_condition_that_repeats_with_the_key_rules_groups_out() -> None:
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.ts]\nkind = "datetime"\nrange = [2013-01-01T00:00:00, 2013-12-31T23:59:59]\n'
    )
    key = key_of("hour(ts)", schema)
    asked = "SELECT count(*) FROM t WHERE hour(ts) BETWEEN 8 AND 9"
    condition = parse_curator_question(asked, schema).condition
    assert key.possible(condition, schema) == [8, 9]
    other = parse_curator_question("SELECT count(*) FROM t WHERE ts > '2013-06-01'", schema)
    assert key.possible(other.condition, schema) == list(range(24))


def test_a_computed_key_of_undeclared_values_is_refused_unread() -> None:
    schema = dc.Schema.loads('dataset = "t"\n[columns.s]\nkind = "category"\nundeclared = true\n')
    with pytest.raises(dc.BadQuestion, match=r"declares no values.*Nothing was read or charged"):
        parse_curator_question("SELECT upper(s), count(*) FROM t GROUP BY upper(s)", schema)


@pytest.mark.parametrize("moved", [0, 10**9, -(10**9), 5 * 10**9, 9 * 10**18, -9 * 10**18])
def test_no_date_is_too_far_for_a_condition(moved: int) -> None:
    """A calendar of any database ends somewhere: far dates have parts all the same, or are null."""
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.d]\nkind = "date"\nrange = [2000-01-01, 2020-12-31]\n'
        '[columns.x]\nkind = "integer"\nrange = [0, 9]\n'
    )
    parts = ["year", "month", "day", "week", "dow", "doy", "quarter", "isodow"]
    texts = [f"extract({part} FROM d + x) = {{}}" for part in parts]
    texts += [
        f"date_trunc('{unit}', d + x) - d = {{}}" for unit in ("year", "quarter", "month", "week")
    ]
    texts += ["length(CAST(d + x AS VARCHAR)) = {}", "hour((d + x)::timestamp) = {}"]
    row = {"d": "2012-02-29", "x": moved}
    read = {name: column_value(schema, name, value) for name, value in row.items()}
    conditions = []
    for text in texts:
        asked = f"SELECT count(*) FROM t WHERE {text.format(0)}"
        left = parse_curator_question(asked, schema).condition.arguments[0]  # type: ignore[union-attr]
        value = value_of(left, read)
        wanted = text.format(value) if value is not None else text.replace("= {}", "IS NULL")
        asked = f"SELECT count(*) FROM t WHERE {wanted}"
        conditions.append(parse_curator_question(asked, schema).condition)
    with open_engine(pd.DataFrame([row]), schema) as engine:
        found = engine.tally([Tally(Rows(), (), condition) for condition in conditions])
    assert [int(each[0]) for each in found] == [1] * len(texts)
    if not moved:
        assert all(evaluate(condition, row, schema) is True for condition in conditions)


def test_a_key_is_followed_inside_a_wide_cell() -> None:
    """A cell of 500 units has 500 bins of round(); a key that changes at every value is refused, and at once."""
    wide = dc.Schema.loads(
        'dataset = "t"\n[columns.w]\nkind = "number"\nbounds = [0, 520]\ncuts = [20]\n'
    )
    assert len(key_of("round(w)", wide).values) == 522  # 0 to 520, and null
    with pytest.raises(dc.BadQuestion, match="more often than can be followed"):
        key_of("w * 2", wide)


@pytest.mark.parametrize(
    ("where", "cells"),
    [
        ("x IN (1, 2)", [2]), ("x < -100", [0]), ("x > 100", [3]), ("x = -6", [0]), ("x IS NULL", [4]),
        ("x < -3 OR x = 4", [0, 3]), ("y > 1", [0, 1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_a_condition_leaves_the_cells_that_a_raw_value_may_be_in(
    where: str, cells: list[int]
) -> None:
    """Cells of x: -6 to -4, -3 to -1, 0 to 2, 3 to 5, null. Those at the ends also hold what lies beyond."""
    asked = parse_curator_question(f"SELECT x, count(*) FROM t WHERE {where} GROUP BY x", SCHEMA)
    assert possible_codes("x", asked.condition, SCHEMA) == cells


def test_a_condition_on_two_keys_leaves_the_pairs_that_meet_it() -> None:
    sql = "SELECT x, z, count(*) FROM t WHERE x = 1 AND z = 2 OR x = 4 AND z = 3 GROUP BY x, z"
    asked = parse_curator_question(sql, SCHEMA)
    pairs = [(x, z) for x in range(5) for z in range(7)]
    kept = possible_together(("x", "z"), pairs, asked.condition, SCHEMA)
    assert [pair for pair, is_possible in zip(pairs, kept, strict=True) if is_possible] == [
        (2, 2),
        (3, 3),
    ]


EVERY: dict[str, list[Any]] = {
    "x": [*range(-8, 8), None],
    "z": [*range(-2, 8), None],
    "y": [-1, *(number / 10 for number in range(81)), 9, None],
    "s": ["F", "f", "7 ", "ß", "7", None],
    "d": [*pd.date_range("2011-12-20", "2012-03-10").strftime("%Y-%m-%d"), None],
    "b": [True, False, None],
}
"""All values of x, z, b and d, and values in every bin of y and s."""
PAIRS = list(combinations([*(column.name for column in SCHEMA.columns), *KEYS], 2))


@pytest.mark.parametrize("pair", PAIRS, ids=map(" + ".join, PAIRS))
def test_keys_have_the_groups_together_that_some_row_can_be_in(pair: tuple[str, str]) -> None:
    keys = [each if each in EVERY else key_of(each) for each in pair]
    names = [(key,) if isinstance(key, str) else key.bins.columns for key in keys]
    read = dict.fromkeys(name for own in names for name in own)
    rows = [dict(zip(read, row, strict=True)) for row in product(*(EVERY[name] for name in read))]
    groups = {
        tuple(
            SCHEMA.column(key).code_of(row[key]) if isinstance(key, str) else group_of(key, row)
            for key in keys
        )
        for row in rows
    }
    everything = parse_curator_question("SELECT count(*) FROM t", SCHEMA).condition
    assert set(possible_groups(keys, everything, SCHEMA)) == {
        group for group in groups if None not in group
    }


@pytest.mark.parametrize(
    ("where", "keys", "count"),
    [
        ("TRUE", "floor(z / 2.0), z % 2, z", 7),  # five values, others, null
        ("d BETWEEN '2012-01-30' AND '2012-02-02'", "month(d), day(d)", 4),
        ("d < '2012-01-01'", "year(d), month(d)", 1),
        ("x < -100", "sign(x), x % 2", 1),  # counted as -6
    ],
)
def test_a_question_lists_the_groups_together_that_its_condition_leaves(
    tmp_path: Path, where: str, keys: str, count: int
) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame(rows_of(20), columns=list(ODD)).to_csv(path, index=False)
    with dc.Curator(path, SCHEMA, ledger=tmp_path / "l", cap=dc.Budget(epsilon=1)) as curator:
        sql = f"SELECT {keys}, count(*) FROM t WHERE {where} GROUP BY {keys}"
        assert len(curator.ask(sql, budget=dc.Budget(epsilon=1))) == count


def test_a_note_says_that_undeclared_values_are_a_group_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame(rows_of(20), columns=list(ODD)).to_csv(path, index=False)
    with dc.Curator(path, SCHEMA, ledger=tmp_path / "l", cap=dc.Budget(epsilon=1)) as curator:
        sql = "SELECT upper(s) AS u, count(*) FROM t GROUP BY u"
        notes = curator.ask(sql, budget=dc.Budget(epsilon=1)).notes
    assert any("undeclared value of s are in the group (other) of u" in note for note in notes)
