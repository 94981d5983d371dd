"""`Ledger`: what each dataset may lose, has lost, and to which question.

A charge is checked against the cap and written in one IMMEDIATE transaction, so no two
processes can both take the last of a budget. It is on disk, and under the high-water
mark, before `charge` returns. See `account` for the theorems behind the caps.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from discreet.errors import AlreadyAsked, BadInput, EntryTaken, Refused, WrongUnit
from discreet.ledger.account import Account, checked
from discreet.ledger.book import Book
from discreet.ledger.chain import Body, Draft, draft
from discreet.ledger.entry import CapChange, Entry, EntryState, EntryView
from discreet.ledger.journal import Journal, mark_file
from discreet.ledger.loss import Loss
from discreet.ledger.names import account_name, name_of, name_or_none, text_of
from discreet.ledger.place import settle
from discreet.ledger.store import damaged
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected

DATASET = "The dataset's name"
ANALYST = "The analyst's name"
BY = "The name of who does it"
REASON = "The reason"

PATIENCE = 30
"""Seconds to wait for other processes before `LedgerBusy`."""


class Ledger:
    """Durable, append-only, for any number of processes and threads. Open it with `Ledger.open`.

    Guarantee:  over everything charged to a dataset, also by adaptively chosen requests, the
                loss of those whom its cap protects is at most the cap, if rows are read only after
                `begin_reading` and every reading costs at most what was charged for it.
    Theorem:    account.py names the filters: basic composition for (epsilon, delta), zCDP for
                (rho, delta).
    Key:        the dataset's declared name in Unicode NFC, never a path: a copy, or next month's
                snapshot of the same people, spends from the same cap.

    Thread safe: one step at a time, for any number of threads and processes.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @classmethod
    def open(
        cls,
        path: Path | str | None = None,
        *,
        mark: Path | str | None = None,
        patience: int = PATIENCE,
    ) -> Self:
        """Open the ledger at `path`, or start one there, and check all of it. Without a path it is in the default place.

        `mark` puts the high-water mark elsewhere, such as on another disk, where a restored
        backup does not bring an old mark along.
        """
        place = settle(path)
        marks = mark_file(place, mark, patience=patience)
        return cls(Journal.open(place, marks, patience=patience))

    @property
    def path(self) -> Path:
        """Where the ledger's file is."""
        return self._journal.path

    def close(self) -> None:
        """Close the files. What was charged stays charged."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Caps

    def declare(
        self,
        dataset: str,
        cap: Budget,
        *,
        protects: Protected | None = None,
        convert_unit: bool = False,
    ) -> None:
        """Fix the cap of `dataset`, its notion and whom it protects. Declaring the same cap again changes nothing.

        Without `protects`, the first charge says whom the cap protects. If the cap was declared for
        another unit, this is refused, as such a charge would be.
        """
        self._declare(name_of(dataset, what=DATASET), None, cap, protects, convert_unit)

    def declare_analyst_cap(self, dataset: str, analyst: str, cap: Budget) -> None:
        """Bound what `analyst` may spend of the dataset's cap.

        What the analyst has already spent counts. The dataset's cap still holds for all
        analysts together, which is what protects against those who pool their answers.
        """
        self._declare(name_of(dataset, what=DATASET), name_of(analyst, what=ANALYST), cap)

    def _declare(
        self,
        dataset: str,
        analyst: str | None,
        cap: Budget,
        protects: Protected | None = None,
        convert_unit: bool = False,
    ) -> None:
        loss = checked(cap, what="The cap")

        def decide(book: Book) -> Draft | None:
            account = book.accounts.get(dataset) if analyst is None else book.account(dataset)
            if account is not None:
                account.same_notion(loss)
                if protects is not None and account.steps_of(protects) > 1 and not convert_unit:
                    raise _not_converted(account, protects, "each charge counts several times")
                old = account.cap_of(analyst)
                if old == loss:
                    return None
                if old is not None:
                    raise Refused(
                        f"Refused: the cap of {_whose(dataset, analyst)} was declared as {old.budget()}, and "
                        f"{cap} is a different one. Nothing was changed. Use the declared cap, or raise "
                        "it with raise_cap and a reason."
                    )
            named = None if protects is None else protects.text
            return draft("declare", dataset=dataset, analyst=analyst, cap=loss.text, protects=named)

        self._journal.append(decide)

    def raise_cap(
        self,
        dataset: str,
        cap: Budget,
        *,
        reason: str,
        analyst: str | None = None,
        by: str | None = None,
    ) -> None:
        """Put a higher cap in place of the declared one. The ledger records who does it and why.

        The promise made under the old cap ends here: from now on the loss is bounded by
        the new one. `by` is the operating system's account if it is not given.
        """
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        text_of(reason, what=REASON)
        by = account_name() if by is None else name_of(by, what=BY)
        loss = checked(cap, what="The cap")

        def decide(book: Book) -> Draft | None:
            account = book.account(dataset)
            account.same_notion(loss)
            old = account.cap_of(analyst)
            if old is None:
                raise BadInput(
                    f"{_whose(dataset, analyst).capitalize()} has no cap to raise. Declare one first."
                )
            if not loss.covers(old):
                raise BadInput(
                    f"The cap of {_whose(dataset, analyst)} is {old.budget()}, and {cap} does not cover it: a "
                    "cap is only raised. Nothing was changed."
                )
            if old == loss:
                return None
            return draft(
                "raise", dataset=dataset, analyst=analyst, cap=loss.text, reason=reason, by=by
            )

        self._journal.append(decide)

    def declare_unit(
        self, dataset: str, protects: Protected, *, reason: str, by: str | None = None
    ) -> None:
        """Say whom older charges protect, made before ledgers recorded it. The ledger records who says so and why.

        All of them must have protected the same unit. The ledger cannot check this: look into their
        schemas and releases. If it already knows the unit, nothing is changed.
        """
        dataset = name_of(dataset, what=DATASET)
        text_of(reason, what=REASON)
        by = account_name() if by is None else name_of(by, what=BY)

        def decide(book: Book) -> Draft | None:
            account = book.account(dataset)
            if account.protects is not None:
                if account.protects.is_same(protects):
                    return None
                raise Refused(
                    f"Refused: the cap of dataset '{dataset}' protects {account.protects}, as the ledger "
                    "recorded. Nothing was changed."
                )
            return draft("protect", dataset=dataset, protects=protects.text, by=by, reason=reason)

        self._journal.append(decide)

    # The life of a charge

    def charge(
        self,
        dataset: str,
        cost: Budget,
        *,
        purpose: str,
        request: str,
        protects: Protected,
        analyst: str | None = None,
        once: bool = False,
        reading: bool = False,
        convert_unit: bool = False,
    ) -> Entry:
        """Pay `cost` from the dataset's cap, and the analyst's if one is declared, before any row is read.

        Durable when it returns. `BudgetExceeded` when a cap forbids it, and then nothing was
        written. `request` is a digest of everything that is asked; a charge for the same
        request, cost and analyst that was paid and never read is taken over, not paid again,
        and whoever held it before may no longer read. With `once`, a request that was read on
        an earlier charge is refused with `AlreadyAsked`, in the same transaction. With `reading` the
        charge also begins the reading, as `begin_reading` would, in half the time. A run that dies
        after that has paid, whether it read or not.

        `protects` says whose loss the cost bounds. If the cap protects another unit, `WrongUnit` is
        raised. With `convert_unit` the charge pays the price that group privacy gives, where a theorem
        gives one.
        """
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        text_of(purpose, what="The purpose")
        text_of(request, what="The request's digest")
        loss = checked(cost, what="The cost")
        token = os.urandom(16).hex()
        counted = loss

        def decide(book: Book) -> Draft | tuple[Draft, ...]:
            paid = pay(book)
            if not reading:
                return paid
            entry = paid.body.get("entry", book.next_seq)
            return paid, draft("reading", entry=entry, token=token)

        def pay(book: Book) -> Draft:
            nonlocal counted
            account = book.account(dataset)
            account.same_notion(loss)
            asked = book.read.get((dataset, analyst, request)) if once else None
            if asked is not None:
                raise AlreadyAsked(
                    f"Refused: the same question was charged as entry {asked.id} on dataset '{dataset}'. "
                    "Nothing more was charged.",
                    entry=asked.id,
                )
            counted = _counted(account, loss, protects, convert_unit)
            earlier = book.waiting.get((dataset, analyst, request, counted.text, protects.text))
            if earlier is not None:
                return draft("claim", entry=earlier.id, token=token)
            spent, mine = account.after(counted, analyst)
            return draft(
                "charge",
                dataset=dataset,
                analyst=analyst,
                cost=counted.text,
                asked=loss.text,
                protects=protects.text,
                spent=spent.text,
                analyst_spent=None if mine is None else mine.text,
                purpose=purpose,
                request=request,
                token=token,
            )

        seq, body = self._append_one(decide)
        return Entry(
            id=body.get("entry", seq),
            dataset=dataset,
            analyst=analyst,
            cost=counted.budget(),
            request=request,
            token=token,
            taken_over=body["kind"] == "claim",
        )

    def begin_reading(self, entry: Entry) -> None:
        """Turn the charge into a reading. Only the newest holder may do it, and only once; else `EntryTaken`.

        A compare-and-swap on token and state inside one IMMEDIATE transaction, so exactly
        one run ever reads on one charge. Rows may be read when this returns, not before.
        """

        def decide(book: Book) -> Draft:
            record = book.held(entry)
            if record.state is not EntryState.CHARGED:
                raise EntryTaken(
                    f"Refused: entry {entry.id} on dataset '{entry.dataset}' has had its one reading. "
                    "No further row is read on it. Ask again to pay for another."
                )
            return draft("reading", entry=entry.id, token=entry.token)

        self._append_one(decide)

    def record_answer(self, entry: Entry, payload: bytes) -> None:
        """Record the noisy answer, durably and in the hash chain, before it is given out."""
        content = bytes(payload)
        digest = hashlib.sha256(content).hexdigest()

        def decide(book: Book) -> Draft | None:
            record = book.held(entry)
            if record.answer is not None:
                if record.answer[1] == digest:
                    return None
                raise Refused(
                    f"Refused: entry {entry.id} already has an answer, and one charge buys one answer."
                )
            if record.state is not EntryState.READING:
                raise BadInput(
                    f"Entry {entry.id} is {record.state}; an answer needs a reading first."
                )
            return draft("answer", content, entry=entry.id, token=entry.token, sha256=digest)

        self._journal.append(decide)

    def publish(self, entry: Entry, digest: str) -> None:
        """Record that a file or answer with this `digest` is published on this charge, before it is given out."""
        text_of(digest, what="The digest")

        def decide(book: Book) -> Draft | None:
            record = book.held(entry)
            if record.state is EntryState.PUBLISHED:
                if record.digest == digest:
                    return None
                raise Refused(f"Refused: entry {entry.id} published something else already.")
            if record.state is not EntryState.READING:
                raise BadInput(
                    f"Entry {entry.id} is {record.state}; publishing needs a reading first."
                )
            return draft("publish", entry=entry.id, token=entry.token, digest=digest)

        self._journal.append(decide)

    # Looking

    def recorded_answer(
        self, dataset: str, request: str, *, analyst: str | None = None
    ) -> bytes | None:
        """The newest answer recorded for this request on this dataset, paid for by this analyst."""
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        with self._journal.durable() as (book, store, wait_for):
            record = book.answers.get((dataset, analyst, request))
            if record is None or record.answer is None:
                return None
            seq, digest = record.answer
            wait_for(seq)  # another process may have written it a moment ago
            payload = store.payload_at(seq)
            if not isinstance(payload, bytes) or hashlib.sha256(payload).hexdigest() != digest:
                raise damaged(self.path, f"the answer in event {seq} was altered")
            return payload

    def spent(self, dataset: str, *, analyst: str | None = None) -> Budget:
        """What was charged to the dataset so far, or the analyst's share of it."""
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        with self._journal.newest() as (book, _):
            return book.account(dataset).spent_by(analyst).budget()

    def cap(self, dataset: str, *, analyst: str | None = None) -> Budget | None:
        """The declared cap, or None. Without a cap the dataset cannot be charged."""
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        with self._journal.newest() as (book, _):
            account = book.accounts.get(dataset)
            cap = None if account is None else account.cap_of(analyst)
            return None if cap is None else cap.budget()

    def protects(self, dataset: str) -> Protected | None:
        """Whom the dataset's cap protects; None before its first charge, and if it was not recorded."""
        dataset = name_of(dataset, what=DATASET)
        with self._journal.newest() as (book, _):
            account = book.accounts.get(dataset)
            return None if account is None else account.protects

    def changes(self, dataset: str | None = None) -> list[CapChange]:
        """Every cap or unit that was declared or raised, oldest first, with who did it and why."""
        wanted = name_or_none(dataset, what=DATASET)
        with self._journal.newest() as (book, _):
            return [change for change in book.changes if wanted in (None, change.dataset)]

    def datasets(self) -> list[str]:
        """Every declared dataset, in order of declaration."""
        with self._journal.newest() as (book, _):
            return list(book.accounts)

    def entries(self, dataset: str | None = None) -> list[EntryView]:
        """Every charge, oldest first. `EntryView.is_lost` marks those whose answer was lost."""
        wanted = name_or_none(dataset, what=DATASET)
        with self._journal.newest() as (book, _):
            records = book.records.values()
            return [record.view() for record in records if wanted in (None, record.dataset)]

    def verify(self) -> None:
        """Check the whole hash chain again, recompute every total, and check every page.

        `LedgerDamaged` if anything is off.
        """
        self._journal.verify()

    def _append_one(self, decide: Callable[[Book], Draft | tuple[Draft, ...]]) -> tuple[int, Body]:
        written = self._journal.append(decide)
        assert written is not None  # this `decide` always drafts
        return written


def _counted(account: Account, cost: Loss, protects: Protected, convert_unit: bool) -> Loss:
    """`cost` as the cap counts it; a conversion is made only for those who asked for one."""
    counted = account.counted(cost, protects)
    if counted != cost and not convert_unit:
        raise _not_converted(
            account, protects, f"this charge of {cost.budget()} counts as {counted.budget()}"
        )
    return counted


def _not_converted(account: Account, protects: Protected, price: str) -> WrongUnit:
    return WrongUnit(
        f"Refused: the cap of dataset '{account.dataset}' protects {account.protects}, and this run "
        f"protects {protects}. By group privacy {price}. Nothing was charged and no row was read. Allow "
        "that with --convert-unit (convert_unit=True), or use a schema with the cap's adjacency and unit."
    )


def _whose(dataset: str, analyst: str | None) -> str:
    return (
        f"dataset '{dataset}'" if analyst is None else f"analyst '{analyst}' on dataset '{dataset}'"
    )
