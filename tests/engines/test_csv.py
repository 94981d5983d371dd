"""CSV files as they come: every line is one row, whatever it holds, and none can stop the engine."""

from __future__ import annotations

import errno
import gzip
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.engines import column_names_and_types, open_engine
from discreet.engines.csv.limits import CsvLimits
from discreet.engines.csv.lines import LineRules
from discreet.engines.csv.parts import cleaned_stretches
from discreet.engines.protocol import SumRequest
from discreet.errors import BadSource, EngineFailed
from discreet.schema import CategoryColumn, CsvOptions, IntegerColumn, Schema

CANARY = "CANARY-7719"
TABLES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tables"


def schema(**csv: object) -> Schema:
    return Schema(
        dataset="file",
        columns=(
            IntegerColumn("age", 0, 99, width=10),
            CategoryColumn("city", ("Köln", "Ulm", "")),
        ),
        csv=CsvOptions(**csv),  # type: ignore[arg-type]
    )


def counts(path: Path, declared: Schema) -> list[list[int]]:
    """Rows by city (Köln, Ulm, empty, other, null), for ages below 50, from 50 on, and null."""
    with open_engine(path, declared) as engine:
        (found,) = engine.marginals([("age", "city")])
        assert engine.row_count() == found.sum()
    return [found[:5].sum(axis=0).tolist(), found[5:10].sum(axis=0).tolist(), found[10].tolist()]


def written(place: Path, text: str | bytes, name: str = "file.csv") -> Path:
    path = place / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_fields_are_cast_by_the_schema_and_empty_ones_are_null(tmp_path: Path) -> None:
    path = written(tmp_path, 'age,city\n7,Ulm\n 77 ,Köln\nx,"Ulm"\n,\n"",""\n1e1,Bonn\n')
    assert counts(path, schema()) == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 2]]


def test_a_file_without_a_header_has_the_declared_names(tmp_path: Path) -> None:
    declared = schema(header=False, names=("skip", "City", "AGE"))
    assert counts(written(tmp_path, "1,Ulm,7\n2,Köln,70\n"), declared) == [
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0] * 5,
    ]


def test_declared_names_stand_before_those_of_a_bad_header(tmp_path: Path) -> None:
    declared = schema(names=("age", "city"))
    assert counts(written(tmp_path, "x,x\n7,Ulm\n"), declared) == [
        [0, 1, 0, 0, 0],
        [0] * 5,
        [0] * 5,
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delimiter": ";"}, "age;city\n7;Ulm\n70;Köln\n"),
        ({"delimiter": "\t"}, "age\tcity\n7\tUlm\n70\tKöln\n"),
        ({"delimiter": "|", "quote": "'"}, "age|city\n7|'Ulm'\n70|Köln\n"),
        ({"trim": True}, "age , city\n7,  Ulm \n 70, Köln\n"),
        ({}, "\ufeffage,city\r\n7,Ulm\r\n70,Köln\r\n"),
        ({}, "age,city\n7,Ulm\r\n70,Köln\r"),
        ({"delimiter": "§"}, "age§city\n7§Ulm\n70§Köln\n"),
        ({"delimiter": " ", "quote": "^"}, "age city\n7 ^Ulm^\n70 Köln\n"),
        ({"trim": True}, 'age , city\n7, "Ulm" \n 70, "Köln"\n'),
        ({"encoding": "latin-1"}, "age,city\n7,Ulm\n70,Köln\n".encode("latin-1")),
        ({"encoding": "cp1252"}, "age,city\n7,Ulm\n70,Köln\n".encode("cp1252")),
        ({"encoding": "utf-16"}, "age,city\n7,Ulm\n70,Köln\n".encode("utf-16")),
        ({"encoding": "utf-16-le"}, "age,city\n7,Ulm\n70,Köln\n".encode("utf-16-le")),
        ({"encoding": "utf-16"}, "\ufeffage,city\n7,Ulm\n70,Köln\n".encode("utf-16-be")),
    ],
)
def test_a_file_is_read_as_its_options_say(
    tmp_path: Path, options: dict[str, object], text: str | bytes
) -> None:
    found = counts(written(tmp_path, text), schema(**options))
    assert found == [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0] * 5]


