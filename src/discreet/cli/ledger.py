"""`discreet ledger`: what each dataset has spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.failures import CheckFailed
from discreet.cli.options import budget_of, budget_options, json_option, ledger_option


@click.group()
def command() -> None:
    """Show or check the ledger: the durable record of every charge against a dataset.

    \b
    Examples:
      discreet ledger show
      discreet ledger verify --ledger ledger.db
    """


@command.command(short_help="Show what was charged, for what, and what is left.")
@click.argument("dataset", required=False)
@ledger_option
@json_option
def show(dataset: str | None, ledger_path: Path | None, as_json: bool) -> None:
    """Show what was charged, to which dataset, for what, and what is left of each cap.

    \b
    Examples:
      discreet ledger show
      discreet ledger show people --ledger ledger.db --json
    """
    from discreet.cli.output import print_json, print_table
    from discreet.errors import did_you_mean

    with _existing(ledger_path) as ledger:
        entries = ledger.entries(dataset)
        charged = {entry.dataset for entry in ledger.entries(None)}
        names = list(dict.fromkeys(entry.dataset for entry in entries))
        accounts = [(name, ledger.cap(name), ledger.spent(name)) for name in names]
        place = str(ledger.path)
    if as_json:
        print_json(
            {
                "ledger": place,
                "datasets": [
                    {"dataset": name, "cap": cap.to_dict(), "spent": spent.to_dict()}
                    for name, cap, spent in accounts
                ],
                "entries": [
                    {
                        "id": entry.id,
                        "dataset": entry.dataset,
                        "cost": entry.cost.to_dict(),
                        "state": entry.state.value,
                        "purpose": entry.purpose,
                        "charged_at": entry.charged_at,
                        "digest": entry.digest,
                    }
                    for entry in entries
                ],
            }
        )
        return
    if not entries:
        whose = "" if dataset is None else f" to dataset {dataset!r}"
        near = "" if dataset is None else did_you_mean(dataset, sorted(charged))
        click.echo(f"Nothing was charged{whose} in {place}.{near}")
        return
    print_table(
        ("dataset", "spent", "of its cap", "left"),
        [(name, str(spent), str(cap), str(cap.minus(spent))) for name, cap, spent in accounts],
        title=place,
    )
    print_table(
        ("entry", "dataset", "cost", "state", "when", "what for"),
        [
            (
                str(entry.id),
                entry.dataset,
                str(entry.cost),
                _state(entry),
                entry.charged_at,
                entry.purpose,
            )
            for entry in entries
        ],
        right=[0],
    )


def _state(entry: Any) -> str:
    """As people say it: what was read and has an answer on record is answered."""
    if entry.is_lost:
        return "lost"
    return "answered" if entry.state.value == "reading" else str(entry.state.value)


@command.command(short_help="Check that the record was not altered.")
@ledger_option
@json_option
def verify(ledger_path: Path | None, as_json: bool) -> None:
    """Check the ledger's hash chain, its totals, and that no older copy was put back.

    Ends with exit code 1 if the record was altered.

    \b
    Examples:
      discreet ledger verify
      discreet ledger verify --ledger ledger.db --json
    """
    from discreet.cli.output import print_json
    from discreet.errors import LedgerDamaged

    try:
        with _existing(ledger_path) as ledger:
            ledger.verify()
            place, count = str(ledger.path), len(ledger.entries(None))
    except LedgerDamaged as error:
        raise CheckFailed(str(error)) from None
    if as_json:
        print_json({"ledger": place, "entries": count, "intact": True})
    else:
        click.echo(f"{place} is intact: {count} charges, an unbroken chain, no older copy.")


@command.command("raise-cap", short_help="Put a higher cap in place, for a reason.")
@click.argument("dataset")
@budget_options
@click.option("--reason", required=True, help="Why; it is kept in the ledger.")
@ledger_option
def raise_cap(
    dataset: str,
    epsilon: str | None,
    delta: str,
    rho: str | None,
    reason: str,
    ledger_path: Path | None,
) -> None:
    """Put a higher cap in place of a dataset's declared one, for a recorded reason.

    The promise made under the old cap ends there: from then on the loss is bounded by the new one.

    \b
    Examples:
      discreet ledger raise-cap people --epsilon 2 --reason "second edition, approved by the board"
    """
    cap = budget_of(epsilon, delta, rho)
    with _existing(ledger_path) as ledger:
        ledger.raise_cap(dataset, cap, reason=reason)
    click.echo(f"The cap of {dataset} is now {cap}.")


@command.command("accept-mark", short_help="Go on from a copy whose mark is lost or ahead.")
@click.option("--reason", required=True, help="Why; it is kept in the ledger.")
@ledger_option
def accept(reason: str, ledger_path: Path | None) -> None:
    """Go on from this copy of the ledger although its mark is lost or further on.

    Charges that this copy does not hold are forgotten for good: what was published on them no longer
    counts against any cap. Put the newest copy and its mark back instead, if there is one.

    \b
    Examples:
      discreet ledger accept-mark --ledger ledger.db --reason "disk lost; restored last night's backup"
    """
    from discreet.errors import BadInput
    from discreet.kernel.ledger import accept_mark, default_place

    place = default_place() if ledger_path is None else ledger_path
    if not place.exists():
        raise BadInput(f"There is no ledger at {place}. Nothing was changed.")
    accept_mark(place, reason=reason)
    click.echo(f"{place} goes on from here; the reason is kept in it.")


def _existing(path: Path | None) -> Any:
    """The ledger, which looking at must not create."""
    from discreet.errors import BadInput
    from discreet.kernel.ledger import Ledger, default_place

    place = default_place() if path is None else path
    if not place.exists():
        raise BadInput(f"There is no ledger at {place}. Nothing was charged here.")
    return Ledger.open(place)
