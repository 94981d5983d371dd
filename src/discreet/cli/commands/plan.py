"""`discreet plan`: what to expect of a release, from public facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from discreet.cli.options import (
    FILE,
    TypedBudget,
    algorithm_option,
    algorithms_of,
    budget_options,
    confidence_option,
    json_option,
    workload_of,
    workload_option,
)

if TYPE_CHECKING:
    from discreet.queries.classes import QueryClass
    from discreet.releases import Plan


@click.command()
@click.argument("schema_path", metavar="SCHEMA", type=FILE)
@workload_option
@algorithm_option
@budget_options
@click.option(
    "--rows",
    type=click.IntRange(1),
    help="Roughly how many rows. Default: the schema's people, one row each.",
)
@click.option(
    "--error",
    metavar="ERROR",
    help="Find the epsilon (or, with --epsilon, the number of rows) at which the interval of the "
    "first class is at most ± this: 50, or 0.1% of the whole.",
)
@click.option(
    "--simultaneous", is_flag=True, help="Let --error hold for all queries of the class at once."
)
@click.option(
    "--questions",
    is_flag=True,
    help="Also show up to how many live questions a curator is as accurate as the release.",
)
@confidence_option
@json_option
def command(
    schema_path: Path,
    classes: tuple[str, ...],
    algorithms: tuple[str, ...],
    typed: TypedBudget,
    rows: int | None,
    error: str | None,
    simultaneous: bool,
    questions: bool,
    confidence: float,
    as_json: bool,
) -> None:
    """Show the expected errors of a release, before any row is read: the noise of each query class, the
    width of its intervals, and a bound for all its queries at once. It opens no table and charges
    nothing.

    With --error it finds the epsilon that such an error needs. With --error and a budget it finds the
    number of rows that the error needs.

    \b
    Examples:
      discreet plan people.toml --epsilon 1 --for 'marginals(2)' --for 'means(income)'
      discreet plan people.toml --epsilon 1 --for 'means(income by region)' --for 'quantiles(income by region)'
      discreet plan people.toml --for 'marginals(age, sex)' --error 50
      discreet plan people.toml --epsilon 1/2 --for 'marginals(age, sex)' --error 0.1% --json
      discreet plan people.toml --epsilon 1 --for 'intervals(age)' --questions
    """
    from dataclasses import asdict

    from discreet.cli.output import print_json
    from discreet.releases import plan
    from discreet.releases.interactive import curator_limits
    from discreet.schema import Schema

    schema = Schema.load(schema_path)
    workload = workload_of(classes)
    if not typed.is_given and error is None:
        raise click.UsageError(
            "Give a budget (--epsilon, --rho or --mu), or an --error to solve for."
        )
    planned = plan(
        schema,
        workload=workload,
        budget=typed.budget() if typed.is_given else None,
        rows=rows,
        target=_target(workload[0], error, confidence, simultaneous) if error else None,
        delta=0 if typed.is_given else typed.delta,
        confidence=confidence,
        algorithms=algorithms_of(algorithms),
    )
    limits = curator_limits(planned, schema) if questions else ()
    if as_json:
        found = planned.to_dict()
        if questions:
            found["questions"] = [asdict(each) for each in limits]
        print_json(found)
        return
    _print(planned)
    for each in limits:
        click.echo(each.sentence)


def _target(asked: QueryClass, error: str, confidence: float, simultaneous: bool) -> Any:
    from discreet.privacy.exact import exact
    from discreet.releases import TargetError

    relative = error.strip().endswith("%")
    limit = float(exact(error.strip().rstrip("%"), name="--error"))
    kind: Literal["relative", "half_width"] = "relative" if relative else "half_width"
    return TargetError(
        query_class=asked,
        confidence=confidence,
        simultaneous=simultaneous,
        **{kind: limit / 100 if relative else limit},
    )


def _print(planned: Plan) -> None:
    from discreet.cli.output import print_table, say

    header, rows = planned.table()
    print_table(header, rows, title=planned.title, right=[3, 4, 5, 6])
    for row in planned.rows():
        if row["note"]:
            say(f"{row['class']}: {row['note']}")
    for warning in planned.warnings:
        say(warning)
