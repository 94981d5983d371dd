"""`discreet theory incidence`: two conditions together, from a release that counts each alone."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, json_option


@click.command(short_help="Two conditions together, from counts of each alone.")
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.option("--first", required=True, metavar="CONDITION", help="As in WHERE.")
@click.option("--second", required=True, metavar="CONDITION", help="As in WHERE.")
@click.option(
    "--by", required=True, metavar="COLUMN", help="A column that splits the rows at random."
)
@json_option
def incidence(release_path: Path, first: str, second: str, by: str, as_json: bool) -> None:
    """Infer how many rows satisfy two conditions together from a release that counts each of them alone, in random parts of
    the rows: where the first is frequent by chance, the second is frequent too if they go together. The parts are chosen
    on the release's noisy answers. The result says how much worse it is than a count of both.

    \b
    Examples:
      discreet theory incidence lots.release --first smoker --second sick --by lot
      discreet theory incidence lots.release --first "smoker AND sex = 'F'" --second sick --by lot --json
    """
    from discreet.answering import open_release
    from discreet.cli.output import print_json
    from discreet.theory.incidence import infer_incidence

    found = infer_incidence(open_release(release_path), first, second, by=by)
    if as_json:
        print_json(found.to_dict())
        return
    seen = found.conditional
    click.echo(
        f"About {100 * seen.estimate:.3g}% of the {found.rows_with_first:,.0f} rows with {first} also have {second} "
        f"(standard error {100 * found.std:.2g} points): {found.rows_with_both:,.0f} rows."
    )
    click.echo(
        f"Read off {seen.heavy} of {seen.subsets} parts that are heavy in {first}. Uncorrected for the noise in that choice "
        f"it would be {100 * seen.uncorrected:.3g}%."
    )
    click.echo(
        f"Its error is about {found.times_worse:,.0f} times that of counting both together with the same noise."
    )
