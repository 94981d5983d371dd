"""`discreet local`: surveys in which every person adds noise alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import (
    FILE,
    SHARE,
    confidence_option,
    csv_options,
    defaulted,
    force_option,
    json_option,
)

if TYPE_CHECKING:
    from discreet.schema import CsvOptions

question_option = click.option(
    "--question",
    "question_path",
    type=FILE,
    required=True,
    help="The question's file, as `plan` writes it.",
)


@click.group()
def command() -> None:
    """Ask people in the local model: every person adds noise alone, and the collector sees only reports.

    \b
    Examples:
      discreet local plan --values true,false --name smoker --epsilon 1 --people 1000 -o smoker.json
      discreet local perturb people.csv --question smoker.json -o reports.csv
      discreet local estimate reports.csv --question smoker.json
    """


@command.command()
@click.option(
    "--name", default="answer", show_default=True, help="The column that the question asks for."
)
@click.option("--values", help="The declared values, with commas between them.")
@click.option("--bounds", help="For a number: its bounds, such as 0,100.")
@click.option(
    "--protocol",
    type=click.Choice(["randomised-response", "unary-encoding", "local-hashing"]),
    help="Default: the protocol with the least variance, or local-hashing if it is within a tenth of that.",
)
@click.option("--epsilon", metavar="NUMBER", help="The budget of each person's report.")
@click.option("--people", type=click.FloatRange(1), help="How many people answer.")
@click.option(
    "--error",
    type=SHARE,
    help="The largest error of a share.",
)
@click.option(
    "--risk",
    type=SHARE,
    help="The probability of a larger error. Default: 0.05, unless it is what is computed.",
)
@click.option("-o", "--output", type=FILE, help="Write the question, for clients and collector.")
@force_option
@json_option
def plan(
    name: str, values: str | None, bounds: str | None, protocol: str | None, epsilon: str | None,
    people: float | None, error: float | None, risk: float | None, output: Path | None, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Plan a survey: people, epsilon, error and risk, any one from the others.

    The lemma is for a yes/no question. For a number it also shows how closely the mean is known.
    For declared values it also shows the width of each protocol's intervals, and how much less noise a trusted curator would need.

    \b
    Examples:
      discreet local plan --epsilon 1 --people 10000
      discreet local plan --error 0.02 --people 50000 --json
      discreet local plan --bounds 0,80 --name hours --epsilon 1 --people 1000 -o hours.json
    """
    from discreet.cli.files import refuse_overwriting
    from discreet.cli.output import print_json
    from discreet.local.planning import central_and_local, expected_errors
    from discreet.local.planning import plan as planned
    from discreet.local.question import Question
    from discreet.privacy.exact import exact

    if output is not None:
        refuse_overwriting(output, force=force)
    given = sum(each is not None for each in (epsilon, people, error))
    if risk is None and given < 3:
        risk = 0.05
    number = None if epsilon is None else float(exact(epsilon, name="epsilon"))
    found = planned(people=people, epsilon=number, error=error, risk=risk)
    budget = epsilon if epsilon is not None else f"{found.epsilon:.6f}"
    question = None
    if bounds is not None and (values is not None or protocol is not None):
        raise click.UsageError(
            "--bounds is for a number; --values and --protocol are for listed values."
        )
    if bounds is not None:
        low, _, high = bounds.partition(",")
        question = Question.number(name, low.strip(), high.strip(), epsilon=budget)
    elif values is not None:
        listed = [each.strip() for each in values.split(",")]
        question = Question.category(name, listed, epsilon=budget, protocol=protocol)
    elif output is not None:
        raise click.UsageError("A question needs --values or --bounds.")
    widths = {}
    if question is not None:
        widths = expected_errors(question, int(found.people))
    if output is not None and question is not None:
        question.save(output)
    sizes = [10**power for power in range(2, 8)]
    curve = central_and_local(found.epsilon, sizes, risk=found.risk)
    if as_json:
        print_json({
            **found.to_dict(), "question": None if question is None else question.to_dict(),
            "half_widths": widths,
            "central_and_local": [dict(zip(("people", "central", "local"), each, strict=True)) for each in curve],
        })  # fmt: skip
        return
    _print_plan(found, question, widths, curve)
    if output is not None:
        click.echo(f"The question: {output}")


