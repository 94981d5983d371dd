"""Ctrl-C, a reader that goes away, and colours: what only a real process shows."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import PROGRAM, RELEASE, environment, write_people

# A child that a test can stop at a chosen moment: it says "ready" there, and then waits.
STOPPABLE = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
def wait(*arguments, **options):
    print("ready", flush=True)
    time.sleep(60)
if sys.argv[1] == "reading":
    from discreet.engines.duckdb.engine import DuckDBEngine
    DuckDBEngine.marginals = wait
else:
    really = Path.replace
    def replace(path, target):  # the release is complete, under another name
        return wait() if path.suffix == ".part" else really(path, target)
    Path.replace = replace
from discreet.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("moment", ["reading", "writing"])
def test_an_interruption_leaves_no_half_written_file_and_the_charge_stands(
    moment: str, tmp_path: Path
) -> None:
    write_people(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPABLE, moment, *RELEASE],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted" in said
    assert "Traceback" not in said
    after = sorted(path.name for path in tmp_path.iterdir() if path.name != "state")
    assert after == before
    shown = subprocess.run(
        [*PROGRAM, "ledger", "show"],
        env=environment(tmp_path),
        check=True,
        capture_output=True,
        text=True,
    )
    assert "lost" in shown.stdout


def test_a_pipe_that_closes_early_is_quiet(published: Path) -> None:
    question = "SELECT age, sex, count(*) FROM people GROUP BY age, sex"
    command = f'"{sys.executable}" -c "from discreet.cli import main; main()" ask "$0" "$1" | true'
    done = subprocess.run(
        ["bash", "-c", command, str(published), question],
        env=environment(published.parent),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


def test_a_pipe_gets_no_colours_and_lines_as_long_as_they_need_to_be(published: Path) -> None:
    done = subprocess.run(
        [
            *PROGRAM,
            "ask",
            str(published),
            "SELECT age, sex, count(*) FROM people GROUP BY age, sex",
        ],
        check=True,
        capture_output=True,
        text=True,
        env=environment(published.parent, COLUMNS="20"),
    )
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout
    assert done.stderr == ""
