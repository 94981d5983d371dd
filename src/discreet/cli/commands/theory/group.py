"""`discreet theory`: the group, and its commands."""

from __future__ import annotations

import click

from discreet.cli.commands.theory.bounds import (
    distributional,
    halfspaces,
    incidence,
    median,
    parity,
    reconstruction,
)
from discreet.cli.commands.theory.sizes import sizes


@click.group()
def command() -> None:
    """Compute sample sizes, lower bounds and separations for numbers that you give. No table is
    opened and nothing is charged.

    \b
    Examples:
      discreet theory sizes --class conjunctions --columns 4 --epsilon 1 --error 10%
      discreet theory median --bits 20 --epsilon 0.1
      discreet theory distributional --epsilon 0.1 --rows 10000
    """


for each in (sizes, halfspaces, median, distributional, parity, reconstruction, incidence):
    command.add_command(each)
