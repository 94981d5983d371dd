"""The ledger's results: an `Entry` for the payer, an `EntryView` for readers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected


class EntryState(StrEnum):
    """How far a charge has come. It only moves forward, and no state refunds.

    Thread safe: it never changes.
    """

    CHARGED = "charged"  # paid; no row was read
    READING = "reading"  # rows may have been read
    PUBLISHED = "published"  # the noisy answer may have left


@dataclass(frozen=True, slots=True)
class Entry:
    """The right to read once, held by whoever has its newest `token`.

    Thread safe: it never changes.
    """

    id: int
    dataset: str
    analyst: str | None
    cost: Budget
    """As the cap counts it."""
    request: str
    token: str
    taken_over: bool
    """True when an earlier run had paid and never read: nothing more was charged."""


@dataclass(frozen=True, slots=True)
class EntryView:
    """One charge as a reviewer sees it. Thread safe: it never changes."""

    id: int
    dataset: str
    analyst: str | None
    cost: Budget
    purpose: str
    request: str
    state: EntryState
    charged_at: str
    claims: int
    """How many later runs took this charge over before anything was read."""
    answered: bool
    digest: str | None
    """The digest of what was published."""
    protects: Protected | None
    """None where it was charged before ledgers recorded it."""
    asked: Budget
    """The cost for those whom it protects, before it was converted for the cap."""

    @property
    def is_lost(self) -> bool:
        """Charged and perhaps read, but without an answer: the run ended in between, or still runs."""
        return self.state is EntryState.READING and not self.answered


class ChangeKind(StrEnum):
    """What was done to a cap. Thread safe: it never changes."""

    DECLARED = "declared"
    RAISED = "raised"
    UNIT_DECLARED = "unit declared"


@dataclass(frozen=True, slots=True)
class CapChange:
    """A cap that was set, or a rule about it that somebody changed, with who and why.

    Thread safe: it never changes.
    """

    at: str
    dataset: str
    analyst: str | None
    kind: ChangeKind
    cap: Budget
    """As it is from then on."""
    protects: Protected | None
    by: str | None
    """None where ledgers did not record it yet, and for a cap's first declaration."""
    reason: str | None