def _print_plan(found: Any, question: Any, widths: dict[str, float], curve: list[Any]) -> None:
    from discreet.artifacts.text_tables import plain_number
    from discreet.attacks.outcome import Series
    from discreet.cli.outcomes import print_curves
    from discreet.cli.output import print_table

    for name in ("people", "epsilon", "error", "risk"):
        mark = "  (computed)" if found.computed == name else ""
        click.echo(f"{name + ':':<9} {plain_number(getattr(found, name))}{mark}")
    click.echo(
        f"A trusted curator at the same epsilon and risk: an error of {found.central_error:.3g}."
    )
    if question is not None and question.is_number:
        click.echo(
            "These numbers are for the share of a yes/no question. The mean of "
            f"{question.name!r} is known to within ± {widths[question.protocol]:.4g}, at 95%."
        )
    elif widths:
        click.echo(f"Protocol: {question.protocol}. Half the width of a rare value's interval:")
        print_table(
            ("protocol", "half-width"),
            [(kind, f"{half:.4g}") for kind, half in widths.items()],
            right=(1,),
        )
    print_curves(
        [
            Series("local", [(float(n), min(local, 1.0)) for n, _, local in curve]),
            Series("central", [(float(n), min(central, 1.0)) for n, central, _ in curve]),
        ],
        across="people",
        up="error of a share",
    )  # fmt: skip


@command.command()
@click.argument("table")
@question_option
@click.option("--column", help="The column of true answers. Default: the question's name.")
@click.option("--identifier", help="The column that says whose answer it is; with --memory.")
@click.option(
    "--memory",
    type=FILE,
    help="Remembers every client's report, so that the question asked again gets the same one. It holds no true answer.",
)
@click.option(
    "-o", "--output", type=FILE, required=True, help="The reports: .csv, .parquet or .arrow."
)
@csv_options("delimiter", "encoding")
@force_option
def perturb(
    table: str, question_path: Path, column: str | None, identifier: str | None, memory: Path | None,
    output: Path, csv: CsvOptions | None, force: bool,
) -> None:  # fmt: skip
    """Turn true answers into reports, as every client would on their own device.

    \b
    Examples:
      discreet local perturb people.csv --question smoker.json -o reports.csv
      discreet local perturb people.csv --question smoker.json -o reports.parquet
    """
    from discreet.cli.files import held_alone, refuse_overwriting
    from discreet.engines.csv.answers import columns_of_lines
    from discreet.local.clients.perturbing import perturb as perturbed
    from discreet.local.question import Question
    from discreet.plain_tables import ARROW, PARQUET, check_ending, read_columns, write_columns
    from discreet.schema import CsvOptions

    refuse_overwriting(output, force=force)
    check_ending(output)
    question = Question.load(question_path)
    if (identifier is None) != (memory is None):
        raise click.UsageError("--memory and --identifier go together.")
    wanted = [column or question.name, *([] if identifier is None else [identifier])]
    if Path(table).suffix in (PARQUET, *ARROW):
        columns = read_columns(table, wanted=wanted)
    else:
        csv = replace(csv or CsvOptions(), trim=True)
        columns = columns_of_lines(table, wanted, csv)
    answers = columns[wanted[0]]
    if memory is None:
        reports = [_report_text(each) for each in perturbed(question, answers)]
    else:
        assert identifier is not None
        # Two runs at once would each draw a report of whoever neither remembers.
        with held_alone(memory):
            reports = _remembered(question, answers, columns[identifier], memory)
    write_columns(output, {"report": reports})
    click.echo(f"{output}: one report for each person, at epsilon {question.epsilon} each")


def _report_text(report: Any) -> str:
    return "".join(map(str, report)) if hasattr(report, "__len__") else str(int(report))


