"""Named moments inside a charge, so that a test can stop a process exactly there.

`step` does nothing and decides nothing. Crash tests put a function of their own in its
place, inside a child process that they are about to kill; no option, environment
variable or argument reaches it.
"""

from __future__ import annotations

OF_AN_EVENT = (
    "before-begin",
    "after-begin",
    "after-insert",
    "after-commit",
    "after-mark-written",
    "after-mark",
)
OF_A_NEW_LEDGER = ("after-first-mark", "after-creation")


def step(name: str) -> None:
    """Reached moment `name`."""
