"""The one repair that is offered: to go on from a sound copy whose mark is lost or further on."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import LedgerDamaged
from discreet.ledger.book import Book
from discreet.ledger.chain import draft
from discreet.ledger.journal import no_fork
from discreet.ledger.mark import Mark
from discreet.ledger.names import text_of
from discreet.ledger.opening import home_of
from discreet.ledger.stores.sqlite import damaged


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