def test_null_texts_are_null_and_others_are_not(tmp_path: Path) -> None:
    path = written(tmp_path, 'age,city\n?,?\n7,"NA"\n7,\n7, NA\n')
    assert counts(path, schema(null_strings=("?", "NA"))) == [
        [0, 0, 1, 1, 1],
        [0] * 5,
        [0, 0, 0, 0, 1],
    ]
    trimmed = schema(null_strings=("?", "NA"), trim=True)
    assert counts(path, trimmed) == [[0, 0, 1, 0, 2], [0] * 5, [0, 0, 0, 0, 1]]


def test_a_packed_file_and_several_files_are_read(tmp_path: Path) -> None:
    written(tmp_path, gzip.compress(b"age,city\n7,Ulm\n"), "a.csv.gz")
    written(tmp_path, gzip.compress(b"age,city\n8,Ulm\n"), "b.csv.gz")
    assert counts(tmp_path / "a.csv.gz", schema())[0] == [0, 1, 0, 0, 0]
    assert counts(tmp_path / "*.csv.gz", schema())[0] == [0, 2, 0, 0, 0]
    written(tmp_path, gzip.compress(b"city,age\nUlm,9\n"), "c.csv.gz")
    with pytest.raises(BadSource, match="differ"):
        open_engine(tmp_path / "*.csv.gz", schema())


