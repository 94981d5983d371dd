"""`discreet ledger`: what each dataset has spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.failures import CheckFailed
from discreet.cli.options import (
    TypedBudget,
    budget_options,
    check_cap,
    json_option,
    ledger_option,
    yes_option,
)

if TYPE_CHECKING:
    from discreet.ledger.entry import CapChange, EntryView
    from discreet.privacy.protection import Protected

reason_option = click.option(
    "--reason", required=True, help="The reason. It is kept in the ledger."
)
by_option = click.option(
    "--by",
    metavar="NAME",
    help="Who makes the change. It is kept too. Default: the system's account name.",
)


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
def show(dataset: str | None, ledger_path: Path | str | None, as_json: bool) -> None:
    """Show what was charged, to which dataset, for what, and what is left of each cap.

    \b
    Examples:
      discreet ledger show
      discreet ledger show people --ledger ledger.db --json
    """
    from discreet.cli.output import print_json
    from discreet.errors import BadInput, did_you_mean

    if ledger_path is None and dataset is not None and Path(dataset).is_file():
        raise BadInput(
            f"{dataset!r} is a file, and the name of a dataset is wanted here. For the ledger in that file: "
            f"discreet ledger show --ledger {dataset}"
        )
    with _existing(ledger_path) as ledger:
        entries = ledger.entries(dataset)
        charged = {entry.dataset for entry in ledger.entries(None)}
        names = list(dict.fromkeys(entry.dataset for entry in entries))
        accounts = [(name, ledger.cap(name), ledger.spent(name)) for name in names]
        protected = {name: ledger.protects(name) for name in names}
        changes = ledger.changes(dataset)
        place = str(ledger.path)
    if as_json:
        print_json({"ledger": place, **_as_data(accounts, protected, changes, entries)})
    elif not entries:
        whose = "" if dataset is None else f" to dataset {dataset!r}"
        near = "" if dataset is None else did_you_mean(dataset, sorted(charged))
        click.echo(f"Nothing was charged{whose} in {place}.{near}")
    else:
        _print(place, accounts, protected, changes, entries)


def _as_data(
    accounts: Sequence[tuple[str, Any, Any]],
    protected: Mapping[str, Protected | None],
    changes: Sequence[CapChange],
    entries: Sequence[EntryView],
) -> dict[str, Any]:
    """`accounts`: each dataset with its cap, and what is spent of it."""
    return {
        "datasets": [
            {
                "dataset": name,
                "cap": cap.to_dict(),
                "spent": spent.to_dict(),
                "protects": _whom(protected[name]),
            }
            for name, cap, spent in accounts
        ],
        "caps": [
            {
                "at": change.at,
                "dataset": change.dataset,
                "analyst": change.analyst,
                "what": change.kind.value,
                "cap": change.cap.to_dict(),
                "protects": _whom(change.protects),
                "by": change.by,
                "reason": change.reason,
            }
            for change in changes
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
                "protects": _whom(entry.protects),
                "asked": entry.asked.to_dict(),
            }
            for entry in entries
        ],
    }


def _print(
    place: str,
    accounts: Sequence[tuple[str, Any, Any]],
    protected: Mapping[str, Protected | None],
    changes: Sequence[CapChange],
    entries: Sequence[EntryView],
) -> None:
    from discreet.cli.output import print_table

    print_table(
        ("dataset", "spent", "of its cap", "left"),
        [(name, str(spent), str(cap), str(cap.minus(spent))) for name, cap, spent in accounts],
        title=place,
    )
    for name in protected:
        click.echo(f"The cap of {name} protects {protected[name] or NOBODY_KNOWS}.")
    for name, cap, spent in accounts:
        if told := _in_epsilon(spent):
            click.echo(f"What {name} spent is at most {told}; its whole cap is {_in_epsilon(cap)}.")
    decided = [change for change in changes if change.by is not None]
    if decided:
        print_table(
            ("when", "dataset", "what was done to its cap", "by", "why"),
            [
                (change.at, change.dataset, _done(change), change.by or "", change.reason or "")
                for change in decided
            ],
        )
    print_table(
        ("entry", "dataset", "cost", "state", "when", "what for"),
        [
            (
                str(entry.id),
                entry.dataset,
                _cost(entry),
                _state(entry),
                entry.charged_at,
                entry.purpose,
            )
            for entry in entries
        ],
        right=[0],
    )


NOBODY_KNOWS = "an unknown unit: these charges were made before ledgers recorded it"


def _in_epsilon(budget: Any) -> str:
    """What a budget in rho or mu amounts to in epsilon; nothing where it is in epsilon."""
    from discreet.privacy.budget import Budget, Notion
    from discreet.privacy.guidance import LARGE_DELTA, epsilon_at

    if budget.notion is Notion.EPSILON:
        return ""
    thousandths = math.ceil(1000 * epsilon_at(budget, delta=LARGE_DELTA))
    return str(Budget(epsilon=Fraction(thousandths, 1000), delta=LARGE_DELTA + budget.delta))


def _whom(protects: Any) -> Any:
    return None if protects is None else protects.to_dict()


def _done(change: Any) -> str:
    """A change of a cap, as people say it."""
    whose = "" if change.analyst is None else f"for analyst {change.analyst}: "
    if change.kind.value == "raised":
        return f"{whose}raised to {change.cap}"
    return f"{whose}said to protect {change.protects}"


def _cost(entry: Any) -> str:
    """What counts under the cap, and from what it was converted."""
    return str(entry.cost) if entry.cost == entry.asked else f"{entry.cost} (for {entry.asked})"


def _state(entry: Any) -> str:
    """The state in plain words. An entry is answered if it was read and its answer is on record."""
    if entry.is_lost and entry.purpose.startswith("alert at "):
        return "watched"  # an alert says above or below at once, and none of it is kept
    if entry.is_lost:
        return "lost"
    return "answered" if entry.state.value == "reading" else str(entry.state.value)


@command.command(short_help="Check that the record was not altered.")
@ledger_option
@json_option
def verify(ledger_path: Path | str | None, as_json: bool) -> None:
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
        charges = "1 charge" if count == 1 else f"{count} charges"
        click.echo(f"{place} is intact: {charges}, an unbroken chain, no older copy.")


@command.command("raise-cap", short_help="Raise a cap, and record the reason.")
@click.argument("dataset")
@budget_options
@reason_option
@by_option
@yes_option
@ledger_option
def raise_cap(
    dataset: str,
    typed: TypedBudget,
    reason: str,
    by: str | None,
    yes: bool,
    ledger_path: Path | str | None,
) -> None:
    """Put a higher cap in place of a dataset's declared one. The ledger records who did it and why.

    The promise made under the old cap then no longer holds: the loss is bounded by the new cap.

    \b
    Examples:
      discreet ledger raise-cap people --epsilon 2 --reason "second edition, approved by the board"
    """
    cap = typed.budget()
    check_cap(cap, yes=yes)
    with _existing(ledger_path) as ledger:
        ledger.raise_cap(dataset, cap, reason=reason, by=by)
    click.echo(f"The cap of {dataset} is now {cap}. Write it into [cap] of its schema too.")


@command.command(
    "declare-unit", short_help="Declare whom older charges protect, and record the reason."
)
@click.argument("dataset")
@click.option(
    "--adjacency",
    type=click.Choice(["add-remove", "change-one"]),
    required=True,
    help="Which tables are neighbours, as the schema said.",
)
@click.option(
    "--identifier",
    metavar="COLUMN",
    help="The column that identifies a person. Default: each row is a person.",
)
@click.option(
    "--max-rows", default=1, show_default=True, help="The most rows of a person that are used."
)
@reason_option
@by_option
@ledger_option
def declare_unit(
    dataset: str,
    adjacency: str,
    identifier: str | None,
    max_rows: int,
    reason: str,
    by: str | None,
    ledger_path: Path | str | None,
) -> None:
    """Say whom older charges to a dataset protect, which were made before ledgers recorded it.

    Until then nothing more can be charged to it: losses of different units cannot be added. All its
    charges must have protected the same unit: look into their schemas and releases. The ledger cannot
    check it.

    \b
    Examples:
      discreet ledger declare-unit people --adjacency add-remove --reason "as in people.toml, the only schema used"
    """
    from discreet.privacy.adjacency import Adjacency
    from discreet.privacy.protection import Protected

    protects = Protected(Adjacency(adjacency), identifier, max_rows)
    with _existing(ledger_path) as ledger:
        ledger.declare_unit(dataset, protects, reason=reason, by=by)
    click.echo(f"The cap of {dataset} protects {protects}.")


@command.command("accept-mark", short_help="Continue from a copy whose mark is lost or newer.")
@reason_option
@ledger_option
def accept(reason: str, ledger_path: Path | str | None) -> None:
    """Continue from this copy of the ledger, although its mark is lost or newer than the copy.

    Charges that this copy does not hold are forgotten for good: what was published on them no longer
    counts against any cap. If you have the newest copy and its mark, put them back instead.

    \b
    Examples:
      discreet ledger accept-mark --ledger ledger.db --reason "disk lost; restored last night's backup"
    """
    from discreet.errors import BadInput
    from discreet.ledger import default_place
    from discreet.ledger.opening import is_begun
    from discreet.ledger.upkeep.repair import accept_mark

    place = default_place() if ledger_path is None else ledger_path
    if not is_begun(place):
        raise BadInput(f"There is no ledger at {place}. Nothing was changed.")
    accept_mark(place, reason=reason)
    click.echo(f"{place} continues from here. The reason is kept in it.")


def _existing(path: Path | str | None) -> Any:
    """The ledger, which looking at must not create."""
    from discreet.errors import BadInput
    from discreet.ledger import Ledger, default_place
    from discreet.ledger.opening import home_of, is_begun

    place = default_place() if path is None else path
    mark = home_of(place).marks.read()
    if not is_begun(place) and (mark is None or mark.seq == 0):  # else opening says that it is gone
        raise BadInput(f"There is no ledger at {place}. Nothing was charged here.")
    return Ledger.open(place)
