"""Every error that discreet raises on purpose, in one tree.

    DiscreetError
    ├── BadInput              the request makes no sense; nothing was read, charged or written
    │   ├── BadBudget
    │   ├── BadSchema         carries every mistake found, not only the first
    │   ├── BadSource         the table cannot be opened, or lacks a declared column
    │   ├── BadQuestion       the SQL is not understood or not allowed
    │   └── BadRelease        a release file that is damaged, foreign, newer or hostile
    ├── Refused               it makes sense, but a guarantee forbids it
    │   ├── BudgetExceeded
    │   ├── WrongUnit         a charge that protects another unit than the cap does
    │   ├── NotAnswerable     names the query class that the release would have needed
    │   ├── EntryTaken        another run took over the ledger entry; this one may not read
    │   ├── AlreadyAsked      the very same question was charged and read before
    │   └── AnswerLost        it was charged, and its answer was lost; it is not drawn again
    ├── EngineFailed          the engine stopped for a reason that no row decides
    ├── NotWritten            charged and read, but its file could not be written in its place
    └── LedgerError
        ├── LedgerBusy
        └── LedgerDamaged     a broken chain, a flipped byte, or an older copy put back

`LargeCap` is a warning, not an error: `warnings.filterwarnings("error", category=LargeCap)` makes it one.

A message says what was refused, the numbers, what was not done, and what to do
next. It never depends on a row's value: such a message would itself be a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """` Did you mean 'age'?`, or nothing where no option is near.

    The options are public names: those of a schema, a command line or a ledger, never of rows.
    """
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for option in options:
        folded.setdefault(option.casefold(), option)
    near = get_close_matches(word[:80].casefold(), folded, n=1)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""


class LargeCap(UserWarning):
    """A warning: the cap is above epsilon 10, or an equal rho, which gives almost no protection."""


class DiscreetError(Exception):
    """The root: everything that discreet raises on purpose.

    Thread safe: an error is raised to one thread, and never changes.
    """


class BadInput(DiscreetError, ValueError):
    """The request makes no sense. Nothing was read, charged or written."""


class BadBudget(BadInput):
    """A privacy budget that is not a positive, finite, exact number."""


class BadSchema(BadInput):
    """A schema with mistakes; `mistakes` lists them all."""

    def __init__(self, mistakes: Sequence[str], *, where: str = "The schema") -> None:
        self.mistakes = tuple(mistakes)
        if len(self.mistakes) == 1 and self.mistakes[0].startswith("it "):
            text = f"{where} {self.mistakes[0].removeprefix('it ')}"
        elif len(self.mistakes) == 1:
            text = f"{where} has a mistake: {self.mistakes[0]}"
        else:
            listed = "\n".join(f"  - {mistake}" for mistake in self.mistakes)
            text = f"{where} has {len(self.mistakes)} mistakes:\n{listed}"
        super().__init__(text)


class BadSource(BadInput):
    """The table cannot be opened, or lacks a column that the schema declares."""


class BadQuestion(BadInput):
    """SQL that is not understood, or not allowed."""


class BadRelease(BadInput):
    """A release file that is damaged, foreign, newer than this version, or hostile."""


class Refused(DiscreetError):
    """A sensible request that a guarantee forbids."""


class BudgetExceeded(Refused):
    """The request would overspend the budget. Raised before any row is read."""

    def __init__(self, *, asked: Any, spent: Any, total: Any, of: str = "the budget") -> None:
        """Three budgets, and of what `total` is the limit."""
        self.asked, self.spent, self.total = asked, spent, total
        budget, delta = (
            getattr(asked, part) + getattr(spent, part) > getattr(total, part)
            for part in ("amount", "delta")
        )
        smaller = "budget, and a smaller delta" if budget and delta else "delta, or none"
        left, advice = "nothing", "Only a larger cap, which the custodian may set, allows more."
        if total.amount > spent.amount:
            left = total.minus(spent) if total.covers(spent) else "no delta"
            advice = f"Ask with a smaller {smaller if delta else 'budget'}, or drop a query."
        super().__init__(
            f"Refused: this costs {asked}, and {spent} of {of}, {total}, is spent: {left} is left. "
            f"No row was read. {advice}"
        )


class WrongUnit(Refused):
    """The charge protects another unit than the dataset's cap does, so the two cannot be added."""


class NotAnswerable(Refused):
    """The release cannot answer this question; the message names what it would have needed."""


class EntryTaken(Refused):
    """Another run took over this run's ledger entry before anything was read."""


class AlreadyAsked(Refused):
    """The very same question was charged and read before: it is not charged again."""

    def __init__(self, message: str, *, entry: int) -> None:
        self.entry = entry
        super().__init__(message)


class AnswerLost(Refused):
    """The question was charged, and its answer was lost: it is never drawn again for the same charge."""


class EngineFailed(DiscreetError):
    """The engine stopped (memory, disk, interruption). The charge stands."""


class NotWritten(DiscreetError):
    """A release was charged and measured, and its file could not be written. The charge stands."""


class LedgerError(DiscreetError):
    """The ledger cannot be used."""


class LedgerBusy(LedgerError):
    """Other processes held the ledger for too long. Nothing was charged."""


class LedgerDamaged(LedgerError):
    """The ledger's record was altered, or an older copy of it was put back."""
