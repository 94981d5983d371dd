"""From a table to answers, by commands alone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from discreet import Budget, Schema, plan
from discreet.cli.application import EPILOG
from discreet.demo import schema_text
from tests.cli.conftest import RELEASE
from tests.command_line import Done

Run = Callable[..., Done]
QUESTION = "SELECT count(*) FROM people WHERE age >= 50 AND sex = 'F'"


def test_a_release_is_written_charged_and_described(discreet: Run, people: Path) -> None:
    done = discreet(*RELEASE, "--json")
    assert done.code == 0, done.err
    assert done.json["release"] == "people.release"
    assert done.json["charged"]["epsilon"] == "1"
    assert (people / "people.release").stat().st_size > 0
    shown = discreet("ledger", "show", "--json").json
    assert shown["datasets"][0]["spent"]["epsilon"] == "1"
    assert shown["entries"][0]["state"] == "published"


def test_a_release_beyond_the_cap_is_refused_and_its_file_stays_as_it_was(
    discreet: Run, people: Path
) -> None:
    assert discreet(*RELEASE).code == 0
    before = (people / "people.release").read_bytes()
    done = discreet(*RELEASE[:5], "3/2", *RELEASE[6:], "--force")
    assert done.code == 2
    assert "Refused" in done.err
    assert "No row was read" in done.err
    assert (people / "people.release").read_bytes() == before
    assert discreet("ledger", "show", "--json").json["datasets"][0]["spent"]["epsilon"] == "1"


def test_an_existing_file_is_not_overwritten_and_nothing_is_charged(
    discreet: Run, people: Path
) -> None:
    (people / "people.release").write_text("mine")
    done = discreet(*RELEASE)
    assert done.code == 2
    assert "--force" in done.err
    assert (people / "people.release").read_text() == "mine"
    assert discreet("ledger", "show").code == 2  # there is no ledger at all


def test_an_answer_has_an_interval_and_json_parses(discreet: Run, published: Path) -> None:
    done = discreet("ask", str(published), QUESTION, "--json", "--confidence", "0.9")
    assert done.code == 0, done.err
    (row,) = done.json["rows"]
    (value,) = row["answers"].values()
    assert value["lower"] <= value["estimate"] <= value["upper"]
    assert value["confidence"] == pytest.approx(0.9)


def test_several_questions_can_be_asked_at_once(discreet: Run, published: Path) -> None:
    done = discreet(
        "ask", str(published), QUESTION, "SELECT sex, count(*) FROM people GROUP BY sex"
    )
    assert done.code == 0, done.err
    assert QUESTION in done.out
    assert re.search(r"\bF\b", done.out)


def test_a_question_that_the_release_cannot_answer_names_the_class_it_needs(
    discreet: Run, published: Path
) -> None:
    done = discreet(
        "ask", str(published), 'SELECT count(*) FROM people WHERE "größe, cm" > 150 AND age > 50'
    )
    assert done.code == 2
    assert "marginals(" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE people", "SELECT * FROM people", "", "SELECT count(*) FROM people; SELECT 1"],
)
def test_sql_that_is_not_understood_is_one_sentence_and_exit_code_2(
    sql: str, discreet: Run, published: Path
) -> None:
    done = discreet("ask", str(published), sql)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err


def test_a_release_verifies_and_an_altered_one_does_not(
    discreet: Run, published: Path, tmp_path: Path
) -> None:
    done = discreet("verify", str(published), "--json")
    assert done.code == 0, done.err
    assert done.json["ok"] is True
    broken = tmp_path / "broken.release"
    broken.write_bytes(published.read_bytes()[:-100])
    assert discreet("verify", str(broken)).code in (1, 2)


def test_a_signed_release_verifies_with_its_key_and_no_other(discreet: Run, people: Path) -> None:
    public = discreet("key", "mine.key").out.strip()
    other = discreet("key", "other.key", "--json").json["public_key"]
    assert (people / "mine.key").stat().st_mode & 0o077 == 0
    assert discreet("key", "mine.key").code == 2
    assert discreet(*RELEASE, "--sign", "mine.key").code == 0
    (people / "mine.pub").write_text(public + "\n")
    assert discreet("verify", "people.release", "--key", "mine.pub").code == 0
    assert discreet("verify", "people.release", "--key", other).code == 1
    assert discreet("verify", "people.release", "--key", "nonsense").code == 2


def test_a_private_key_is_told_from_the_public_one(discreet: Run, people: Path) -> None:
    """By its file's first line; as bare digits, by the release that it signed."""
    public = discreet("key", "mine.key").out.strip()
    (people / "mine.pub").write_text(public + "\n")
    private = (people / "mine.key").read_text().split()[-1]
    done = discreet("verify", "people.release", "--key", "mine.key")
    assert done.code == 2
    assert "mine.key holds the PRIVATE key" in done.err
    assert private not in done.err
    done = discreet(*RELEASE, "--sign", "mine.pub")
    assert (done.code, (people / "state").exists()) == (2, False)
    assert discreet(*RELEASE, "--sign", "mine.key").code == 0
    done = discreet("verify", "people.release", "--key", private)
    assert done.code == 1
    assert "is the PRIVATE one" in done.out
    (people / "old.key").write_text(
        private + "\n"
    )  # as it was written before keys said what they are
    assert "is the PRIVATE one" in discreet("verify", "people.release", "--key", "old.key").out