MALFORMED = {
    "too few fields": f"7\n{CANARY}\n",
    "too many fields": f"7,Ulm,{CANARY},9\n",
    "text after a quote": f'7,"Ulm"{CANARY}\n',
    "a quote inside": f'7,U"{CANARY}"lm\n',
    "an unclosed quote": f'7,"{CANARY}\n',
    "a quoted line break": f'7,"{CANARY}\nx"\n',
    "bytes that are no text": b"7,\xff\xfe" + CANARY.encode() + b"\n",
    "a NUL": f"7,\x00{CANARY}\n",
    "a bare return": f"7,{CANARY}\r8,Ulm\n",
    "a line of three megabytes": f"7,{CANARY}{'x' * 3_000_000}\n",
    "only delimiters": ",,,,\n",
    "empty lines": "\n\n\n",
    "a number beyond all": f"{'9' * 5000},{CANARY}\n",
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_line_neither_stops_the_engine_nor_shows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    line = MALFORMED[kind]
    before = b"age,city\n" + b"1,Ulm\n2,Ulm\n"
    bad = line if isinstance(line, bytes) else str(line).encode()
    rows = bad.count(b"\n")
    with open_engine(written(tmp_path, before + bad), schema()) as engine:
        assert engine.row_count() == 2 + rows
        assert engine.marginals([("city",)])[0].sum() == 2 + rows
    shown = capfd.readouterr()
    assert CANARY not in shown.out + shown.err


def test_without_quotes_a_quote_is_a_character(tmp_path: Path) -> None:
    path = written(tmp_path, 'age,city\n1,"Ulm\n2,Ulm\n3,\x02Ulm\n')
    assert counts(path, schema(quote=""))[0] == [0, 1, 0, 2, 0]


FIELDS = {
    '7,"Ulm"': "Ulm",
    '7,"Ulm': "Ulm",
    '7,"U"lm': "Ulm",
    '7,"Ulm"""': 'Ulm"',
    '7,U"l"m': 'U"l"m',
    '7,"Ulm",x,y': "Ulm",
    '7, "Ulm"': ' "Ulm"',
    '7,"Ulm" ': "Ulm ",
    '7,"a,b"': "a,b",
    '7,"a,b': "a,b",
    "7": "",
    "7,a\rb": "a\rb",
    "7,Ulm\r": "Ulm",
    "7,Ulm\r\r": "Ulm\r",
    "7,\ufeff": "\ufeff",
    "\ufeff7,Ulm": "Ulm",
    "7,a\x85b\u2028c": "a\x85b\u2028c",
    "7," + "x" * 999_998: "x" * 999_998,
    "7," + "x" * 999_999: None,
}
"""Lines, and what their second field is; None where the line is too long to be read."""


@pytest.mark.parametrize("line", FIELDS, ids=lambda line: ascii(line[:20]))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_has_the_fields_that_the_rules_say(tmp_path: Path, line: str, encoding: str) -> None:
    value = FIELDS[line]
    declared = Schema(
        dataset="file",
        columns=(IntegerColumn("age", 0, 99), CategoryColumn("city", (value or "-",))),
        csv=CsvOptions(encoding=encoding, null_strings=()),
    )
    text = f"age,city\n1,x\n{line}\n2,y\n"
    with open_engine(written(tmp_path, text.encode(encoding)), declared) as engine:
        ages, cities = engine.marginals([("age",), ("city",)])
    assert ages[[1, 2]].tolist() == [1, 1] and ages.sum() == 3
    if value is None:
        assert ages[-1] == 1 and cities.tolist() == [0, 3, 0]
    elif value == "":
        assert cities[-2:].tolist() == [3, 0]
    else:
        assert ages[7] == 1 and cities.tolist() == [1, 2, 0]


def test_one_more_line_adds_one_row_whatever_it_holds(tmp_path: Path) -> None:
    """An open quote took 9,899 rows with it once."""
    lines = [f'{n % 100},"Ulm"' for n in range(10_000)]
    with open_engine(written(tmp_path, "\n".join(["age,city", *lines])), schema()) as engine:
        (before,) = engine.marginals([("age",)])
    lines.insert(100, '50,"')
    with open_engine(written(tmp_path, "\n".join(["age,city", *lines])), schema()) as engine:
        (after,) = engine.marginals([("age",)])
    assert (after - before).tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_no_byte_of_an_encoding_stops_the_engine(tmp_path: Path, encoding: str) -> None:
    start = "age,city\n1,".encode(encoding)
    if encoding == "utf-16":
        odd = b"\x00\xd8" + "\n2,".encode("utf-16-le") + b"\x00\xdc"  # halves of a pair, alone
        data = start + odd + "\n3,Ulm\n".encode("utf-16-le") + b"4"
    else:
        data = start + bytes(range(0x0E, 0x22)) + bytes(range(0x7F, 0x100)) + b"\n2,\x92\n3,Ulm\n4"
    with open_engine(written(tmp_path, data), schema(encoding=encoding)) as engine:
        assert engine.row_count() == 4
        assert engine.marginals([("city",)])[0][1] == 1


def test_windows_and_iso_bytes_are_the_characters_of_their_encoding(tmp_path: Path) -> None:
    for encoding, value in [("cp1252", "d’Or"), ("latin-1", "d\x92Or")]:
        declared = Schema(
            dataset="file",
            columns=(CategoryColumn("city", (value,)),),
            csv=CsvOptions(encoding=encoding),
        )
        with open_engine(written(tmp_path, b"city\nd\x92Or\n"), declared) as engine:
            assert engine.marginals([("city",)])[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("width", [1, 2])
def test_every_line_is_a_row_also_an_empty_one(tmp_path: Path, width: int) -> None:
    rest = "" if width == 1 else ",other"
    path = written(tmp_path, f"age{rest}\n\n7\n\r\n\n8")
    declared = Schema(dataset="file", columns=(IntegerColumn("age", 0, 99, width=10),))
    with open_engine(path, declared) as engine:
        assert engine.row_count() == 5
        assert engine.marginals([("age",)])[0][[0, -1]].tolist() == [2, 3]


def test_a_mark_at_the_start_of_a_line_is_dropped_wherever_the_line_stands(tmp_path: Path) -> None:
    declared = schema(header=False, names=("age", "city"))
    line = "\ufeff7,Ulm\n"
    assert counts(written(tmp_path, line + "8,Ulm\n"), declared)[0] == [0, 2, 0, 0, 0]
    assert counts(written(tmp_path, "8,Ulm\n" + line), declared)[0] == [0, 2, 0, 0, 0]
    with open_engine(written(tmp_path, "8,Ulm\n\ufeff"), declared) as engine:
        assert engine.row_count() == 2


def test_a_utf_16_file_without_its_mark_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "age,city\n7,Ulm\n".encode("utf-16-be"))
    with pytest.raises(BadSource, match="utf-16-le or utf-16-be"):
        open_engine(path, schema(encoding="utf-16"))
    assert counts(path, schema(encoding="utf-16-be"))[0] == [0, 1, 0, 0, 0]


def test_files_without_a_last_line_end_do_not_run_together(tmp_path: Path) -> None:
    for name in "ab":
        written(tmp_path, "age,city\n7,Ulm\n8,Ulm", f"{name}.csv")
    assert counts(tmp_path / "*.csv", schema())[0] == [0, 4, 0, 0, 0]


def test_quoted_line_breaks_are_read_where_the_schema_allows_them(tmp_path: Path) -> None:
    """In a file longer than the windows that it is checked in, with a few odd records among the others."""
    lines = [
        f'{n % 100},"two\r\nlines"\n' if n % 50 == 0 else f"{n % 100},{'Ulm' + 'x' * 60}\n"
        for n in range(40_000)
    ]
    lines[777] = "7\n"
    lines[888] = '8,x"y"\n'
    path = written(tmp_path, "age,city\n" + "".join(lines))
    declared = Schema(
        dataset="file",
        columns=(IntegerColumn("age", 0, 99), CategoryColumn("city", ("two\nlines",))),
        csv=CsvOptions(quoted_line_breaks=True),
    )
    with open_engine(path, declared, threads=4) as engine:
        assert engine.row_count() == 40_000
        assert engine.marginals([("city",)])[0].tolist() == [800, 39_199, 1]
    with open_engine(path, schema(), threads=4) as engine:
        assert engine.row_count() == 40_800


def test_a_quote_that_is_never_closed_takes_one_line_where_breaks_are_allowed(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, 'age,city\n7,"Ulm\n8,Ulm\n9,Ulm\n')
    assert counts(path, schema(quoted_line_breaks=True))[0] == [0, 3, 0, 0, 0]


def test_parts_are_gone_after_reading_and_rows_are_the_same_in_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = CsvLimits(longest_line=1000, block=1000, part=3000, batch_parts=3)
    monkeypatch.setattr("discreet.engines.csv.limits.current", small)
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    lines = ['7,"Ulm"', "8,Ulm", "x" * 2000, ",".join("9" * 9), '70,"Köln', ""] * 500
    path = written(tmp_path, "age,city\n" + "\r\n".join(lines) + "\r\n")
    with open_engine(path, schema()) as engine:
        assert not list(private.rglob("*.csv"))  # nothing is read before a verb
        found = engine.marginals([("city",)])[0]
        assert found.tolist() == [500, 1000, 0, 500, 1000] and engine.row_count() == 3000
        assert not list(private.rglob("*.csv"))
    assert not list(private.iterdir())


def test_nothing_but_the_first_line_is_read_before_a_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(*arguments: Any) -> Any:
        read.append("stretches")
        return cleaned_stretches(*arguments)

    monkeypatch.setattr("discreet.engines.csv.parts.cleaned_stretches", noted)
    with open_engine(written(tmp_path, "age,city\n7,Ulm\n"), schema()) as engine:
        assert not read
        engine.row_count()
        engine.marginals([("city",)])
    assert read == ["stretches"]


def test_a_file_is_read_for_the_columns_of_the_first_verb_and_once_more_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(*arguments: Any) -> Any:
        read.append("stretches")
        return cleaned_stretches(*arguments)

    monkeypatch.setattr("discreet.engines.csv.parts.cleaned_stretches", noted)
    with open_engine(written(tmp_path, "age,city\n7,Ulm\n8,Ulm\n"), schema()) as engine:
        first = engine.marginals([("city",)])[0].tolist()
        assert engine.marginals([("city",)])[0].tolist() == first and len(read) == 1
        assert engine.marginals([("age",)])[0].sum() == 2 and len(read) == 2
        engine.sums([SumRequest("age", 1, Fraction(0), Fraction(99))])
        assert engine.marginals([("age", "city")])[0].sum() == 2
        assert engine.row_count() == 2 and len(read) == 2


SPELT = "7| 7|7 |\t7|+7|07|7.0|7e0|7.9|\x0b7\x0c|-0|-7|1_0|0x7|7 8||seven|7\u00a0|1e400|\u0667|99999999999999999999"


@pytest.mark.parametrize("text", SPELT.split("|"))
def test_an_integer_is_read_by_the_rule_however_it_is_spelt(tmp_path: Path, text: str) -> None:
    """Usual spellings are read by a shorter way than others; both must follow the schema's rule."""
    with open_engine(written(tmp_path, f"age,city\n{text},Ulm\n"), schema()) as engine:
        expected = schema().column("age").code_of(text or None)
        assert engine.marginals([("age",)])[0].nonzero()[0].tolist() == [expected]


def test_rows_that_the_database_reads_otherwise_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "age,city\n7\n")
    monkeypatch.setattr(LineRules, "rewritten", lambda *_: b"7,\n8,\n")
    with (
        open_engine(path, schema()) as engine,
        pytest.raises(EngineFailed, match="other rows than the file holds"),
    ):
        engine.row_count()


