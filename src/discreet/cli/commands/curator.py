"""`discreet curator`: live questions to a table, each charged to the ledger."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands.service.administration import COMMANDS
from discreet.cli.options import (
    TypedBudget,
    budget_of,
    budget_options,
    check_cap,
    confidence_option,
    convert_option,
    json_option,
    ledger_option,
    schema_option,
    yes_option,
)

version_option = click.option(
    "--data-version",
    metavar="TEXT",
    help="A name for the state of the table. Default: its files' names and times of change.",
)

Open = Callable[[], Any]
"""Opens the curator that the options describe."""


def curator_options(function: Callable[..., None]) -> Callable[..., None]:
    """Whose table it is, who asks and what may be spent, as one value: `opened()` is the curator."""

    @wraps(function)
    def command(
        *,
        table: str,
        schema_path: Path,
        cap_epsilon: str | None,
        cap_delta: str,
        analyst: str | None,
        ledger_path: Path | str | None,
        convert_unit: bool,
        yes: bool,
        data_version: str | None = None,
        **rest: Any,
    ) -> None:
        def opened() -> Any:
            from discreet.curator import Curator
            from discreet.schema import Schema

            schema = Schema.load(schema_path)
            cap = None if cap_epsilon is None else budget_of(cap_epsilon, cap_delta)
            check_cap(cap or schema.cap, yes=yes)
            return Curator(
                table,
                schema,
                ledger=ledger_path,
                cap=cap,
                analyst=analyst,
                data_version=data_version,
                convert_unit=convert_unit,
            )

        function(opened=opened, **rest)

    for option in (
        yes_option,
        convert_option,
        ledger_option,
        click.option(
            "--analyst",
            metavar="NAME",
            help="Who asks. The charge is also recorded under this name.",
        ),
        click.option(
            "--cap-delta",
            default="0",
            metavar="NUMBER",
            show_default=True,
            help="The delta of --cap.",
        ),
        click.option(
            "--cap",
            "cap_epsilon",
            metavar="EPSILON",
            help="The most that all questions together may cost, if the schema has no cap. The "
            "first use fixes it.",
        ),
        schema_option,
        click.argument("table", type=str),
    ):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Ask a table live questions, until its budget is spent. Unlike `discreet ask`, every question is
    charged. The same question again is answered from the record, at no cost.

    init, add-analyst, revoke, budget, status, backup and restore manage a service (`discreet serve`).

    \b
    Examples:
      discreet curator ask people.csv "SELECT count(*) FROM people" --schema people.toml --epsilon 0.1
      discreet curator left people.csv --schema people.toml
    """


for each in COMMANDS:
    command.add_command(each)


@command.command()
@curator_options
@click.argument("question", metavar="SQL")
@budget_options
@click.option(
    "--accuracy",
    metavar="TEXT",
    help="Instead of a budget: '±50 at 95%', for counts, sums and histograms.",
)
@click.option(
    "--undeclared",
    multiple=True,
    metavar="COLUMN",
    help="Find the groups of this category instead of taking the declared ones; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Print what it would cost; read and charge nothing.")
@version_option
@confidence_option
@json_option
def ask(
    opened: Open,
    question: str,
    typed: TypedBudget,
    accuracy: str | None,
    undeclared: tuple[str, ...],
    dry_run: bool,
    confidence: float,
    as_json: bool,
) -> None:
    """Ask one question in SQL. It is charged before a row is read, and answered with an interval.

    Understood: SELECT count(*), count(column), count(DISTINCT unit), sum, avg, variance, stddev,
    median, quantile(column, q), histogram(column), mode(column), top(column, k) FROM name WHERE ...
    GROUP BY ...; WHERE may use arithmetic and functions. A refused question costs nothing.

    \b
    Examples:
      discreet curator ask people.csv "SELECT sex, avg(age) FROM people GROUP BY sex" --schema people.toml --epsilon 0.1
      discreet curator ask people.csv "SELECT count(*) FROM people WHERE age >= 65" --schema people.toml --accuracy '±50 at 95%'
      discreet curator ask people.csv "SELECT sex, median(born) FROM people GROUP BY sex" --schema people.toml --epsilon 0.1
    """
    from discreet.cli.answering import print_answers
    from discreet.cli.output import print_json, say

    if typed.is_given == (accuracy is not None):
        raise click.UsageError("Give a budget, --epsilon, --rho or --mu, or else an --accuracy.")
    if dry_run and accuracy is None:
        raise click.UsageError("--dry-run prints the cost of an --accuracy; give one.")
    budget = None if accuracy is not None else typed.budget()
    with opened() as curator:
        if dry_run:
            assert accuracy is not None
            cost = curator.cost(question, accuracy=accuracy, confidence=confidence)
            if as_json:
                print_json({"cost": cost.to_dict()})
            else:
                click.echo(f"It would cost {cost}; {curator.left} is left.")
            return
        answers = curator.ask(
            question,
            budget=budget,
            accuracy=accuracy,
            confidence=confidence,
            undeclared=undeclared,
        )
        left = curator.left
    if as_json:
        print_json({**answers.to_dict(), "left": left.to_dict()})
        return
    print_answers(None, answers)
    say(f"{left} is left.")


@command.command()
@curator_options
@click.argument("questions", metavar="SQL...", nargs=-1, required=True)
@click.option("--threshold", type=int, required=True, help="The count to watch for.")
@click.option(
    "--epsilon", required=True, metavar="NUMBER", help="The cost of all the counts together."
)
@version_option
@confidence_option
@json_option
def alert(
    opened: Open,
    questions: tuple[str, ...],
    threshold: int,
    epsilon: str,
    confidence: float,
    as_json: bool,
) -> None:
    """Ask counts one after the other, until the first noisy count at or above a noisy threshold.

    All of them together have one price, however many are below (the sparse vector technique).

    \b
    Examples:
      discreet curator alert people.csv "SELECT count(*) FROM people WHERE smoker" --schema people.toml --threshold 500 --epsilon 0.1
    """
    from discreet.cli.output import print_json, print_table

    with opened() as curator:
        for sql in questions:
            curator.check_count(sql)  # what is not understood costs nothing
        watch = curator.alert(
            threshold,
            budget=budget_of(epsilon, "0"),
            confidence=confidence,
            questions=len(questions),
        )
        said: list[tuple[str, str]] = []
        for sql in questions:
            said.append((sql, "above" if watch.is_above(sql) else "below"))
            if watch.over:
                break
        rest = curator.left
    if as_json:
        answers = [{"question": sql, "answer": answer} for sql, answer in said]
        print_json({"answers": answers, "margin": watch.margin, "left": rest.to_dict()})
        return
    title = f"threshold {threshold:,}, give or take {watch.margin:,.1f} at {confidence:.0%}"
    print_table(("question", "noisy count"), said, title=title)
    click.echo(f"{rest} is left.")


@command.command()
@curator_options
@json_option
def left(opened: Open, as_json: bool) -> None:
    """Print what questions may still cost, exactly.

    \b
    Examples:
      discreet curator left people.csv --schema people.toml
      discreet curator left people.csv --schema people.toml --analyst ann --json
    """
    from discreet.cli.output import print_json

    with opened() as curator:
        cap, spent, rest = curator.cap, curator.spent, curator.left
    if as_json:
        print_json({"cap": cap.to_dict(), "spent": spent.to_dict(), "left": rest.to_dict()})
    else:
        click.echo(f"{rest} is left; {spent} of {cap} is spent.")
