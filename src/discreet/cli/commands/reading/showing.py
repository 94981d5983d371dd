"""`discreet show`, `report` and `synthesize`: what a release holds, as text, as a page, and as rows."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, confidence_option, force_option, json_option


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@json_option
def show(release_path: Path, as_json: bool) -> None:
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


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.option("-o", "--output", type=FILE, help="The page to write. Default: RELEASE with .html.")
@confidence_option
@force_option
@json_option
def report(
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


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.option(
    "-o",
    "--output",
    type=FILE,
    required=True,
    help="The file to write. Its ending decides the format: .csv, .parquet, .arrow or .feather.",
)
@click.option(
    "--rows", type=click.IntRange(0), help="How many. Default: as many as the release estimates."
)
@click.option(
    "--seed", type=click.IntRange(0), help="The same seed gives the same rows. Default: none."
)
@force_option
@json_option
def synthesize(
    release_path: Path, output: Path, rows: int | None, seed: int | None, force: bool, as_json: bool
) -> None:
    """Draw synthetic rows from a release: with the columns, names and types of the original; they belong to no real person.

    This is free, as often as you like, because only the release is read. For numbers, ask the release:
    its answers have intervals. Use synthetic rows where a program needs a table.

    \b
    Examples:
      discreet synthesize people.release -o people-synthetic.parquet
      discreet synthesize people.release -o test-data.csv --rows 1000 --seed 1
    """
    from discreet.answering import open_release
    from discreet.cli.files import refuse_overwriting
    from discreet.cli.output import plural, print_json, progress_bar, visible

    refuse_overwriting(output, force=force)
    with progress_bar() as advance:
        advance("reading the release", 0.0)
        reader = open_release(release_path)
        advance("drawing rows", 0.1)
        made = reader.synthesize(rows, seed=seed)
        advance("writing rows", 0.8)
        made.write(output)
    if as_json:
        print_json(
            {
                "output": str(output),
                "rows": len(made),
                "columns": list(made.names),
                "notes": list(made.notes),
            }
        )
        return
    drawn, columns = plural(len(made), "synthetic row"), plural(len(made.names), "column")
    click.echo(f"{output}: {drawn} of {columns}")
    for note in made.notes:
        click.echo(visible(note))
