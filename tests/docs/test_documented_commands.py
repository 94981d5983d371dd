"""Every command and every Python example in the documents and in `--help` runs, on the demo's own table."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import click
import pyarrow
import pytest
from pyarrow import csv

import discreet as dc
from discreet import local
from discreet.answering import sign_release
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.demo import make_people, schema_text, write_csv
from discreet.plain_tables import write_columns
from discreet.service.keeping import back_up, begin
from tests.cli.test_help import ALL
from tests.postgres_server import durable_server, postgres_source
from tests.spark_session import spark_frame

ROOT = Path(__file__).parents[2]
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/*.md"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORKLOAD = [
    "marginals(age, sex)",
    "means(income)",
    "means(income by region)",
    "intervals(age)",
    "halfspaces(age, hours)",
    'predicates("age >= 65")',
]
WHOLE = ("compare", "report", "synthesize")
"""What fits all parts of a release together; the commands are tried on one of a single part."""
LONG = ("discreet demo", "discreet audit people.toml", "discreet serve")
"""Run by tests of their own, or by `make trust`."""
PLACES = ("-o", "--output")
_numbers = count(1)


def commands(text: str) -> Iterator[str]:
    """Indented lines that call discreet, with what continues them."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        found = re.fullmatch(r"\s+(?:\$ )?((?:cat \S+ \| |source <\()?discreet .*?)\)?", line)
        if found is not None:
            yield found[1]


def helped() -> Iterator[tuple[str, str]]:
    for path, command in {(): application, **ALL}.items():
        text = command.get_help(click.Context(command, terminal_width=1000, max_content_width=1000))
        examples = text.partition("Examples:")[2].partition("Options:")[0]
        examples += text.partition("A first walk:")[2]
        for each in commands(examples):
            yield f"help of {' '.join(path) or 'discreet'}", each


