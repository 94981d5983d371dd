"""Odd files and slips of the pen: one clear sentence each, exit code 2, and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.command_line import Done

SCHEMA = """
dataset = "people"
{more}
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["F", "M"]
"""
FILES: dict[str, bytes] = {
    "semicolons.csv": b"age;sex\n33;F\n",
    "tabs.tsv": b"age\tsex\n33\tF\n",
    "empty.csv": b"",
    "blank.csv": b"\n\nage,sex\n33,F\n",
    "twice.csv": b"age,Age,sex\n1,2,F\n",
    "utf16.csv": "age,sex\n33,F\n".encode("utf-16"),
    "latin.csv": "âge,sex\n33,F\n".encode("latin-1"),
    "spaces.csv": b" age , sex \n33,F\n",
    "binary.csv": b"\0\1\2PAR1",
    "text.parquet": b"age,sex\n33,F\n",
    "empty.parquet": b"",
    "strange.xlsx": b"PK\3\4",
}
REFUSED = {
    "semicolons.csv": "also check `delimiter`, `trim` and `encoding`",
    "tabs.tsv": "also check `delimiter`",
    "empty.csv": "is empty, so its columns have no names",
    "blank.csv": "is empty, so its columns have no names",
    "twice.csv": "more than one column named 'age'",
    "utf16.csv": "`encoding`",
    "latin.csv": "another encoding than was declared",
    "spaces.csv": "`trim`",
    "binary.csv": "may be a row and is not shown",
    "text.parquet": "cannot be opened as Parquet",
    "empty.parquet": "cannot be opened as Parquet",
    "strange.xlsx": "is not known. Its name should end in",
    "nowhere.csv": "No file is at 'nowhere.csv'",
}
READ = {
    "mark.csv": ("", "\ufeffage,sex\n33,F\n".encode()),
    "one.csv": ("", b"age,sex\n33,F"),
    "lines.csv": ("", b"age,sex\r\n33,F\r\n"),
    "ragged.csv": ("", b"age,sex\n33,F\n44\n55,X,extra\n"),
    "odd names.csv": ("", 'größe,"a ""b""",age,,sex\n1,2,33,4,F\n'.encode()),
    "thousands.csv": ("", b'age,sex\n"1,000",F\n'),
    "semicolons.csv": ('csv = { delimiter = ";" }', b"age;sex\n33;F\n"),
    "spaces.csv": ("csv = { trim = true }", b" age , sex \n 33 , F \n"),
    "utf16.csv": ('csv = { encoding = "utf-16" }', "age,sex\n33,F\n".encode("utf-16")),
    "headless.csv": ('csv = { names = ["age", "sex"] }', b"33,F\n"),
}
Run = Callable[..., Done]
RELEASE = (
    "--schema",
    "people.toml",
    "--epsilon",
    "50",
    "--for",
    "histogram(sex)",
    "-o",
    "o.release",
)


