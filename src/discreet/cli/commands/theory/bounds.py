"""`discreet theory median`, `parity` and `reconstruction`: what no private release can do."""

from __future__ import annotations

import click

from discreet.cli.options import defaulted, json_option

rows_option = defaulted("--rows", click.IntRange(1, 10**12), 10_000, "Rows of the table.")
epsilon_option = click.option(
    "--epsilon",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    help="The privacy budget.",
)


@click.command(short_help="Why a domain must be finite: the median argument, run.")
@defaulted("--bits", click.IntRange(1, 64), 10, "Of a finite domain.")
@epsilon_option
@defaulted("--success", click.FloatRange(0, 1, min_open=True, max_open=True), 0.9, "How often the median of equal rows must be found.")  # fmt: skip
@json_option
def median(bits: int, epsilon: float, success: float, as_json: bool) -> None:
    """Run the argument of theorem 5.1 on the exact median over the reals: two tables that differ in one row, and a value that
    only one of them can be answered with. Then show what a median costs on a finite domain.

    \b
    Examples:
      discreet theory median --bits 20 --epsilon 0.1
      discreet theory median --epsilon 1 --json
    """
    from fractions import Fraction

    from discreet.cli.output import print_json
    from discreet.theory.median import median_counterexample, rows_for_median

    def exact(table: object, value: Fraction) -> float:
        rows = sorted(table)  # type: ignore[call-overload]
        return float(rows[(len(rows) - 1) // 2] == value)

    found = median_counterexample(exact, 5, candidates=[Fraction(1, 3)])
    assert found is not None
    rows = rows_for_median(1 << bits, epsilon, success=success)
    tables = [" ".join(map(str, each)) for each in (found.without, found.having)]
    if as_json:
        print_json(
            {"never": tables[0], "sometimes": tables[1], "value": str(found.value), "chance": found.chance,
             "bits": bits, "epsilon": epsilon, "success": success, "rows": rows}
        )  # fmt: skip
        return
    click.echo(f"The table {tables[0]} is never answered with {found.value}.")
    click.echo(
        f"The table {tables[1]}, one row away, is answered with it with probability {found.chance:g}."
    )
    click.echo(
        "So no epsilon bounds the difference. Every useful median over the reals has such a pair."
    )
    click.echo(
        f"Over 2^{bits} values, a median that is right on equal rows with probability {success:g} needs at least "
        f"{rows:,} rows at epsilon {epsilon:g}."
    )


@click.command(short_help="What a curator can do and a published table cannot: parities.")
@epsilon_option
@rows_option
@json_option
def parity(epsilon: float, rows: int, as_json: bool) -> None:
    """Show the error of one parity that a curator answers, and the error that some parity of any private published table
    has (theorem A.6, with the corrected constant).

    \b
    Examples:
      discreet theory parity --epsilon 0.1 --rows 10000
      discreet theory parity --epsilon 1 --json
    """
    from dataclasses import asdict

    from discreet.cli.output import print_json
    from discreet.theory.parity import separation

    found = separation(rows, alpha=epsilon)
    if as_json:
        print_json({**asdict(found), "separated": found.is_separated})
        return
    click.echo(
        f"A curator that answers one parity of {rows:,} rows is off by {found.curator:.3g} on average."
    )
    click.echo(
        f"Of any private table, some parity is off by {found.published:.3g} or more, in half of the runs."
    )
    click.echo(
        "The curator is better."
        if found.is_separated
        else "This shows no separation: too few rows."
    )


@click.command(short_help="How much error subset sums need: reconstruction as a curve.")
@rows_option
@click.option(
    "--error", "errors", type=click.FloatRange(min=0), multiple=True, help="In rows; repeatable."
)
@json_option
def reconstruction(rows: int, errors: tuple[float, ...], as_json: bool) -> None:
    """Show which share of the rows can be reconstructed for certain if all subset sums are answered within an error.

    \b
    Examples:
      discreet theory reconstruction --rows 1000 --error 50 --error 125
      discreet theory reconstruction --json
    """
    from dataclasses import asdict

    from discreet.cli.output import print_json, print_table
    from discreet.theory.reconstruction import curve

    listed = errors or tuple(rows * part for part in (0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4))
    found = curve(rows, listed)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    print_table(
        ("error of every subset sum", "rows wrong at most", "given away at least"),
        [
            (f"{each.error:,.6g}", f"{each.most_wrong:,}", f"{each.least_recovered:.1%}")
            for each in found
        ],
        title=f"{rows:,} rows, all subset sums answered",
        right=[0, 1, 2],
    )


@click.command(short_help="What theorem 6.5 needs, for an error and a probability.")
@epsilon_option
@defaulted("--error", click.FloatRange(0, 1, min_open=True, max_open=True), 0.1, "As a part of the rows.")  # fmt: skip
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
)
@defaulted("--gamma", click.FloatRange(0, 1, min_open=True, max_open=True), 0.5, "How close the halfspace must be that is really answered.")  # fmt: skip
@defaulted("--columns", click.IntRange(1, 10_000), 2, "Numeric columns.")
@defaulted("--bits", click.IntRange(1, 64), 8, "Of a coefficient.")
@json_option
def halfspaces(
    epsilon: float,
    error: float,
    confidence: float,
    gamma: float,
    columns: int,
    bits: int,
    as_json: bool,
) -> None:
    """Show how many projections, dimensions, canonical halfspaces and rows theorem 6.5 asks for, with its own constants.

    \b
    Examples:
      discreet theory halfspaces --epsilon 1 --error 0.1 --gamma 0.5
      discreet theory halfspaces --epsilon 1 --columns 3 --confidence 0.99 --json
    """
    from dataclasses import asdict

    from discreet.cli.output import print_json
    from discreet.reference.halfspaces.theorem import theorem_parameters

    found = theorem_parameters(
        epsilon=error,
        delta=1 - confidence,
        gamma=gamma,
        alpha=epsilon,
        bits=bits,
        columns=columns + 1,
    )
    if as_json:
        print_json(asdict(found))
    else:
        click.echo(f"{found.sentence[:1].upper()}{found.sentence[1:]}.")
