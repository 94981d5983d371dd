"""`discreet verify`: the privacy loss added up again, and all else computed again."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.failures import CHECK_FAILED
from discreet.cli.options import FILE, json_option


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.option(
    "--key", metavar="KEY", help="Require a signature by this public key. Give the key or its file."
)
@click.option(
    "--thorough", is_flag=True, help="Also recompute the slow parts, such as the fit of a model."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, release_path: Path, key: str | None, thorough: bool, as_json: bool
) -> None:
    """Recompute what a release cost and compare it with its budget. The cost follows from the recorded
    noise laws and from sensitivities that are derived again. Then recompute its estimates, error claims
    and privacy statement from its noisy numbers, and check its signature.

    Nothing that the file says about its own cost is trusted. The exit code is 1 if the release does not
    verify. Slow parts are left out, and named, unless you add --thorough.

    \b
    Examples:
      discreet verify people.release
      discreet verify people.release --key custodian.pub --json
      discreet verify people.release --thorough
    """
    from discreet.cli.files import public_key
    from discreet.cli.output import print_json, visible
    from discreet.releases.verifying import verify

    found = verify(
        release_path, public_key=None if key is None else public_key(key), thorough=thorough
    )
    if as_json:
        print_json({"release": str(release_path), **found.to_dict()})
    else:
        click.echo(visible(str(found)))
    if not found.ok:
        ctx.exit(CHECK_FAILED)
