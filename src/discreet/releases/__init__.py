"""Release algorithms, the planner, and `release`: the core's verbs plus post-processing.

Names are loaded when they are first used: the curator needs two small modules of this package, and not
every algorithm in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.releases.planning import Plan, plan
    from discreet.releases.run import release, release_to_file
    from discreet.releases.targets import TargetError

__all__ = ["Plan", "TargetError", "plan", "release", "release_to_file"]

_PLACES = {
    **dict.fromkeys(("Plan", "plan"), "discreet.releases.planning"),
    "TargetError": "discreet.releases.targets",
    **dict.fromkeys(("release", "release_to_file"), "discreet.releases.run"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'discreet.releases' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