EVERY = {command: where for where, command in helped()}
EVERY |= {command: page for page, text in PAGES.items() for command in commands(text)}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `discreet demo` writes, of fewer people, with a key, a ledger and some questions."""
    directory = tmp_path_factory.mktemp("demo")
    write_csv(directory / "people.csv", make_people(1000))
    (directory / "people.toml").write_text(schema_text(), encoding="utf-8")
    schema = dc.Schema.loads(schema_text())
    dc.release_to_file(
        directory / "people.csv",
        schema,
        directory / "people.release",
        budget=dc.Budget(epsilon=1),
        workload=WORKLOAD,
        ledger=directory / "ledger.db",
    )
    dc.release_to_file(
        directory / "people.csv",
        schema,
        directory / "small.release",
        budget=dc.Budget(epsilon=1),
        workload=WORKLOAD[:1],
        ledger=directory / "small.db",
    )
    lots = {
        "smoker": [row % 5 < 2 for row in range(2000)],
        "sick": [row % 7 < 3 for row in range(2000)],
        "sex": ["FM"[row % 2] for row in range(2000)],
        "lot": [row * 7919 % 2003 % 32 for row in range(2000)],
    }
    dc.release_to_file(
        pyarrow.table(lots),
        dc.Schema.loads(
            'dataset = "lots"\n[columns.smoker]\nkind = "boolean"\n[columns.sick]\nkind = "boolean"\n'
            '[columns.sex]\nkind = "category"\nvalues = ["F", "M"]\n'
            '[columns.lot]\nkind = "integer"\nrange = [0, 31]\n'
        ),
        directory / "lots.release",
        budget=dc.Budget(epsilon=1),
        workload=["marginals(smoker, sex, lot; sick, lot)"],
        ledger=directory / "lots.db",
    )
    key = "0" * 63 + "1"
    (directory / "custodian.key").write_text(key)
    (directory / "custodian.pub").write_text(sign_release(directory / "people.release", key))
    shutil.copy(directory / "people.release", directory / "mine.release")
    (directory / "questions.sql").write_text("SELECT avg(income) FROM people\n")
    (directory / "aggregates.csv").write_text(
        "name,statistic,people,value\nbefore,mean,1-25,500000\nafter,mean,1-26,505000\n"
    )
    question = local.Question.category("smoker", ["true", "false"], epsilon=1)
    question.save(directory / "smoker.json")
    reports = local.perturb(question, ["true", "false"] * 50)
    write_columns(directory / "reports.csv", {"report": reports.tolist()})
    begin(directory / "curator.toml", custodian="carla", table="people.csv", schema="people.toml")
    assert (
        run(
            application,
            ["curator", "add-analyst", str(directory / "curator.toml"), "ann", "--epsilon", "0.1"],
        )
        == 0
    )
    back_up(directory / "curator.toml", directory / "backup-monday")
    town = re.search(r"```toml\n(dataset = \"town\".*?)```", PAGES["releases.md"], re.DOTALL)
    assert town is not None
    (directory / "town.toml").write_text(town[1], encoding="utf-8")
    return directory


def words_of(command: str) -> list[str]:
    words = shlex.split(command.rpartition("| ")[2].removeprefix("source <("), comments=True)
    return words[1 : words.index(">") if ">" in words else None]


@pytest.fixture
def work(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in demo.iterdir():
        if file.is_dir():
            shutil.copytree(file, tmp_path / file.name)
        elif not file.name.startswith("ledger"):
            shutil.copy(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "fresh" / "ledger.db"))
    return tmp_path


@pytest.mark.parametrize(
    "command", [command for command in sorted(EVERY) if not command.startswith(LONG)]
)
def test_a_documented_command_runs(
    command: str,
    demo: Path,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(work / "state-home"))
    words = words_of(command)
    for place, word in enumerate(words):
        if "postgresql://" in word and words[place - 1] == "--ledger":
            words[place] = f"{durable_server().admin}#documented_{next(_numbers)}"
        elif "postgresql://" in word:
            words[place] = postgres_source(csv.read_csv(demo / "people.csv"))
        elif word == "spark:clinic.people":
            spark_frame(csv.read_csv(demo / "people.csv")).createOrReplaceTempView("documented")
            words[place] = "spark:documented"
    if words[0] in WHOLE:
        shutil.copy(work / "small.release", work / "people.release")
    if words[0] == "ledger":
        for file in demo.glob("ledger*"):
            shutil.copy(file, work / file.name)
        monkeypatch.setenv("DISCREET_LEDGER", str(work / "ledger.db"))
    if words[:2] == ["curator", "init"]:
        (work / "curator.toml").unlink()
        shutil.rmtree(work / "state")
    for place, word in enumerate(words):
        if word in PLACES or (word == "key" and place == 0):
            (work / words[place + 1]).unlink(missing_ok=True)
    monkeypatch.setattr("sys.stdin", io.StringIO((work / "questions.sql").read_text()))
    code = run(application, words)
    printed = capfd.readouterr()
    assert code == 0, f"{EVERY[command]}: {printed.err}"
    assert printed.out


def test_the_readme_is_a_session_that_runs_from_top_to_bottom(
    work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Refusals are refused, the rest is done; tables have the headings that are shown."""
    (work / "people.release").unlink()
    shown = re.findall(
        r"^    \$ (discreet .*)\n((?:    (?!\$).*\n|\n(?=    ))*)", README, re.MULTILINE
    )
    assert len(shown) > 6
    for command, output in shown:
        if command.startswith(LONG):
            continue
        lines = output.split("\n")
        code = run(application, words_of(command))
        printed = capfd.readouterr()
        refused = lines[0].strip().startswith(("The release cannot answer", "Refused:"))
        assert code == (2 if refused else 0), (command, printed.err)
        if refused:
            assert printed.err.strip() == lines[0].strip(), command
        else:
            heading = next((line for line in lines if "  " in line.strip()), lines[0])
            printed_lines = [" ".join(line.split()) for line in printed.out.splitlines()]
            assert " ".join(heading.split()) in printed_lines, command


def python_of(text: str) -> str:
    """The Python of a page, fenced or indented, in its order."""
    fenced = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if fenced:
        return "\n".join(fenced)
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    kept = [
        block for block in blocks if re.search(r"^    (import|from|\w+ = |dc\.|with)", block, re.M)
    ]
    return "\n".join(re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in kept)


SCRIPTS = [
    page for page, text in PAGES.items() if re.search("(import|from) discreet", python_of(text))
]


@pytest.mark.parametrize("page", ["README.md", *sorted(SCRIPTS)])
def test_the_python_of_a_document_runs(page: str, work: Path) -> None:
    text = PAGES.get(page) or README.partition("The same from Python:")[2]
    source = python_of(text)
    assert "import" in source
    names: dict[str, Any] = {}
    if page != "synthesis.md":
        (work / "people.release").unlink()
    exec(compile(source, page, "exec"), names)  # noqa: S102 - our own documents
