"""`discreet synthesize`: synthetic rows from a release."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, force_option, json_option


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
def command(
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
