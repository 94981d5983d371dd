"""`House`: everything that a running service holds open, and its orderly end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import BadInput
from discreet.ledger import Ledger
from discreet.service.accounts import Accounts, open_accounts
from discreet.service.datasets import LiveDataset
from discreet.service.settings import Settings
from discreet.service.shelf import Shelf


@dataclass(slots=True)
class House:
    """Accounts, the ledger, live datasets and releases of one service."""

    settings: Settings
    accounts: Accounts
    ledger: Ledger
    datasets: dict[str, LiveDataset]
    shelf: Shelf

    def close(self) -> None:
        """Let running questions end, then close everything. What was charged stays charged."""
        for each in self.datasets.values():
            each.close()
        self.ledger.close()
        self.accounts.close()


def open_house(
    settings: Settings, *, accounts: Callable[[Settings], Accounts] | None = None
) -> House:
    """Open everything that the settings name; nothing stays open if one thing fails."""
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.published.mkdir(exist_ok=True, mode=0o700)
    ledger = Ledger.open(settings.ledger, mark=settings.mark)
    opened: dict[str, LiveDataset] = {}
    store: Accounts | None = None
    try:
        if accounts is None:
            store = open_accounts(settings.accounts, settings.ledger)
        else:
            store = accounts(settings)
        for each in settings.datasets:
            dataset = LiveDataset(each, ledger)
            if dataset.name in opened:
                dataset.close()
                raise BadInput(
                    f"Two datasets of the service are named {dataset.name!r}. They would spend from one cap. "
                    "Name each once."
                )
            opened[dataset.name] = dataset
        shelf = Shelf(settings.releases, settings.published)
        for release in shelf.all():
            if not release.path.is_file():
                raise BadInput(f"There is no release file {release.path}.")
    except BaseException:
        for dataset in opened.values():
            dataset.close()
        ledger.close()
        if store is not None:
            store.close()
        raise
    return House(settings, store, ledger, opened, shelf)
