"""Numbers with a decimal comma and dates such as 31.01.2020, in CSV files whose schema says so."""

from __future__ import annotations

import datetime
import random
import re
from pathlib import Path

import pytest

from discreet.audits.attacking.own_tables import rows_of
from discreet.custodian.fit import fit
from discreet.engines import open_engine
from discreet.errors import BadSchema
from discreet.schema import (
    Column,
    CsvOptions,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)

NUMBER = NumberColumn("x", -5e6, 5e6, cuts=tuple(n / 4 for n in range(-4, 5)))
WHOLE = IntegerColumn("x", -1_500, 2_000_000)
DAY = DateColumn("x", datetime.date(1999, 1, 1), datetime.date(2030, 12, 31))
MOMENT = DatetimeColumn(
    "x",
    datetime.datetime(1999, 1, 1),
    datetime.datetime(2030, 12, 31, 23, 59, 59),
    granularity="hour",
)


def codes(place: Path, column: Column, texts: list[str], **csv: str) -> list[int]:
    """The cell of each text, as a file of one column is read."""
    declared = Schema(
        dataset="file",
        columns=(IntegerColumn("row", 0, len(texts) - 1), column),
        csv=CsvOptions(delimiter="\t", **csv),  # type: ignore[arg-type]
    )
    path = place / "file.csv"
    path.write_text("row\tx\n" + "".join(f"{at}\t{text}\n" for at, text in enumerate(texts)))
    with open_engine(path, declared) as engine:
        (counts,) = engine.marginals([("row", "x")])
    return [int(one.argmax()) for one in counts[: len(texts)]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0,5", 0.5),
        ("-0,5", -0.5),
        (" +0,25 ", 0.25),
        (",75", 0.75),
        ("1,", 1.0),
        ("2", 2.0),
        ("5,0e-1", 0.5),
        ("0.5", None),  # a point is no decimal mark here, and without `thousands` nothing else
        ("1.234", None),
        ("0,5,0", None),
        ("0;5", None),
        ("", None),
    ],
)
def test_a_decimal_comma_is_read_where_the_schema_declares_it(
    tmp_path: Path, text: str, value: float | None
) -> None:
    assert codes(tmp_path, NUMBER, [text], decimal=",") == [NUMBER.code_of(value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234", 1234),
        ("1.234.567", 1234567),
        ("1.234.567,9", 1234567),
        ("-1.234,5", -1235),
        ("1234,5", 1234),
        ("1234", 1234),
        ("12.34", None),
        ("1234.567", None),
        ("1.2345", None),
        (".123", None),
        ("1..234", None),
        ("1,234.5", None),
        ("0", 0),
    ],
)
def test_thousands_are_read_in_groups_of_three_digits_only(
    tmp_path: Path, text: str, value: int | None
) -> None:
    assert codes(tmp_path, WHOLE, [text], decimal=",", thousands=".") == [WHOLE.code_of(value)]


@pytest.mark.parametrize("mark", ["'", "’", " ", "\u00a0", "\u2009", "\u202f", ",", "_"])
def test_other_marks_of_thousands_are_read(tmp_path: Path, mark: str) -> None:
    texts = [f"1{mark}234.5", f"12{mark}34", "17.9"]
    assert codes(tmp_path, WHOLE, texts, thousands=mark) == [
        WHOLE.code_of(1234),
        WHOLE.null_cell,
        WHOLE.code_of(17),
    ]


def test_numbers_as_wide_as_a_range_can_be_are_read_with_thousands(tmp_path: Path) -> None:
    wide = IntegerColumn("x", -(2**62), 2**62 - 1, width=2**50)
    text = "-4.611.686.018.427.387.904"
    assert codes(tmp_path, wide, [text], decimal=",", thousands=".") == [0]


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("%d.%m.%Y", "31.01.2020", "2020-01-31"),
        ("%d.%m.%Y", " 1.2.2020 ", "2020-02-01"),
        ("%d.%m.%Y", "01.12.2020", "2020-12-01"),
        ("%d.%m.%Y", "2020-01-31", "2020-01-31"),
        ("%d.%m.%Y", "30.02.2020", None),
        ("%d.%m.%Y", "31/01/2020", None),
        ("%d.%m.%Y", "31.01.20", None),
        ("%d.%m.%Y", "031.01.2020", None),
        ("%d.%m.%Y", "31.13.2020", None),
        ("%d.%m.%Y", "0.1.2020", None),
        ("%m/%d/%Y", "12/31/2020", "2020-12-31"),
        ("%m/%d/%Y", "31/12/2020", None),
        ("%d. %m. %Y", "3. 4. 2020", "2020-04-03"),
        ("%Y.%m.%d", "2020.04.03", "2020-04-03"),
        ("%d-%m-%Y", "03-04-2020", "2020-04-03"),
        ("%d.%m.%Y", "31.01.2020 10:30", "2020-01-31"),
    ],
)
def test_dates_are_read_in_the_declared_format(
    tmp_path: Path, form: str, text: str, value: str | None
) -> None:
    assert codes(tmp_path, DAY, [text], date_format=form) == [DAY.code_of(value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("31.01.2020 10:30", "2020-01-31T10:30"),
        ("1.2.2020T10:30:05+02:00", "2020-02-01T08:30:05"),
        ("31.01.2020", "2020-01-31T00:00"),
        ("31.01.2020 25:00", None),
        ("31.01.2020 10:30 Uhr", None),
    ],
)
def test_a_clock_may_follow_a_date_in_the_declared_format(
    tmp_path: Path, text: str, value: str | None
) -> None:
    assert codes(tmp_path, MOMENT, [text], date_format="%d.%m.%Y") == [MOMENT.code_of(value)]


