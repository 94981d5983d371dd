"""Release algorithms, the planner, and `release`: kernel verbs plus post-processing.

May import kernel, inference and the rooms below them.
"""

from __future__ import annotations

from discreet.releases.planning import Plan, TargetError, plan
from discreet.releases.run import release, release_to_file

__all__ = ["Plan", "TargetError", "plan", "release", "release_to_file"]
