"""Open a release, ask it, bound its answers, verify it. Nothing here can reach a row.

Names are loaded when they are first used: families and this room import each other's modules, and
whichever is asked for first must not load all of the other.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.answering.many_counts import ManyCounts
    from discreet.answering.reader import ReleaseReader, open_release
    from discreet.answering.verification.signing import new_signing_key, sign_release
    from discreet.answering.verification.verify import Verification, verify_costs

_PLACES = {
    "ManyCounts": "many_counts",
    "ReleaseReader": "reader",
    "Verification": "verification.verify",
    "new_signing_key": "verification.signing",
    "open_release": "reader",
    "sign_release": "verification.signing",
    "verify_costs": "verification.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


__all__ = [
    "ManyCounts",
    "ReleaseReader",
    "Verification",
    "new_signing_key",
    "open_release",
    "sign_release",
    "verify_costs",
]
