"""The command line documents itself, and starts fast because help loads nothing heavy."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from discreet import __version__
from discreet.cli.application import COMMANDS, application
from tests.cli.conftest import PROGRAM, environment

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def every_command(
    group: click.Group = application, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


ALL = dict(every_command())


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_shows_an_example_of_itself_in_its_help(path: tuple[str, ...]) -> None:
    text = ALL[path].get_help(click.Context(ALL[path]))
    assert "Examples:" in text
    assert f"discreet {' '.join(path)}" in text


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_and_option_is_documented(path: tuple[str, ...]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    headings = re.findall(r"^##+ `discreet ([a-z -]+)`", text, flags=re.MULTILINE)
    assert " ".join(path) in headings
    section = re.split(
        r"^##+ ", text.split(f"`discreet {' '.join(path)}`", 1)[1], flags=re.MULTILINE
    )[0]
    for parameter in ALL[path].params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert f"`{option}" in section, f"{option} of {' '.join(path)}"


def test_the_documentation_names_no_command_that_does_not_exist() -> None:
    headings = re.findall(
        r"^##+ `discreet ([a-z -]+)`", DOCS.read_text("utf-8"), flags=re.MULTILINE
    )
    assert sorted(headings) == sorted(" ".join(path) for path in ALL)


def test_the_table_of_commands_says_what_each_command_says_of_itself() -> None:
    for name, (_, line) in COMMANDS.items():
        first = ALL[(name,)].get_short_help_str(200)
        assert line.split()[0] == first.split()[0], name


@pytest.mark.parametrize(
    "words", [["--help"], ["release", "--help"], ["ask", "-h"], ["version"], ["--version"], []]
)
def test_help_imports_no_numbers_and_no_database(words: list[str], tmp_path: Path) -> None:
    script = (
        "import sys\nfrom discreet.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'duckdb', 'scipy', 'sqlglot', 'rich', 'jinja2', 'mpmath', 'cryptography'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env=environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_an_unknown_command_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "relase"],
        env=environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "Did you mean 'release'?" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_for_each_shell(shell: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "completion", shell],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_DISCREET_COMPLETE" in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_the_command_line_runs_as_a_module_too() -> None:
    """For those whose PATH does not hold its script."""
    words = [sys.executable, "-m", "discreet"]
    done = subprocess.run([*words, "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("discreet ")
    assert subprocess.run([*words, "verison"], capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-V"]])
def test_the_version_is_printed_however_it_is_asked_for(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words],
        env=environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"discreet {__version__}\n")
