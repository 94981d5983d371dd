"""Answers on a terminal."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import print_table, visible
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.artifacts.answers import Answers

SHOWN_ROWS = 50
"""The most rows on a terminal; a pipe gets all."""


def print_answers(question: str | None, answers: Answers) -> None:
    """The answers as a table, under their question if one is given, with their notes."""
    if question is not None:
        click.echo(visible(question))
    level = f"{answers.confidence:.6g} interval"
    several = len(answers.columns) > 1
    headers = [*answers.groups]
    for column in answers.columns:
        headers += [column.name, f"{column.name}, {level}" if several else level]
    headers.append("interval covers")
    shown = len(answers) if not sys.stdout.isatty() else min(len(answers), SHOWN_ROWS)
    rows = []
    for place in range(shown):
        row = answers[place]
        cells = list(row.group.values())
        for answer in row.answers.values():
            cells += [answer.shown_estimate, answer.shown_interval]
        covers = list(dict.fromkeys(answer.covers.value for answer in row.answers.values()))
        vague = any(answer.is_vague for answer in row.answers.values())
        rows.append([*cells, ", ".join(covers) + ("; vague" if vague else "")])
    numbers = range(len(answers.groups), len(answers.groups) + 2 * len(answers.columns))
    print_table(headers, rows, right=numbers)
    if shown < len(answers):
        click.echo(f"... and {len(answers) - shown:,} more rows; --json has them all.")
    for note in answers.notes:
        click.echo(visible(note))
    if question is not None:
        click.echo()


def print_csv(answers: Answers) -> None:
    """The answers as CSV: dates as ISO texts, null as nothing."""
    columns = answers.to_columns()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        writer.writerow(["" if _is_null(each) else each for each in row])


def write_parquet(answers: Answers, path: Path) -> None:
    """The answers as a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise BadInput("--parquet needs pyarrow: pip install pyarrow. Or use --csv.") from None
    parquet.write_table(answers.to_arrow(), path)
    click.echo(f"Wrote {len(answers):,} rows to {path}.", err=True)


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