def test_what_is_misspelt_is_answered_with_the_nearest_public_name(
    discreet: Run, people: Path, published: Path
) -> None:
    shutil.copy(published, people / "p.release")
    plan = ("plan", "people.toml", "--epsilon", "1", "--for")
    curator = ("curator", "ask", "people.csv", "--schema", "people.toml", "--epsilon", "1")
    for words, nearest in {
        ("relase",): "release",
        ("ledger", "shaw"): "show",
        ("plan", "--epsilom", "1"): "--epsilon",
        (*plan, "histogrm(age)"): "histogram",
        (*plan, "means(agge)"): "age",
        (*plan, "intervals(age)", "--algorithm", "intervals(age)=two-stage-tee"): "two-stage-tree",
        ("ask", "p.release", "SELECT count(*) FROM poeple"): "people",
        ("ask", "p.release", "SELECT avgg(age) FROM people"): "avg",
        ("ask", "p.release", "SELECT count(*) FROM people WHERE Aeg = 3"): "age",
        ("audit", "discrete-laplac", "--epsilon", "1"): "discrete-laplace",
        (*curator, "SELECT histogramm(age) FROM people"): "histogram",
        (*curator, "SELECT age, count(*) FROM people GROUP BY agee"): "age",
    }.items():
        done = discreet(*words)
        assert done.code == 2, words
        assert re.search(rf"Did you mean (one of: )?'{nearest}'", done.err), words
    assert discreet(*curator, "SELECT count(*) FROM people WHERE sex = 'm'").out.count("mean 'M'?")
    assert "Did you mean 'people'?" in discreet("ledger", "show", "peple").out


def test_of_several_questions_the_refused_one_is_named(discreet: Run, published: Path) -> None:
    asked = ("SELECT count(*) FROM people", "SELECT count(*) FROM people WHERE net income > 3")
    done = discreet("ask", str(published), *asked)
    assert done.code == 2
    assert done.err.startswith(
        "Question 2 of 2, 'SELECT count(*) FROM people WHERE net income > 3'"
    )
    assert "in double quotes" in done.err
    assert asked[0] in done.out, "the good one is answered"
    listed = json.loads(discreet("ask", str(published), *asked, "--json").out)
    assert listed[0]["rows"] and "in double quotes" in listed[1]["error"]
    assert not discreet("ask", str(published), asked[1]).err.startswith("Question")


def test_answers_are_written_as_csv_and_parquet(
    discreet: Run, published: Path, tmp_path: Path
) -> None:
    sql = "SELECT sex, count(*) AS n FROM people GROUP BY sex ORDER BY sex"
    lines = discreet("ask", str(published), sql, "--csv").out.splitlines()
    assert lines[0] == "sex,n,n_lower,n_upper,n_std" and lines[1].startswith("(other),")
    file = tmp_path / "by-sex.parquet"
    assert discreet("ask", str(published), sql, "--parquet", str(file)).code == 0
    table = pyarrow.parquet.read_table(file)
    assert table.column_names == lines[0].split(",") and table["n"].type == "int64"
    assert discreet("ask", str(published), sql, sql, "--csv").code == 2


