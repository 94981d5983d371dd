"""`discreet curator init`, `add-analyst`, `revoke`, `budget`, `status`, `backup`, `restore`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import FILE, TypedBudget, budget_options, defaulted, json_option
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.service.accounts.kept import Accounts
    from discreet.service.settings import Settings

settings_argument = click.argument("settings_path", metavar="SETTINGS", type=FILE)
dataset_option = click.option(
    "--dataset", help="The dataset's name. Default: the only one in the settings."
)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Settings, Accounts]]:
    from discreet.service.accounts import open_accounts
    from discreet.service.settings import load_settings

    settings = load_settings(path)
    if isinstance(settings.ledger, Path) and not settings.accounts.exists():
        raise BadInput(
            f"There are no accounts at {settings.accounts}. Begin with `discreet curator init`."
        )
    store = open_accounts(settings.accounts, settings.ledger)
    try:
        yield settings, store
    finally:
        store.close()


def _by() -> str:
    from discreet.ledger.names import account_name

    return account_name()


@click.command("init")
@settings_argument
@click.option("--table", help="A table to be asked live, relative to the settings file.")
@click.option("--schema", help="Its schema, in TOML.")
@click.option("--custodian", default="custodian", show_default=True, help="The first account.")
@click.option(
    "--ledger",
    default="state/ledger.db",
    show_default=True,
    help="Where charges are kept: a file, or postgresql://host/db for several machines. Accounts are "
    "then kept there too.",
)
def init(
    settings_path: Path, table: str | None, schema: str | None, custodian: str, ledger: str
) -> None:
    """Write the settings of a service, and make its first custodian. Prints the custodian's token, which is shown only once.

    \b
    Examples:
      discreet curator init curator.toml --table people.csv --schema people.toml
    """
    from discreet.service.keeping import begin

    if (table is None) != (schema is None):
        raise click.UsageError("Give a --table and its --schema, or neither.")
    token = begin(settings_path, custodian=custodian, table=table, schema=schema, ledger=ledger)
    click.echo(token)
    click.echo(
        f"Wrote {settings_path}. The line above is the token of {custodian!r}: keep it, it is not shown again. "
        f"Next: `discreet serve {settings_path}`.",
        err=True,
    )


@click.command("add-analyst")
@settings_argument
@click.argument("name")
@defaulted(
    "--role",
    click.Choice(["analyst", "reviewer", "custodian"]),
    "analyst",
    "What the account may do.",
)
@click.option("--days", default=90, show_default=True, help="How long the token is valid.")
@dataset_option
@budget_options
def add_analyst(
    settings_path: Path,
    name: str,
    role: str,
    days: int,
    dataset: str | None,
    typed: TypedBudget,
) -> None:
    """Make an account and print its token, which is shown only once. With a budget, an analyst may ask at once.

    \b
    Examples:
      discreet curator add-analyst curator.toml bob --epsilon 0.5
      discreet curator add-analyst curator.toml rita --role reviewer
    """
    from discreet.service.accounts import Role

    if typed.is_given and role != "analyst":
        raise click.UsageError("A budget is for an analyst.")
    with _opened(settings_path) as (settings, store):
        chosen = _dataset(settings, dataset) if typed.is_given else ""
        store.add(name, Role(role), by=_by())
        if typed.is_given:
            _allow(
                settings,
                chosen,
                name,
                typed.budget(),
                "set when the account was made",
            )
        click.echo(store.issue(name, days=days, by=_by()))
    click.echo(f"The token of {name!r} is valid for {days} days. It is not shown again.", err=True)


@click.command("revoke")
@settings_argument
@click.argument("name")
@click.option("--token", help="End this token alone, by the id that `status` shows.")
def revoke(settings_path: Path, name: str, token: str | None) -> None:
    """End an account with its tokens and sessions, or one token. What it spent stays in the ledger.

    \b
    Examples:
      discreet curator revoke curator.toml ann
    """
    with _opened(settings_path) as (_, store):
        if token is None:
            store.revoke(name, by=_by())
        elif token in {each.id for each in store.tokens(name)}:
            store.revoke_token(token, by=_by())
        else:
            raise BadInput(f"There is no token {token!r} of {name!r}. Nothing was changed.")
    click.echo(f"Ended {name if token is None else f'token {token} of {name}'}.")


@click.command("budget")
@settings_argument
@click.argument("name")
@dataset_option
@budget_options
@click.option(
    "--reason", default="set by the custodian", show_default=True, help="The ledger keeps it."
)
def budget(
    settings_path: Path,
    name: str,
    dataset: str | None,
    typed: TypedBudget,
    reason: str,
) -> None:
    """Give an analyst a budget on a dataset, or raise it. A budget is never lowered: revoke instead.

    \b
    Examples:
      discreet curator budget curator.toml ann --epsilon 1 --reason "second study"
    """
    cap = typed.budget()
    with _opened(settings_path) as (settings, store):
        person = store.person(name)
        if person is None or person.is_revoked or person.role != "analyst":
            raise BadInput(f"There is no active analyst {name!r}. Nothing was changed.")
        chosen = _dataset(settings, dataset)
        _allow(settings, chosen, name, cap, reason)
    click.echo(f"{name} may spend {cap} on {chosen}.")


@click.command("status")
@settings_argument
@json_option
def status(settings_path: Path, as_json: bool) -> None:
    """Show accounts, tokens, budgets and what is spent. No table is opened.

    \b
    Examples:
      discreet curator status curator.toml
      discreet curator status curator.toml --json
    """
    import time

    from discreet.cli.output import print_json, print_table
    from discreet.ledger import Ledger
    from discreet.ledger.opening import is_begun

    with _opened(settings_path) as (settings, store):
        now = int(time.time())
        people = list(store.people())
        tokens = {
            each.name: [one for one in store.tokens(each.name) if one.is_valid(now)]
            for each in people
        }
        caps: dict[str, tuple[str, str]] = {}
        shares: list[tuple[str, str, str, str]] = []
        if is_begun(settings.ledger):
            with Ledger.open(settings.ledger, mark=settings.mark) as ledger:
                for name in ledger.datasets():
                    caps[name] = (str(ledger.spent(name)), str(ledger.cap(name)))
                    for each in people:
                        cap = ledger.cap(name, analyst=each.name)
                        if cap is not None:
                            spent = ledger.spent(name, analyst=each.name)
                            shares.append((each.name, name, str(spent), str(cap)))
    if as_json:
        print_json(
            {
                "datasets": {
                    name: {"spent": spent, "cap": cap} for name, (spent, cap) in caps.items()
                },
                "accounts": [
                    {
                        "name": each.name,
                        "role": each.role.value,
                        "revoked": each.is_revoked,
                        "tokens": [one.id for one in tokens[each.name]],
                        "budgets": {
                            dataset: {"spent": spent, "cap": cap}
                            for name, dataset, spent, cap in shares
                            if name == each.name
                        },
                    }
                    for each in people
                ],
            }
        )
        return
    print_table(
        ("dataset", "spent", "of its cap"), [(name, *found) for name, found in caps.items()]
    )
    print_table(
        ("account", "role", "valid tokens"),
        [
            (
                each.name + (" (revoked)" if each.is_revoked else ""),
                each.role.value,
                ", ".join(one.id for one in tokens[each.name]),
            )
            for each in people
        ],
    )
    if shares:
        print_table(("analyst", "dataset", "spent", "of the budget"), shares)


@click.command("backup")
@settings_argument
@click.option("-o", "--output", type=FILE, required=True, help="A new folder for the copy.")
def backup(settings_path: Path, output: Path) -> None:
    """Copy the ledger, accounts, releases and settings into a new folder. The service may keep running.

    The ledger is verified first. Its high-water mark is not copied: if charges were made since, a restored copy is refused.

    \b
    Examples:
      discreet curator backup curator.toml -o backup-tuesday
    """
    from discreet.service.keeping import back_up

    charges = back_up(settings_path, output)
    many = "1 charge" if charges == 1 else f"{charges:,} charges"
    click.echo(f"{output}: the ledger with {many}, the accounts and the releases.")


@click.command("restore")
@settings_argument
@click.argument("folder", type=FILE)
def restore(settings_path: Path, folder: Path) -> None:
    """Put a backup in place. Stop the service first. The files that were there are kept beside it.

    If charges were made after the backup, the ledger refuses to be used, and says so: those charges
    would be forgotten. `discreet ledger accept-mark` continues anyway, and records who decided it.
    Tokens that were revoked after the backup are valid again: revoke them again.

    \b
    Examples:
      discreet curator restore curator.toml backup-monday
    """
    from discreet.service.keeping import put_back
    from discreet.service.settings import load_settings

    put_back(load_settings(settings_path), folder)
    click.echo("Restored. The ledger is intact, and nothing was charged since the backup.")


COMMANDS = (init, add_analyst, revoke, budget, status, backup, restore)


def _dataset(settings: Settings, name: str | None) -> str:
    """The dataset that was named, or the only one."""
    from discreet.schema import Schema

    known = [Schema.load(each.schema).dataset for each in settings.datasets]
    if name is None and len(known) == 1:
        return known[0]
    if name is None or name not in known:
        listed = ", ".join(known) or "none"
        raise BadInput(f"Name a dataset of the settings with --dataset. There is {listed}.")
    return name


def _allow(settings: Settings, dataset: str, name: str, cap: object, reason: str) -> None:
    from discreet.ledger import Ledger
    from discreet.privacy.budget import Budget
    from discreet.schema import Schema

    assert isinstance(cap, Budget)
    schema = next(
        found
        for each in settings.datasets
        if (found := Schema.load(each.schema)).dataset == dataset
    )
    with Ledger.open(settings.ledger, mark=settings.mark) as ledger:
        if ledger.cap(dataset) is None:
            if schema.cap is None:
                raise BadInput(
                    f"Dataset {dataset!r} has no cap, so nobody can have a part of it. Nothing was changed. "
                    "Add a [cap] to its schema."
                )
            ledger.declare(dataset, schema.cap, protects=schema.protects)
        whole = ledger.cap(dataset)
        if whole is not None and whole.notion is cap.notion and not whole.covers(cap):
            click.echo(
                f"Warning: {name!r} is given {cap}, but the cap of {dataset!r} for all analysts together is {whole}.",
                err=True,
            )
        if ledger.cap(dataset, analyst=name) is None:
            ledger.declare_analyst_cap(dataset, name, cap)
        else:
            ledger.raise_cap(dataset, cap, analyst=name, reason=reason)
