"""`discreet explain`: what an epsilon means to one person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.options import (
    FILE,
    TypedBudget,
    budget_options,
    defaulted,
    force_option,
    json_option,
)


@click.command()
@click.argument("release_path", metavar="[RELEASE]", type=FILE, required=False)
@budget_options
@defaulted(
    "--rows-each",
    click.IntRange(1, 10_000),
    1,
    "How many rows one person can have, where one row is protected.",
)
@defaulted("--household", click.IntRange(1, 10_000), 4, "How many people live together.")
@click.option("-o", "--output", type=FILE, help="Write it as a page too, one HTML file.")
@force_option
@json_option
def command(
    release_path: Path | None, typed: TypedBudget, rows_each: int, household: int,
    output: Path | None, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Explain what an epsilon means to one person: beliefs before and after, groups and families, which unit is protected,
    and the errors of small groups. For a budget, or for the one of a release.

    \b
    Examples:
      discreet explain --epsilon 1
      discreet explain --epsilon 1/2 --delta 1e-6 --household 5 --json
      discreet explain people.release -o meaning.html
    """
    from discreet.cli.files import refuse_overwriting, write_text
    from discreet.cli.output import print_json, say
    from discreet.privacy.explanation import explain

    if output is not None:
        refuse_overwriting(output, force=force)
    identifier = None
    if release_path is not None:
        if typed.is_given:
            raise click.UsageError("Give a release or a budget, not both.")
        from discreet.answering import open_release

        release = open_release(release_path).release
        budget, identifier = release.budget, release.schema.unit.identifier
    elif not typed.is_given:
        raise click.UsageError("Give a budget, as in --epsilon 1, or a release.")
    else:
        budget = typed.budget()
    found = explain(budget, rows_each=rows_each, household=household, identifier=identifier)
    if output is not None:
        write_text(output, _page(found))
        say(f"The page: {output}")
    if as_json:
        print_json(found.to_dict())
        return
    _print(found)


def _print(found: Any) -> None:
    from discreet.cli.outcomes import print_curves
    from discreet.cli.output import print_table
    from discreet.report.disclosure.meaning import density_series, lead_of, parts_of

    slack = f", delta {found.delta:g}" if found.delta else ""
    click.echo(f"epsilon {found.epsilon:.4g}{slack}\n{lead_of(found)}\n")
    for title, table, text in parts_of(found):
        click.echo(f"{title}. {text}")
        print_table(table.headers, table.rows, right=table.right)
        click.echo(f"{table.note}\n" if table.note else "")
    pair, ratio = density_series(found)
    print_curves(pair, across="noisy count", up="chance of a noisy count")
    print_curves([ratio], across="noisy count", up="log of the probability ratio")


def _page(found: Any) -> str:
    from discreet.report.disclosure.meaning import (
        density_figure,
        lead_of,
        parts_of,
        ratio_figure,
    )
    from discreet.report.disclosure.page import Section, render_page

    sections = [
        Section(title=title, paragraphs=[text], tables=[table])
        for title, table, text in parts_of(found)
    ]
    sections.append(
        Section(title="Two densities", figures=[density_figure(found), ratio_figure(found)])
    )
    return render_page(
        title=f"What epsilon {found.epsilon:.4g} means to one person",
        lead=lead_of(found),
        sections=sections,
        kicker="What the promise means",
    )
