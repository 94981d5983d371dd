"""Attacks on tables of rows, on tables that were made of them, and on services that refuse."""

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


@click.command()
@click.option(
    "--people",
    type=click.IntRange(10, 100_000),
    default=2_000,
    show_default=True,
    help="Generated people.",
)
@click.option(
    "--items",
    type=click.IntRange(100, 100_000),
    default=2_000,
    show_default=True,
    help="Items that they may have rated.",
)
@click.option(
    "--eccentricity",
    type=click.FloatRange(0),
    default=1.5,
    show_default=True,
    help="By how many deviations a row must stand out to be named.",
)
@outcome_options
def deanonymise(people: int, items: int, eccentricity: float, **shared: Any) -> None:
    """Name rows of ratings from a few entries that someone remembers roughly.

    \b
    Examples:
      discreet attack deanonymise --people 300 --items 300
      discreet attack deanonymise --people 300 --items 300 --eccentricity 3 --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.deanonymise(people=people, items=items, eccentricity=eccentricity, progress=progress), **shared)  # fmt: skip


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
    from discreet.audits import attacking

    known = _known(person)
    ran(lambda progress: attacking.intersect(tables or None, person=known, sensitive=sensitive, progress=progress), **shared)  # fmt: skip


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
@click.option(
    "--people",
    type=click.IntRange(2, 500),
    default=30,
    show_default=True,
    help="People of a block.",
)
@click.option(
    "--blocks", type=click.IntRange(1, 100), default=4, show_default=True, help="How many blocks."
)
@click.option(
    "--epsilon",
    metavar="NUMBER",
    default="1",
    show_default=True,
    help="The budget of our side, in all.",
)
@outcome_options
def microdata(people: int, blocks: int, epsilon: str, **shared: Any) -> None:
    """Rebuild rows from published tables of two columns, by integer programming.

    \b
    Examples:
      discreet attack microdata --blocks 1 --people 20
      discreet attack microdata --blocks 1 --people 20 --epsilon 1/2 --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.microdata(people=people, blocks=blocks, epsilon=epsilon, progress=progress), **shared)  # fmt: skip


@click.command("audit-refusal")
@click.option(
    "--people",
    type=click.IntRange(4, 500),
    default=60,
    show_default=True,
    help="People whose sums are asked.",
)
@click.option(
    "--epsilon",
    metavar="NUMBER",
    default="1",
    show_default=True,
    help="The budget of our side, in all.",
)
@outcome_options
def audit_refusal(people: int, epsilon: str, **shared: Any) -> None:
    """Learn values from a service that refuses to answer what would disclose them.

    \b
    Examples:
      discreet attack audit-refusal --people 30
      discreet attack audit-refusal --people 30 --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.audit_refusal(people=people, epsilon=epsilon, progress=progress), **shared)  # fmt: skip


@click.command()
@click.option(
    "--epsilon", metavar="NUMBER", default="1", show_default=True, help="The budget of our count."
)
@outcome_options
def deterministic(epsilon: str, **shared: Any) -> None:
    """Find two neighbouring tables that a mechanism without fresh noise always tells apart.

    \b
    Examples:
      discreet attack deterministic
      discreet attack deterministic --epsilon 1/2 --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.deterministic(epsilon=epsilon, progress=progress), **shared)


@click.command()
@click.option(
    "--people",
    type=click.IntRange(2, 100_000),
    default=1_000,
    show_default=True,
    help="People of the table.",
)
@outcome_options
def definitions(people: int, **shared: Any) -> None:
    """Show definitions of privacy that fail, each with a mechanism that satisfies it and protects nobody.

    \b
    Examples:
      discreet attack definitions
      discreet attack definitions --people 100 --json
    """
    from discreet.audits import attacking

    ran(lambda progress: attacking.definitions(people=people, progress=progress), **shared)


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
