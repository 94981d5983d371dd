"""A small public table, its schema, and a way to run a command line as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as package
from tests.command_line import Done, done

SCHEMA = """
dataset = "people"
people = 400
[cap]
epsilon = "2"
[columns.age]
kind = "integer"
range = [0, 99]
width = 10
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns."größe, cm"]
kind = "number"
bounds = [100.0, 228.0]
bits = 4
"""


PROGRAM = [sys.executable, "-c", "from discreet.cli import main; main()"]


def environment(directory: Path, **more: str) -> dict[str, str]:
    """For a process of its own: this package, and a ledger in `directory`."""
    return {
        **os.environ,
        "PYTHONPATH": str(Path(package.__file__).parents[1]),
        "DISCREET_LEDGER": str(directory / "state" / "ledger.db"),
        **more,
    }


@pytest.fixture
def discreet(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """Run a command line in this process, in a directory and with a ledger of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "state" / "ledger.db"))
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)

    return lambda *words: done(words, capfd)


def write_people(directory: Path, rows: int = 400) -> None:
    lines = ["age,sex,größe cm".replace("größe cm", '"größe, cm"')]
    lines += [f"{index * 7 % 100},{'FM'[index % 2]},{150 + index % 50}" for index in range(rows)]
    (directory / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (directory / "people.toml").write_text(SCHEMA, encoding="utf-8")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """people.csv and people.toml in the working directory."""
    write_people(tmp_path)
    return tmp_path


RELEASE = (
    "release",
    "people.csv",
    "--schema",
    "people.toml",
    "--epsilon",
    "1",
    "--for",
    "marginals(age, sex)",
    "--for",
    'means("größe, cm")',
    "-o",
    "people.release",
)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release file, made once by a real process."""
    directory = tmp_path_factory.mktemp("published")
    write_people(directory)
    subprocess.run(
        [*PROGRAM, *RELEASE],
        cwd=directory,
        env=environment(directory),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return directory / "people.release"
