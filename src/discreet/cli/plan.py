"""`discreet plan`: what to expect of a release, from public facts alone."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import (
    FILE,
    budget_of,
    budget_options,
    confidence_option,
    json_option,
    workload_of,
    workload_option,
)


@click.command()
@click.argument("schema_path", metavar="SCHEMA", type=FILE)
@workload_option
@budget_options
@click.option(
    "--rows", type=click.IntRange(1), help="Roughly how many rows. Default: the schema's people."
)
@click.option("--error", metavar="NUMBER", help="Solve for the epsilon that reaches this error.")
@confidence_option
@json_option
def command() -> None:
    """Expected errors of a release, before any row is read."""
