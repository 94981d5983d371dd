"""`Charges`: what a dataset may lose, checked and written before a row is read. All that the core needs of a ledger.

A charge is checked against the cap and written in one transaction that excludes other writers, so no two
processes can both take the last of a budget. It is on disk, and under the high-water
mark, before `charge` returns. See `account` for the theorems behind the caps.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

from discreet.errors import AlreadyAsked, BadInput, EntryTaken, Refused, WrongUnit
from discreet.ledger.account import Account, Loss, checked
from discreet.ledger.book import Book
from discreet.ledger.chain import Body, Draft, draft
from discreet.ledger.entry import Entry, EntryState
from discreet.ledger.journal import Journal
from discreet.ledger.names import name_of, name_or_none, text_of
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected

DATASET = "The dataset's name"
ANALYST = "The analyst's name"


class Charges:
    """Caps and the life of a charge. `Ledger` adds opening, what people decide about caps, and looking.

    Guarantee, theorem and key are those of `Ledger`.

    Thread safe: one step at a time, for any number of threads and processes.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

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
                        f"Refused: the cap of {whose(dataset, analyst)} was declared as {old.budget()}, and "
                        f"{cap} is a different one. Nothing was changed. Write the declared cap into "
                        "the schema, or raise it by `discreet ledger raise-cap`."
                    )
            named = None if protects is None else protects.text
            return draft("declare", dataset=dataset, analyst=analyst, cap=loss.text, protects=named)

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

        A compare-and-swap on token and state inside one such transaction, so exactly
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

    def known_cap(self, dataset: str) -> Budget | None:
        """The declared cap as this process last saw it: for its notion, which never changes. A charge reads it again."""
        with self._journal.known() as book:
            account = book.accounts.get(name_of(dataset, what=DATASET))
            if account is not None:
                return account.cap.budget()
        return self.cap(dataset)

    def cap(self, dataset: str, *, analyst: str | None = None) -> Budget | None:
        """The declared cap, or None. Without a cap the dataset cannot be charged."""
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        with self._journal.newest() as (book, _):
            account = book.accounts.get(dataset)
            cap = None if account is None else account.cap_of(analyst)
            return None if cap is None else cap.budget()

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


def whose(dataset: str, analyst: str | None) -> str:
    return (
        f"dataset '{dataset}'" if analyst is None else f"analyst '{analyst}' on dataset '{dataset}'"
    )