def test_no_text_stops_the_reader_and_all_are_read_as_by_hand(tmp_path: Path) -> None:
    chance = random.Random(20261118)
    letters = "0123456789.,'+-eE @;\\$1234,."
    texts = ["".join(chance.choices(letters, k=chance.randint(0, 9))) for _ in range(3_000)]
    texts += [f"{chance.uniform(-3, 3):.3f}".replace(".", ",") for _ in range(500)]
    texts = [text for text in texts if "@" not in text[:1]]

    def by_hand(text: str) -> float | None:
        text = text.strip(" ")
        if re.fullmatch(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?", text):
            text = text.replace(".", "")
        if "." in text or not re.fullmatch(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d{1,4})?", text):
            return None
        return float(text.replace(",", "."))

    found = codes(tmp_path, NUMBER, texts, decimal=",", thousands=".")
    assert found == [NUMBER.code_of(by_hand(text)) for text in texts]


def test_identifiers_and_categories_keep_their_text(tmp_path: Path) -> None:
    declared = Schema.loads(
        'dataset = "file"\n[unit]\nidentifier = "who"\nmax_rows = 1\n[csv]\ndelimiter = ";"\n'
        'decimal = ","\nthousands = "."\ndate_format = "%d.%m.%Y"\n'
        '[columns.icd]\nkind = "category"\nvalues = ["A00.1", "1,5", "1.234", "31.01.2020"]\n'
    )
    path = tmp_path / "file.csv"
    path.write_text("who;icd\n1.234;A00.1\n1234;1,5\n1,234;1.234\n01.02.2020;31.01.2020\n")
    with open_engine(path, declared) as engine:
        assert engine.marginals([("icd",)])[0].tolist() == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ('decimal = ";"', "`decimal` is ';'"),
        ('thousands = ".."', "`thousands` is '..'"),
        ('thousands = "."', "`thousands` is '.'"),
        ('thousands = "1"', "`thousands` is '1'"),
        ('thousands = "-"', "`thousands` is '-'"),
        ('thousands = "\\u0000"', "`thousands` is "),
        ('thousands = "\\n"', "`thousands` is "),
        ('date_format = "%d.%m.%y"', "`date_format` is"),
        ('date_format = "dd.mm.yyyy"', "`date_format` is"),
        ('date_format = "%Y-%d-%m"', "`date_format` is"),
        ('date_format = "%d.%d.%m.%Y"', "`date_format` is"),
    ],
)
def test_a_spelling_that_cannot_be_read_is_a_mistake_of_the_schema(options: str, said: str) -> None:
    with pytest.raises(BadSchema, match=re.escape(said)):
        Schema.loads(f'dataset = "a"\n[csv]\n{options}\n[columns.a]\nkind = "boolean"\n')


def test_spellings_are_written_back_and_change_the_digest_only_where_they_are_declared() -> None:
    plain = 'dataset = "a"\n[csv]\ndelimiter = ";"\n{}[columns.a]\nkind = "boolean"\n'
    usual = Schema.loads(plain.format('decimal = "."\nthousands = ""\n'))
    assert usual.digest() == Schema.loads(plain.format("")).digest()
    other = Schema.loads(plain.format('decimal = ","\nthousands = "."\ndate_format = "%d.%m.%Y"\n'))
    assert Schema.loads(other.dumps()) == other
    assert other.digest() != usual.digest()


def test_the_custodians_own_look_at_the_rows_reads_the_same_spellings(tmp_path: Path) -> None:
    declared = Schema.loads(
        'dataset = "file"\n[csv]\ndelimiter = ";"\ndecimal = ","\nthousands = "."\n'
        'date_format = "%d.%m.%Y"\n[columns.fee]\nkind = "number"\nbounds = [0, 9999]\nbits = 4\n'
        '[columns.born]\nkind = "date"\nrange = [2000-01-01, 2029-12-31]\n'
        '[columns.icd]\nkind = "category"\nvalues = ["1,5"]\n'
    )
    path = tmp_path / "file.csv"
    path.write_text("fee;born;icd\n1.234,5;1.2.2020;1,5\n1.5;2020-02-03;1,5\n")
    assert rows_of(path, declared) == {
        "fee": ["1234.5", "1;5"],
        "born": ["2020-02-01", "2020-02-03"],
        "icd": ["1,5", "1,5"],
    }
    assert [each.nulls for each in fit(path, declared)] == [1, 0, 0]
