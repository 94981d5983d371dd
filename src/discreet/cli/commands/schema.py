"""`discreet schema`: the public facts about a table, drafted and checked."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.failures import BAD_INPUT
from discreet.cli.options import (
    FILE,
    adjacency_option,
    check_cap,
    convert_option,
    force_option,
    json_option,
    ledger_option,
    yes_option,
)


@click.group()
def command() -> None:
    """Declare the public facts about a table: a draft to fill in, and a check that names every mistake.

    \b
    Examples:
      discreet schema draft people.csv -o draft.toml
      discreet schema check people.toml
    """


@command.command()
@click.argument("table", type=str)
@click.option("-o", "--output", type=FILE, help="The schema to write. Default: standard output.")
@force_option
def draft(table: str, output: Path | None, force: bool) -> None:
    """Draft a schema from a table's column names and types. No row is read: the values, ranges and
    widths are for you to fill in, from what is publicly known.

    \b
    Examples:
      discreet schema draft people.csv
      discreet schema draft people.csv -o draft.toml
    """
    from discreet.cli.files import refuse_overwriting, write_text
    from discreet.engines import column_names_and_types
    from discreet.schema.drafting import draft as drafted

    if output is not None:
        refuse_overwriting(output, force=force)
    described = column_names_and_types(table)
    text = drafted([name for name, _ in described], dict(described))
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    click.echo(f"{output}: fill in what it leaves open, then `discreet schema check {output}`.")


@command.command(short_help="Learn bounds and values from the rows, for a budget.")
@click.argument("table", type=str)
@click.option("--dataset", required=True, help="The dataset's name in the ledger.")
@click.option("--column", "columns", multiple=True, help="A numeric column; repeatable.")
@click.option("--category", "categories", multiple=True, help="A column of names; repeatable.")
@click.option(
    "--epsilon", required=True, metavar="NUMBER", help="The cost of all columns together."
)
@click.option(
    "--delta",
    default="0",
    metavar="NUMBER",
    help="For categories: the probability that a value of one person alone is named.",
)
@click.option("--cap", metavar="EPSILON", help="The dataset's cap. Default: this cost alone.")
@click.option("--cap-delta", default="0", metavar="NUMBER", help="The delta of the cap.")
@adjacency_option
@click.option(
    "--identifier",
    metavar="COLUMN",
    help="The column that identifies a person. Default: as the dataset's cap says, else each row is a person.",
)
@click.option(
    "--max-rows", default=1, show_default=True, help="The most rows of a person that are used."
)
@convert_option
@yes_option
@ledger_option
@json_option
def learn(
    table: str,
    dataset: str,
    columns: tuple[str, ...],
    categories: tuple[str, ...],
    epsilon: str,
    delta: str,
    cap: str | None,
    cap_delta: str,
    adjacency: str | None,
    identifier: str | None,
    max_rows: int,
    convert_unit: bool,
    yes: bool,
    ledger_path: Path | None,
    as_json: bool,
) -> None:
    """Learn bounds of numeric columns, and values of categories, from the rows. The ledger is charged
    the stated budget.

    Use it only where nobody knows them: declaring public knowledge costs nothing. The first charge to a
    dataset fixes whom its cap protects, so give the adjacency and identifier that the schema will have.

    \b
    Examples:
      discreet schema learn people.csv --dataset people --column income --epsilon 0.1 --cap 3
      discreet schema learn people.csv --dataset people --category region --epsilon 1 --delta 1e-9
    """
    from discreet.cli.options import budget_of
    from discreet.cli.output import print_json, print_table
    from discreet.curator import learn_schema
    from discreet.curator.learning import LearntBounds
    from discreet.privacy.adjacency import Adjacency, PrivacyUnit
    from discreet.schema.writing import line

    budget = budget_of(epsilon, delta, None)
    declared = None if cap is None else budget_of(cap, cap_delta, None)
    check_cap(declared or budget, yes=yes)
    found = learn_schema(
        table,
        dataset=dataset,
        columns=columns,
        categories=categories,
        budget=budget,
        cap=declared,
        adjacency=None if adjacency is None else Adjacency(adjacency),
        unit=None if identifier is None and max_rows == 1 else PrivacyUnit(identifier, max_rows),
        ledger=ledger_path,
        convert_unit=convert_unit,
    )
    if as_json:
        print_json(
            [
                {"column": one.column, "bounds": [one.low, one.high], "found": one.found}
                if isinstance(one, LearntBounds)
                else {"column": one.column, "values": list(one.values), "surely": one.threshold}
                for one in found
            ]
        )
        return
    rows = []
    for one in found:
        if isinstance(one, LearntBounds):
            said = f"bounds = [{one.low:g}, {one.high:g}]"
            rows.append((one.column, said, "" if one.found else "nothing stood out"))
        else:
            note = f"names all values of {one.threshold:,} people and more, some of fewer"
            rows.append((one.column, line("values", list(one.values)), note))
    print_table(("column", "found", ""), rows, title=f"charged {budget} to {dataset}")


@command.command()
@click.argument("schema_path", metavar="SCHEMA", type=FILE)
@json_option
@click.pass_context
def check(ctx: click.Context, schema_path: Path, as_json: bool) -> None:
    """Check a schema and explain every mistake at once. Needs no table.

    \b
    Examples:
      discreet schema check people.toml
      discreet schema check people.toml --json
    """
    from discreet.cli.output import print_json, print_table
    from discreet.errors import BadSchema
    from discreet.schema import Schema

    try:
        schema = Schema.load(schema_path)
    except BadSchema as error:
        if not as_json:
            raise
        print_json({"schema": str(schema_path), "valid": False, "mistakes": list(error.mistakes)})
        ctx.exit(BAD_INPUT)
    columns = [(column.name, column.kind, column.cells, column.nulls) for column in schema.columns]
    if as_json:
        print_json(
            {
                "schema": str(schema_path),
                "valid": True,
                "dataset": schema.dataset,
                "digest": schema.digest(),
                "columns": [
                    {"name": name, "kind": kind, "cells": cells, "nulls": nulls}
                    for name, kind, cells, nulls in columns
                ],
            }
        )
        return
    unit = schema.unit
    person = (
        "one row"
        if unit.identifier is None
        else f"at most {unit.max_rows} rows of a {unit.identifier}, in {unit.groups} groups"
    )
    print_table(
        ("column", "kind", "cells", "nulls"),
        [(name, kind, f"{cells:,}", nulls) for name, kind, cells, nulls in columns],
        title=f"{schema.dataset}: {schema.adjacency}, a person is {person}, cap "
        f"{schema.cap or 'set by the first charge'}",
        right=[2],
    )
    click.echo("No mistakes.")
