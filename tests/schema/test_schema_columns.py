"""Each kind of column by example: its cells, labels, edges, conditions and extremes."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from discreet.errors import BadInput, BadQuestion
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    CodeSelection,
    Column,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from discreet.schema.columns.values import microseconds_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "schema.md"
SEX = CategoryColumn("sex", ("F", "M"))
AGE = IntegerColumn("age", 0, 119, 10)


def documented() -> Schema:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return Schema.loads(example)


def test_the_documented_example_is_a_schema() -> None:
    schema = documented()
    assert schema.dataset == "people"
    assert schema.people == 50_000
    assert schema.adjacency is Adjacency.ADD_REMOVE
    assert schema.unit == PrivacyUnit("person_id", 3, 2)
    assert schema.cap == Budget(epsilon=2, delta="1e-9")
    assert schema.csv.null_strings == ("", "NA")
    assert {column.kind for column in schema.columns} == {
        "category", "boolean", "integer", "number", "date", "datetime",
    }  # fmt: skip
    assert schema.sizes(["sex", "employed", "age", "blood pressure (mm Hg)"]) == (4, 2, 25, 7)
    assert schema.sizes(["income", "town"]) == (1025, 2)
    assert Schema.loads(schema.dumps()) == schema


def test_the_document_s_constants_exist() -> None:
    from discreet.schema.columns import values

    for name in re.findall(r"`([A-Z]+_PATTERN|WHITESPACE)`", DOCUMENT.read_text(encoding="utf-8")):
        assert isinstance(getattr(values, name), str)


def test_importing_the_schema_room_imports_no_numpy_and_no_database() -> None:
    script = (
        "import sys, discreet.schema; "
        "print(sorted({'numpy', 'duckdb', 'scipy', 'mpmath', 'sqlglot', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("column", documented().columns, ids=lambda column: column.name)
def test_columns_can_be_copied_pickled_and_hashed(column: Column) -> None:
    for again in (pickle.loads(pickle.dumps(column)), copy.deepcopy(column)):
        assert again == column
        assert hash(again) == hash(column)
        assert again.code_of("F") == column.code_of("F")


@pytest.mark.parametrize(
    ("column", "code", "label"),
    [
        (SEX, 1, "M"),
        (SEX, 2, "(other)"),
        (SEX, 3, "null"),
        (BooleanColumn("b"), 1, "true"),
        (IntegerColumn("i", -5, 5), 0, "-5"),
        (AGE, 3, "30 to 39"),
        (NumberColumn("x", 0, 100, bits=3), 0, "[0, 12.5)"),
        (NumberColumn("x", 0, 100, bits=3), 7, "[87.5, 100]"),
        (NumberColumn("x", 0, 100, bits=3, closed="right"), 0, "[0, 12.5]"),
        (NumberColumn("x", 0, 100, bits=3, closed="right"), 1, "(12.5, 25]"),
        (NumberColumn("x", 0, 1, bits=40), 2**39, "[0.5, 0.500000000000909)"),
        (DateColumn("d", date(2020, 1, 1), date(2020, 12, 31)), 59, "2020-02-29"),
        (DateColumn("d", date(2020, 1, 1), date(2020, 12, 31), "week"), 0, "2019-12-30 to 2020-01-05"),
        (DateColumn("d", date(2020, 1, 15), date(2020, 12, 31), "month"), 0, "2020-01"),
        (DateColumn("d", date(2020, 5, 1), date(2020, 12, 31), "quarter"), 0, "2020-Q2"),
        (DateColumn("d", date(800, 5, 1), date(900, 1, 1), "year"), 0, "0800"),
        (DatetimeColumn("t", datetime(2020, 1, 1), datetime(2021, 1, 1), "hour"), 25, "2020-01-02 01:00"),
        (DatetimeColumn("t", datetime(2020, 1, 1), datetime(2021, 1, 1), "minute"), 61, "2020-01-01 01:01"),
        (DatetimeColumn("t", datetime(2020, 1, 1), datetime(2021, 1, 1), "second"), 61, "2020-01-01 00:01:01"),
        (DatetimeColumn("t", datetime(2020, 1, 1), datetime(2021, 1, 1), "millisecond"), 1, "2020-01-01 00:00:00.001"),
        (DatetimeColumn("t", datetime(2020, 1, 1), datetime(2021, 1, 1), "microsecond"), 0, "2020-01-01 00:00:00.000000"),
        (DatetimeColumn("t", datetime(2020, 1, 1), datetime(2021, 1, 1), "day"), 1, "2020-01-02"),
    ],
)  # fmt: skip
def test_a_cell_s_label_reads_as_people_write_it(column: Column, code: int, label: str) -> None:
    assert column.label(code) == column.label(cast(int, np.int64(code))) == label


@pytest.mark.parametrize(
    ("given", "code"),
    [("12", 12), (" 12\n", 12), ("12.0", 12), ("12.9", 12), ("1e1", 10), (".5", 0), ("5.", 5), ("+7", 7), ("0012", 12),
     (12.9, 12), (True, 1), (np.int8(3), 3), (np.longdouble(3.5), 3), (Fraction(25, 2), 12), ("-1", 0), (-0.5, 0), (500, 119), ("9" * 300, 119),
     ("1_0", 120), ("0x1F", 120), ("１２", 120), ("1,0", 120), ("12a", 120), ("", 120), ("nan", 120), ("1e400", 120),
     ("1e12345", 120), (b"12", 120), (date(2020, 1, 1), 120), (None, 120), (float("inf"), 120)],
)  # fmt: skip
def test_integers_are_read_by_the_documented_rule(given: Any, code: int) -> None:
    assert IntegerColumn("i", 0, 119).code_of(given) == code


def test_whole_texts_are_exact_where_doubles_are_not() -> None:
    column = IntegerColumn("i", 2**53, 2**53 + 9)
    assert column.code_of(str(2**53 + 1)) == 1
    assert column.code_of(f"{2**53 + 1}.0") == 0
    assert column.code_of(2**53 + 1) == 1


@pytest.mark.parametrize("word", ["true", "T", "YES", " y ", "1", 1, 1.0, True, np.bool_(True)])
def test_words_for_true_are_true(word: Any) -> None:
    assert BooleanColumn("b").code_of(word) == 1


@pytest.mark.parametrize("word", ["false", "F", "No", "n\t", "0", 0, 0.0, False, np.int64(0)])
def test_words_for_false_are_false(word: Any) -> None:
    assert BooleanColumn("b").code_of(word) == 0


@pytest.mark.parametrize("word", ["on", "", "2", 2, 0.5, "truе", "1.0", None, b"1"])
def test_anything_else_is_null_to_a_boolean(word: Any) -> None:
    assert BooleanColumn("b").code_of(word) == 2
    assert BooleanColumn("b", "exclude").code_of(word) is None


@pytest.mark.parametrize(
    ("outside", "codes"),
    [("edge", [0, 11, 12]), ("other", [12, 12, 13]), ("exclude", [None, None, 12])],
)
def test_values_outside_go_where_the_schema_says(outside: Any, codes: list[int | None]) -> None:
    column = IntegerColumn("age", 0, 119, 10, outside)
    assert [column.code_of(value) for value in (-1, 120, None)] == codes
    number = NumberColumn("x", 0, 12, cuts=tuple(range(1, 12)), outside=outside)
    assert [number.code_of(value) for value in (-1e-9, 12.0000001, "?")] == codes


def test_both_ends_of_a_number_s_bounds_are_inside() -> None:
    for closed in ("left", "right"):
        column = NumberColumn("x", 0, 100, bits=2, closed=closed, outside="exclude")
        assert [column.code_of(value) for value in (0, 100)] == [0, 3]
        assert column.code_of(25) == (1 if closed == "left" else 0)


def test_the_64_bit_integers_are_a_domain_of_2_to_the_64_cells() -> None:
    column = IntegerColumn("i", -(2**63), 2**63 - 1, nulls="exclude")
    assert column.cells == 2**64
    assert column.code_of(2**63 - 1) == 2**64 - 1
    assert column.code_of(2**70) == 2**64 - 1
    assert column.code_of(str(-(2**63))) == 0
    assert column.value_in(2**64 - 1, 0.999) == 2**63 - 1
    assert column.codes_where(">=", 0).inner == ((2**63, 2**64),)
    assert column.value_bounds == (Fraction(-(2**63)), Fraction(2**63 - 1))


def test_all_microseconds_of_the_calendar_are_a_domain() -> None:
    column = DatetimeColumn(
        "t", datetime(1, 1, 1), datetime(9998, 12, 31, 23, 59, 59, 999999), "microsecond"
    )
    assert column.value_cells == column.code_of("9998-12-31T23:59:59.999999") + 1  # type: ignore[operator]
    assert column.bounds(column.value_cells - 1)[1] == datetime(9999, 1, 1)
    assert column.code_of(np.datetime64(2**62, "us")) == column.value_cells - 1
    assert column.code_of(np.datetime64("-290000-01-01", "us")) == 0
    assert column.code_of("0001-01-01T00:00:00+14:00") == 0
    late = DatetimeColumn("t", datetime(2000, 1, 1), datetime(2001, 1, 1), "month")
    assert late.code_of(np.datetime64(2**62, "us")) == late.value_cells - 1
    assert late.code_of(np.datetime64(-(2**62), "us")) == 0


def test_weeks_begin_on_monday_and_months_follow_the_calendar() -> None:
    weeks = DateColumn("d", date(2024, 1, 1), date(2024, 12, 31), "week")
    assert [weeks.code_of(date(2024, 1, day)) for day in (1, 7, 8)] == [0, 0, 1]
    months = DateColumn("d", date(2024, 1, 1), date(2024, 12, 31), "month")
    assert months.bounds(1) == (date(2024, 2, 1), date(2024, 3, 1))
    assert months.code_of("2024-02-29") == 1
    assert months.code_of("2023-02-29") == months.null_cell
    assert months.code_of("2024-01-31T23:59:59-05:00") == 1  # already February in UTC


def test_a_range_is_widened_to_whole_granules() -> None:
    column = DateColumn("d", date(2020, 1, 15), date(2020, 3, 10), "month", "exclude")
    assert column.value_cells == 3
    assert column.code_of("2020-01-01") == 0
    assert column.code_of("2020-03-31") == 2
    assert column.code_of("2020-04-01") is None
    assert column.codes_where(">=", "2020-01-01").inner == ((0, 3),)


def test_conditions_on_wide_cells_have_an_inner_and_an_outer_answer() -> None:
    assert AGE.codes_where(">=", 33) == CodeSelection(((4, 12),), ((3, 12),))
    assert AGE.codes_where(">=", 30) == CodeSelection(((3, 12),), ((3, 12),))
    assert AGE.codes_where(">", 39).is_exact
    assert AGE.codes_where("between", (30, 39)) == CodeSelection(((3, 4),), ((3, 4),))
    assert AGE.codes_where("BETWEEN", (39, 30)).inner == ()
    assert (
        AGE.codes_where("<>", 33)
        == AGE.codes_where("!=", 33)
        == CodeSelection(((0, 3), (4, 12)), ((0, 12),))
    )
    assert AGE.codes_where("=", 33.5) == CodeSelection((), ())
    assert AGE.codes_where("in", []) == CodeSelection((), ())
    assert AGE.codes_where("is not null").inner == ((0, 12),)
    assert AGE.codes_where("=", 500) == CodeSelection((), ())  # clamped rows count as 119


def test_a_clamped_row_counts_as_its_edge_value() -> None:
    column = IntegerColumn("age", 0, 119)
    code = column.code_of(130)
    assert column.codes_where("=", 119).inner == ((code, 120),)
    assert column.codes_where(">", 119).outer == ()


@pytest.mark.parametrize(
    ("column", "sign", "literal"),
    [(AGE, "=", "33"), (AGE, "=", None), (AGE, "<", True), (AGE, "~", 3), (AGE, "in", 3), (AGE, "between", (1, 2, 3)),
     (AGE, "=", float("nan")), (SEX, "<", "F"), (SEX, "=", None), (SEX, "=", b"F"), (SEX, "in", "F"),
     (BooleanColumn("b"), "=", "maybe"), (BooleanColumn("b"), ">", True), (NumberColumn("x", 0, 1, bits=1), "=", "a"),
     (DateColumn("d", date(2020, 1, 1), date(2021, 1, 1)), "=", 2020),
     (DateColumn("d", date(2020, 1, 1), date(2021, 1, 1)), "<", "January")],
)  # fmt: skip
def test_a_literal_of_another_type_is_refused_naming_column_and_kind(
    column: Column, sign: str, literal: Any
) -> None:
    with pytest.raises(BadQuestion, match=re.escape(f"Column {column.name!r} ({column.kind})")):
        column.codes_where(sign, literal)


def test_undeclared_categories_may_be_among_the_others() -> None:
    assert SEX.codes_where("=", "X") == CodeSelection((), ((2, 3),))
    assert SEX.codes_where("!=", "X") == CodeSelection(((0, 2),), ((0, 3),))
    assert CategoryColumn("sex", ("F", "M"), other=False).codes_where("=", "X") == CodeSelection(
        (), ()
    )
    assert SEX.codes_where("not in", ["F"]) == CodeSelection(((1, 3),), ((1, 3),))


@pytest.mark.parametrize("code", [-1, 13, 2**70])
def test_a_cell_that_does_not_exist_is_refused(code: int) -> None:
    for ask in (AGE.label, AGE.bounds, lambda number: AGE.value_in(number, 0)):
        with pytest.raises(BadInput, match="has the cells 0 to 12"):
            ask(code)
    with pytest.raises(BadInput, match="the cell null has no edges"):
        AGE.bounds(12)
    with pytest.raises(BadInput, match="at least 0 and below 1"):
        AGE.value_in(0, 1)


def test_values_for_synthetic_rows_lie_inside_their_cells() -> None:
    assert [AGE.value_in(3, place) for place in (0, 0.55, Fraction(99, 100))] == [30, 35, 39]
    assert SEX.value_in(2, 0.5) == "(other)"
    assert SEX.value_in(3, 0.5) is None
    assert IntegerColumn("i", 0, 1, outside="other").value_in(2, 0) is None
    assert NumberColumn("x", 0, 100, bits=3).value_in(1, 0.5) == 18.75
    assert DateColumn("d", date(2020, 1, 1), date(2020, 12, 31), "month").value_in(
        1, 0.999
    ) == date(2020, 2, 29)


def test_unicode_names_are_kept_exactly_as_given() -> None:
    names = [
        "größe",
        "年齢",
        "e\u0301tat",
        'a"b',
        "a.b",
        "two\nlines",
        " ",
        "🙂",
        "[x]",
        "#",
        "a=b",
        "\x7f",
    ]
    schema = Schema(dataset="d", columns=tuple(BooleanColumn(name) for name in names))
    assert Schema.loads(schema.dumps()).names == tuple(names)
    assert schema.column("GRÖSSE").name == "größe"


@pytest.mark.parametrize(
    "given", [-0.5, "-0.5", Fraction(-1, 2), Decimal("-0.5"), np.float32(-0.5)]
)
def test_a_fraction_counts_as_the_integer_below_it(given: Any) -> None:
    assert IntegerColumn("i", -3, 3).code_of(given) == 2


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        (
            "2020-01-31 23:30:00+00",
            datetime(2020, 1, 31, 23, 30),
        ),  # as PostgreSQL and DuckDB write it
        ("2020-01-31 23:30:00-05", datetime(2020, 2, 1, 4, 30)),
        ("2020-01-31T23:30+0530", datetime(2020, 1, 31, 18, 0)),
        ("2020-01-31T23:30+05:30", datetime(2020, 1, 31, 18, 0)),
        ("2020-01-31T23:30+053", None),
        ("2020-01-31-05", None),
    ],
)
def test_an_offset_is_read_with_and_without_its_colon_and_minutes(
    text: str, utc: datetime | None
) -> None:
    expected = None if utc is None else (utc - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert microseconds_of(text) == expected
