"""Running one attack: the output is checked first, progress is shown, then the outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.outcomes import check_output, show_outcomes

if TYPE_CHECKING:
    from discreet.attacks.outcome import Outcome

LEAD = "What an adversary gets from unprotected publications, and from ours."


def epsilon_option(
    default: str = "1", words: str = "The budget of our side, in all."
) -> Callable[..., Any]:
    return click.option(
        "--epsilon", metavar="NUMBER", default=default, show_default=True, help=words
    )


def ran(attack: str, shared: dict[str, Any], *given: Any, **settings: Any) -> None:
    """Run an attack, by its name in `audits.attacking`, and show what it achieved. `shared`: see `outcome_options`."""
    from discreet.audits import attacking
    from discreet.cli.output import progress_bar

    check_output(shared["output"], force=shared["force"])
    with progress_bar() as advance:
        outcome: Outcome = getattr(attacking, attack)(*given, **settings, progress=advance)
    as_json, output = shared["as_json"], shared["output"]
    show_outcomes([outcome], as_json=as_json, output=output, title=outcome.title, lead=LEAD)
