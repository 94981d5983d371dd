"""`discreet verify`: the privacy loss added up again, and all else computed again. `discreet compare`: against the true table."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.failures import CHECK_FAILED
from discreet.cli.options import FILE, confidence_option, json_option


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
def verify(
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


MOST_SHOWN = 10


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.argument("table", metavar="TABLE")
@confidence_option
@json_option
def compare(release_path: Path, table: str, confidence: float, as_json: bool) -> None:
    """Compare a release with the true table. NOT PRIVATE: for the custodian's eyes only.

    For each table of the release it prints the true error of its answers and of synthetic rows, and how
    often the intervals contain the truth. These are exact statistics of the rows: never publish them,
    and never use them to choose a release.

    \b
    Examples:
      discreet compare people.release people.csv
      discreet compare people.release people.csv --json
    """
    from discreet.answering import open_release
    from discreet.cli.output import print_json, progress_bar
    from discreet.custodian.comparison import BANNER, compare, left_out

    with progress_bar() as advance:
        reader = open_release(release_path)
        found = compare(reader, table, confidence=confidence, progress=advance)
    missing = left_out(reader, found)
    if as_json:
        tables = [each.to_dict() for each in found]
        print_json({"banner": BANNER, "tables": tables, "not_compared": missing})
        return
    click.echo(BANNER)
    click.echo(f"{'answers off':>12} {'synthetic off':>14} {'intervals hold':>15}  columns")
    for each in found:
        click.echo(
            f"{each.answers:>12.4f} {each.synthetic:>14.4f} {each.held:>15.3f}  {', '.join(each.columns)}"
        )
    click.echo("Off: the share of the rows that are counted in a wrong cell (total variation).")
    if missing:
        shown = "; ".join(missing[:MOST_SHOWN]) + ("; ..." if len(missing) > MOST_SHOWN else "")
        click.echo(f"Not compared: {shown}.")
    click.echo(BANNER)
