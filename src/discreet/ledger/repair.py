"""The one repair that is offered: to go on from a sound copy whose mark is lost or further on."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import LedgerDamaged
from discreet.ledger.book import Book
from discreet.ledger.chain import draft
from discreet.ledger.journal import mark_file, no_fork
from discreet.ledger.ledger import PATIENCE
from discreet.ledger.mark import Mark
from discreet.ledger.names import text_of
from discreet.ledger.place import settle
from discreet.ledger.store import Store, damaged, plain_errors


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
    place = settle(path)
    marks = mark_file(place, mark, patience=PATIENCE)
    with plain_errors(place), no_fork(), marks.locked():
        try:
            before = marks.read()
            found = "missing" if before is None else f"at event {before.seq}"
        except LedgerDamaged:
            found = "unreadable"
        store = Store(place, patience=PATIENCE)
        try:
            store.check_schema()
            with store.writing():
                book = Book()
                try:
                    for row in store.rows_from(1):
                        book.apply(row)
                except LedgerDamaged as error:
                    raise damaged(place, str(error)) from error
                store.check_pages("integrity_check")
                accepted = draft("accept", reason=reason, mark=found)
                row = accepted.row(after=book.seq, previous=book.hash)
                store.insert(row)
            marks.replace(Mark(row[0], row[3]))
        finally:
            store.close()
