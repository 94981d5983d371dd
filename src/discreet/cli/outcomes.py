"""How an attack's outcome is shown: a table, plain bars, JSON, or a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.cli.options import FILE, force_option, json_option

if TYPE_CHECKING:
    from discreet.attacks.outcome import Outcome, Series


Function = TypeVar("Function", bound=Callable[..., Any])
WIDTH = 40
HEIGHT = 9


def outcome_options(function: Function) -> Function:
    """`--json`, `-o` and `--force`: every attack has them."""
    page = click.option(
        "-o", "--output", type=FILE, help="Write a page with charts, one HTML file, too."
    )
    return json_option(page(force_option(function)))


def show_outcomes(
    outcomes: Sequence[Outcome], *, as_json: bool, output: Path | None, title: str, lead: str
) -> None:
    """Print what an attack achieved, and write its page if one was asked for."""
    from discreet.cli.files import write_text
    from discreet.cli.output import print_json, say

    if output is not None:
        from discreet.report.disclosure.page import render_attacks

        write_text(output, render_attacks(outcomes, title=title, lead=lead))
        say(f"The page: {output}")
    if as_json:
        plain = [_finite(each.to_dict()) for each in outcomes]
        print_json(plain[0] if len(plain) == 1 else plain)
        return
    for each in outcomes:
        print_outcome(each)


def check_output(output: Path | None, *, force: bool) -> None:
    """Before any work: a page that is there already stays."""
    from discreet.cli.files import refuse_overwriting

    if output is not None:
        refuse_overwriting(output, force=force)


def print_outcome(outcome: Outcome) -> None:
    """The table, the bars, the curve and the findings."""
    from discreet.artifacts.text_tables import plain_number
    from discreet.cli.output import print_table

    if outcome.banner:
        click.echo(outcome.banner)
    click.echo(outcome.title)
    largest = max(
        (abs(each.value) for each in outcome.lines if math.isfinite(each.value)), default=1
    )
    rows = []
    for each in outcome.lines:
        between = ""
        if each.lower is not None and each.upper is not None:
            between = (
                f"[{plain_number(round(each.lower, 4))}, {plain_number(round(each.upper, 4))}]"
            )
        bar = ""
        if math.isfinite(each.value):
            bar = "#" * round(20 * max(each.value, 0) / max(largest, 1e-12))
        value = plain_number(round(each.value, 4)) if math.isfinite(each.value) else "-"
        rows.append((each.publication, value, bar, between, each.note))
    print_table(("published", outcome.measure, "", "95% interval", ""), rows, right=(1,))
    if outcome.chance is not None:
        click.echo(f"Guessing alone: {plain_number(round(outcome.chance, 4))}.")
    if outcome.series:
        print_curves(outcome.series, across=outcome.across, up=outcome.measure)
    for line in outcome.findings:
        click.echo(line)
    if outcome.banner:
        click.echo(outcome.banner)
    click.echo("")


def print_curves(series: Sequence[Series], *, across: str, up: str) -> None:
    """A plain chart of letters: a for the first line, b for the second."""
    from discreet.artifacts.text_tables import plain_number

    points = [point for each in series for point in each.points]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    by_logarithm = min(xs) > 0 and max(xs) / min(xs) >= 100
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = min(0.0, *ys), max(*ys, 1e-12)

    def place(value: float) -> int:
        if by_logarithm:
            part = math.log(value / low_x) / math.log(high_x / low_x)
        else:
            part = (value - low_x) / max(high_x - low_x, 1e-12)
        return round(part * (WIDTH - 1))

    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for letter, each in zip("abcdef", series, strict=False):
        for x, y in each.points:
            down = round((high_y - y) / (high_y - low_y) * (HEIGHT - 1))
            grid[down][place(x)] = letter
    click.echo(
        f"  {up}: "
        + ", ".join(f"{a} {each.label}" for a, each in zip("abcdef", series, strict=False))
    )
    for row, line in enumerate(grid):
        edge = (
            plain_number(round(high_y, 4))
            if row == 0
            else plain_number(low_y)
            if row == HEIGHT - 1
            else ""
        )
        click.echo(f"{edge:>10} |{''.join(line).rstrip()}")
    click.echo(f"{'':>10} +{'-' * WIDTH}")
    scale = " (by powers of ten)" if by_logarithm else ""
    click.echo(f"{'':>12}{plain_number(low_x)} to {plain_number(high_x)}: {across}{scale}")


def _finite(value: Any) -> Any:
    """JSON has no not-a-number: null stands for it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value


LEAD = "What an adversary gets from unprotected publications, and from ours."


def epsilon_option(
    default: str = "1", words: str = "The budget of our side, in all."
) -> Callable[..., Any]:
    return click.option(
        "--epsilon", metavar="NUMBER", default=default, show_default=True, help=words
    )


def ran(attack: str, shared: dict[str, Any], *given: Any, **settings: Any) -> None:
    """Run an attack, by its name in `audits.attacking`, and show what it achieved. `shared`: see `outcome_options`."""
    from discreet.audits import attacking
    from discreet.cli.output import progress_bar

    check_output(shared["output"], force=shared["force"])
    with progress_bar() as advance:
        outcome: Outcome = getattr(attacking, attack)(*given, **settings, progress=advance)
    as_json, output = shared["as_json"], shared["output"]
    show_outcomes([outcome], as_json=as_json, output=output, title=outcome.title, lead=LEAD)
