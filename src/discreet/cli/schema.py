"""`discreet schema`: the public facts about a table, drafted and checked."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.failures import BAD_INPUT
from discreet.cli.options import FILE, force_option, json_option


@click.group()
def command() -> None:
    """Declare the public facts about a table: a draft to fill in, and a check that names every mistake.

    \b
    Examples:
      discreet schema draft people.parquet -o people.toml
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
      discreet schema draft people.parquet
      discreet schema draft people.csv -o people.toml
    """
    from discreet.cli.files import refuse_overwriting, write_text
    from discreet.kernel.engines import column_names_and_types
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
        else f"at most {unit.max_rows} rows of a {unit.identifier}"
    )
    print_table(
        ("column", "kind", "cells", "nulls"),
        [(name, kind, f"{cells:,}", nulls) for name, kind, cells, nulls in columns],
        title=f"{schema.dataset}: {schema.adjacency}, a person is {person}, cap "
        f"{schema.cap or 'set by the first charge'}",
        right=[2],
    )
    click.echo("No mistakes.")
