"""`discreet anonymity`: k-anonymous tables and their kin, as the baselines that are attacked here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.options import FILE, defaulted, force_option, json_option

on_option = click.option(
    "--on", "columns", required=True, help="The quasi-identifiers, with commas between them."
)
LABEL = "A baseline, not a protection: see `discreet attack intersect`."


def _names(typed: str) -> list[str]:
    return [each.strip() for each in typed.split(",") if each.strip()]


@click.group()
def command() -> None:
    """Make and check k-anonymous tables. Baselines only: they are here to be attacked. NOT PRIVATE.

    \b
    Examples:
      discreet anonymity check people.csv --on born,sex,region --sensitive smoker
      discreet anonymity make people.csv --on age,sex,region --k 5 -o people-5.csv
      discreet anonymity scorecard
    """


@command.command()
@click.argument("table")
@on_option
@click.option(
    "--k", "size", type=click.IntRange(1), default=5, show_default=True, help="The smallest class."
)
@defaulted(
    "--method",
    click.Choice(["generalise", "suppress", "swap", "minimise"]),
    "generalise",
    "Generalise by Mondrian, leave out rows of small classes, swap values among rows, or keep these columns only.",
)
@defaulted("--share", click.FloatRange(0, 1), 0.1, "With swap: the share of rows that are swapped.")
@click.option(
    "-o", "--output", type=FILE, required=True, help="The table to write: .csv, .parquet or .arrow."
)
@force_option
def make(
    table: str, columns: str, size: int, method: str, share: float, output: Path, force: bool
) -> None:
    """Make a k-anonymous, suppressed, swapped or minimised table. NOT PRIVATE.

    \b
    Examples:
      discreet anonymity make people.csv --on age,sex,region --k 5 -o people-5.csv
      discreet anonymity make people.csv --on region --method swap --share 0.2 -o swapped.csv
    """
    from discreet.cli.files import refuse_overwriting
    from discreet.custodian.comparison import BANNER
    from discreet.custodian.disclosure import mondrian, publications
    from discreet.plain_tables import check_ending, read_columns, write_columns

    refuse_overwriting(output, force=force)
    check_ending(output)
    rows = read_columns(table)
    named = _names(columns)
    if method == "generalise":
        made = mondrian.anonymised(rows, named, k=size)
    elif method == "suppress":
        made = mondrian.suppressed(rows, named, k=size)
    elif method == "swap":
        made = publications.swapped(rows, named, share=share)
    else:
        made = publications.minimised(rows, named)
    write_columns(output, made)
    click.echo(f"{output}\n{LABEL}\n{BANNER}")


@command.command()
@click.argument("table")
@on_option
@click.option(
    "--sensitive", help="The column that must not be learnt: adds l-diversity and t-closeness."
)
@json_option
def check(table: str, columns: str, sensitive: str | None, as_json: bool) -> None:
    """Check k-anonymity, l-diversity and t-closeness of a table. NOT PRIVATE.

    \b
    Examples:
      discreet anonymity check people.csv --on born,sex,region --sensitive smoker
      discreet anonymity check people.csv --on sex,region --json
    """
    from discreet.cli.output import print_json
    from discreet.custodian.comparison import BANNER
    from discreet.custodian.disclosure.anonymity import anonymity
    from discreet.plain_tables import read_columns

    found = anonymity(read_columns(table), _names(columns), sensitive)
    if as_json:
        print_json({"banner": BANNER, **found.to_dict()})
        return
    click.echo(BANNER)
    click.echo(f"rows {found.rows:,}, classes {found.classes:,}: {found.k}-anonymous")
    if found.t is not None and found.homogeneous is not None:
        click.echo(
            f"{found.l}-diverse, {found.t:.3f}-close; {found.homogeneous:.1%} of the rows lie in classes with one value of {sensitive}"
        )
    click.echo(LABEL)


@command.command()
@click.argument("table")
@on_option
@click.option(
    "--ks",
    default="2,5,10,50",
    show_default=True,
    help="The sizes to try, with commas between them.",
)
@click.option("--sensitive", help="The column that must not be learnt.")
@json_option
def utility(table: str, columns: str, ks: str, sensitive: str | None, as_json: bool) -> None:
    """Show what generalisation costs and what it leaves open, for several k. NOT PRIVATE.

    \b
    Examples:
      discreet anonymity utility people.csv --on age,sex,region --sensitive smoker
      discreet anonymity utility people.csv --on age,sex --ks 2,20 --json
    """
    from discreet.cli.output import print_json, print_table
    from discreet.custodian.comparison import BANNER
    from discreet.custodian.disclosure.anonymity import anonymity
    from discreet.custodian.disclosure.mondrian import anonymised, lost_detail
    from discreet.plain_tables import read_columns

    rows, named = read_columns(table), _names(columns)
    found: list[dict[str, Any]] = []
    for size in _sizes(ks):
        made = anonymised(rows, named, k=size)
        told = anonymity(made, named, sensitive)
        found.append(
            {"asked_k": size, "lost_detail": lost_detail(rows, made, named), **told.to_dict()}
        )
    if as_json:
        print_json({"banner": BANNER, "sizes": found})
        return
    click.echo(BANNER)
    lines = [
        (str(each["asked_k"]), f"{each['classes']:,}", f"{each['lost_detail']:.3f}",
         "" if each["homogeneous_share"] is None else f"{each['homogeneous_share']:.1%}")
        for each in found
    ]  # fmt: skip
    print_table(
        ("k", "classes", "detail lost", "rows whose secret their class tells"),
        lines,
        right=(0, 1, 2, 3),
    )
    click.echo(LABEL)


def _sizes(typed: str) -> list[int]:
    try:
        return [int(each) for each in typed.split(",")]
    except ValueError:
        raise click.UsageError("--ks is a list of whole numbers, such as 2,5,10.") from None


@command.command()
@json_option
def scorecard(as_json: bool) -> None:
    """Show which techniques do the four things that a definition of privacy should do.

    \b
    Examples:
      discreet anonymity scorecard
      discreet anonymity scorecard --json
    """
    from discreet.cli.output import print_json, print_table
    from discreet.custodian.disclosure.anonymity import TECHNIQUES, WANTED

    if as_json:
        print_json([each.to_dict() for each in TECHNIQUES])
        return
    lines = [
        (each.name, *("yes" if mark else "no" for mark in each.marks()), each.shown_by)
        for each in TECHNIQUES
    ]
    print_table(("technique", *WANTED, "shown by"), lines)
