"""Where new users stumbled: what is said to them, and that it helps."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.custodian.fit import fit
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.command_line import Done

LEAVES_ROWS_OUT = """
dataset = "t"
[cap]
epsilon = "2"
[columns.a]
kind = "integer"
range = [0, 2]
[columns.b]
kind = "integer"
range = [0, 4]
nulls = "exclude"
[columns.c]
kind = "boolean"
"""


def test_compare_and_report_leave_out_synthetic_rows_that_have_no_cell(
    discreet: Callable[..., Done], tmp_path: Path
) -> None:
    rows = (f"{place % 3},{place % 5 if place % 2 else ''},{place % 7 < 3}" for place in range(600))
    (tmp_path / "t.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    (tmp_path / "t.toml").write_text(LEAVES_ROWS_OUT)
    words = ["release", "t.csv", "--schema", "t.toml", "--epsilon", "2", "--for", "marginals(2)"]
    words += ["--algorithm", "marginals(2)=adaptive"]
    assert discreet(*words, "-o", "t.release").code == 0
    found = discreet("compare", "t.release", "t.csv", "--json")
    assert found.code == 0
    columns = [each["columns"] for each in found.json["tables"]]
    assert sorted(columns) == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert discreet("report", "t.release", "-o", "t.html").code == 0


def test_numbers_with_commas_and_texts_that_differ_in_a_sign_are_explained(tmp_path: Path) -> None:
    schema = Schema.loads(
        """
dataset = "t"
csv = { delimiter = ";" }
[columns.pay]
kind = "number"
bounds = [0, 10]
bits = 2
[columns.day]
kind = "date"
range = [2020-01-01, 2020-12-31]
[columns.grade]
kind = "category"
values = ["1", "2"]
"""
    )
    (tmp_path / "t.csv").write_text("pay;day;grade\n1,5;31.1.2020;1.0\n2,5;1.2.2020;2.0\n")
    found = {one.column: one.warning for one in fit(str(tmp_path / "t.csv"), schema)}
    assert 'decimal = ","' in found["pay"] and 'date_format = "%d.%m.%Y"' in found["day"]
    assert "2020-01-31" in found["day"]
    assert '"1.0" is not "1"' in found["grade"]


def test_a_draft_of_a_file_from_windows_names_the_option_that_reads_it(
    discreet: Callable[..., Done], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes("größe,x\nS,a\n".encode("cp1252"))
    refused = discreet("schema", "draft", "t.csv")
    assert refused.code == 2 and "--encoding cp1252" in refused.err
    drafted = discreet("schema", "draft", "t.csv", "--encoding", "cp1252")
    assert drafted.code == 0 and "größe" in drafted.out


def test_a_link_to_nothing_is_called_so(discreet: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "t.parquet").symlink_to(tmp_path / "nowhere.parquet")
    for path in ("t.parquet", "*.parquet"):
        refused = discreet("schema", "draft", path)
        assert refused.code == 2 and "broken link" in refused.err


def test_no_question_at_all_is_an_error(
    discreet: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(" ;\n"))
    refused = discreet("ask", "t.release", "-")
    assert refused.code == 2 and "No question" in refused.err and not refused.out


def test_a_plan_says_that_a_table_of_different_rows_answers_no_smaller_question(
    discreet: Callable[..., Done], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n" + "1,2,true\n0,,false\n" * 50)
    (tmp_path / "t.toml").write_text(LEAVES_ROWS_OUT)
    budget = ["--epsilon", "1", "--for", "marginals(a, b)"]
    warned = discreet("plan", "t.toml", *budget)
    assert warned.code == 0 and "Rows without a cell in b" in warned.err + warned.out
    quiet = discreet("plan", "t.toml", "--epsilon", "1", "--for", "marginals(a, c)")
    assert "without a cell" not in quiet.err + quiet.out
    release = ["release", "t.csv", "--schema", "t.toml", *budget, "-o"]
    asked = "SELECT a, count(*) FROM t GROUP BY a"
    assert "Rows without a cell in b" in discreet(*release, "direct.release").err
    assert discreet("ask", "direct.release", asked).code == 2
    advised = ["--algorithm", "marginals(a, b)=residuals"]
    assert discreet(*release, "advised.release", *advised).code == 0
    assert discreet("ask", "advised.release", asked).code == 0


def test_a_ledger_that_is_gone_is_not_told_to_be_empty(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "ledger.db"
    assert run(application, ["ledger", "show", "--ledger", str(place)]) == 2
    assert "Nothing was charged here" in capfd.readouterr().err and not list(tmp_path.iterdir())
    with Ledger.open(place) as ledger:
        ledger.declare("people", Budget(epsilon=1))
    place.unlink()
    assert run(application, ["ledger", "show", "--ledger", str(place)]) == 2
    assert "is gone, and its mark" in capfd.readouterr().err
