"""Every mistake in a schema file is told, all at once, in a sentence that names the column and the fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput, BadSchema
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.questions.derived import schema_mistakes
from discreet.schema import (
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from discreet.schema.drafting import draft

GOOD = 'dataset = "people"\n[columns.age]\nkind = "integer"\nrange = [0, 119]\n'


def column(fields: str, name: str = "c") -> str:
    return f'dataset = "people"\n[columns.{name}]\n' + fields.replace("; ", "\n") + "\n"


def top(lines: str) -> str:
    return lines.replace("; ", "\n") + '\n[columns.a]\nkind = "boolean"\n'


NAMED = 'dataset = "p"; '

MISTAKES = {
    column("kind = 'intger'"): "Column 'c': `kind` is 'intger'; did you mean `integer`?",
    column("kind = 'blob'"): "Column 'c': `kind` is 'blob'; write one of category, boolean, integer, number, date, datetime.",
    column("kind = 3"): "Column 'c': `kind` is 3; write one of category,",
    column("range = [0, 1]"): "Column 'c': `kind` is missing; write one of",
    'dataset = "p"\ncolumns.c = "integer"': "Column 'c' is a text; declare it as a table with a `kind`.",
    column("kind = 'integer'"): "Column 'c': `range` is missing; give the lowest and the highest integer, as in [0, 119].",
    column("kind = 'integer'; range = [5, 1]"): "Column 'c': `range` runs from 5 to 1; write the smaller number first.",
    column("kind = 'integer'; range = [0]"): "Column 'c': `range` is a list of 1 values; give the lowest",
    column("kind = 'integer'; range = [0.5, 2]"): "Column 'c': `range` is a list of 2 values; give the lowest and the highest integer",
    column("kind = 'integer'; range = [true, false]"): "Column 'c': `range` is a list",
    column("kind = 'integer'; range = [0, 9223372036854775808]"): "Column 'c': `range` leaves the 64-bit integers, -2^63 to 2^63-1; narrow it.",
    column("kind = 'integer'; range = [0, 10]; width = 3"): "Column 'c': `width` is 3, which does not divide the 11 integers from 0 to 10; end the range at 11, or take another width.",
    column("kind = 'integer'; range = [0, 10]; width = 0"): "Column 'c': `width` is 0; a cell holds at least 1 integer.",
    column("kind = 'integer'; range = [0, 10]; width = 99999999999999999999"): "Column 'c': `width` is more than 2^64",
    column("kind = 'integer'; range = [0, 10]; width = '1'"): "Column 'c': `width` is a text; it must be a whole number",
    column("kind = 'integer'; range = [0, 10]; outside = 'edges'"): "Column 'c': `outside` is 'edges'; did you mean `edge`?",
    column("kind = 'integer'; range = [0, 10]; nulls = 'x'"): "Column 'c': `nulls` is 'x'; write one of \"cell\", \"exclude\".",
    column("kind = 'integer'; bounds = [0, 10]"): "Column 'c': there is no key 'bounds'; did you mean `range`?",
    column("kind = 'number'; bounds = [0, 1]"): "Column 'c': it has neither `bits` nor `cuts`, and a column of numbers must be divided into cells: over a continuous domain no private release is useful (Blum, Ligett and Roth 2008)",
    column("kind = 'number'; bounds = [0, 1]; bits = 0"): "Column 'c': `bits` is 0; it must be a whole number from 1 to 48.",
    column("kind = 'number'; bounds = [0, 1]; bits = 49"): "Column 'c': `bits` is 49;",
    column("kind = 'number'; bounds = [0, 1]; bits = 2.5"): "Column 'c': `bits` is a number; it must be a whole number",
    column("kind = 'number'; bounds = [1e16, 1.0000000000000064e16]; bits = 10"): "Column 'c': `bits = 10` makes cells narrower than doubles can tell apart",
    column("kind = 'number'; bounds = [1, 1]; bits = 3"): "Column 'c': `bounds` run from 1.0 to 1.0; write the smaller number first.",
    column("kind = 'number'; bounds = [-1e308, 1e308]; bits = 3"): "Column 'c': `bounds` from -1e+308 to 1e+308 are too far apart for a double; narrow them.",
    column("kind = 'number'; bounds = [0, inf]; bits = 3"): "Column 'c': inf is not a finite double; give finite bounds and cuts.",
    column("kind = 'number'; bounds = [nan, 1]; bits = 3"): "Column 'c': nan is not a finite double",
    column("kind = 'number'; bounds = [0, 9]; cuts = [3, 3]"): "Column 'c': `cuts` must increase, but 3.0 comes before 3.0.",
    column("kind = 'number'; bounds = [0, 9]; cuts = []"): "Column 'c': `cuts` is empty; list at least one number between the bounds.",
    column("kind = 'number'; bounds = [0, 9]; cuts = [0, 3]"): "Column 'c': the cut 0.0 is not between the bounds 0.0 and 9.0",
    column("kind = 'number'; bounds = [0, 9]; cuts = ['a']"): "Column 'c': `cuts` holds a text; it must be a list of numbers.",
    column("kind = 'number'; bounds = [0, 9]; cuts = [3]; bits = 3"): "Column 'c': `bits` and `cuts` are both given; keep one of them.",
    column("kind = 'number'; bounds = [0, 9]; bits = 3; closed = 'both'"): "Column 'c': `closed` is 'both'; write one of \"left\", \"right\".",
    column("kind = 'category'"): "Column 'c': `values` is missing; list what the column can hold",
    column("kind = 'category'; values = []"): "Column 'c': `values` is empty; list what the column can hold",
    column("kind = 'category'; values = ['a', 'b', 'a']"): "Column 'c': the value 'a' is declared 2 times; keep one.",
    column("kind = 'category'; values = [1, '1']"): "Column 'c': the value '1' is declared 2 times; keep one.",
    column("kind = 'category'; values = 'a'"): "Column 'c': `values` is a text; it must be a list of texts",
    column("kind = 'category'; values = [['a']]"): "Column 'c': `values` holds a list; it must be a list of texts.",
    column('kind = "category"; values = ["a\\u0000"]'): "Column 'c': the value 'a\\x00' holds a NUL",
    column("kind = 'category'; values = ['(other)']"): "Column 'c': the value '(other)' is also what the cell for undeclared values is called",
    column("kind = 'category'; values = ['a']; other = 1"): "Column 'c': `other` is an integer; it must be true or false.",
    column("kind = 'date'; range = [2020-01-02, 2020-01-01]"): "Column 'c': `range` runs from 2020-01-02 to 2020-01-01; write the earlier one first.",
    column("kind = 'date'; range = ['soon', 2020-01-01]"): "Column 'c': `range` is ['soon', '2020-01-01']; give the first and the last date",
    column("kind = 'date'; range = [2020-01-01, 9999-12-31]"): "Column 'c': `range` ends in 9999; end it by 9998",
    column("kind = 'date'; range = [2020-01-01, 2020-02-01]; granularity = 'hour'"): "Column 'c': `granularity` is 'hour'; write one of \"day\"",
    column("kind = 'datetime'; range = [10:00:00, 11:00:00]"): "Column 'c': `range` is a list of 2 values; give the first and the last moment",
    column("kind = 'boolean'; values = [0, 1]"): "Column 'c': there is no key 'values'; the keys here are kind, nulls.",
    column("kind = 'boolean'", name='""'): "Column '': its name is empty; give it a name.",
    column("kind = 'boolean'\n[columns.C]\nkind = 'boolean'"): "Columns 'c' and 'C' are one name to a SQL engine, which folds case; rename one.",
    column("kind = 'boolean'\n[columns.\"e\\u0301\"]\nkind = 'boolean'\n[columns.\"\\u00e9\"]\nkind = 'boolean'"): "are one name to a SQL engine",
    "": "`dataset` is missing; name the dataset, as in `dataset = \"people\"`.",
    'dataset = "p"': "There are no columns; declare each as in `[columns.age]`",
    'dataset = "p"\ncolumns = 3': "At the top: `columns` is an integer; it must be a table, as in `[columns]`.",
    top("dataset = 3"): "At the top: `dataset` is an integer; it must be a text: the dataset's name.",
    top(NAMED + "datset = 'q'"): "At the top: there is no key 'datset'; did you mean `dataset`?",
    top(NAMED + "people = 0"): "`people` is 0; it must be at least 1, or left out.",
    top(NAMED + "people = 'many'"): "At the top: `people` is a text; it must be a whole number: roughly how many people the table is about.",
    top(NAMED + "adjacency = 'add_remove'"): "At the top: `adjacency` is 'add_remove'; did you mean `add-remove`?",
    top(NAMED + "[unit]; max_rows = 0"): "[unit]: `max_rows` is 0; it must be at least 1.",
    top(NAMED + "[unit]; max_rows = 2"): "[unit]: `max_rows` needs an `identifier`: without one, the unit is a single row.",
    top(NAMED + "[unit]; identifier = ''"): "[unit]: `identifier` is empty; name the column that identifies a person.",
    top(NAMED + "[unit]; identifier = 'A'"): "[unit]: the identifier 'A' is also declared as a column; an identifier says whose a row is and is never published, so take the column out.",
    top(NAMED + "[unit]; id = 'q'"): "[unit]: there is no key 'id'; did you mean `identifier`?",
    top(NAMED + "[cap]; epsilon = '0'"): "[cap]: epsilon is 0; it must be greater than 0.",
    top(NAMED + "[cap]; epsilon = '1'; rho = '1'"): "[cap]: A budget has either epsilon, rho or mu",
    top(NAMED + "[cap]; epsilon = 'much'"): "[cap]: epsilon is 'much', which is not a number",
    top(NAMED + "[cap]; epsilon = true"): "[cap]: epsilon must be a number",
    top(NAMED + "[csv]; header = false"): "[csv]: `header` is false and there are no `names`; list the file's columns in order.",
    top(NAMED + "[csv]; names = ['b']"): "[csv]: `names` does not list 'a'; it must list every column of the file, in order.",
    top(NAMED + "[csv]; names = ['a', 'A']"): "[csv]: `names` holds 'a' and 'A', which are one name",
    top(NAMED + "[csv]; delimiter = ',,'"): "[csv]: `delimiter` is ',,'; write one character",
    top(NAMED + "[csv]; delimiter = '\"'"): "[csv]: `quote` and `delimiter` are both '\"'; they must differ.",
    top(NAMED + "[csv]; quote = 'ab'"): "[csv]: `quote` is 'ab'; write one ASCII character",
    top(NAMED + "[csv]; encoding = 'ebcdic'"): "[csv]: `encoding` is 'ebcdic'; write one of utf-8, utf-16, utf-16-le, utf-16-be, latin-1, cp1252.",
    top(NAMED + "[csv]; trim = 'yes'"): "[csv]: `trim` is a text; it must be true or false.",
    top(NAMED + "[csv]; separator = ';'"): "[csv]: there is no key 'separator'; did you mean `delimiter`?",
    top(NAMED + "unit = []"): "At the top: `unit` is a list; it must be a table, as in `[unit]`.",
    "dataset = ": "it is not TOML:",
    top(NAMED + "[columns.größe]; kind = 'boolean'"): 'as in [columns."größe"].',
    top(NAMED + "[columns.net income]; kind = 'boolean'"): 'as in [columns."net income"].',
    top(NAMED + "[[impossible.été]]"): 'as in [[impossible."été"]].',
    top(NAMED + "Åge = 3"): 'as in "Åge" = 3.',
    "dataset = people": 'Put a text in straight quotes, as in dataset = "...".',
    "dataset = “people”": 'Put a text in straight quotes, as in dataset = "...".',
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_told_once_in_a_sentence_with_its_fix(text: str) -> None:
    told = [mistake for mistake in schema_mistakes(text) if MISTAKES[text] in mistake]
    assert len(told) == 1, schema_mistakes(text)
    assert told[0].endswith((".", "?"))


@pytest.mark.parametrize(
    "text", [text for text in MISTAKES if text and "no key 'bounds'" not in MISTAKES[text]]
)
def test_one_mistake_gives_one_sentence(text: str) -> None:
    assert len(schema_mistakes(text)) == 1


def test_all_mistakes_are_told_at_once() -> None:
    found = schema_mistakes(
        'dataset = ""\npeople = -3\ntypo = 1\n[unit]\nmax_rows = 0\n[cap]\nepsilon = "-1"\n'
        '[csv]\ndelimiter = ""\n[columns.a]\nkind = "integer"\nrange = [3, 1]\nwidth = 0\nwdth = 1\n'
        '[columns.b]\nkind = "number"\nbounds = [0, 1]\noutside = "no"\n[columns.A]\nkind = "category"\nvalues = []\n'
    )
    assert len(found) == 13, found
    with pytest.raises(BadSchema) as error:
        Schema.loads("people = 0")
    assert len(error.value.mistakes) == 3
    assert "3 mistakes" in str(error.value)


def test_an_uncut_number_is_refused_in_two_sentences() -> None:
    (mistake,) = schema_mistakes(column("kind = 'number'; bounds = [0, 1]"))
    assert len(re.findall(r"[.](?= [A-Z]|$)", mistake)) == 2


def test_a_good_schema_has_no_mistakes() -> None:
    assert schema_mistakes(GOOD) == []
    assert schema_mistakes("\ufeff" + GOOD) == []


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "[" * 2_000 + "]" * 2_000,
        "a = " + "{b=" * 2_000 + "1" + "}" * 2_000,
        "a." * 3_000 + "b = 1",
        "people = " + "9" * 10_000,
        "people = 1e999999999",
        column("kind = 'integer'; range = [-" + "9" * 4_000 + ", " + "9" * 4_000 + "]"),
        column("kind = 'number'; bounds = [0, " + "9" * 4_000 + "]; bits = " + "9" * 4_000),
        column("kind = " + "'k" * 1 + "k" * 100_000 + "'"),
        "\x00",
        "[columns]\n" * 2,
        "[[columns]]\nkind = 'boolean'",
        "[[columns.a]]\nkind = 'boolean'",
        "cap = 1\ncsv = 2\nunit = 3\ncolumns = [1]\ndataset = [1]\nadjacency = {}\npeople = 10:00:00",
    ],
    ids=range(14),
)
def test_hostile_text_is_refused_like_any_other_mistake(text: str) -> None:
    assert schema_mistakes(text)


toml_values = st.recursive(
    st.none().map(lambda _: "1979-05-27") | st.integers().map(str) | st.floats().map(repr)
    | st.sampled_from(["true", '"a"', '"FILL IN"', '"integer"', "10:00:00", "2020-01-01T00:00:00Z", '""']),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
    max_leaves=4,
)  # fmt: skip
keys = st.sampled_from(
    [
        "kind",
        "range",
        "width",
        "outside",
        "nulls",
        "bounds",
        "bits",
        "cuts",
        "closed",
        "values",
        "other",
        "granularity",
        "identifier",
        "max_rows",
        "epsilon",
        "delta",
        "rho",
        "header",
        "names",
        "delimiter",
        "quote",
        "trim",
        "null_strings",
        "encoding",
        "dataset",
        "people",
        "adjacency",
    ]
)
tables = st.sampled_from(
    ["", "[unit]", "[cap]", "[csv]", "[columns]", "[columns.a]", "[columns.b]"]
)
kinds = st.sampled_from(
    ["", *(f'kind = "{k}"' for k in ("category", "integer", "number", "date", "datetime"))]
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        tables, st.tuples(kinds, st.dictionaries(keys, toml_values, max_size=5)), max_size=5
    )
)
def test_wrong_types_anywhere_give_sentences_and_never_a_traceback(
    parts: dict[str, tuple[str, dict[str, str]]],
) -> None:
    lines = []
    for table in sorted(parts):
        kind, fields = parts[table]
        lines += [table, kind if "." in table and "kind" not in fields else ""]
        lines += [f"{key} = {value}" for key, value in fields.items()]
    assert all(isinstance(mistake, str) for mistake in schema_mistakes("\n".join(lines)))


@given(st.text())
def test_any_text_is_checked_without_a_traceback(text: str) -> None:
    schema_mistakes(text)


def test_a_file_that_is_missing_a_folder_or_not_utf8_is_refused_in_a_sentence(
    tmp_path: Path,
) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes('dataset = "é"'.encode("latin-1"))
    with pytest.raises(BadSchema, match="not UTF-8 text") as error:
        Schema.load(latin)
    assert str(latin) in str(error.value)
    with pytest.raises(BadSchema, match="cannot be read: No such file"):
        Schema.load(tmp_path / "none.toml")
    with pytest.raises(BadSchema, match="cannot be read: Is a directory"):
        Schema.load(str(tmp_path))
    with pytest.raises(BadSchema, match="cannot be read"):
        Schema.load("a\x00b")


def test_a_file_longer_than_a_schema_can_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("discreet.schema.reading.MOST_BYTES", 1000)
    monkeypatch.setattr("discreet.schema.schema.MOST_BYTES", 1000)
    path = tmp_path / "long.toml"
    path.write_text(GOOD + "#" * 2000)
    with pytest.raises(BadSchema, match="longer than 1000 characters"):
        Schema.load(path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert Schema.load(path) == Schema.loads(GOOD)


def test_columns_built_in_python_are_refused_with_the_same_sentences() -> None:
    with pytest.raises(BadSchema, match="write the smaller number first"):
        IntegerColumn("age", 5, 1)
    with pytest.raises(BadSchema, match="must be a whole number"):
        IntegerColumn("age", 0.5, 1)  # type: ignore[arg-type]
    with pytest.raises(BadSchema, match="continuous domain"):
        NumberColumn("x", 0, 1)
    with pytest.raises(BadSchema, match="two dates"):
        DateColumn("d", "2020-01-01", "2020-01-02")  # type: ignore[arg-type]
    with pytest.raises(BadSchema, match="list of texts"):
        CategoryColumn("c", (1, 2))  # type: ignore[arg-type]
    with pytest.raises(BadSchema, match="also declared as a column"):
        Schema(dataset="p", columns=(IntegerColumn("a", 0, 1),), unit=PrivacyUnit("a"))
    with pytest.raises(BadSchema, match="longer than 60 characters"):
        cap = (
            Budget(epsilon="1e-50").times(10**100)
            + Budget(epsilon="1e-40")
            + Budget(epsilon="1e-59")
        )
        Schema(dataset="p", columns=(IntegerColumn("a", 0, 1),), cap=cap)


def test_an_unknown_column_is_told_with_the_nearest_name_and_all_names() -> None:
    schema = Schema.loads(GOOD + "[columns.sex]\nkind = 'boolean'\n")
    with pytest.raises(
        BadInput, match=r"no column 'agge'.* Did you mean 'age'\? It declares 'age', 'sex'\."
    ):
        schema.column("agge")
    with pytest.raises(BadInput, match="no column 'zzz'"):
        schema.sizes(["sex", "zzz"])
    assert schema.sizes(["sex", "AGE"]) == (3, 121)


def test_a_draft_holds_names_and_kinds_and_says_what_to_fill_in() -> None:
    names = ["age", 'naïve "name"\n', "Age", "income", "born", "seen", "ok", "sex", "odd", ""]
    types = {
        "age": "UINTEGER", "income": "DECIMAL(18,3)", "born": "date32[day]", "ok": "BOOLEAN",
        "seen": "TIMESTAMP WITH TIME ZONE", "sex": "ENUM('secret-f', 'secret-m')", "odd": "INTEGER[]",
    }  # fmt: skip
    text = draft(names, types)
    assert "secret" not in text
    found = schema_mistakes(text)
    for name in ("age", "income", "born", "seen", "sex", "odd"):
        assert any(mistake.startswith(f"Column {name!r}: ") for mistake in found), name
    assert all("still says FILL IN; give " in mistake for mistake in found), found
    assert not any("'ok'" in mistake for mistake in found)


@given(
    st.lists(st.text(), max_size=6),
    st.sampled_from([None, "BIGINT", "DOUBLE", "VARCHAR", "", "x y", "DATE"]),
)
def test_a_draft_of_any_names_is_toml_that_only_wants_filling_in(
    names: list[str], type_name: str | None
) -> None:
    text = draft(names, None if type_name is None else dict.fromkeys(names, type_name))
    for mistake in schema_mistakes(text):
        assert "still says FILL IN" in mistake or "There are no columns" in mistake


def test_a_draft_without_types_shows_a_template_of_each_kind_that_is_valid() -> None:
    text = draft(["age"])
    blocks = text.split("# What each kind")[1].split("[columns.")[0].split("#\n")[1:]
    columns = []
    for place, block in enumerate(blocks):
        lines = [line.removeprefix("#").strip() for line in block.splitlines() if line.strip("# ")]
        columns.append("\n".join([f"[columns.c{place}]", *lines]))
    schema = Schema.loads('dataset = "t"\n' + "\n".join(columns))
    kinds = ["category", "boolean", "integer", "number", "date", "datetime"]
    assert [column.kind for column in schema.columns] == kinds
    assert "What each kind" not in draft(["age"], {"age": "INTEGER"})


def test_the_sections_that_a_draft_offers_in_comments_are_understood() -> None:
    offered = draft(["age"]).split("# [unit]")[1].split("# Any column")[0]
    lines = [line.removeprefix("# ") for line in f"[unit]{offered}".splitlines()]
    text = (
        "\n".join(lines)
        .replace('"..."', '"person"', 1)
        .replace('["...", "..."]', '["person", "started_at", "hour"]')
    )
    columns = (
        '[columns.started_at]\nkind = "datetime"\ngranularity = "hour"\n'
        "range = [2020-01-01T00:00:00, 2020-12-31T23:59:59]\n"
        '[columns.hour]\nkind = "integer"\nrange = [0, 23]\n'
    )
    schema = Schema.loads(f'dataset = "t"\n{text}\n{columns}')
    assert schema.unit.identifier == "person" and schema.csv.names is not None
