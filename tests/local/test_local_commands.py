"""`discreet local`: from a question to reports to estimates, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import local
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.cli.files import held_alone
from discreet.local.picture import drawing, flipped, smoothed


def ran(words: str) -> int:
    return run(application, words.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{n},{'yes' if n % 4 == 0 else 'no'},{n % 80}\n" for n in range(2_000))
    (tmp_path / "t.csv").write_text("id,smoker,hours\n" + rows)
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("protocol", ["randomised-response", "unary-encoding", "local-hashing"])
def test_a_survey_from_the_question_to_the_estimate(ending, protocol, folder, capsys):
    """The share of yes is .25, with a standard error of at most .05: off by .4 below 1e-14."""
    plan = f"local plan --values yes,no --name smoker --epsilon 1 --people 2000 --protocol {protocol} -o q.json"
    assert ran(plan) == 0
    assert ran(f"local perturb t.csv --question q.json -o r.{ending}") == 0
    capsys.readouterr()
    assert ran(f"local estimate r.{ending} --question q.json --json") == 0
    found = json.loads(capsys.readouterr().out)
    shares = {each["value"]: each["share"] for each in found["values"]}
    assert abs(shares["yes"] - 0.25) < 0.4 and found["people"] == 2_000


def test_a_mean_and_its_interval(folder, capsys):
    assert ran("local plan --bounds 0,80 --name hours --epsilon 2 --people 2000 -o q.json") == 0
    assert ran("local perturb t.csv --question q.json -o r.csv") == 0
    capsys.readouterr()
    assert ran("local estimate r.csv --question q.json") == 0
    assert capsys.readouterr().out.startswith("mean of hours:")


def test_remembered_reports_are_the_same_in_the_next_round(folder):
    ran("local plan --values yes,no --name smoker --epsilon 1 --people 2000 -o q.json")
    words = "local perturb t.csv --question q.json --identifier id --memory m.json"
    assert ran(f"{words} -o one.csv") == 0
    assert ran(f"{words} -o two.csv") == 0
    assert Path("one.csv").read_text() == Path("two.csv").read_text()


def test_two_runs_never_draw_two_reports_of_one_person(folder, capsys):
    """The second would not know what the first has just drawn: two reports tell more than epsilon allows."""
    ran("local plan --values yes,no --name smoker --epsilon 1 --people 2000 -o q.json")
    words = "local perturb t.csv --question q.json --identifier id --memory m.json"
    with held_alone(Path("m.json")):
        assert ran(f"{words} -o one.csv") == 2
    assert "Another run works with m.json" in capsys.readouterr().err
    assert not Path("one.csv").exists() and not Path("m.json").exists()
    assert ran(f"{words.replace('m.json', 'nowhere/m.json')} -o one.csv") == 2
    said = capsys.readouterr().err
    assert "nowhere/m.json" in said and ".lock" not in said and not Path("one.csv").exists()
    assert ran(f"{words} -o one.csv") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("local plan --epsilon 1 -o q.json", "exactly three"),
        ("local plan --epsilon 1 --people 10 -o q.json", "--values or --bounds"),
        ("local plan --epsilon 1 --people 10 --values a,b --bounds 0,1 -o q.json", "for a number"),
        ("local plan --epsilon 1 --people 10 --values a,b,a -o q.json", "'a' twice"),
        ("local estimate t.csv --question missing.json", "no question file"),
        ("local perturb t.csv --question q2.json -o r.csv --memory m.json", "go together"),
        ("local perturb t.csv --question q2.json -o r.xlsx", "ending in .csv, .parquet"),
    ],
)
def test_bad_input_gets_one_sentence(words, said, folder, capsys):
    (folder / "q2.json").write_text(
        '{"version": 1, "name": "smoker", "epsilon": "1", "protocol": "randomised-response", "values": ["yes", "no"]}'
    )
    assert ran(words) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "q.json").exists()


ODD_LINES = (
    b"", b'"yes', b"yes,1", b'"yes"no', b"x" * 200_000, b"\x00", b"\xff", b"a\rb", b"\xef\xbb\xbfno", b'no,"',
)  # fmt: skip


def test_every_line_is_one_report_whatever_it_holds(folder):
    """An answer without a report, or one that takes others' with it, would tell of itself."""
    ran("local plan --values yes,no --name smoker --epsilon 1 --people 2000 -o q.json")
    for number, line in enumerate(ODD_LINES):
        (folder / "a.csv").write_bytes(b"smoker\n" + b"yes\n" * 5 + line + b"\n" + b"no\n" * 5)
        assert ran(f"local perturb a.csv --question q.json -o r{number}.csv") == 0, line[:9]
        assert len((folder / f"r{number}.csv").read_text().splitlines()) == 12, line[:9]


