"""`discreet demo`: from a table to answers, on people who never lived."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import FILE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EPSILON = "1"
WORKLOAD = (
    "marginals(age, sex)",
    "marginals(region, education)",
    "marginals(education, income)",
    "means(income)",
    "histogram(born)",
)
QUESTIONS = (
    "SELECT count(*) FROM people WHERE age BETWEEN 30 AND 39 AND sex = 'F'",
    "SELECT education, count(*) FROM people WHERE region = 'North' GROUP BY education",
    "SELECT avg(income) FROM people",
)


@click.command()
@click.option(
    "--output",
    "directory",
    type=FILE,
    default=Path("demo-output"),
    show_default=True,
    help="The directory for the demo's files.",
)
def command(directory: Path) -> None:
    """Publish a bundled table and ask it three questions: 50,000 generated people, a schema, a
    release at epsilon 1, answers with intervals beside the truth, a report, and an attack that works on
    rounded counts and fails on ours.

    The data is generated, so the demo may show the truth and start a new ledger at every run. With
    real data, do neither.

    \b
    Examples:
      discreet demo
      discreet demo --output somewhere
    """
    from discreet import Budget, Schema, open_release, render_report
    from discreet.cli.answering import print_answers
    from discreet.cli.files import write_text
    from discreet.cli.output import progress_bar
    from discreet.demo import PEOPLE, make_people, schema_text, write_csv
    from discreet.releases import release_to_file

    directory.mkdir(parents=True, exist_ok=True)
    table, declared = directory / "people.csv", directory / "people.toml"
    published, page = directory / "people.release", directory / "people.html"

    people = make_people()
    write_csv(table, people)
    write_text(declared, schema_text())
    click.echo(f"1. A table to protect: {table}, {PEOPLE:,} generated people.")
    click.echo(f"2. Its public facts:   {declared}, columns and ranges, not taken from the rows.")

    ledger_directory = directory / "ledger"
    shutil.rmtree(ledger_directory, ignore_errors=True)
    ledger_directory.mkdir()
    schema = Schema.load(declared)
    with progress_bar() as advance:
        release_to_file(
            table,
            schema,
            published,
            budget=Budget(epsilon=EPSILON),
            workload=WORKLOAD,
            ledger=ledger_directory / "ledger.db",
            progress=advance,
            overwrite=True,
        )
    click.echo(f"3. A release:          {published}, epsilon {EPSILON}, good for")
    click.echo("".join(f"     {text}\n" for text in WORKLOAD), nl=False)
    click.echo("4. Three questions. They read the release, not the table:\n")
    reader = open_release(published)
    for question in QUESTIONS:
        print_answers(question, reader.ask(question))
    _print_truth(people)
    write_text(page, render_report(reader, file_name=published.name))
    click.echo(f"5. The report:         {page.resolve()}")
    _attack(people)
    click.echo(
        f'\nAsk more:  discreet ask {published} "SELECT count(*) FROM people WHERE age >= 65"\n'
        f"Check it:  discreet verify {published}\n"
        f"More attacks: discreet attack all {table} --schema {declared}\n"
        "The demo's ledger is new at every run, because its data is generated. A real ledger is never reset."
    )


def _attack(people: dict[str, npt.NDArray[np.generic]]) -> None:
    """The secret of 128 people from counts of subsets: rounded ones give it away, ours do not."""
    import numpy as np

    from discreet.audits.attacking.reconstructing import brief

    smokes = people["smoker"].astype(np.int64)
    half = [np.flatnonzero(smokes == value)[:64] for value in (1, 0)]
    before, after = brief(smokes[np.sort(np.concatenate(half))].tolist(), epsilon=EPSILON)
    click.echo(
        "6. An attack:          who of 128 people smokes, from counts of random subsets of them\n"
        f"     counts rounded to tens:                {before:.0%} found out\n"
        f"     our curator's counts, epsilon {EPSILON} in all: {after:.0%}; guessing finds 50%"
    )


def _print_truth(people: dict[str, npt.NDArray[np.generic]]) -> None:
    """The exact answers, which only generated people may have shown."""
    import numpy as np

    from discreet.demo.people import EDUCATIONS, REGIONS

    age, sex = people["age"].astype(np.int64), people["sex"].astype(np.int64)
    first = int(((age >= 30) & (age <= 39) & (sex == 0)).sum())
    north = people["education"].astype(np.int64)[people["region"] == REGIONS.index("North")]
    counts = [int((north == code).sum()) for code in range(len(EDUCATIONS))]
    # After clamping, as every answer is: a few incomes lie beyond the schema's bounds.
    mean = float(np.nanmean(np.minimum(people["income"].astype(np.float64), 160_000.0)))
    listed = ", ".join(f"{name} {count:,}" for name, count in zip(EDUCATIONS, counts, strict=True))
    click.echo(
        "   The truth, shown only because these people were generated:\n"
        f"     1. {first:,}\n"
        f"     2. {listed}, null {int((north < 0).sum()):,}\n"
        f"     3. {mean:,.0f}, of incomes clamped to the schema's bounds as the release's are\n"
    )
