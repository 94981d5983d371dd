"""`discreet theory median`, `parity`, `reconstruction`, `distributional` and `incidence`: what private releases can and cannot do."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE, SHARE, defaulted, json_option

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
@defaulted("--success", SHARE, 0.9, "How often the median of equal rows must be found.")  # fmt: skip
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
@defaulted("--error", SHARE, 0.1, "As a part of the rows.")  # fmt: skip
@click.option("--confidence", type=SHARE, default=0.95, show_default=True)
@defaulted("--gamma", SHARE, 0.5, "How close the halfspace must be that is really answered.")  # fmt: skip
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


MOST_ROWS = 1_000_000


@click.command(short_help="Distributional privacy: the mirrored-mod separation.")
@epsilon_option
@defaulted("--rows", click.IntRange(1, MOST_ROWS), 10_000, "Rows of the table.")
@json_option
def distributional(epsilon: float, rows: int, as_json: bool) -> None:
    """Show how often two samples of one distribution are told apart by a loss of 1, by two mechanisms that are epsilon-DP: the
    mirrored-mod count of theorem 7.3, and a plain count. 2/epsilon must be whole.

    \b
    Examples:
      discreet theory distributional --epsilon 0.1 --rows 10000
      discreet theory distributional --epsilon 1 --json
    """
    from discreet.cli.output import print_json
    from discreet.theory.distributional import mirrored_mod_loss, period_of, plain_count_loss

    period = period_of(epsilon)
    mirrored, plain = mirrored_mod_loss(epsilon, rows), plain_count_loss(epsilon, rows)
    holds = rows**0.5 > 2 * period
    if as_json:
        print_json(
            {"epsilon": epsilon, "rows": rows, "period": period, "mirrored_mod": mirrored,
             "plain_count": plain, "condition_holds": holds}
        )  # fmt: skip
        return
    click.echo(
        f"Both mechanisms are {epsilon:g}-DP: one changed row is hidden. Two samples of {rows:,} fair bits:"
    )
    click.echo(f"  mirrored mod {period}: a loss of 1 or more with probability {mirrored:.4g}")
    click.echo(f"  plain count:     a loss of 1 or more with probability {plain:.4g}")
    if not holds:
        click.echo(
            f"Theorem 7.3 needs sqrt(n) much larger than 2/epsilon = {period}, and there are too few rows."
        )


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
