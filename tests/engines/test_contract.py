"""What every engine promises, over every engine in the table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import Engine, SumRequest
from discreet.engines.passes import MOST_JOINT_CELLS, groupings
from discreet.errors import BadInput
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from tests.engines.reference import OPENERS
from tests.harness.material.engine_rows import encoded_rows

Open = Callable[..., Engine]

PEOPLE = Schema(
    dataset="people",
    columns=(
        IntegerColumn("age", 0, 9),
        CategoryColumn("sex", ("F", "M"), other=False),
        NumberColumn("pay", 0.0, 8.0, bits=3, outside="exclude", nulls="exclude"),
        BooleanColumn("here", nulls="exclude"),
    ),
)
ROWS: dict[str, list[Any]] = {
    "age": [3, 3, -5, 99, None, 9, 0, 3],
    "sex": ["F", "M", "F", "X", None, "M", "F", "F"],
    "pay": [0.5, 7.5, 8.0, 9.0, None, 1.0, float("nan"), 0.25],
    "here": [True, False, None, True, False, True, True, True],
}


@pytest.fixture(params=OPENERS)
def open_(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    opened: list[Engine] = []

    def open_one(table: Any, schema: Schema = PEOPLE) -> Engine:
        opened.append(OPENERS[request.param](table, schema, tmp_path))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


def expected(names: tuple[str, ...], rows: Any = ROWS, schema: Schema = PEOPLE) -> np.ndarray:
    counts = np.zeros(schema.sizes(names), dtype=np.int64)
    for values in zip(*(rows[name] for name in names), strict=True):
        cell = tuple(schema.column(n).code_of(v) for n, v in zip(names, values, strict=True))
        if None not in cell:
            counts[cell] += 1
    return counts


def table(**columns: Any) -> pa.Table:
    types = {"age": pa.int64(), "sex": pa.string(), "pay": pa.float64(), "here": pa.bool_()}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def test_a_marginal_counts_each_row_in_its_cell(open_: Open) -> None:
    engine = open_(ROWS)
    for names in permutations(PEOPLE.names, 2):
        (counts,) = engine.marginals([names])
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts, expected(names))


def test_marginals_asked_together_are_those_asked_alone(open_: Open) -> None:
    """Joint groupings must not lose the rows that one of their columns excludes."""
    engine = open_(ROWS)
    sets = [
        *((name,) for name in PEOPLE.names),
        *permutations(PEOPLE.names, 2),
        ("here", "pay", "sex"),
        PEOPLE.names,
    ]
    for names, counts in zip(sets, engine.marginals(sets), strict=True):
        np.testing.assert_array_equal(counts, expected(names), err_msg=str(names))


def test_marginals_too_large_to_join_are_those_asked_alone(open_: Open) -> None:
    schema = Schema(
        dataset="wide",
        columns=tuple(IntegerColumn(f"c{n}", 0, 299, nulls="exclude") for n in range(4)),
    )
    rows = {f"c{n}": [(7 * k * (n + 1)) % 330 or None for k in range(50)] for n in range(4)}
    sets = [("c0", "c1"), ("c2", "c3"), ("c1", "c2"), ("c3",)]
    assert len(groupings(schema, sets)[0]) == 3
    assert MOST_JOINT_CELLS < 300 * 300
    for names, counts in zip(sets, open_(rows, schema).marginals(sets), strict=True):
        np.testing.assert_array_equal(counts, expected(names, rows, schema))


def test_no_marginal_and_no_sum_is_no_answer(open_: Open) -> None:
    engine = open_(ROWS)
    assert engine.marginals([]) == []
    assert engine.sums([]) == []


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_of_no_row_or_one_is_counted_like_any_other(open_: Open, rows: int) -> None:
    data = {name: values[:rows] for name, values in ROWS.items()}
    engine = open_(table(**data))
    for names in [("age",), ("sex", "pay"), PEOPLE.names]:
        np.testing.assert_array_equal(engine.marginals([names])[0], expected(names, data))
    assert engine.row_count() == rows
    assert engine.sums([SumRequest("age", 1, Fraction(0), Fraction(9))]) == [3 * rows]
    batches = list(encoded_rows(engine, ["age", "sex"], 3))
    assert sum(len(batch) for batch in batches) == rows
    nodes = np.array([[3], [4]], dtype=np.uint64)
    assert engine.node_counts(("age",), (0,), nodes).tolist() == [rows, 0]


def test_a_column_of_nulls_fills_the_null_cell(open_: Open) -> None:
    data = {name: [None] * 3 for name in ROWS}
    for typed in (table(**data), pa.table({name: pa.nulls(3) for name in ROWS})):
        engine = open_(typed)
        age, pay = engine.marginals([("age",), ("pay",)])
        assert age.tolist() == [0] * 10 + [3]
        assert pay.sum() == 0
        assert engine.sums([SumRequest("age", 1, Fraction(0), Fraction(9))]) == [0]


def test_encoded_rows_are_the_codes_in_batches(open_: Open) -> None:
    batches = list(encoded_rows(open_(ROWS), PEOPLE.names, 3))
    assert [len(batch) for batch in batches] == [3, 3, 2]
    assert all(batch.dtype == np.int64 for batch in batches)
    found = sorted(map(tuple, np.concatenate(batches).tolist()))
    codes = [
        tuple(
            -1 if (code := PEOPLE.column(name).code_of(value)) is None else code
            for name, value in zip(ROWS, values, strict=True)
        )
        for values in zip(*ROWS.values(), strict=True)
    ]
    assert found == sorted(codes)


def test_two_walks_over_the_rows_do_not_disturb_each_other(open_: Open) -> None:
    engine = open_(ROWS)
    for left, right in zip(
        encoded_rows(engine, ["age"], 3), encoded_rows(engine, ["age", "sex"], 3), strict=True
    ):
        assert len(left) == len(right)


def test_node_counts_count_value_cells_under_each_node(open_: Open) -> None:
    engine = open_(ROWS)
    nodes = np.array([[0], [1], [2], [4], [1], [2**63]], dtype=np.uint64)
    assert engine.node_counts(("age",), (1,), nodes).tolist() == [2, 3, 0, 2, 3, 0]
    assert engine.node_counts(("age",), (64,), nodes).tolist() == [7, 0, 0, 0, 0, 0]
    pairs = np.array([[0, 0], [1, 3], [4, 7]], dtype=np.uint64)
    assert engine.node_counts(("age", "pay"), (1, 0), pairs).tolist() == [0, 0, 0]
    assert engine.node_counts(("age", "pay"), (1, 1), pairs).tolist() == [0, 1, 0]
    assert engine.node_counts(("age",), (0,), nodes[:0]).tolist() == []


def test_sixty_four_bit_domains_are_counted_without_being_listed(open_: Open) -> None:
    lowest, highest = -(2**63), 2**63 - 1
    schema = Schema(
        dataset="wide", columns=(IntegerColumn("id", lowest, highest, outside="other"),)
    )
    engine = open_({"id": [lowest, -1, 0, highest, highest, None]}, schema)
    last = 2**64 - 1
    nodes = np.array([[0], [2**63 - 1], [2**63], [last], [5]], dtype=np.uint64)
    assert engine.node_counts(("id",), (0,), nodes).tolist() == [1, 1, 1, 2, 0]
    halves = np.array([[0], [1]], dtype=np.uint64)
    assert engine.node_counts(("id",), (63,), halves).tolist() == [2, 3]
    assert engine.sums([SumRequest("id", 1, Fraction(-(2**62)), Fraction(2**62))]) == [2**62 - 1]
    with pytest.raises(BadInput, match="cells"):
        engine.marginals([("id",)])


def test_sums_are_exact_beyond_what_doubles_hold(open_: Open) -> None:
    schema = Schema(
        dataset="sums", columns=(IntegerColumn("x", 0, 2**61), NumberColumn("y", -10, 10, bits=2))
    )
    engine = open_({"x": [2**61, 1, None, 2**61], "y": [0.1, 0.2, float("inf"), -0.3]}, schema)
    whole = SumRequest("x", 1, Fraction(0), Fraction(2**61))
    assert engine.sums([whole]) == [2**62 + 1]
    tenths = SumRequest("y", 10, Fraction(-1), Fraction(1))
    halves = SumRequest("y", 5, Fraction(-1), Fraction(1))  # .5 to 0, 1.0, -1.5 to -2: half to even
    assert engine.sums([tenths, halves]) == [1 + 2 - 3, 0 + 1 - 2]


def test_a_sum_clamps_and_leaves_out_nulls_and_outside_values(open_: Open) -> None:
    engine = open_(ROWS)
    asked = [
        SumRequest("age", 1, Fraction(0), Fraction(9)),  # 3+3+0+9+9+0+3
        SumRequest("age", 2, Fraction(1, 2), Fraction(5)),  # in halves: 6+6+1+10+10+1+6
        SumRequest("pay", 4, Fraction(1), Fraction(2)),  # .5, 7.5, 8, 1, .25: 9 is excluded
        SumRequest("here", 1, Fraction(0), Fraction(1)),
    ]
    assert engine.sums(asked) == [27, 40, 4 + 8 + 8 + 4 + 4, 5]
    with pytest.raises(BadInput, match="no numbers"):
        engine.sums([SumRequest("sex", 1, Fraction(0), Fraction(1))])
    with pytest.raises(BadInput, match="coarser"):
        engine.sums([SumRequest("pay", 2**52, Fraction(0), Fraction(8))])


def test_dates_outside_the_range_go_to_the_edge(open_: Open) -> None:
    schema = Schema(
        dataset="dates",
        columns=(DateColumn("day", date(2020, 1, 1), date(2020, 3, 31), granularity="month"),),
    )
    days = [date(1, 1, 1), date(2019, 12, 31), date(2020, 2, 29), date(9999, 12, 31), None]
    assert open_({"day": days}, schema).marginals([("day",)])[0].tolist() == [2, 1, 1, 1]


def test_odd_requests_are_refused_before_a_row_is_read(open_: Open) -> None:
    engine = open_(ROWS)
    with pytest.raises(BadInput, match=r"no column 'agee'.*'age'"):
        engine.marginals([("agee",)])
    with pytest.raises(BadInput, match="twice"):
        engine.marginals([("age", "AGE")])
    with pytest.raises(BadInput, match="no column"):
        engine.marginals([()])
    with pytest.raises(BadInput, match="one shift"):
        engine.node_counts(("age",), (1, 2), np.zeros((1, 1), dtype=np.uint64))
    with pytest.raises(BadInput, match="unsigned"):
        engine.node_counts(("age",), (1,), np.zeros((1, 1), dtype=np.int64))


def test_names_that_sql_folds_alike_are_one_column(open_: Open) -> None:
    np.testing.assert_array_equal(open_(ROWS).marginals([("AGE",)])[0], expected(("age",)))


# -- An identifier as the privacy unit -------------------------------------------------------


def owned_by(max_rows: int) -> Schema:
    return Schema(
        dataset="visits",
        unit=PrivacyUnit("person", max_rows),
        columns=(IntegerColumn("age", 0, 9), NumberColumn("pay", 0.0, 8.0, bits=1)),
    )


def visits(seed: int, people: int = 12, rows: int = 60) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)
    owners = [f"p{n}" if n else None for n in random.integers(0, people, rows)]
    ages = [int(n) if n < 10 else None for n in random.integers(0, 11, rows)]
    return {"person": owners, "age": ages, "pay": random.uniform(0, 8, rows).tolist()}


def answers(engine: Engine) -> list[Any]:
    sums = [
        SumRequest("pay", 1000, Fraction(0), Fraction(8)),
        SumRequest("age", 1, Fraction(0), Fraction(9)),
    ]
    rows = np.concatenate([*encoded_rows(engine, ["age", "pay"], 7), np.zeros((0, 2), np.int64)])
    return [
        engine.marginals([("age",), ("age", "pay")])[1].tolist(),
        engine.node_counts(("age",), (0,), np.arange(10, dtype=np.uint64)[:, None]).tolist(),
        engine.sums(sums),
        sorted(rows.tolist()),
        engine.row_count(),
    ]


@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_bounded_table_is_the_reference_one_whatever_the_order_of_rows(
    open_: Open, max_rows: int
) -> None:
    data = visits(seed=max_rows)
    schema = owned_by(max_rows)
    wanted = answers(OPENERS["reference"](data, schema, Path()))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(data["person"]))
        shuffled = {name: [values[n] for n in order] for name, values in data.items()}
        assert answers(open_(shuffled, schema)) == wanted


@pytest.mark.parametrize("max_rows", [1, 2])
def test_every_verb_sees_at_most_max_rows_of_a_person(open_: Open, max_rows: int) -> None:
    data = {"person": [7] * 9 + [None] * 4, "age": [1, 2, 3] * 3 + [5] * 4, "pay": [1.0] * 13}
    engine = open_(data, owned_by(max_rows))
    assert engine.row_count() == max_rows
    assert engine.marginals([("age",)])[0].sum() == max_rows
    assert engine.sums([SumRequest("pay", 1, Fraction(0), Fraction(8))]) == [max_rows]
    assert sum(len(batch) for batch in encoded_rows(engine, ["age"], 2)) == max_rows
    nodes = np.zeros((1, 1), dtype=np.uint64)
    assert engine.node_counts(("pay",), (1,), nodes).tolist() == [max_rows]


@pytest.mark.parametrize("max_rows", [1, 3])
def test_one_person_more_moves_each_answer_by_at_most_max_rows(open_: Open, max_rows: int) -> None:
    schema = owned_by(max_rows)
    data = visits(seed=5)
    more: dict[str, list[Any]] = {
        "person": ["new"] * 8,
        "age": [4, 4, 4, 5, 6, 7, 8, None],
        "pay": [8.0] * 8,
    }
    both = {name: [*more[name][:3], *values, *more[name][3:]] for name, values in data.items()}
    before, after = open_(data, schema), open_(both, schema)
    for left, right in zip(
        before.marginals([("age",), ("age", "pay")]),
        after.marginals([("age",), ("age", "pay")]),
        strict=True,
    ):
        assert (right >= left).all()
        assert (right - left).sum() == max_rows
    request = SumRequest("pay", 100, Fraction(0), Fraction(8))
    (low,), (high,) = before.sums([request]), after.sums([request])
    assert high - low == 800 * max_rows
    assert after.row_count() - before.row_count() == max_rows