def _remembered(question: Any, answers: list[str], people: list[str], path: Path) -> list[str]:
    """Each person's own memory, all in one file: for trying it out."""
    import json

    from discreet.cli.files import write_text
    from discreet.errors import BadInput
    from discreet.local.clients.memory import Client

    try:
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        clients = {name: Client.restored(each) for name, each in stored.items()}
    except (ValueError, AttributeError):
        raise BadInput(f"{path} is not a memory of clients. Nothing was reported.") from None
    reports = []
    for name, answer in zip(people, answers, strict=True):
        client = clients.setdefault(name, Client())
        reports.append(_report_text(client.answer(question, answer)))
    write_text(path, json.dumps({name: each.remembered() for name, each in clients.items()}))
    return reports


@command.command()
@click.argument("reports_path", metavar="REPORTS")
@question_option
@defaulted("--top", click.IntRange(1), 20, "How many values are printed, the largest first.")
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    help="Only values whose share is at least this, with the stated confidence.",
)
@confidence_option
@json_option
def estimate(
    reports_path: str,
    question_path: Path,
    top: int,
    least: float | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Estimate shares or a mean from reports. Anyone may: it needs no true answer.

    \b
    Examples:
      discreet local estimate reports.csv --question smoker.json
      discreet local estimate reports.csv --question smoker.json --least 0.05 --json
    """
    from discreet.cli.output import print_json, print_table
    from discreet.local.collector.collecting import estimate as estimated
    from discreet.local.collector.heavy_hitters import heavy_hitters
    from discreet.local.question import Question

    question = Question.load(question_path)
    reports = _reports(question, reports_path)
    if least is not None:  # all intervals together hold with this confidence
        confidence = 1 - (1 - confidence) / max(len(question.values), 1)
    found: Any = estimated(question, reports, confidence=confidence)
    if question.is_number:
        if as_json:
            print_json(found.to_dict())
        else:
            click.echo(
                f"mean of {question.name}: {found.estimate:,.6g}  [{found.lower:,.6g}, {found.upper:,.6g}]"
            )
        return
    order = sorted(range(len(question.values)), key=lambda at: -found.shares[at])
    lines = [
        (found.values[at], float(found.shares[at]), float(found.lower[at]), float(found.upper[at]))
        for at in order[:top]
    ]
    if least is not None:
        lines = heavy_hitters(found, least=least)
    if as_json:
        plain = found.to_dict()
        plain["values"] = [
            dict(zip(("value", "share", "lower", "upper"), each, strict=True)) for each in lines
        ]
        print_json(plain)
        return
    rows = [
        (value, f"{share:.4f}", f"[{low:.4f}, {high:.4f}]", "#" * round(40 * max(share, 0)))
        for value, share, low, high in lines
    ]
    print_table((question.name, "share", "interval", ""), rows, right=(1,))
    click.echo(f"{found.people:,} reports, confidence {confidence:g}, by {question.protocol}.")


def _reports(question: Any, path: str) -> Any:
    import numpy as np

    from discreet.errors import BadInput
    from discreet.plain_tables import read_columns

    texts = read_columns(path, wanted=["report"])["report"]
    try:
        if question.protocol == "unary-encoding":
            bits = np.array([list(text) for text in texts], dtype=np.uint8)
            if bits.size and int(bits.max()) > 1:
                raise ValueError
            return bits
        return np.array(texts, dtype=np.int64)
    except ValueError:
        raise BadInput(f"{path} contains a value that is not a report to this question.") from None


@command.command()
@json_option
def picture(as_json: bool) -> None:
    """Flip every pixel of a drawing with probability 1/4: no pixel is reliable, but the picture is still recognisable.

    \b
    Examples:
      discreet local picture
      discreet local picture --json
    """
    from discreet.cli.output import print_json
    from discreet.local.picture import drawing, flipped, smoothed, written

    true = drawing()
    told = flipped(true)
    together = smoothed(told)
    kept, seen = float((told == true).mean()), float((together == true).mean())
    if as_json:
        print_json({"drawing": written(true), "flipped": written(told), "smoothed": written(together), "pixels_kept": kept, "pixels_right_together": seen})  # fmt: skip
        return
    click.echo(
        f"The drawing:\n{written(true)}\n\nEvery pixel by two coins, epsilon ln 3 each ({kept:.0%} kept):\n{written(told)}\n"
    )
    click.echo(f"What nine neighbours say together ({seen:.0%} right):\n{written(together)}")
