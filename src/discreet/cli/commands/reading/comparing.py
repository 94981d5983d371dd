"""`discreet compare`: a release against the table it was made of, for the custodian alone."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, confidence_option, json_option

MOST_SHOWN = 10


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.argument("table", metavar="TABLE")
@confidence_option
@json_option
def command(release_path: Path, table: str, confidence: float, as_json: bool) -> None:
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
