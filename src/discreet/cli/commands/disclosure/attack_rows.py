"""Attacks on tables of rows, on tables that were made of them, and on services that refuse."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.options import defaulted
from discreet.cli.outcomes import epsilon_option, outcome_options, ran


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
    ran("link", shared, anonymised, auxiliary, columns=_names(columns) or (), name=name)


@click.command()
@click.argument("table")
@click.option("--columns", help="Only these columns, with commas between them. Default: all.")
@defaulted("--largest", click.IntRange(1, 8), 4, "The size of the largest sets.")
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
    ran("unique", shared, table, columns=_names(columns), largest=largest, header=_names(header))


@click.command()
@defaulted("--people", click.IntRange(10, 100_000), 2_000, "Generated people.")
@outcome_options
def trace(people: int, **shared: Any) -> None:
    """Show how few points of a movement trace single a person out, among generated people.

    \b
    Examples:
      discreet attack trace
      discreet attack trace --people 500 --json
    """
    ran("trace", shared, people=people)


@click.command()
@defaulted("--people", click.IntRange(10, 100_000), 2_000, "Generated people.")
@defaulted("--items", click.IntRange(100, 100_000), 2_000, "Items that they may have rated.")
@defaulted(
    "--eccentricity",
    click.FloatRange(0),
    1.5,
    "By how many standard deviations a row must stand out to be identified.",
)
@outcome_options
def deanonymise(people: int, items: int, eccentricity: float, **shared: Any) -> None:
    """Name rows of ratings from a few entries that someone remembers roughly.

    \b
    Examples:
      discreet attack deanonymise --people 300 --items 300
      discreet attack deanonymise --people 300 --items 300 --eccentricity 3 --json
    """
    ran("deanonymise", shared, people=people, items=items, eccentricity=eccentricity)


@click.command()
@click.argument("tables", nargs=-1)
@click.option("--person", help="What is known of the person: 'zip=30309, age=33'.")
@click.option("--sensitive", help="The column to be found out.")
@outcome_options
def intersect(
    tables: tuple[str, ...], person: str | None, sensitive: str | None, **shared: Any
) -> None:
    """Find what several k-anonymised tables say about a person who is in all of them.

    Without tables: the textbook's two tables of credit scores, with Marcia in both.

    \b
    Examples:
      discreet attack intersect
      discreet attack intersect people.csv people.csv --person 'sex=F, region=North' --sensitive smoker
    """
    known = _known(person)
    ran("intersect", shared, tables or None, person=known, sensitive=sensitive)


def _known(person: str | None) -> dict[str, str]:
    found = {}
    for part in (person or "").split(","):
        name, equals, value = part.partition("=")
        if equals:
            found[name.strip()] = value.strip()
        elif part.strip():
            raise click.UsageError("Write --person 'column=value, column=value'.")
    return found


@click.command()
@defaulted("--people", click.IntRange(2, 500), 30, "People of a block.")
@defaulted("--blocks", click.IntRange(1, 100), 4, "How many blocks.")
@epsilon_option()
@outcome_options
def microdata(people: int, blocks: int, epsilon: str, **shared: Any) -> None:
    """Rebuild rows from published tables of two columns, by integer programming.

    \b
    Examples:
      discreet attack microdata --blocks 1 --people 20
      discreet attack microdata --blocks 1 --people 20 --epsilon 1/2 --json
    """
    ran("microdata", shared, people=people, blocks=blocks, epsilon=epsilon)


@click.command("audit-refusal")
@defaulted("--people", click.IntRange(4, 500), 60, "People whose sums are asked.")
@epsilon_option()
@outcome_options
def audit_refusal(people: int, epsilon: str, **shared: Any) -> None:
    """Learn values from a service that refuses to answer what would disclose them.

    \b
    Examples:
      discreet attack audit-refusal --people 30
      discreet attack audit-refusal --people 30 --json
    """
    ran("audit_refusal", shared, people=people, epsilon=epsilon)


@click.command()
@epsilon_option(words="The budget of our count.")
@outcome_options
def deterministic(epsilon: str, **shared: Any) -> None:
    """Find two neighbouring tables that a mechanism without fresh noise always tells apart.

    \b
    Examples:
      discreet attack deterministic
      discreet attack deterministic --epsilon 1/2 --json
    """
    ran("deterministic", shared, epsilon=epsilon)


@click.command()
@defaulted("--people", click.IntRange(2, 100_000), 1_000, "People of the table.")
@outcome_options
def definitions(people: int, **shared: Any) -> None:
    """Show definitions of privacy that fail, each with a mechanism that satisfies it and protects nobody.

    \b
    Examples:
      discreet attack definitions
      discreet attack definitions --people 100 --json
    """
    ran("definitions", shared, people=people)


ROW_ATTACKS = (
    link,
    unique,
    trace,
    deanonymise,
    intersect,
    microdata,
    audit_refusal,
    deterministic,
    definitions,
)
