"""`discreet report`: a release as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, confidence_option, force_option, json_option


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.option("-o", "--output", type=FILE, help="The page to write. Default: RELEASE with .html.")
@confidence_option
@force_option
@json_option
def command(
    release_path: Path, output: Path | None, confidence: float, force: bool, as_json: bool
) -> None:
    """Write a release's report: one HTML file that loads nothing from anywhere.

    The report says in plain words what is promised, shows the numbers with their error bars, and says how to ask and how to verify. It holds nothing that the release does not hold.

    \b
    Examples:
      discreet report people.release
      discreet report people.release -o people.html --force
    """
    from discreet.answering import open_release
    from discreet.cli.files import refuse_overwriting, write_text
    from discreet.cli.output import print_json, progress_bar
    from discreet.report import render_report

    target = output or release_path.with_suffix(".html")
    refuse_overwriting(target, force=force)
    reader = open_release(release_path)
    with progress_bar() as advance:
        page = render_report(
            reader, confidence=confidence, file_name=release_path.name, progress=advance
        )
    write_text(target, page)
    if as_json:
        print_json({"output": str(target)})
    else:
        click.echo(str(target))