def test_the_ledger_calls_a_live_question_answered(discreet: Run, people: Path) -> None:
    ask = ("curator", "ask", "people.csv", "SELECT count(*) FROM people", "--schema", "people.toml")
    assert discreet(*ask, "--epsilon", "1").code == 0
    assert " answered " in discreet("ledger", "show").out


def test_no_question_steers_the_terminal_of_whoever_looks_into_the_ledger(
    discreet: Run, people: Path
) -> None:
    """An analyst wrote it: it could clear the screen, or hide the lines of other charges."""
    sql = "SELECT count(*) FROM people /* \x1b[2J\x1b]0;hidden\x07 \x9b1A \u202e */ WHERE sex = '\x1b[8m'"
    ask = ("curator", "ask", "people.csv", sql, "--schema", "people.toml", "--epsilon", "1")
    for done in (discreet(*ask), discreet("ledger", "show")):
        assert done.code == 0 and r"\x1b[8m" in done.out
        assert not set("\x1b\x07\x9b\u202e") & set(done.out + done.err)
    refused = discreet(*ask[:3], "SELECT \x1b[2J FROM people", *ask[4:])
    assert refused.code == 2 and "\x1b" not in refused.err


def test_a_plan_tells_people_from_rows(discreet: Run, people: Path) -> None:
    plan = ("plan", "people.toml", "--epsilon", "1", "--for", "histogram(age)")
    assert "epsilon 1, 400 rows\n" in discreet(*plan).out
    text = (people / "people.toml").read_text(encoding="utf-8")
    unit = 'unit = { identifier = "person", max_rows = 20 }\n'
    (people / "people.toml").write_text(unit + text, encoding="utf-8")
    assert "400 people of 1 to 20 rows each, taken as 400 rows\n" in discreet(*plan).out
    assert "epsilon 1, 3,000 rows\n" in discreet(*plan, "--rows", "3000").out
    found = discreet(*plan, "--json").json
    assert (found["people"], found["rows_each"], found["rows"]) == (400, 20, 400)


def test_a_key_that_cannot_be_used_is_refused_before_anything_is_charged(
    discreet: Run, people: Path
) -> None:
    (people / "bad.key").write_text("not a key")
    done = discreet(*RELEASE, "--sign", "bad.key")
    assert done.code == 2
    assert "not a key" not in done.err
    assert not (people / "people.release").exists()
    assert not (people / "state").exists()


