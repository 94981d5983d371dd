"""Attacks on tables of rows: linking, unique rows, traces."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.commands.disclosure.running import ran
from discreet.cli.outcomes import outcome_options


def _names(typed: str | None) -> list[str] | None:
    return None if typed is None else [each.strip() for each in typed.split(",") if each.strip()]


@click.command()
@click.argument("anonymised", required=False)
@click.argument("auxiliary", required=False)
@click.option(
    "--on",
    "columns",
    default="born,sex,region",
    show_default=True,
    help="The columns that both tables have, with commas between them.",
)
@click.option(
    "--name", help="The column of both that says who a row is: then the links are scored."
)
@outcome_options
def link(
    anonymised: str | None, auxiliary: str | None, columns: str, name: str | None, **shared: Any
) -> None:
    """Re-identify the rows of an "anonymised" table from another table that shares some columns.

    Without tables: generated patients, and a register of voters with birth dates, sex and region.

    \b
    Examples:
      discreet attack link
      discreet attack link people.csv people.csv --on born,sex,region
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.link(anonymised, auxiliary, columns=_names(columns) or (), name=name, progress=progress), **shared)  # fmt: skip


@click.command()
@click.argument("table")
@click.option("--columns", help="Only these columns, with commas between them. Default: all.")
@click.option(
    "--largest",
    type=click.IntRange(1, 8),
    default=4,
    show_default=True,
    help="The size of the largest sets.",
)
@click.option(
    "--header",
    help="The names of the columns, with commas, if the file has no first line of names.",
)
@outcome_options
def unique(
    table: str, columns: str | None, largest: int, header: str | None, **shared: Any
) -> None:
    """Count the rows that are unique on every set of columns. NOT PRIVATE.

    \b
    Examples:
      discreet attack unique people.csv --largest 2
      discreet attack unique people.csv --columns born,sex,region --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.unique(table, columns=_names(columns), largest=largest, header=_names(header), progress=progress), **shared)  # fmt: skip


@click.command()
@click.option(
    "--people",
    type=click.IntRange(10, 100_000),
    default=2_000,
    show_default=True,
    help="Generated people.",
)
@outcome_options
def trace(people: int, **shared: Any) -> None:
    """Show how few points of a movement trace single a person out, among generated people.

    \b
    Examples:
      discreet attack trace
      discreet attack trace --people 500 --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.trace(people=people, progress=progress), **shared)


ROW_ATTACKS = (link, unique, trace)