def is_one_sentence(text: str) -> bool:
    lines = [line for line in text.strip().splitlines() if not line.startswith("See `discreet")]
    return len(lines) == 1 and len(lines[0]) < 420 and lines[0].endswith((".", "?"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_table_is_refused_uncharged(
    name: str, discreet: Run, tmp_path: Path
) -> None:
    (tmp_path / "people.toml").write_text(SCHEMA.format(more=""))
    if name in FILES:
        (tmp_path / name).write_bytes(FILES[name])
    done = discreet("release", name, *("1" if word == "50" else word for word in RELEASE))
    assert done.code == 2, done
    assert REFUSED[name] in done.err
    assert is_one_sentence(done.err), done.err
    assert "33" not in done.err
    assert not list(tmp_path.glob("o.release*"))
    assert "charges" not in discreet("ledger", "show").out


@pytest.mark.parametrize("name", READ)
def test_a_file_with_odd_bytes_is_read_as_its_schema_says(
    name: str, discreet: Run, tmp_path: Path
) -> None:
    """At epsilon 50 a count is off with probability 2 e^-50."""
    more, data = READ[name]
    (tmp_path / name).write_bytes(data)
    (tmp_path / "people.toml").write_text(SCHEMA.format(more=more))
    done = discreet("release", name, *RELEASE)
    assert done.code == 0, done.err
    sql = "SELECT count(*) FROM people WHERE sex = 'F'"
    rows = discreet("ask", "o.release", sql, "--json").json["rows"]
    assert rows[0]["answers"]["count"]["estimate"] == 1


@pytest.mark.parametrize("name", ["semicolons.csv", "tabs.tsv", "utf16.csv", "latin.csv"])
def test_a_draft_of_what_may_be_a_row_shows_nothing_of_it(
    name: str, discreet: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    done = discreet("schema", "draft", name)
    assert done.code == 2
    assert is_one_sentence(done.err), done.err
    assert "ge" not in done.err.replace("encoding", "").replace("delimiter", "").split("[")[0]


def test_a_table_without_rows_is_published_like_any_other(discreet: Run, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(SCHEMA.format(more=""))
    frame = pd.DataFrame({"age": pd.Series(dtype="int64"), "sex": pd.Series(dtype="object")})
    frame.to_parquet(tmp_path / "none.parquet")
    assert discreet("release", "none.parquet", *RELEASE).code == 0


SLIPS: dict[tuple[str, ...], str] = {
    ("ask", "people.csv", "SELECT count(*) FROM people"): "is not a release, or it was damaged",
    ("ask", "nowhere.release", "SELECT 1"): "No such file",
    ("ask", "p.release", ""): "The question is empty",
    ("ask", "p.release", "how many"): "Only SELECT is answered",
    ("ask", "p.release", "SELECT max(age) FROM people"): "depend on a single row",
    ("ask", "p.release", "SELECT count(*) FROM people WHERE age > 'x'"): "Compare it with a number",
    ("verify", "people.csv"): "is not a release",
    ("plan", "people.csv", "--epsilon", "1", "--for", "histogram(age)"): "people.csv is not TOML",
    ("plan", "p.release", "--epsilon", "1", "--for", "histogram(age)"): "such as a release",
    ("schema", "check", "nowhere.toml"): "nowhere.toml cannot be read: No such file",
    ("audit", "discrete-laplace"): "Give the epsilon that is claimed",
    ("ledger", "show", "--ledger", "people.csv"): "it may not be a ledger",
    ("synthesize", "p.release", "-o", "x.txt"): "ending in .csv",
    ("report", "p.release", "-o", "nowhere/x.html"): "does not exist",
    **{
        ("plan", "people.toml", "--epsilon", "1", "--for", query_class): words
        for query_class, words in {
            "": "is not known",
            "age": "is not known",
            "means(sex)": "only integer and number columns",
            "intervals(sex)": "which has no order",
            "marginals(9)": "the schema has 3",
            'predicates("age >= 65 AND")': "write what may stand in a WHERE. Nothing was read",
            'predicates("age >= 60 GROUP BY sex")': "write what may stand in a WHERE. Nothing was read",
            'predicates("agee >= 65")': "Did you mean 'age'?",
            'predicates("age >= 65")': "with an edge of one. Nothing was read or charged.\n",
        }.items()
    },
    **{
        ("plan", "people.toml", "--epsilon", epsilon, "--for", "histogram(age)"): words
        for epsilon, words in {
            "abc": "not a number such as",
            "0": "greater than 0",
            "1,5": "not a number such as",
            "1e399": "the budget is far too large or too small",
        }.items()
    },
}


@pytest.mark.parametrize("words", SLIPS, ids=" ".join)
def test_a_slip_of_the_pen_gets_one_sentence(
    words: tuple[str, ...], discreet: Run, people: Path, published: Path
) -> None:
    (people / "p.release").write_bytes(published.read_bytes())
    done = discreet(*words)
    assert done.code == 2, done
    assert SLIPS[words] in done.err
    assert is_one_sentence(done.err), done.err
