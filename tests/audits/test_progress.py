"""A long audit says how far it has come, and not too often."""

from __future__ import annotations

import io

import pytest

from tests.harness.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "lines"), [(io.StringIO(), 3), (_Terminal(), 33)])
def test_a_file_gets_a_line_every_half_minute_and_a_terminal_every_few_seconds(
    stream: io.StringIO, lines: int
) -> None:
    now = [0.0]
    progress = Progress("pairs", 1000, stream=stream, clock=lambda: now[0])
    for _ in range(100):
        now[0] += 1
        progress.advance(10)
    said = stream.getvalue().splitlines()
    assert len(said) == lines
    last = 90 if lines == 3 else 99
    assert said[-1] == f"pairs: {last * 10:,} of 1,000 done, {last} s"
    assert progress.done == 1000


def test_a_run_whose_length_nobody_knows_names_what_was_done_last() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = Progress("types", stream=stream, clock=lambda: now[0])
    now[0] = 31
    progress.advance(last="arrow string")
    assert stream.getvalue() == "types: 1 done, 31 s, the latest arrow string\n"
