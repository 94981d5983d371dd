"""`discreet attack`: attacks before and after protection. Attacks on statistics; those on tables are added below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands.disclosure.attack_rows import ROW_ATTACKS
from discreet.cli.options import FILE, defaulted, schema_option
from discreet.cli.outcomes import (
    LEAD,
    check_output,
    epsilon_option,
    outcome_options,
    ran,
    show_outcomes,
)

seed_option = defaulted("--seed", click.IntRange(0), 0, "For the public random choices.")


def draws_option(default: int) -> Callable[..., Any]:
    return defaulted("--draws", click.IntRange(1, 1000), default, "How often it is repeated.")


@click.group()
def command() -> None:
    """Attack publications, before and after protection: exact and "anonymised" ones, and our own.

    Each attack shows a table and a chart, prints JSON with --json, and writes a page with -o. Attacks on
    a table of yours are scored on its rows: those outcomes are NOT PRIVATE.

    \b
    Examples:
      discreet attack reconstruct --people 64 --draws 1
      discreet attack difference
      discreet attack unique people.csv --largest 2
    """


@command.command()
@click.argument("table", required=False)
@click.option("--column", help="With a table: the column that holds the secret.")
@click.option("--value", help="With a table: the value of the column that counts as 1.")
@defaulted("--people", click.IntRange(8, 4096), 256, "How many people there are.")
@defaulted(
    "--alpha", click.FloatRange(0, 100), 0.25, "Bounded noise, in roots of the number of people."
)
@defaulted(
    "--method",
    click.Choice(["least-squares", "l1", "linear-program"]),
    "least-squares",
    "How the answers are decoded.",
)
@click.option(
    "--all-subsets", is_flag=True, help="Ask all 2^n subsets of at most 16 people instead."
)
@defaulted(
    "--error", click.FloatRange(0, 8), 1.0, "With --all-subsets: the largest error of an answer."
)
@epsilon_option()
@draws_option(3)
@seed_option
@outcome_options
def reconstruct(
    table: str | None, column: str | None, value: str | None, people: int, alpha: float, method: str,
    all_subsets: bool, error: float, epsilon: str, draws: int, seed: int, **shared: Any,
) -> None:  # fmt: skip
    """Rebuild a secret 0/1 column from answers to random subset counts.

    The secret is generated, or a column of your own table (then the first rows, up to --people).

    \b
    Examples:
      discreet attack reconstruct --people 64 --draws 1
      discreet attack reconstruct people.csv --column smoker --value true --people 64 --draws 1
      discreet attack reconstruct --all-subsets --people 10 --draws 5
    """
    if all_subsets:
        ran(
            "reconstruct_all_subsets",
            shared,
            people=min(people, 12) if people == 256 else people,
            error=error,
            draws=draws,
            seed=seed,
        )
        return
    secret = None if table is None else _secret(table, column, value, people)
    ran(
        "reconstruct",
        shared,
        people=people,
        secret=secret,
        alpha=alpha,
        epsilon=epsilon,
        method=method,
        draws=draws,
        seed=seed,
    )


def _secret(table: str, column: str | None, value: str | None, people: int) -> list[int]:
    from discreet.plain_tables import read_columns

    if column is None or value is None:
        raise click.UsageError(
            "With a table, say which --column is secret and which --value counts as 1."
        )
    secret = [int(each == value) for each in read_columns(table, wanted=[column])[column][:people]]
    if not any(secret):
        from discreet.errors import BadInput

        raise BadInput(
            f"No one among the first {len(secret):,} rows has {value!r} in column {column!r}. Give --value as it stands in the "
            "table, with its capital letters."
        )
    return secret


@command.command()
@click.argument("published", type=FILE, required=False)
@epsilon_option()
@draws_option(3)
@outcome_options
def difference(published: Path | None, epsilon: str, draws: int, **shared: Any) -> None:
    """Find every person whose value follows from published aggregates.

    PUBLISHED is a table with the columns name, statistic (sum, mean or count), people (names with spaces
    between them; 1-25 stands for 25 people) and value. Without it, a company publishes its mean salary
    before and after it hires one person.

    \b
    Examples:
      discreet attack difference
      discreet attack difference aggregates.csv --json
    """
    ran("difference", shared, published, epsilon=epsilon, draws=draws)


@command.command()
@defaulted("--people", click.IntRange(10, 100_000), 1_000, "How many people there are.")
@epsilon_option("1/10", "The budget of each answer.")
@defaulted("--times", click.IntRange(2, 100_000), 2_000, "How often it is asked.")
@outcome_options
def average(people: int, epsilon: str, times: int, **shared: Any) -> None:
    """Ask one question again and again, and take the mean.

    \b
    Examples:
      discreet attack average
      discreet attack average --epsilon 1/2 --times 500 --json
    """
    ran("average", shared, people=people, epsilon=epsilon, times=times)


@command.command()
@click.argument("table", required=False)
@click.option("--schema", "schema_path", type=FILE, help="With a table: its public facts, in TOML.")
@click.option(
    "--for",
    "classes",
    metavar="CLASS",
    multiple=True,
    help="With a table: what the release is made for; repeatable.",
)
@defaulted("--target", click.IntRange(0), 0, "With a table: the number of the target's row.")
@click.option(
    "--synthetic",
    is_flag=True,
    help="With a table: look at synthetic rows instead of the release's numbers.",
)
@defaulted(
    "--people", click.IntRange(2, 10_000), 100, "Without a table: people whose means are published."
)
@defaulted(
    "--columns", click.IntRange(1, 100_000), 2_000, "Without a table: means that are published."
)
@defaulted("--games", click.IntRange(60, 100_000), 300, "How often the game is played.")
@epsilon_option()
@outcome_options
def member(
    table: str | None, schema_path: Path | None, classes: tuple[str, ...], target: int, synthetic: bool,
    people: int, columns: int, games: int, epsilon: str, **shared: Any,
) -> None:  # fmt: skip
    """Tell whether a person's row was in the table.

    Without a table: from the means of many columns of generated people. With a table: from releases of it, in
    a game where the target's row is in or out and nothing else differs.

    \b
    Examples:
      discreet attack member --columns 500 --games 100
      discreet attack member people.csv --schema people.toml --for 'histogram(sex)' --games 60
    """
    if table is None:
        ran("member", shared, people=people, columns=columns, epsilon=epsilon, games=games)
        return
    from discreet.cli.options import workload_of
    from discreet.privacy.budget import Budget
    from discreet.schema import Schema

    if schema_path is None:
        raise click.UsageError("With a table, give its --schema and what the release is --for.")
    schema, workload = Schema.load(schema_path), workload_of(classes)
    ran(
        "match",
        shared,
        table,
        schema,
        budget=Budget(epsilon=epsilon),
        workload=workload,
        target=target,
        games=games,
        synthetic=synthetic,
    )


@command.command("all")
@click.argument("table")
@schema_option
@click.option(
    "--on",
    "columns",
    help="What others know about people: columns, with commas between them. Default: the first three.",
)
@click.option(
    "--secret", help="The column that they want to know. Default: a yes/no column, else the last."
)
@epsilon_option()
@draws_option(2)
@outcome_options
def everything(
    table: str, schema_path: Path, columns: str | None, secret: str | None, epsilon: str, draws: int,
    as_json: bool, output: Path | None, force: bool,
) -> None:  # fmt: skip
    """Attack a table of yours, published in four ways: exactly, k-anonymised, with bounded noise, and by us.

    Large tables are sampled. Nothing is charged, because nothing is published: the page is for the custodian
    alone. NOT PRIVATE.

    \b
    Examples:
      discreet attack all people.csv --schema people.toml --draws 1 -o attacks.html
    """
    from discreet.audits import attacking
    from discreet.cli.output import progress_bar
    from discreet.schema import Schema

    check_output(output, force=force)
    schema = Schema.load(schema_path)
    known = None if columns is None else [each.strip() for each in columns.split(",")]
    with progress_bar() as advance:
        found = attacking.attack_all(
            table,
            schema,
            epsilon=epsilon,
            columns=known,
            secret=secret,
            draws=draws,
            progress=advance,
        )
    show_outcomes(
        found, as_json=as_json, output=output, title=f"Attacks on {schema.dataset}", lead=LEAD
    )


for _attack in ROW_ATTACKS:
    command.add_command(_attack)