def test_a_full_disk_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, f"age,city\n7,{CANARY}\n")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("discreet.engines.csv.parts._Writer._open_next", full)
    with (
        open_engine(path, schema()) as engine,
        pytest.raises(
            EngineFailed, match=r"disk for temporary files is full.*Make room"
        ) as refused,
    ):
        engine.marginals([("city",)])
    assert CANARY not in str(refused.value)


def test_ctrl_c_ends_the_reading_and_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    path = written(tmp_path, "age,city\n7,Ulm\n")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.engines.csv.parts.cleaned_stretches", interrupted)
    with pytest.raises(KeyboardInterrupt), open_engine(path, schema()) as engine:
        engine.marginals([("city",)])
    assert not list(private.iterdir())


def test_the_first_line_is_not_shown_when_it_may_be_a_row(tmp_path: Path) -> None:
    path = written(tmp_path, f"41,{CANARY}\n42,Ulm\n")
    with pytest.raises(BadSource, match=r"\[csv\]") as refused:
        open_engine(path, schema())
    assert CANARY not in str(refused.value)
    with pytest.raises(BadSource, match="looks like a row") as refused:
        column_names_and_types(path)
    assert CANARY not in str(refused.value)
    assert column_names_and_types(path, CsvOptions()) == [("41", ""), (CANARY, "")]


