"""Charges to a ledger, for the tests of ledgers."""

from __future__ import annotations

import sqlite3
from typing import Any

from discreet.ledger import Entry, Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected


def pay(ledger: Ledger, cost: Budget, request: str, dataset: str = "people", **more: Any) -> Entry:
    return ledger.charge(
        dataset, cost, purpose="a test", request=request, protects=Protected(), **more
    )


def events(ledger: Ledger) -> int:
    with sqlite3.connect(ledger.path) as sql:
        count: int = sql.execute("SELECT count(*) FROM event").fetchone()[0]
    sql.close()
    return count