def test_a_report_is_written_beside_its_release(
    discreet: Run, published: Path, tmp_path: Path
) -> None:
    shutil.copy(published, tmp_path / "people.release")
    done = discreet("report", "people.release")
    assert done.code == 0, done.err
    assert (tmp_path / "people.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert discreet("report", "people.release").code == 2
    assert discreet("report", "people.release", "--force").code == 0


def test_a_schema_is_drafted_without_any_value_of_the_table(discreet: Run, people: Path) -> None:
    (people / "secret.csv").write_text("name,wage\nAda,123456789\n")
    done = discreet("schema", "draft", "secret.csv", "-o", "secret.toml")
    assert done.code == 0, done.err
    text = (people / "secret.toml").read_text(encoding="utf-8")
    assert "name" in text
    assert "wage" in text
    assert "Ada" not in text
    assert "123456789" not in text
    assert discreet("schema", "check", "secret.toml").code == 2


def test_a_schema_check_lists_every_mistake(discreet: Run, people: Path) -> None:
    (people / "bad.toml").write_text(
        'dataset = "x"\n[columns.a]\nkind = "integr"\n[columns.b]\nkind = "number"\nbounds = [0.0, 1.0]\n'
    )
    done = discreet("schema", "check", "bad.toml")
    assert done.code == 2
    assert "'a'" in done.err
    assert "'b'" in done.err
    listed = discreet("schema", "check", "bad.toml", "--json")
    assert listed.code == 2
    assert listed.json["valid"] is False
    assert len(listed.json["mistakes"]) == 2
    good = discreet("schema", "check", "people.toml", "--json")
    assert good.code == 0
    assert good.json["columns"][2]["name"] == "größe, cm"


def test_a_plan_opens_no_table(discreet: Run, people: Path) -> None:
    (people / "people.csv").unlink()
    asked = ("--for", "marginals(2)", "--for", "histogram(age)")
    done = discreet("plan", "people.toml", "--epsilon", "1", *asked, "--json")
    assert done.code == 0, done.err
    pairs, ages = done.json["classes"]
    assert pairs["class"] == "marginals(2)"
    assert pairs["expected_error"] > 0
    assert ages["half_width"] > 0
    shown = discreet("plan", "people.toml", "--epsilon", "1", "--for", "marginals(2)")
    assert "marginals(2)" in shown.out


def test_a_plan_solves_for_epsilon_and_for_rows(discreet: Run, people: Path) -> None:
    words = ("plan", "people.toml", "--for", "marginals(age, sex)", "--json")
    solved = discreet(*words, "--error", "20").json
    assert solved["solved"] == "epsilon"
    assert solved["classes"][0]["half_width"] <= 20
    rows = discreet(*words, "--error", "0.5%", "--epsilon", "1/10").json
    assert rows["solved"] == "rows"
    assert rows["rows"] > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "people.toml", "--for", "marginals(2)"), "budget"),
        (("plan", "people.toml", "--epsilon", "1"), "--for"),
        (("plan", "people.toml", "--epsilon", "-1", "--for", "marginals(2)"), "greater than 0"),
        (("plan", "people.toml", "--epsilon", "1", "--for", "nonsense(2)"), "not known"),
        (("plan", "missing.toml", "--epsilon", "1", "--for", "marginals(2)"), "missing.toml"),
        (("ask", "missing.release", "SELECT 1"), "missing.release"),
        (("ask", "people.csv", "SELECT 1"), "people.csv"),
        (("report", "missing.release"), "missing.release"),
        (("ledger", "show"), "no ledger"),
        (("release", "missing.csv", *RELEASE[2:]), "missing.csv"),
    ],
)
def test_bad_input_is_exit_code_2_and_a_clear_sentence(
    words: tuple[str, ...], said: str, discreet: Run, people: Path
) -> None:
    done = discreet(*words)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert not (people / "people.release").exists()


def test_the_ledger_verifies_and_an_altered_one_does_not(discreet: Run, people: Path) -> None:
    assert discreet(*RELEASE).code == 0
    assert discreet("ledger", "verify", "--json").json["intact"] is True
    ledger = people / "state" / "ledger.db"
    content = bytearray(ledger.read_bytes())
    place = content.find(b'"cost"')
    place = place if place >= 0 else content.find(b"epsilon")
    assert place >= 0, "a closed ledger has its records in the file itself"
    content[place + 1] ^= 1
    ledger.write_bytes(bytes(content))
    assert discreet("ledger", "verify").code == 1


def test_a_file_given_for_a_dataset_is_answered_with_the_option(
    discreet: Run, people: Path
) -> None:
    (people / "spent.db").touch()
    done = discreet("ledger", "show", "spent.db")
    assert done.code == 2 and "discreet ledger show --ledger spent.db" in done.err


def test_a_cap_is_raised_for_a_reason_and_never_lowered(discreet: Run, people: Path) -> None:
    assert discreet(*RELEASE).code == 0
    dataset = discreet("ledger", "show", "--json").json["datasets"][0]["dataset"]
    lowered = discreet("ledger", "raise-cap", dataset, "--epsilon", "0.01", "--reason", "thrift")
    assert lowered.code == 2
    raised = discreet("ledger", "raise-cap", dataset, "--epsilon", "50", "--reason", "approved")
    assert raised.code == 0, raised.err
    assert discreet("ledger", "show", "--json").json["datasets"][0]["cap"]["epsilon"] == "50"


def test_a_ledger_without_its_mark_is_refused_until_it_is_accepted(
    discreet: Run, people: Path
) -> None:
    assert discreet(*RELEASE).code == 0
    place = Path(discreet("ledger", "show", "--json").json["ledger"])
    for mark in place.parent.glob("*.mark"):
        mark.unlink()
    assert discreet("ledger", "verify").code == 1
    assert discreet("ledger", "accept-mark", "--reason", "the mark was lost").code == 0
    assert discreet("ledger", "verify").code == 0


