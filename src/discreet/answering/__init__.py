"""Open a release, ask it, bound its answers, verify it. Nothing here can reach a row.

Names are loaded when they are first used: families import parts of this room, and this room's reader
finds the families through their registry.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.answering.many_counts import ManyCounts
    from discreet.answering.reader import ReleaseReader, open_release
    from discreet.answering.registry import ANSWERERS, register
    from discreet.answering.verification.signing import new_signing_key, sign_release
    from discreet.answering.verification.verify import Verification, verify_costs

_PLACES = {
    "ManyCounts": "discreet.answering.many_counts",
    "ReleaseReader": "discreet.answering.reader",
    "open_release": "discreet.answering.reader",
    "ANSWERERS": "discreet.answering.registry",
    "register": "discreet.answering.registry",
    "new_signing_key": "discreet.answering.verification.signing",
    "sign_release": "discreet.answering.verification.signing",
    "Verification": "discreet.answering.verification.verify",
    "verify_costs": "discreet.answering.verification.verify",
}

__all__ = [
    "ANSWERERS",
    "ManyCounts",
    "ReleaseReader",
    "Verification",
    "new_signing_key",
    "open_release",
    "register",
    "sign_release",
    "verify_costs",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
