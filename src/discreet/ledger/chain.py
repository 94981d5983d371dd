"""The event rows, their hash chain, and the one table that holds them.

An event is a line of canonical ASCII JSON (`body`), with bytes beside it where an
answer is recorded (`payload`, whose SHA-256 stands in the body). Its `hash` is the
SHA-256 of the hash before it, its number and its body; so each hash fixes everything
that went before, and a changed byte anywhere breaks the chain there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreet.errors import LedgerDamaged

ORIGIN = "0" * 64
"""What the first event's hash is chained to."""

APPLICATION_ID = 0x64634C67  # "dcLg", in the file's header
FORMAT = 2
"""1 did not say whom a charge protects. Such a ledger opens; the first event written to it says `upgrade`, which
versions that knew only format 1 refuse, instead of adding charges without looking at whom they protect."""

_decode = json.JSONDecoder().raw_decode

Body = dict[str, Any]
Row = tuple[int, str, bytes | None, str]

# WITHOUT ROWID stores `seq` inside the record, where a flipped bit shows; an aliased rowid leaves
# a header byte that nothing reads. The insert trigger also stops INSERT OR REPLACE, which
# does not fire delete triggers.
SCHEMA = {
    "event": """CREATE TABLE event (
  seq INTEGER NOT NULL PRIMARY KEY,
  body TEXT NOT NULL,
  payload BLOB,
  hash TEXT NOT NULL
) WITHOUT ROWID""",
    "event_is_append_only_insert": """CREATE TRIGGER event_is_append_only_insert BEFORE INSERT ON event
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM event)
BEGIN SELECT RAISE(ABORT, 'ledger events are only appended'); END""",
    "event_is_append_only_update": """CREATE TRIGGER event_is_append_only_update BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'ledger events are never changed'); END""",
    "event_is_append_only_delete": """CREATE TRIGGER event_is_append_only_delete BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'ledger events are never deleted'); END""",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """An event about to be written."""

    body: Body
    payload: bytes | None = None

    def row(self, *, after: int, previous: str) -> Row:
        """This event as the row that follows event number `after`."""
        body = json.dumps(self.body, sort_keys=True, separators=(",", ":"))
        return after + 1, body, self.payload, link(previous, after + 1, body)


def draft(kind: str, payload: bytes | None = None, **fields: str | int | None) -> Draft:
    """An event of this kind, stamped with the time; the time is for people and decides nothing."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Draft({"kind": kind, "at": at, **fields}, payload)


def link(previous: str, seq: int, body: str) -> str:
    """The hash of event `seq`. Unambiguous: fixed length, then digits, then the rest."""
    return hashlib.sha256(f"{previous} {seq} {body}".encode()).hexdigest()


def opened(row: Row, *, after: int, previous: str) -> Body:
    """The body of `row`, if it is exactly what follows event `after`."""
    seq, body, payload, stated = row
    if seq != after + 1:
        raise LedgerDamaged(f"event {after + 1} is missing")
    # The types count too: a flipped bit can turn a text into bytes of the same spelling.
    if (
        not isinstance(body, str)
        or not isinstance(stated, str)
        or link(previous, seq, body) != stated
    ):
        raise LedgerDamaged(f"event {seq} was altered")
    parsed: Body = _decode(body)[0]
    expected = parsed.get("sha256")
    if payload is None:
        intact = expected is None
    else:
        intact = isinstance(payload, bytes) and hashlib.sha256(payload).hexdigest() == expected
    if not intact:
        raise LedgerDamaged(f"the answer in event {seq} was altered")
    return parsed
