"""`discreet key`: a key to sign releases with."""

from __future__ import annotations

import os
from pathlib import Path

import click

from discreet.cli.options import FILE, json_option


@click.command()
@click.argument("path", metavar="FILE", type=FILE)
@json_option
def command(path: Path, as_json: bool) -> None:
    """Make a key to sign releases with. It writes the private key to FILE, readable by its owner only,
    and prints the public key. Readers of your releases verify them with the public key.

    \b
    Examples:
      discreet key custodian.key > custodian.pub
      discreet release people.csv --schema people.toml --epsilon 1 --for 'histogram(age)' -o people.release --sign custodian.key
      discreet verify people.release --key custodian.pub
    """
    from discreet.answering import new_signing_key
    from discreet.cli.files import SECRET, refuse_overwriting
    from discreet.cli.output import print_json

    refuse_overwriting(path, force=None)
    private, public = new_signing_key()
    # never readable by others, not even for a moment
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{SECRET}\n{private}\n")
    if as_json:
        print_json({"private_key_file": str(path), "public_key": public})
    else:
        click.echo(public)