def test_a_large_budget_is_warned_of(discreet: Callable[..., Done], people: Path) -> None:
    text = (people / "people.toml").read_text().replace('epsilon = "2"', 'epsilon = "10"')
    (people / "people.toml").write_text(text)
    words = ("release", "people.csv", "--schema", "people.toml", "--for", "marginals(sex)")
    done = discreet(*words, "--epsilon", "8", "-o", "large.release")
    assert done.code == 0 and "epsilon is 8, above 5" in done.err
    done = discreet(*words, "--epsilon", "1", "-o", "small.release")
    assert done.code == 0 and done.err == ""


def test_the_first_walk_of_the_help_claims_far_less_than_the_table() -> None:
    """Its release: 50,000 people by age and sex, each count off by some tens at most."""
    (line,) = [each for each in EPILOG.splitlines() if each.strip().startswith("discreet release")]
    assert "--for 'marginals(age, sex)'" in line and "--epsilon 1 " in line
    schema = Schema.loads(schema_text())
    (row,) = plan(schema, budget=Budget(epsilon=1), workload="marginals(age, sex)").classes
    assert row.error.simultaneous is not None and row.error.simultaneous < 50


def test_show_says_what_can_be_asked_and_every_example_is_answered(
    discreet: Run, published: Path
) -> None:
    shown = discreet("show", str(published))
    assert shown.code == 0 and "protects each row" in shown.out
    data = json.loads(discreet("show", str(published), "--json").out)
    assert {"age", "sex"} <= {column["name"] for column in data["columns"]}
    for one in data["classes"]:
        assert one["class"] in shown.out and one["example"], one
        assert discreet("ask", str(published), one["example"]).code == 0


def test_a_file_with_other_delimiters_or_without_a_header_is_drafted_and_learnt_from(
    discreet: Run, people: Path
) -> None:
    """The person says how the file is written; a first line that may still be a row stays hidden."""
    lines = (people / "people.csv").read_text(encoding="utf-8").splitlines()
    rows = ["age;sex;größe, cm", *(line.replace(",", ";") for line in lines[1:])]
    (people / "semicolons.csv").write_text("\n".join(rows), encoding="utf-8")
    (people / "headless.csv").write_text("\n".join(lines[1:]))
    (people / "both.csv").write_text("\n".join(rows[1:]))
    (people / "years.csv").write_text("2019,2020\n1,2\n")
    plain = discreet("schema", "draft", "people.csv").out
    assert "--delimiter" in discreet("schema", "draft", "semicolons.csv").err
    done = discreet("schema", "draft", "semicolons.csv", "--delimiter", ";")
    drafted = done.out
    assert done.code == 0, done.err
    assert drafted.split("\n[columns.", 1)[1] == plain.split("\n[columns.", 1)[1]
    assert 'delimiter = ";"' in drafted
    assert drafted.count("[csv]") == 1
    for name, more in (("headless.csv", ()), ("both.csv", ("--delimiter", ";"))):
        refused = discreet("schema", "draft", name, *more)
        assert refused.code == 2 and "--names" in refused.err and refused.out == ""
        named = discreet("schema", "draft", name, *more, "--names", lines[0])
        assert named.out.split("\n[columns.", 1)[1] == plain.split("\n[columns.", 1)[1]
    assert "--header" in discreet("schema", "draft", "years.csv").err
    assert "[columns.2019]" in discreet("schema", "draft", "years.csv", "--header").out
    learnt = ("--dataset", "learnt", "--column", "age", "--epsilon", "1", "--json")
    done = discreet("schema", "learn", "semicolons.csv", "--delimiter", ";", *learnt)
    assert done.code == 0 and done.json[0]["found"] is True
    ages = [line.split(",")[lines[0].split(",").index("age")] for line in lines[1:]]
    (people / "commas.csv").write_text(
        "age;sex\n" + "".join(f"1.00{age[:1]},5;F\n" for age in ages)
    )
    learnt = ("--dataset", "commas", "--column", "age", "--epsilon", "10", "--json")
    spelled = ("--delimiter", ";", "--decimal", ",", "--thousands", ".")
    done = discreet("schema", "learn", "commas.csv", *spelled, *learnt)
    assert done.code == 0 and done.json[0]["bounds"][1] >= 1000
