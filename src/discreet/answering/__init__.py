"""Open a release, ask it, bound its answers, verify it. Nothing here can reach a row.

Names are loaded when they are first used: families and this package import each other's modules, and
whichever is asked for first must not load all of the other.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.answering.estimates import ManyCounts
    from discreet.answering.verification.signing import new_signing_key, sign_release
    from discreet.answering.verification.verify import Verification, verify_costs
    from discreet.families.reader import ReleaseReader, open_release

_PLACES = {
    "ManyCounts": "answering.estimates",
    "ReleaseReader": "families.reader",
    "Verification": "answering.verification.verify",
    "new_signing_key": "answering.verification.signing",
    "open_release": "families.reader",
    "sign_release": "answering.verification.signing",
    "verify_costs": "answering.verification.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"discreet.{_PLACES[name]}"), name)


__all__ = [
    "ManyCounts",
    "ReleaseReader",
    "Verification",
    "new_signing_key",
    "open_release",
    "sign_release",
    "verify_costs",
]
