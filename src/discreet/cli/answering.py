"""Answers on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from discreet.cli.output import print_table

if TYPE_CHECKING:
    from discreet.artifacts.answers import Answers

SHOWN_ROWS = 50
"""On a terminal; a pipe gets all."""


def print_answers(question: str | None, answers: Answers) -> None:
    """The answers as a table, under their question if one is given, with their notes."""
    if question is not None:
        click.echo(question)
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
        click.echo(note)
    if question is not None:
        click.echo()
