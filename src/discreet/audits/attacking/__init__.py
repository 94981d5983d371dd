"""Attacks before and after: each runs against unprotected publications and against discreet's own.

    from discreet.audits.attacking import reconstruct
    print(reconstruct(people=256).lines)

What is attacked is generated, or the custodian's own table; then the outcome is scored on real rows, and
carries the banner NOT PRIVATE. Our side of every attack is a real release or curator, with a ledger of its own
that is thrown away: nothing of it is published.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "reconstruct": "reconstructing",
    "reconstruct_all_subsets": "reconstructing",
    "difference": "differencing",
    "average": "averaging",
    "member": "matching",
    "match": "matching",
    "link": "linking",
    "unique": "linking",
    "trace": "linking",
    "deanonymise": "linking",
    "intersect": "intersecting",
    "microdata": "rebuilding",
    "audit_refusal": "refusals",
    "deterministic": "separating",
    "definitions": "separating",
    "attack_all": "everything",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'discreet.audits.attacking' has no attribute {name!r}")
    return getattr(import_module(f"discreet.audits.attacking.{_PLACES[name]}"), name)
