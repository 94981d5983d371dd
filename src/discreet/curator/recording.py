"""`Record`: each question is charged and read once, and its answer is kept in the ledger.

A question is known by the dataset, the state of the data, the schema and what was asked, as plain
data. Asked again, it is given its recorded answer, at no cost; where none came to be, nothing is
drawn again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from discreet.core.vault import Grant, Vault
from discreet.curator.answers.answering import Measured
from discreet.errors import AlreadyAsked, AnswerLost, EntryTaken
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting

PATIENCE = 5.0
"""Seconds to wait for an answer that another process is reading."""
LONGEST_PURPOSE = 405


class Record:
    """The questions of one analyst (or of nobody in particular) about one state of a table.

    Thread safe: of the same question asked by several threads, one charges and reads, and the others
    are given its answer. Different questions run side by side.
    """

    def __init__(self, vault: Vault, ledger: Ledger, *, version: str, analyst: str | None) -> None:
        self._vault, self._ledger = vault, ledger
        self.version, self._analyst = version, analyst
        self._asked: set[str] = set()
        self._change = threading.Condition()

    def digest(self, asked: dict[str, Any]) -> str:
        """Identifies a question: dataset and data version, schema, canonical query, budget."""
        schema = self._vault.schema
        everything = {
            "dataset": schema.dataset,
            "version": self.version,
            "schema": schema.digest(),
            **asked,
        }
        text = json.dumps(everything, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"discreet ask 2\n" + text.encode()).hexdigest()

    def once(
        self,
        charge: Budget,
        *,
        purpose: str,
        asked: dict[str, Any],
        accounting: Accounting = Accounting.BASIC,
        measure: Callable[[Grant], Measured],
    ) -> Measured:
        """The measurements for a question: made now, for its charge, or recorded before."""
        request = self.digest(asked)
        with self._alone(request):
            recorded = self._recorded(request)
            if recorded is not None:
                return recorded
            return self._measured(charge, purpose, request, accounting, measure)

    def has(self, asked: dict[str, Any]) -> bool:
        """Whether a question was answered before. Nothing is charged."""
        return self._recorded(self.digest(asked)) is not None

    @contextmanager
    def _alone(self, request: str) -> Iterator[None]:
        """Lets in one thread at a time that asks this very question."""
        with self._change:
            while request in self._asked:
                self._change.wait()
            self._asked.add(request)
        try:
            yield
        finally:
            with self._change:
                self._asked.remove(request)
                self._change.notify_all()

    def _measured(
        self,
        charge: Budget,
        purpose: str,
        request: str,
        accounting: Accounting,
        measure: Callable[[Grant], Measured],
    ) -> Measured:
        shown = purpose if len(purpose) <= LONGEST_PURPOSE else purpose[:LONGEST_PURPOSE] + "..."
        try:
            with self._vault.charge(
                charge,
                purpose=shown,
                request=request,
                accounting=accounting,
                analyst=self._analyst,
                once=True,
                reading=True,
            ) as grant:
                measured = measure(grant)
                grant.record(measured.payload())
        except (AlreadyAsked, EntryTaken) as error:
            return self._awaited(request, error)
        return measured

    def _recorded(self, request: str) -> Measured | None:
        dataset = self._vault.schema.dataset
        payload = self._ledger.recorded_answer(dataset, request, analyst=self._analyst)
        return None if payload is None else Measured.from_payload(payload)

    def _awaited(self, request: str, error: AlreadyAsked | EntryTaken) -> Measured:
        """The answer that another run is about to record; `AnswerLost` if none comes."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            recorded = self._recorded(request)
            if recorded is not None:
                return recorded
            time.sleep(0.02)
        entry = f"entry {error.entry}" if isinstance(error, AlreadyAsked) else "another run's entry"
        raise AnswerLost(
            f"This question was charged ({entry}) and its answer is lost: the run that paid ended before "
            "it could record one, or still runs. Nothing more was charged, and it is not drawn again. "
            "Ask with another budget to pay for a new answer."
        )
