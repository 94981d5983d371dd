"""`discreet release`: publish a table once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import (
    FILE,
    TypedBudget,
    algorithm_option,
    algorithms_of,
    budget_options,
    check_cap,
    confidence_option,
    convert_option,
    force_option,
    json_option,
    ledger_option,
    schema_option,
    workload_of,
    workload_option,
    yes_option,
)

if TYPE_CHECKING:
    from discreet.artifacts.release import Release


@click.command()
@click.argument("table", type=str)
@schema_option
@workload_option
@algorithm_option
@budget_options
@click.option("-o", "--output", type=FILE, required=True, help="The release file to write.")
@ledger_option
@click.option(
    "--sign",
    "key_path",
    metavar="KEY",
    type=FILE,
    help="Sign with the private key in this file (see `discreet key`).",
)
@confidence_option
@convert_option
@yes_option
@force_option
@json_option
def command(
    table: str,
    schema_path: Path,
    classes: tuple[str, ...],
    algorithms: tuple[str, ...],
    typed: TypedBudget,
    output: Path,
    ledger_path: Path | str | None,
    key_path: Path | None,
    confidence: float,
    convert_unit: bool,
    yes: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Publish a table once: charge the ledger, read the rows, add noise, write one release file.

    The table is a Parquet file or glob, a CSV file, file.duckdb::table, postgresql://host/db#schema.table, or
    spark:catalog.schema.table. The budget is for the whole release. The charge is durable before the first row is read. It is never refunded, not even after an
    error or Ctrl-C. A release beyond the dataset's cap is refused before anything is read.

    \b
    Examples:
      discreet release people.csv --schema people.toml --epsilon 1 --for 'marginals(2)' -o people.release
      discreet release people.csv --schema people.toml --epsilon 1/2 \\
          --for 'marginals(age, sex) * 3' --for 'means(income)' -o people.release
    """
    from discreet.cli.files import private_key, refuse_overwriting
    from discreet.cli.output import print_json, progress_bar
    from discreet.releases import release_to_file
    from discreet.schema import Schema

    refuse_overwriting(output, force=force)
    key = None if key_path is None else private_key(key_path)
    schema = Schema.load(schema_path)
    workload = workload_of(classes)
    if not typed.is_given:
        raise click.UsageError("Give a budget for the whole release: --epsilon, --rho or --mu.")
    budget = typed.budget()
    check_cap(schema.cap or budget, yes=yes)
    with progress_bar() as advance:
        made = release_to_file(
            table,
            schema,
            output,
            budget=budget,
            workload=workload,
            ledger=ledger_path,
            confidence=confidence,
            algorithms=algorithms_of(algorithms),
            progress=advance,
            overwrite=force,
            convert_unit=convert_unit,
        ).release
    signed_by = None if key is None else _signed(output, key)
    if as_json:
        print_json(_as_data(made, output, signed_by))
    else:
        _print(made, output)


def _signed(output: Path, key: str) -> str:
    """Sign the file that was written; the name of the key."""
    from discreet.answering import sign_release
    from discreet.errors import BadInput, NotWritten

    try:
        return sign_release(output, key)
    except BadInput as error:
        raise NotWritten(
            f"{output} is written and charged, but not signed: {error} Do not pay for it again; sign "
            "it with `discreet.answering.sign_release` once there is room."
        ) from None


def _as_data(made: Release, output: Path, signed_by: str | None) -> dict[str, Any]:
    """What was released, as plain data."""
    from discreet.privacy.guidance import guidance
    from discreet.releases.algorithms import left_out_note, remarks

    schema = made.schema
    return {
        "release": str(output),
        "dataset": schema.dataset,
        "charged": made.budget.to_dict(),
        "accounting": made.accounting.value,
        "signed_by": signed_by,
        "warnings": guidance(made.budget, people=schema.people),
        "remarks": [
            each
            for part in made.parts
            for each in remarks(part.query_class, schema, part.algorithm)
        ],
        "left_out": [
            text for part in made.parts if (text := left_out_note(part.query_class, schema))
        ],
        "claims": [
            {
                "class": claim.query_class,
                "bound": claim.bound,
                "confidence": claim.confidence,
                "simultaneous": claim.simultaneous,
                "among": claim.among,
            }
            for claim in made.claims
        ],
    }


def _print(made: Release, output: Path) -> None:
    """What was released, for people: its claims, and what they should know of it."""
    from discreet.answering.overview import telling_claims
    from discreet.artifacts.text_tables import plain_number
    from discreet.cli.output import print_table, say
    from discreet.families.shared.release.measured import drowned
    from discreet.privacy.guidance import guidance
    from discreet.releases.algorithms import remarks

    schema = made.schema
    claimed = {claim.query_class for claim in made.claims}
    unclaimed = [text for text in dict.fromkeys(made.workload) if text not in claimed]
    print_table(
        ("good for", "off by at most", "holds for", "confidence"),
        [
            (
                claim.query_class,
                plain_number(claim.bound),
                f"all {claim.among or 'its queries'} at once"
                if claim.simultaneous
                else "each query alone",
                f"{claim.confidence:.6g}",
            )
            for claim in telling_claims(made)
        ]
        + [(text, "no bound", "ask: each answer has its interval", "") for text in unclaimed],
        title=f"{output}: {schema.dataset} at {made.budget}, charged to the ledger",
        right=[1, 3],
    )
    for warning in guidance(made.budget, people=schema.people):
        say(warning)
    for part in made.parts:
        for remark in remarks(part.query_class, schema, part.algorithm):
            say(remark)
    for text in sorted(drowned(made)):
        say(
            f"{text}: that is as much as the {schema.people:,} people of the schema or more, so answers "
            "say little. A larger budget is needed, or fewer or coarser columns."
        )
