"""What tests of several engines need."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.command_line import Done, done


@pytest.fixture
def discreet(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command line in this process."""
    return lambda *words: done(words, capsys)
