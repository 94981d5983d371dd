"""The ledger's state: the fold over all its events, checked as it is built.

There is no table of totals to fall out of step with the events: the book is what the
events say, each one checked against the chain and against the rules (caps, tokens,
states) before it counts. The running totals inside each charge are recomputed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import BadInput, DiscreetError, EntryTaken, LedgerDamaged, LedgerError
from discreet.ledger.account import Account, Loss, loss_in
from discreet.ledger.chain import FORMAT, ORIGIN, Body, Row, opened
from discreet.ledger.entry import CapChange, ChangeKind, Entry, EntryState, EntryView
from discreet.privacy.protection import Protected, protected_in

EntryKey = tuple[str, str | None, str, str, str | None]
"""Dataset, analyst, request, the text of the cost, and whom it protects."""
AnswerKey = tuple[str, str | None, str]
"""Dataset, analyst, request."""


@dataclass(slots=True)
class Record:
    """One charge, as far as it has come."""

    id: int
    dataset: str
    analyst: str | None
    cost: str
    purpose: str
    request: str
    token: str
    charged_at: str
    asked: str
    protects: str | None
    state: EntryState = EntryState.CHARGED
    claims: int = 0
    answer: tuple[int, str] | None = None  # the event that holds it, and its SHA-256
    digest: str | None = None

    @property
    def key(self) -> EntryKey:
        return self.dataset, self.analyst, self.request, self.cost, self.protects

    def view(self) -> EntryView:
        return EntryView(
            id=self.id,
            dataset=self.dataset,
            analyst=self.analyst,
            cost=loss_in(self.cost).budget(),
            purpose=self.purpose,
            request=self.request,
            state=self.state,
            charged_at=self.charged_at,
            claims=self.claims,
            answered=self.answer is not None,
            digest=self.digest,
            protects=None if self.protects is None else protected_in(self.protects),
            asked=loss_in(self.asked).budget(),
        )


class Book:
    """Everything that the events up to number `seq`, with chain hash `hash`, say."""

    def __init__(self) -> None:
        self.seq = 0
        self.hash = ORIGIN
        self.format = FORMAT
        self.accounts: dict[str, Account] = {}
        self.records: dict[int, Record] = {}
        self.waiting: dict[EntryKey, Record] = {}
        self.answers: dict[AnswerKey, Record] = {}
        self.read: dict[AnswerKey, Record] = {}
        self.changes: list[CapChange] = []
        self._rules: dict[str, Callable[[int, Body], None]] = {
            "genesis": self._genesis,
            "upgrade": self._upgrade,
            "declare": self._declare,
            "raise": self._raise,
            "protect": self._protect,
            "charge": self._charge,
            "claim": self._claim,
            "reading": self._reading,
            "answer": self._answer,
            "publish": self._publish,
            "accept": self._accept,
        }

    def apply(self, row: Row) -> None:
        """Take in the next event, or raise `LedgerDamaged` with the reason.

        After an error the book is of no further use: it may have taken in half an event.
        """
        body = opened(row, after=self.seq, previous=self.hash)
        try:
            self._rules[body["kind"]](row[0], body)
        except LedgerError:
            raise
        except (DiscreetError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise LedgerDamaged(f"event {row[0]} breaks the ledger's rules") from error
        self.seq, self.hash = row[0], row[3]

    @property
    def next_seq(self) -> int:
        """The number that the next event decided on will have; an older format is upgraded before it."""
        return self.seq + 1 + (self.format < FORMAT)

    def account(self, dataset: str) -> Account:
        try:
            return self.accounts[dataset]
        except KeyError:
            raise BadInput(
                f"Dataset '{dataset}' has no cap in this ledger. Nothing was charged. "
                "Declare the dataset and its cap first."
            ) from None

    def held(self, entry: Entry) -> Record:
        """The record that `entry` is the newest right to; `EntryTaken` if another run took it over."""
        record = self.records.get(entry.id)
        if record is None or record.dataset != entry.dataset:
            raise BadInput(f"Entry {entry.id} on dataset '{entry.dataset}' is not in this ledger.")
        if record.token != entry.token:
            raise EntryTaken(
                f"Refused: another run took over entry {entry.id} on dataset '{entry.dataset}', which "
                "was paid and not read. This run reads no row. Ask again to pay for another "
                "reading."
            )
        return record

    def _genesis(self, seq: int, body: Body) -> None:
        if seq != 1:
            raise LedgerDamaged(f"event {seq} begins a second ledger")
        self._set_format(body["format"])

    def _upgrade(self, seq: int, body: Body) -> None:
        if body["format"] <= self.format:
            raise LedgerDamaged(f"event {seq} does not upgrade the ledger")
        self._set_format(body["format"])

    def _set_format(self, found: int) -> None:
        if not 1 <= found <= FORMAT:
            raise LedgerError(
                f"The ledger has format {found}, and this version of discreet reads formats up to "
                f"{FORMAT}. Nothing was charged. Use a newer version."
            )
        self.format = found

    def _note(self, account: Account, body: Body, kind: ChangeKind) -> None:
        analyst = body.get("analyst")
        cap = account.cap_of(analyst)
        assert cap is not None
        self.changes.append(
            CapChange(
                at=body["at"],
                dataset=account.dataset,
                analyst=analyst,
                kind=kind,
                cap=cap.budget(),
                protects=account.protects,
                by=body.get("by"),
                reason=body.get("reason"),
            )
        )

    def _declare(self, seq: int, body: Body) -> None:
        dataset, analyst, cap = body["dataset"], body["analyst"], loss_in(body["cap"])
        if analyst is None:
            if dataset in self.accounts:
                raise LedgerDamaged(f"event {seq} declares a cap twice")
            named = body.get("protects")
            protects = None if named is None else protected_in(named)
            nothing = Loss(cap.notion, (0, 1), (0, 1))
            account = self.accounts[dataset] = Account(dataset, cap, nothing, protects)
        else:
            account = self.accounts[dataset]
            account.same_notion(cap)
            if analyst in account.analyst_caps:
                raise LedgerDamaged(f"event {seq} declares a cap twice")
            account.analyst_caps[analyst] = cap
        self._note(account, body, ChangeKind.DECLARED)

    def _raise(self, seq: int, body: Body) -> None:
        account, analyst, cap = (
            self.accounts[body["dataset"]],
            body["analyst"],
            loss_in(body["cap"]),
        )
        account.same_notion(cap)
        old = account.cap_of(analyst)
        if old is None or not cap.covers(old):
            raise LedgerDamaged(f"event {seq} does not raise a cap")
        if analyst is None:
            account.cap = cap
        else:
            account.analyst_caps[analyst] = cap
        self._note(account, body, ChangeKind.RAISED)

    def _protect(self, seq: int, body: Body) -> None:
        account = self.accounts[body["dataset"]]
        if account.protects is not None:
            raise LedgerDamaged(f"event {seq} says twice whom a cap protects")
        account.protects = protected_in(body["protects"])
        self._note(account, body, ChangeKind.UNIT_DECLARED)

    def _charge(self, seq: int, body: Body) -> None:
        account, analyst, cost = self.accounts[body["dataset"]], body["analyst"], body["cost"]
        protects, asked = self._whom(seq, account, body)
        total, mine = account.after(loss_in(cost), analyst)
        if body["spent"] != total.text or body["analyst_spent"] != (mine and mine.text):
            raise LedgerDamaged(f"the totals in event {seq} do not add up")
        key = account.dataset, analyst, body["request"], cost, body.get("protects")
        if key in self.waiting:
            raise LedgerDamaged(f"event {seq} charges twice for one request")
        account.spent = total
        account.protects = account.protects or protects
        if mine is not None:
            account.analyst_spent[analyst] = mine
        self.records[seq] = self.waiting[key] = Record(
            seq,
            account.dataset,
            analyst,
            cost,
            body["purpose"],
            body["request"],
            body["token"],
            body["at"],
            asked,
            body.get("protects"),
        )

    def _whom(self, seq: int, account: Account, body: Body) -> tuple[Protected | None, str]:
        """Whom a charge protects and what they lose; its cost must be no less than the cap counts for it."""
        named, cost = body.get("protects"), body["cost"]
        if named is None:
            if self.format > 1:
                raise LedgerDamaged(f"event {seq} does not say whom it protects")
            return None, cost
        protects, asked = protected_in(named), body["asked"]
        if (
            protects is account.protects and asked == cost
        ):  # as nearly all are; openings are long enough
            return protects, cost
        if not loss_in(cost).covers(account.counted(loss_in(asked), protects)):
            raise LedgerDamaged(f"event {seq} charges too little for whom it protects")
        return protects, str(asked)

    def _in_state(self, seq: int, record: Record, state: EntryState) -> None:
        if record.state is not state:
            raise LedgerDamaged(f"event {seq} finds entry {record.id} {record.state}, not {state}")

    def _with_token(self, seq: int, body: Body) -> Record:
        record = self.records[body["entry"]]
        if record.token != body["token"]:
            raise LedgerDamaged(f"event {seq} does not hold entry {record.id}")
        return record

    def _claim(self, seq: int, body: Body) -> None:
        record = self.records[body["entry"]]
        self._in_state(seq, record, EntryState.CHARGED)
        record.token = body["token"]
        record.claims += 1

    def _reading(self, seq: int, body: Body) -> None:
        record = self._with_token(seq, body)
        self._in_state(seq, record, EntryState.CHARGED)
        record.state = EntryState.READING
        del self.waiting[record.key]
        self.read[record.dataset, record.analyst, record.request] = record

    def _answer(self, seq: int, body: Body) -> None:
        record = self._with_token(seq, body)
        self._in_state(seq, record, EntryState.READING)
        if record.answer is not None:
            raise LedgerDamaged(f"event {seq} answers entry {record.id} twice")
        record.answer = seq, body["sha256"]
        self.answers[record.dataset, record.analyst, record.request] = record

    def _publish(self, seq: int, body: Body) -> None:
        record = self._with_token(seq, body)
        self._in_state(seq, record, EntryState.READING)
        record.state = EntryState.PUBLISHED
        record.digest = body["digest"]

    def _accept(self, seq: int, body: Body) -> None:
        """A reviewer's note that the mark was set by hand; it changes no total."""
