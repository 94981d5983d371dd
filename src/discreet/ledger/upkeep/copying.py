"""A consistent copy of a ledger, also while others charge it: for backups.

The copy is an SQLite file, wherever the ledger is kept. It comes without the high-water mark, on
purpose. Put back over a ledger that has gone on, it is refused by the mark that stayed; where the mark
is lost too, only `accept_mark` goes on from it.
"""

from __future__ import annotations

from pathlib import Path

from discreet.errors import BadInput
from discreet.ledger.journal import no_fork
from discreet.ledger.ledger import Ledger
from discreet.ledger.opening import PATIENCE, home_of
from discreet.ledger.place import make_private_file
from discreet.ledger.stores.sqlite import SqliteStore


def copy_ledger(path: Path | str, target: Path, *, mark: Path | str | None = None) -> int:
    """Copy the ledger at `path` to a new file, after checking all of it. The number of its charges."""
    home = home_of(path, mark)
    with home.plain_errors():
        if not home.exists():
            raise BadInput(f"There is no ledger at {home.path}. Nothing was copied.")
    if target.exists():
        raise BadInput(f"{target} exists. Nothing was copied. Name another file.")
    with Ledger.open(path, mark=mark) as ledger:
        ledger.verify()
    charges = 0
    with home.plain_errors(), no_fork():
        make_private_file(target)
        source, copy = home.open(), SqliteStore(target, patience=PATIENCE)
        try:
            with source.reading():
                events = source.rows_from(1)
                copy.create(next(events))
                with copy.writing():
                    for row in events:
                        charges += '"kind":"charge"' in row[1]
                        copy.insert(row)
            copy.wait_for_disk()
        finally:
            copy.close()
            source.close()
    return charges
