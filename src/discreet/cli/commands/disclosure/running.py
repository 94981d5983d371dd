"""Running one attack: the output is checked first, progress is shown, then the outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.outcomes import check_output, show_outcomes

if TYPE_CHECKING:
    from discreet.attacks.outcome import Outcome, Progress

LEAD = "What an adversary gets from unprotected publications, and from ours."


def ran(
    attack: Callable[[Progress], Outcome], *, as_json: bool, output: Path | None, force: bool
) -> None:
    """Run an attack and show what it achieved."""
    from discreet.cli.output import progress_bar

    check_output(output, force=force)
    with progress_bar() as advance:
        outcome = attack(advance)
    show_outcomes([outcome], as_json=as_json, output=output, title=outcome.title, lead=LEAD)
