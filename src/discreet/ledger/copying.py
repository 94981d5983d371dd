"""A consistent copy of a ledger, also while others charge it: for backups.

The copy comes without the high-water mark, on purpose. Put back over a ledger that has gone on, it
is refused by the mark that stayed; where the mark is lost too, only `accept_mark` goes on from it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from discreet.errors import BadInput
from discreet.ledger.journal import no_fork
from discreet.ledger.ledger import Ledger
from discreet.ledger.place import make_private_file, settle
from discreet.ledger.store import plain_errors


def copy_ledger(path: Path | str, target: Path, *, mark: Path | str | None = None) -> int:
    """Copy the ledger at `path` to a new file, after checking all of it. The number of its charges."""
    place = settle(path)
    if not place.exists():
        raise BadInput(f"There is no ledger at {place}. Nothing was copied.")
    if target.exists():
        raise BadInput(f"{target} exists. Nothing was copied. Name another file.")
    with Ledger.open(place, mark=mark) as ledger:
        ledger.verify()
    with plain_errors(place), no_fork():
        make_private_file(target)
        source = sqlite3.connect(f"file:{quote(str(place))}?mode=ro", uri=True)
        copy = sqlite3.connect(target)
        try:
            source.backup(copy)
            (charges,) = copy.execute(
                "SELECT count(*) FROM event WHERE json_extract(body, '$.kind') = 'charge'"
            ).fetchone()
        finally:
            copy.close()
            source.close()
    return int(charges)
