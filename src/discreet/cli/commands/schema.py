"""`discreet schema`: the public facts about a table, drafted and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.failures import BAD_INPUT
from discreet.cli.options import (
    FILE,
    adjacency_option,
    check_cap,
    convert_option,
    csv_options,
    force_option,
    json_option,
    ledger_option,
    yes_option,
)

if TYPE_CHECKING:
    from discreet.schema import CsvOptions, Schema


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
@csv_options("delimiter", "names", "encoding")
@click.option(
    "--header",
    "says_header",
    is_flag=True,
    help="The first line holds names, though it looks like a row.",
)
@click.option("-o", "--output", type=FILE, help="The schema to write. Default: standard output.")
@force_option
def draft(
    table: str,
    csv: CsvOptions | None,
    says_header: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Draft a schema from a table's column names and types. No row is read: the values, ranges and
    widths are for you to fill in, from what is publicly known.

    \b
    Examples:
      discreet schema draft people.csv
      discreet schema draft people.csv -o draft.toml
      discreet schema draft people.csv --delimiter ';' --encoding cp1252
    """
    from discreet.cli.files import refuse_overwriting, write_text
    from discreet.releases.preparing import draft_schema

    if output is not None:
        refuse_overwriting(output, force=force)
    text = draft_schema(table, csv, says_header=says_header)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    click.echo(f"{output}: fill in the blanks, then run `discreet schema check {output}`.")


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
@csv_options("delimiter", "names", "encoding", "decimal", "thousands")
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
    csv: CsvOptions | None,
    convert_unit: bool,
    yes: bool,
    ledger_path: Path | str | None,
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

    budget = budget_of(epsilon, delta)
    declared = None if cap is None else budget_of(cap, cap_delta)
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
        csv=csv,
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
@click.argument("table", metavar="[TABLE]", required=False)
@json_option
@click.pass_context
def check(ctx: click.Context, schema_path: Path, table: str | None, as_json: bool) -> None:
    """Check a schema and explain every mistake at once. Needs no table.

    With a TABLE it also counts, for each column, the rows that are null and those outside of what is
    declared, before you pay for a release. These are exact counts of the rows. NOT PRIVATE: for the
    custodian's eyes only. Do not copy them into the schema.

    \b
    Examples:
      discreet schema check people.toml
      discreet schema check people.toml --json
      discreet schema check people.toml people.csv
    """
    from discreet.cli.output import plural, print_json, print_table
    from discreet.errors import BadSchema
    from discreet.questions.derived import derived_columns
    from discreet.schema import Schema

    try:
        schema = Schema.load(schema_path)
        derived_columns(schema)
    except BadSchema as error:
        if not as_json:
            raise
        print_json({"schema": str(schema_path), "valid": False, "mistakes": list(error.mistakes)})
        ctx.exit(BAD_INPUT)
    if table is not None:
        _show_fit(table, schema, as_json)
        return
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
        else f"at most {plural(unit.max_rows, 'row')} of a {unit.identifier}, in {plural(unit.groups, 'group')}"
    )
    print_table(
        ("column", "kind", "cells", "nulls"),
        [(name, kind, f"{cells:,}", nulls) for name, kind, cells, nulls in columns],
        title=f"{schema.dataset}: {schema.adjacency}, a person is {person}, cap "
        f"{schema.cap or 'set by the first charge'}",
        right=[2],
    )
    click.echo("No mistakes.")


def _show_fit(table: str, schema: Schema, as_json: bool) -> None:
    """How a table fits the schema."""
    from discreet.cli.output import print_json, print_table
    from discreet.custodian.comparison import BANNER
    from discreet.custodian.fit import fit, fit_of_declarations

    found, broken = fit(table, schema), fit_of_declarations(table, schema)
    if as_json:
        told = {"columns": [each.to_dict() for each in found]}
        print_json({"banner": BANNER, **told, "broken": [each.to_dict() for each in broken]})
        return
    click.echo(BANNER)
    rows = [
        (one.column, one.kind, f"{one.nulls:,}", f"{one.outside:,}", one.treatment) for one in found
    ]
    headers = ("column", "kind", "null", "outside", "those outside are")
    print_table(headers, rows, title=f"{found[0].rows:,} rows of {schema.dataset}", right=[2, 3])
    for one in found:
        if one.warning:
            click.echo(f"{one.column}: {one.warning}")
    for each in broken:
        click.echo(each.sentence)
