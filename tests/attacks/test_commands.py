"""`discreet attack` and `discreet explain`: tables, JSON, pages, and one sentence on bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.audits.attacking import attack_all
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.demo import make_people, schema_text, write_csv
from discreet.report.disclosure.page import render_attacks


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "people.csv", make_people(300))
    (tmp_path / "people.toml").write_text(schema_text(), encoding="utf-8")
    return tmp_path


def ran(words: str) -> int:
    return run(application, words.split())


def test_an_attack_prints_a_table_a_chart_and_its_findings(folder, capsys):
    assert ran("attack trace --people 200") == 0
    told = capsys.readouterr().out
    assert "1 known point" in told and "####" in told and "a points" in told


def test_json_has_the_lines_and_no_number_that_json_lacks(folder, capsys):
    assert ran("attack intersect --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["details"]["score"] == ["613"]
    assert found["lines"][-1]["value"] is None and found["lines"][-1]["differentially_private"]


def test_a_page_is_written_once_and_loads_nothing(folder, capsys):
    assert ran("attack unique people.csv --columns born,sex --largest 2 -o page.html") == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("NOT PRIVATE") == 2 and "<svg" in page
    assert "http" not in page.replace("http-equiv", "")
    assert ran("attack unique people.csv -o page.html") == 2
    assert "exists" in capsys.readouterr().err


def test_texts_from_a_table_are_escaped_on_the_page():
    from discreet.audits.attacking import unique

    outcome = unique({"<script>": ["1", "2"]}, largest=1)
    assert "<script>" not in render_attacks([outcome], title="<b>", lead="x")


def test_all_attacks_of_one_table_are_one_report_that_is_not_private(folder):
    """Ours: 128 balanced bits, each right with at most .731; all right with probability below 1e-17."""
    schema = dc.Schema.load("people.toml")
    found = attack_all("people.csv", schema, draws=1, games=60)
    assert [each.attack for each in found] == [
        "all",
        "unique",
        "intersect",
        "reconstruct",
        "member",
    ]
    assert all(each.banner.startswith("NOT PRIVATE") for each in found)
    summary = {each.publication: each for each in found[0].lines}
    assert summary["exact counts of subsets"].value == 1.0
    assert summary["the rows without names"].value > 0.9
    assert all(each.value < 1 for each in found[0].lines if each.ours)
    assert len(render_attacks(found, title="t", lead="l")) < 150_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("attack reconstruct people.csv", "--column"),
        ("attack reconstruct people.csv --column smoker --value JA", "has 'JA' in column 'smoker'"),
        ("attack member people.csv", "--schema"),
        ("attack unique missing.csv", "There is no file"),
        ("attack intersect people.csv people.csv --person sex --sensitive smoker", "column=value"),
        ("attack all people.csv --schema people.toml --secret wealth", "wealth"),
        (
            "attack all people.csv --schema people.toml --on smoker --secret smoker",
            "besides the secret",
        ),
        ("explain", "--epsilon 1"),
    ],
)
def test_bad_input_gets_one_sentence(words, said, folder, capsys):
    assert ran(words) == 2
    assert said in capsys.readouterr().err


def test_an_epsilon_is_explained_in_the_terminal_as_json_and_as_a_page(folder, capsys):
    assert ran("explain --epsilon 1 --household 5") == 0
    told = capsys.readouterr().out
    assert "26.9% to 73.1%" in told and "one household" in told
    assert ran("explain --rho 1/10 --json -o page.html") == 0
    assert json.loads(capsys.readouterr().out)["delta"] == 1e-6
    assert Path("page.html").read_text(encoding="utf-8").count("<svg") == 2


def test_a_table_is_read_as_its_schema_says_that_it_is_written(tmp_path: Path):
    (tmp_path / "t.csv").write_text(
        "".join(f"{'fm'[n % 2]};{n % 5};{'NA' if n % 3 else 1}\n" for n in range(60))
    )
    schema = dc.Schema.loads(
        'dataset = "t"\n[csv]\nheader = false\nnames = ["sex", "age", "ill"]\ndelimiter = ";"\n'
        'null_strings = ["NA"]\n[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
        '[columns.age]\nkind = "integer"\nrange = [0, 4]\n[columns.ill]\nkind = "integer"\nrange = [0, 1]\n'
    )
    found = attack_all(tmp_path / "t.csv", schema, draws=1, games=60)
    assert found[0].chance == pytest.approx(2 / 3)
    assert "whether ill is ''" in found[0].findings[0]
