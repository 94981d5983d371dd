"""The local model: every person adds noise alone, and nobody needs to be trusted.

    from discreet import local

    question = local.Question.category("smoker", ["yes", "no"], epsilon=1)
    reports = local.perturb(question, ["yes", "no", "no"])       # on the clients' side
    found = local.estimate(question, reports)                    # anyone, from the reports alone

| folder | lives there |
|---|---|
| `protocols/` | the public part: exact rational probabilities of every report, and what they cost |
| `clients/` | the noise: the only part that draws, from the exact samplers |
| `collector/` | estimates and intervals from reports: post-processing, which cannot draw noise or reach rows |
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "Question": "discreet.local.question",
    "Client": "discreet.local.clients.memory",
    "perturb": "discreet.local.clients.perturbing",
    "Collector": "discreet.local.collector.collecting",
    "estimate": "discreet.local.collector.collecting",
    "heavy_hitters": "discreet.local.collector.heavy_hitters",
    "plan": "discreet.local.planning",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
