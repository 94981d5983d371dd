"""`discreet version`."""

from __future__ import annotations

import click

from discreet import __version__
from discreet.cli.options import json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Print the version.

    \b
    Examples:
      discreet version
      discreet version --json
    """
    if as_json:
        from discreet.cli.output import print_json

        print_json({"discreet": __version__})
    else:
        click.echo(f"discreet {__version__}")
