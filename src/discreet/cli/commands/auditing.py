"""`discreet audit`: is the promised epsilon kept? Lower bounds from runs on invented tables."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from discreet.cli.failures import CHECK_FAILED
from discreet.cli.options import TypedBudget, budget_options, json_option, workload_of

SUFFIX = ".toml"
SECONDS = 120.0
"""For a release; more runs than fit are made only if --runs asks for them."""


@click.command()
@click.argument("subject", metavar="MECHANISM|SCHEMA")
@click.option(
    "--for",
    "classes",
    metavar="CLASS",
    multiple=True,
    help="With a schema: a query class of the release, such as 'marginals(2)'; repeatable.",
)
@budget_options
@click.option("--fast", is_flag=True, help="Fewer runs: a quick look, with less power.")
@click.option("--runs", type=click.IntRange(100, 10_000_000), help="The exact number of runs.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    subject: str,
    classes: tuple[str, ...],
    typed: TypedBudget,
    fast: bool,
    runs: int | None,
    as_json: bool,
) -> None:
    """Audit one of the mechanisms by its name, or a whole release by its schema file. The audit runs it
    many times on neighbouring inputs. From how well these can be told apart, it certifies a lower bound
    on epsilon. If that is above the claimed epsilon, the claim is refuted and the exit code is 1.

    No table is opened and nothing is charged: the audit invents a few rows at the ends of the declared
    domains. For a whole release the noise laws are tested as well. No power is claimed there: a bound
    far below the claim is not evidence for the claim.

    \b
    Examples:
      discreet audit discrete-laplace --epsilon 1
      discreet audit analytic-gaussian --epsilon 1 --delta 1e-6 --json
      discreet audit people.toml --for 'marginals(2)' --epsilon 1 --fast
    """
    from discreet.cli.output import print_json

    if not typed.is_given:
        raise click.UsageError("Give the epsilon that is claimed, as in --epsilon 1.")
    budget = typed.budget()
    if subject.endswith(SUFFIX) or Path(subject).is_file():
        found = [_release(Path(subject), classes, budget, fast, runs)]
    else:
        if classes:
            raise click.UsageError("--for goes with a schema file, not with a mechanism.")
        found = _mechanism(subject, budget, fast, runs)
    if as_json:
        print_json([_plain(each) for each in found])
    else:
        for each in found:
            _print(each)
    if any(each.refuted for each in found):
        ctx.exit(CHECK_FAILED)


def _mechanism(name: str, budget: Any, fast: bool, runs: int | None) -> list[Any]:
    from discreet.audits.guessing.subjects import FAST_RUNS, RUNS, subjects_of
    from discreet.errors import BadInput
    from discreet.privacy.budget import Notion

    subjects = subjects_of(name)
    if budget.notion is not Notion.EPSILON:
        raise BadInput("A mechanism is audited for an epsilon and, where it has one, a delta.")
    if budget.delta and not any(each.uses_delta for each in subjects):
        raise BadInput(f"{name} has no delta: it promises epsilon alone. Leave --delta out.")
    return [
        each.audit(
            epsilon=budget.epsilon,
            delta=budget.delta if each.uses_delta else Fraction(0),
            runs=runs or (FAST_RUNS if fast else RUNS),
        )
        for each in subjects
    ]


def _release(
    path: Path, classes: tuple[str, ...], budget: Any, fast: bool, runs: int | None
) -> Any:
    from discreet.audits.guessing.releases import FAST_RUNS, RUNS, audit_release
    from discreet.schema import Schema

    return audit_release(
        Schema.load(path),
        budget=budget,
        workload=workload_of(classes),
        runs=runs or (FAST_RUNS if fast else RUNS),
        seconds=None if runs else SECONDS,
    )


def _plain(found: Any) -> dict[str, Any]:
    """JSON has no infinity, which is what a replay that goes astray certifies."""
    return {
        key: "unbounded" if value == float("inf") else value
        for key, value in found.to_dict().items()
    }


def _print(found: Any) -> None:
    plain = found.to_dict()
    click.echo(plain["subject"])
    promise = f"epsilon {plain['claimed_epsilon']:g}"
    if plain["delta"]:
        promise += f" at delta {plain['delta']:g}"
    click.echo(f"  claimed:             {promise}")
    click.echo(f"  certified:           epsilon is at least {plain['certified_epsilon']:.4f}")
    click.echo(f"  runs:                {plain['runs']:,}")
    click.echo(f"  false-positive rate: {plain['false_positive_rate']:g}")
    click.echo(f"  game:                {plain['game']}")
    for law in plain.get("noise_laws", ()):
        parameters = ", ".join(
            f"{key} {value}" for key, value in law["law"].items() if key != "kind"
        )
        click.echo(
            f"  noise law:           {law['law']['kind']} {parameters}: "
            f"{law['draws']:,} draws, p-value {law['p_value']:.2g}"
        )
    click.echo(f"  verdict:             {plain['verdict']}")
