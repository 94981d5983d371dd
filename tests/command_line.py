"""A command line, run in this process as a user would run it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from discreet.cli.application import application
from discreet.cli.failures import run


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def done(words: tuple[str, ...], capture: pytest.CaptureFixture[str]) -> Done:
    """Runs a command; what was printed before is not its own."""
    capture.readouterr()
    code = run(application, words)
    printed = capture.readouterr()
    return Done(code, printed.out, printed.err)
