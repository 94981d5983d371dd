"""`discreet show`: what a release holds and what can be asked of it."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, json_option


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@json_option
def command(release_path: Path, as_json: bool) -> None:
    """Show what a release holds: its columns with their values, what it was made for with a question of
    each kind that it answers, who is protected, and the cost.

    \b
    Examples:
      discreet show people.release
      discreet show people.release --json
    """
    from discreet.answering import open_release
    from discreet.cli.output import print_json, visible

    found = open_release(release_path).overview()
    if as_json:
        print_json({"release": str(release_path), **found.to_dict()})
    else:
        click.echo(visible(str(found)))