@pytest.mark.parametrize(
    "line", [f"{CANARY};2024-03-23;F", f"{CANARY}|Ulm", f"{CANARY}\tUlm", f"{CANARY},2024-03-23"]
)
def test_a_line_of_another_delimiter_or_with_a_date_is_not_shown_by_a_draft(
    tmp_path: Path, line: str
) -> None:
    with pytest.raises(BadSource, match="not shown") as refused:
        column_names_and_types(written(tmp_path, f"{line}\n"))
    assert CANARY not in str(refused.value)


def test_a_missing_column_is_named_with_its_nearest(tmp_path: Path) -> None:
    path = written(tmp_path, "age,citty,zip\n7,Ulm,1\n")
    with pytest.raises(
        BadSource, match=r"lacks a column.*'city'.*did you mean 'citty'\?.*'age', 'citty', 'zip'"
    ):
        open_engine(path, schema())
    assert column_names_and_types(path) == [("age", ""), ("citty", ""), ("zip", "")]


@pytest.mark.parametrize("header", ["age,city,city", "age,city,CITY"])
def test_a_declared_column_that_is_there_twice_is_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(BadSource, match="more than one column named 'city'"):
        open_engine(written(tmp_path, f"{header}\n7,Ulm,Ulm\n"), schema())


def test_other_columns_may_be_there_twice_or_without_a_name(tmp_path: Path) -> None:
    path = written(tmp_path, ",x,age,x,city\n1,2,7,3,Ulm\n")
    assert counts(path, schema())[0] == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_file_without_a_first_line_is_refused_and_one_without_rows_is_not(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(BadSource, match="first line"):
        open_engine(written(tmp_path, text), schema())
    assert counts(written(tmp_path, "age,city"), schema()) == [[0] * 5] * 3
    declared = schema(header=False, names=("age", "city"))
    assert counts(written(tmp_path, ""), declared) == [[0] * 5] * 3


# -- Two messy files of the field; where they are not at hand, a few lines as odd as theirs --------

STAND_INS = {
    "adult-raw.data": (
        "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
        "2174, 0, 40, United-States, <=50K\n"
        "52, ?, 209642, HS-grad, 9, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 45, ?, >50K\n"
        "31, Private, 45781, Masters, 14, Never-married, Sales, Unmarried, Black, Female, "
        "14084, 0, 50, United-States, >50K\n\n"
    ),
    "titanic-raw.csv": (
        ",Pclass,Sex,Age,SibSp,Parch,Fare,Cabin,Embarked,Survived\n"
        "0,3,male,22.0,1,0,7.25,,S,0\n1,1,female,,1,0,71.28,C,C,1\n2,2,male,0.8,0,2,29.0,A,S,1\n"
    ),
}


def table(name: str, folder: Path) -> Path:
    path = TABLES / name
    if not path.exists():
        path = folder / name
        path.write_text(STAND_INS[name], encoding="utf-8")
    return path


@pytest.fixture(params=["the file", "the stand-in"])
def field_file(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    if request.param == "the stand-in":
        monkeypatch.setattr("tests.engines.test_csv.TABLES", tmp_path / "nowhere")
    return lambda name: table(name, tmp_path)


def test_the_raw_adult_file_is_counted_line_by_line(field_file: Callable[[str], Path]) -> None:
    names = [
        "age",
        "workclass",
        "fnlwgt",
        "education",
        "years",
        "marital",
        "occupation",
        "relationship",
        "race",
        "sex",
        "gain",
        "loss",
        "hours",
        "country",
        "income",
    ]
    declared = Schema(
        dataset="adult",
        columns=(
            IntegerColumn("age", 0, 99),
            CategoryColumn("workclass", ("Private", "State-gov", "Federal-gov")),
            CategoryColumn("sex", ("Female", "Male"), other=False),
            CategoryColumn("income", ("<=50K", ">50K"), other=False),
        ),
        csv=CsvOptions(header=False, names=tuple(names), trim=True, null_strings=("?", "")),
    )
    path = field_file("adult-raw.data")
    rows = [re.split(r", ", line) for line in path.read_text().splitlines() if line.strip()]
    with open_engine(path, declared) as engine:
        work, both, age = engine.marginals([("workclass",), ("sex", "income"), ("age",)])
        assert engine.row_count() == len(rows) + 1  # its last line is empty
    assert work[-1] - 1 == sum(row[1] == "?" for row in rows) > 0
    assert work[0] == sum(row[1] == "Private" for row in rows)
    assert both[1, 1] == sum(row[9] == "Male" and row[14] == ">50K" for row in rows)
    np.testing.assert_array_equal(
        age[:100], np.bincount([int(row[0]) for row in rows], minlength=100)
    )


def test_the_raw_titanic_file_has_nulls_where_fields_are_empty(
    field_file: Callable[[str], Path],
) -> None:
    declared = Schema(
        dataset="titanic",
        columns=(
            IntegerColumn("Age", 0, 99),
            CategoryColumn("Sex", ("male", "female")),
            CategoryColumn("Cabin", ("A", "B", "C")),
        ),
    )
    path = field_file("titanic-raw.csv")
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    with open_engine(path, declared) as engine:
        age, cabin, sex = engine.marginals([("Age",), ("Cabin",), ("Sex",)])
    assert age[-1] == sum(row[3] == "" for row in rows) > 0
    assert cabin.tolist()[:3] == [sum(row[7] == deck for row in rows) for deck in "ABC"]
    assert sex.tolist() == [sum(row[2] == s for row in rows) for s in ("male", "female")] + [0, 0]
