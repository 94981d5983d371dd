"""`Ledger`: what each dataset may lose, has lost, and to which question."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from discreet.errors import BadInput, Refused
from discreet.ledger.account import checked
from discreet.ledger.book import Book
from discreet.ledger.chain import Draft, draft
from discreet.ledger.charging import ANALYST, DATASET, Charges, whose
from discreet.ledger.entry import CapChange, EntryView
from discreet.ledger.journal import Journal
from discreet.ledger.names import account_name, name_of, name_or_none, text_of
from discreet.ledger.opening import PATIENCE, home_of
from discreet.ledger.stores.sqlite import damaged
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected

BY = "The name of who does it"
REASON = "The reason"


@dataclass(frozen=True, slots=True)
class Standing:
    """A cap and what is spent of it, and an analyst's share if one is named. Thread safe: it never changes."""

    cap: Budget
    spent: Budget
    own_cap: Budget | None
    """None if the analyst's share is not bounded, or nobody is named."""
    own_spent: Budget

    @property
    def left(self) -> Budget:
        """The rest of the cap, or of the analyst's share if that is less."""
        rest = self.cap.minus(self.spent)
        if self.own_cap is None:
            return rest
        mine = self.own_cap.minus(self.own_spent)
        least = {rest.notion.value: str(min(rest.amount, mine.amount))}
        return Budget.from_dict({**least, "delta": str(min(rest.delta, mine.delta))})


class Ledger(Charges):
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

    @classmethod
    def open(
        cls,
        path: Path | str | None = None,
        *,
        mark: Path | str | None = None,
        patience: int = PATIENCE,
    ) -> Self:
        """Open the ledger at `path`, or start one there, and check all of it. Without a path it is in the default place.

        `path` may be a database's address, `postgresql://host/db`, for a ledger of several machines.
        `mark` puts the high-water mark elsewhere, such as on another disk, where a restored
        backup does not bring an old mark along.
        """
        return cls(Journal.open(home_of(path, mark, patience=patience)))

    @property
    def path(self) -> Path | str:
        """Where the ledger is: its file, or its database's address."""
        return self._journal.path

    def close(self) -> None:
        """Close the files. What was charged stays charged."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Caps

    def declare_analyst_cap(self, dataset: str, analyst: str, cap: Budget) -> None:
        """Bound what `analyst` may spend of the dataset's cap.

        What the analyst has already spent counts. The dataset's cap still holds for all
        analysts together, which is what protects against those who pool their answers.
        """
        self._declare(name_of(dataset, what=DATASET), name_of(analyst, what=ANALYST), cap)

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
                    f"{whose(dataset, analyst).capitalize()} has no cap to raise. Declare one first."
                )
            if not loss.covers(old):
                raise BadInput(
                    f"The cap of {whose(dataset, analyst)} is {old.budget()}, and {cap} does not cover it: a "
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

    def standing(self, dataset: str, *, analyst: str | None = None) -> Standing:
        """The dataset's cap and what is spent of it, and the analyst's share, at one moment."""
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        with self._journal.newest() as (book, _):
            account = book.account(dataset)
            own = None if analyst is None else account.cap_of(analyst)
            return Standing(
                cap=account.cap.budget(),
                spent=account.spent.budget(),
                own_cap=None if own is None else own.budget(),
                own_spent=account.spent_by(analyst).budget(),
            )

    def spent(self, dataset: str, *, analyst: str | None = None) -> Budget:
        """What was charged to the dataset so far, or the analyst's share of it."""
        dataset = name_of(dataset, what=DATASET)
        analyst = name_or_none(analyst, what=ANALYST)
        with self._journal.newest() as (book, _):
            return book.account(dataset).spent_by(analyst).budget()

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
