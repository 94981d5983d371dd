"""`discreet theory sizes`: lemma 3.2, theorem 3.1 and the price of privacy for a class of queries."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import click

from discreet.cli.options import SHARE, defaulted, json_option

if TYPE_CHECKING:
    from discreet.theory.sample_sizes import QueryShape

CLASSES = ("prefixes", "intervals", "conjunctions", "parities")


@click.command(short_help="Rows that a class needs, with and without privacy.")
@click.option(
    "--class", "kind", type=click.Choice(CLASSES), required=True, help="The class of queries."
)
@defaulted("--columns", click.IntRange(1, 30), 4, "Boolean columns; for prefixes and intervals, the bits of the one column.")  # fmt: skip
@click.option(
    "--epsilon",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    help="The privacy budget.",
)
@click.option(
    "--error", default="10%", show_default=True, help="As a part of the rows, such as 10%."
)
@click.option("--rows", type=click.IntRange(min=1), help="Also the error for this number of rows.")
@click.option("--confidence", type=SHARE, default=0.95, show_default=True)
@json_option
def sizes(
    kind: str,
    columns: int,
    epsilon: float,
    error: str,
    rows: int | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Show how many rows a class of queries needs for an error of all its queries at once: in a small database
    (lemma 3.2), in a table that is released with privacy (theorem 3.1), and in a sample without any.

    \b
    Examples:
      discreet theory sizes --class conjunctions --columns 4 --epsilon 1 --error 10%
      discreet theory sizes --class intervals --columns 10 --epsilon 0.5 --rows 20000 --json
    """
    from discreet.cli.output import print_json, print_table
    from discreet.privacy.exact import exact
    from discreet.theory.sample_sizes import (
        best_size,
        error_reached,
        price_of_privacy,
        rows_as_printed,
        rows_needed,
    )

    part = float(exact(error.strip().rstrip("%"), name="--error"))
    part = part / 100 if error.strip().endswith("%") else part
    shape, delta = _shape(kind, columns), 1 - confidence
    needed = rows_needed(shape, error=part, alpha=epsilon, delta=delta)
    price = price_of_privacy(shape, error=part, alpha=epsilon, delta=delta)
    printed_size, printed = rows_as_printed(
        bits=columns, dimension=shape.dimension, error=part, alpha=epsilon, delta=delta
    )
    found = {
        "class": kind,
        "kinds_of_points": shape.kinds,
        "queries": shape.queries,
        "vc_dimension": shape.dimension,
        "error": part,
        "confidence": confidence,
        "epsilon": epsilon,
        "database_rows": shape.cover_size(part),
        "rows_needed": needed,
        "rows_as_printed": printed,
        "database_rows_as_printed": printed_size,
        "population_without_privacy": price.without_privacy,
        "population_with_privacy": price.with_privacy,
    }
    if rows is not None:
        size = best_size(shape, rows=rows, alpha=epsilon, delta=delta)
        found["rows"] = rows
        found["error_reached"] = error_reached(
            shape, rows=rows, alpha=epsilon, delta=delta, size=size
        )
    if as_json:
        print_json(found)
        return
    print_table(
        ("for an error of all queries of", "rows"),
        [
            (f"a small database within {part:.3g} (lemma 3.2)", f"{found['database_rows']:,}"),
            (f"the table, released with epsilon {epsilon:g} (theorem 3.1)", f"{needed:,}"),
            ("the same as printed, with 2^(dm) databases", f"{printed:,}"),
            ("the population, without privacy", f"{price.without_privacy:,}"),
            ("the population, with it", f"{price.with_privacy:,}"),
        ],
        title=f"{kind}: {shape.queries:,} queries over {shape.kinds:,} kinds of points, VC dimension {shape.dimension}",
        right=[1],
    )
    if rows is not None:
        click.echo(f"{rows:,} rows reach an error of {found['error_reached']:.3g} of the rows.")


def _shape(kind: str, columns: int) -> QueryShape:
    """The class, as the bounds see it."""
    from discreet.theory import vc_dimension
    from discreet.theory.sample_sizes import INTERVALS_REACH, PREFIXES_REACH, QueryShape

    kinds = 1 << columns
    match kind:
        case "prefixes":
            dimension, reach = vc_dimension.prefixes(kinds), PREFIXES_REACH
            return QueryShape(kinds=kinds, queries=kinds, dimension=dimension, reach=reach)
        case "intervals":
            many, dimension = comb(kinds + 1, 2), vc_dimension.intervals(kinds)
            return QueryShape(kinds=kinds, queries=many, dimension=dimension, reach=INTERVALS_REACH)
        case "conjunctions":
            dimension = vc_dimension.conjunctions(columns)
            return QueryShape(kinds=kinds, queries=3**columns, dimension=dimension)
        case _:
            dimension = vc_dimension.parities(columns)
            return QueryShape(kinds=kinds, queries=kinds, dimension=dimension)
