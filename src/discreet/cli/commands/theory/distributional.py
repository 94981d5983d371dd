"""`discreet theory distributional`: a mechanism that protects every row, and not the sample."""

from __future__ import annotations

import click

from discreet.cli.commands.theory.bounds import epsilon_option
from discreet.cli.options import defaulted, json_option

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
