"""Copies of a ledger for backups, and the one repair that is offered: to go on from a sound copy whose mark is lost or further on.

A copy is consistent, also while others charge the ledger. It is an SQLite file, wherever the ledger is kept, and comes without the high-water mark, on
purpose. Put back over a ledger that has gone on, it is refused by the mark that stayed; where the mark
is lost too, only `accept_mark` goes on from it.
"""

from __future__ import annotations

from pathlib import Path

from discreet.errors import BadInput, LedgerDamaged
from discreet.ledger.book import Book
from discreet.ledger.chain import draft
from discreet.ledger.journal import no_fork
from discreet.ledger.ledger import Ledger
from discreet.ledger.mark import Mark
from discreet.ledger.names import text_of
from discreet.ledger.opening import PATIENCE, home_of
from discreet.ledger.place import make_private_file
from discreet.ledger.stores.sqlite import SqliteStore, damaged


def accept_mark(
    path: Path | str | None = None, *, reason: str, mark: Path | str | None = None
) -> None:
    """Set the mark to the end of the ledger at `path`, and record there that this was done, and why.

    Charges that this copy does not hold are forgotten: what was published on them no
    longer counts against the cap, and the guarantee no longer covers it. So it is never
    done by itself. The chain, the totals and every page must be sound; for a damaged
    ledger there is no repair but a sound copy.
    """
    text_of(reason, what="The reason")
    home = home_of(path, mark)
    marks = home.marks
    home.prepare()
    with home.plain_errors(), no_fork(), marks.locked():
        try:
            before = marks.read()
            found = "missing" if before is None else f"at event {before.seq}"
        except LedgerDamaged:
            found = "unreadable"
        store = home.open()
        try:
            store.check_schema()
            with store.writing():
                book = Book()
                try:
                    for row in store.rows_from(1):
                        book.apply(row)
                except LedgerDamaged as error:
                    raise damaged(home.path, str(error)) from error
                store.check_pages("integrity_check")
                accepted = draft("accept", reason=reason, mark=found)
                row = accepted.row(after=book.seq, previous=book.hash)
                store.insert(row)
                store.adopt()
            store.wait_for_disk()
            marks.replace(Mark(row[0], row[3]))
        finally:
            store.close()


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
