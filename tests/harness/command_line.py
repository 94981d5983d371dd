"""What the command line lets out of a file: exit codes, what it prints, the files and charges that it leaves.

The commands run in this process, through the function that the `discreet` program calls. On one file the
published noisy numbers are recorded; on its neighbour the commands are given the same numbers, whatever is counted
there. So everything else must be the same, to the last byte.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from discreet.audits.observing import Divergence, Tape, recording, replaying
from discreet.cli import main
from discreet.ledger import Ledger
from discreet.schema import Schema

PUBLISHED = ("--for", "marginals(age, city)", "--for", "histogram(pay)")
QUESTION = "SELECT city, count(*) FROM fuzz WHERE age >= 50 GROUP BY city"


@dataclass(frozen=True, slots=True)
class Printed:
    """One command: all that somebody without the file can see of it."""

    command: str
    exit_code: int
    out: str
    error: str
    left: tuple[tuple[str, bytes], ...]
    """The files that it wrote, but for the ledger."""
    charges: tuple[str, ...]


def printed(
    source: str, schema: Schema, folder: Path, *, recorded: Tape | None = None
) -> tuple[list[Printed], Tape]:
    """What each command lets out of a source; with `recorded`, given those noisy numbers."""
    found: list[Printed] = []
    with recording() if recorded is None else replaying(recorded) as tape:
        for command, words in _commands(source).items():
            _empty(folder)
            (folder / "schema.toml").write_text(schema.dumps(), encoding="utf-8")
            full = [word.replace("{folder}", str(folder)) for word in words]
            found.append(_run(command, full, folder))
    return found, tape


def _commands(source: str) -> dict[str, tuple[str, ...]]:
    known = ("--schema", "{folder}/schema.toml", "--ledger", "{folder}/ledger.db", "--epsilon", "1")
    return {
        "release": ("release", source, *known, *PUBLISHED, "-o", "{folder}/out.release"),
        "curator ask": ("curator", "ask", source, QUESTION, *known, "--cap", "2"),
    }


def _empty(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for each in folder.iterdir():
        each.unlink()


def _run(command: str, words: list[str], folder: Path) -> Printed:
    out, error = io.StringIO(), io.StringIO()
    code: object = None
    with redirect_stdout(out), redirect_stderr(error):
        try:
            main(words)
        except SystemExit as exit_:
            code = exit_.code
    if not isinstance(code, int):
        raise Divergence(f"`{command}` ended without an exit code: {code!r}")
    charges: tuple[str, ...] = ()
    if (folder / "ledger.db").exists():
        with Ledger.open(folder / "ledger.db") as ledger:
            charges = tuple(f"{each.dataset} {each.cost} {each.state}" for each in ledger.entries())
    left = sorted(
        (each.name, each.read_bytes())
        for each in folder.iterdir()
        if not each.name.startswith("ledger.db") and each.name != "schema.toml"
    )
    return Printed(command, code, out.getvalue(), error.getvalue(), tuple(left), charges)


def told_apart(one: list[Printed], other: list[Printed]) -> str:
    """What differs between two neighbours, or nothing."""
    for left, right in zip(one, other, strict=True):
        for what in ("exit_code", "out", "error", "charges", "left"):
            if getattr(left, what) != getattr(right, what):
                return f"`discreet {left.command}`: the {what.replace('_', ' ')} differs"
    return ""