def test_answers_between_semicolons_and_from_windows_are_read(folder, capsys):
    """A chance of 2e-7 to fail: with epsilon 20 one of a hundred answers is turned."""
    ran("local plan --values größer,kleiner --name größe --epsilon 20 --people 100 -o q.json")
    lines = "größe; x\n" + "größer; 1\n" * 60 + "kleiner; 2\n" * 40
    (folder / "a.csv").write_bytes(lines.encode("cp1252"))
    assert ran("local perturb a.csv --question q.json -o r.csv") == 2
    assert "--delimiter" in capsys.readouterr().err
    assert (
        ran("local perturb a.csv --question q.json -o r.csv --delimiter ; --encoding cp1252") == 0
    )
    capsys.readouterr()
    assert ran("local estimate r.csv --question q.json --json") == 0
    assert '"größer"' in (said := capsys.readouterr().out) and "0.6" in said


def test_no_answer_of_a_parquet_file_stops_the_others(folder):
    days = pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32())
    pq.write_table(pa.table({"smoker": days}), folder / "a.parquet")
    ran("local plan --values yes,no --name smoker --epsilon 1 --people 2000 -o q.json")
    assert ran("local perturb a.parquet --question q.json -o r.csv") == 0
    assert len((folder / "r.csv").read_text().splitlines()) == 3


def test_a_first_line_that_may_be_an_answer_is_not_shown(folder, capsys):
    ran("local plan --values yes,no --name smoker --epsilon 1 --people 2000 -o q.json")
    (folder / "a.csv").write_text("CANARY\nyes\n")
    assert ran("local perturb a.csv --question q.json -o r.csv") == 2
    said = capsys.readouterr()
    assert "does not name a column 'smoker'" in said.err and "CANARY" not in said.out + said.err


def test_a_report_that_is_none_is_refused(folder, capsys):
    ran("local plan --values yes,no --name smoker --epsilon 1 --people 2000 -o q.json")
    (folder / "r.csv").write_text("report\nyes\n")
    assert ran("local estimate r.csv --question q.json") == 2
    assert "is not a report" in capsys.readouterr().err


def test_a_flipped_picture_can_still_be_seen():
    """1,920 pixels: kept .75 +- .06 is 6 standard errors; together more are right than alone."""
    true = drawing()
    told = flipped(true)
    assert abs((told == true).mean() - 0.75) < 0.06
    assert (smoothed(told) == true).mean() > (told == true).mean()


def test_the_examples_of_the_help_are_a_session_that_runs_in_their_order(folder, capsys):
    (folder / "people.csv").write_text("smoker\n" + "true\nfalse\n" * 20)
    assert ran("local --help") == 0
    shown = re.findall(r"^ +discreet (local .*)$", capsys.readouterr().out, re.MULTILINE)
    assert [words.split()[1] for words in shown] == ["plan", "perturb", "estimate"]
    assert [ran(words) for words in shown] == [0, 0, 0]


@pytest.mark.parametrize("epsilon", ["1/2", "1", "4"])
def test_a_plan_of_a_number_says_how_closely_its_mean_is_known(epsilon, folder, capsys):
    """All answers at a bound are the worst case. The found width is within a tenth of it: a spread of 40,000
    bounded reports is off by more than that below 1e-9."""
    words = f"local plan --bounds 0,80 --name hours --epsilon {epsilon} --people 40000"
    assert ran(words) == 0
    assert "The mean of 'hours' is known to within" in capsys.readouterr().out
    assert ran(f"{words} --json") == 0
    planned = json.loads(capsys.readouterr().out)["half_widths"]["piecewise"]
    question = local.Question.number("hours", 0, 80, epsilon=epsilon)
    found = local.estimate(question, local.perturb(question, [80] * 40_000))
    assert 1.959964 * found.std == pytest.approx(planned, rel=0.1)
