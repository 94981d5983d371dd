"""How results are printed: tables for people, JSON for programs.

rich is loaded only here, and only when there is something to print.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import click

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tabs and line breaks, and characters that reverse the order of letters."""


def print_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False))


def visible(text: str) -> str:
    """`text` with characters that steer a terminal written out: a question in a ledger, or a name in a file, was written by others.

    They could clear the screen, hide lines or show others, or turn around the order of letters.
    """
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], text)


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    right: Iterable[int] = (),
) -> None:
    """A table; `right` numbers the columns that align right. Cell text is never read as markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    aligned = set(right)
    if title is not None:
        click.echo(visible(title))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, header in enumerate(headers):
        table.add_column(
            Text(visible(header)), justify="right" if index in aligned else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console(file=sys.stdout)
    if console.is_terminal:
        console.print(table)
        return
    # A pipe has no width: lines are as long as they need to be, and end where their text does.
    wide = Console(file=io.StringIO(), width=100_000)
    with wide.capture() as captured:
        wide.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def plural(many: int, noun: str) -> str:
    return f"{many:,} {noun}" if many == 1 else f"{many:,} {noun}s"


def say(text: str) -> None:
    """A line for people, on standard error, so that standard output holds results alone."""
    click.echo(visible(text), err=True)


class Advance(Protocol):
    """Called with the running step and the fraction of it that is done, from 0 to 1."""

    def __call__(self, step: str, done: float, /) -> None: ...


@contextmanager
def progress_bar() -> Iterator[Advance]:
    """A bar on a terminal; nothing in a pipe. It shows steps and time, never a number of rows."""
    if not sys.stderr.isatty():
        yield lambda step, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("starting", total=None)

        def advance(step: str, done: float) -> None:
            progress.update(task, description=step, total=1.0, completed=min(max(done, 0.0), 1.0))

        yield advance
