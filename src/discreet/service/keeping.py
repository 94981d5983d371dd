"""Set-up, backup and restore of a service's files."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

from discreet.errors import BadInput, LedgerError
from discreet.ledger import Ledger
from discreet.ledger.opening import home_of
from discreet.ledger.place import is_address
from discreet.ledger.upkeep.repair import copy_ledger
from discreet.postgres_addresses import Address
from discreet.schema import Schema
from discreet.service.accounts import Role, open_accounts
from discreet.service.accounts.opening import copy_accounts
from discreet.service.settings import ADDRESS, Settings, load_settings

TEMPLATE = """\
# The curator's service. Paths are relative to this file.

[service]
host = "127.0.0.1"     # behind a proxy that speaks HTTPS, say https = true
port = 8765
https = false
workers = 1
folder = "state"       # accounts, drafts, published releases
ledger = {ledger}   # or "postgresql://host/db", for several machines; accounts are then kept there too
# mark = "/another/disk/ledger.mark"   # so that a restored backup brings no old mark along
tables = "tables"      # tables that custodians may publish from the web page
# signing_key = "custodian.key"        # as `discreet key` writes it
title = "discreet"

[limits]
quantum_ms = 100       # live answers leave after a whole number of these
requests_a_minute = 600

{entries}"""
DATASET = """[[dataset]]
source = "{table}"
schema = "{schema}"    # its [cap] bounds what all analysts together may ever spend
# title = "People"
# data_version = "2026-11"   # name the state of the table where its file is copied or touched
"""
NO_DATASET = """# [[dataset]]
# source = "people.parquet"
# schema = "people.toml"

# [[release]]
# file = "people.release"
# public = true
"""


def begin(
    path: Path,
    *,
    custodian: str,
    table: str | None,
    schema: str | None,
    ledger: str = "state/ledger.db",
) -> str:
    """Write a settings file and make the first custodian. The custodian's token."""
    if path.exists():
        raise BadInput(f"{path} exists. Nothing was done. Name another file.")
    if is_address(ledger):
        home_of(ledger)  # refuses an address that holds a password
    entries = NO_DATASET
    if table is not None and schema is not None:
        _check_dataset(path.resolve().parent, table, schema)
        entries = DATASET.format(table=table, schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = TEMPLATE.format(entries=entries, ledger=json.dumps(ledger))
    path.write_text(text, encoding="utf-8")
    settings = load_settings(path)
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    store = open_accounts(settings.accounts, settings.ledger)
    try:
        store.add(custodian, Role.CUSTODIAN, by="init")
        return store.issue(custodian, days=90, by="init")
    finally:
        store.close()


def _check_dataset(folder: Path, table: str, schema: str) -> None:
    """That a service could open what its settings are about to name; both are relative to the settings file."""
    nothing = "Nothing was written. Paths are relative to the settings file."
    if not (folder / schema).is_file():
        raise BadInput(f"There is no schema at {folder / schema}. {nothing}")
    Schema.load(folder / schema)
    paths = [
        folder / table,
        folder / table.partition("#")[0],
    ]  # db.duckdb#people is a table of a file
    is_path = not re.match(ADDRESS, table) and not set("*?[") & set(table)
    if is_path and not any(each.exists() for each in paths):
        raise BadInput(f"There is no table at {folder / table}. {nothing}")


def back_up(settings_path: Path, target: Path) -> int:
    """Copy the ledger, the accounts, the releases and the settings into a new folder. The number of charges.

    It may run while the service does. The high-water mark is left out on purpose.
    """
    settings = load_settings(settings_path)
    if target.exists():
        raise BadInput(f"{target} exists. Nothing was copied. Name a new folder.")
    target.mkdir(parents=True, mode=0o700)
    charges = copy_ledger(settings.ledger, target / "ledger.db", mark=settings.mark)
    store = open_accounts(settings.accounts, settings.ledger)
    try:
        copy_accounts(store, target / "accounts.db")
    finally:
        store.close()
    for name, folder in (("releases", settings.published), ("drafts", settings.folder / "drafts")):
        if folder.is_dir():
            shutil.copytree(folder, target / name)
    shutil.copy(settings_path, target / "curator.toml")
    return charges


def put_back(settings: Settings, backup: Path) -> None:
    """Put a backup in place of a service's files. What was there is kept beside it.

    `LedgerError` where the high-water mark knows of charges that the backup lacks: then the files
    are in place, and nothing can be charged until somebody accepts the loss.
    """
    if isinstance(settings.ledger, str):
        raise BadInput(
            f"The ledger is in the database {Address(settings.ledger)}. Nothing was changed. Restore it with PostgreSQL's "
            "own tools; the ledger then says whether charges are missing."
        )
    if not (backup / "ledger.db").is_file() or not (backup / "accounts.db").is_file():
        raise BadInput(f"{backup} holds no backup of a service. Nothing was changed.")
    moved = f".before-{int(time.time())}"
    places = ((settings.ledger, backup / "ledger.db"), (settings.accounts, backup / "accounts.db"))
    for place, copy in places:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for ending in ("", "-wal", "-shm"):
            old = place.with_name(place.name + ending)
            if old.exists():
                old.replace(old.with_name(old.name + moved))
        shutil.copy(copy, place)
        place.chmod(0o600)
    for name, folder in (("releases", settings.published), ("drafts", settings.folder / "drafts")):
        if (backup / name).is_dir():
            shutil.copytree(backup / name, folder, dirs_exist_ok=True)
    try:
        with Ledger.open(settings.ledger, mark=settings.mark) as ledger:
            ledger.verify()
    except LedgerError as error:
        raise LedgerError(
            f"The files are put back, and the ledger is not usable yet. {error}"
        ) from error
