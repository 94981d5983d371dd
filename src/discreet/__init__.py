"""discreet: differentially private release of databases.

    import discreet as dc

    schema = dc.Schema.load("people.toml")
    release = dc.release("people.csv", schema, budget=dc.Budget(epsilon=1), workload=["marginals(2)"])
    release.ask("SELECT count(*) FROM people WHERE age >= 65")

Names are loaded when they are first used (PEP 562), so that importing discreet is cheap;
their types are in `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_ROOMS = {
    "discreet.answering": ("ReleaseReader", "open_release"),
    "discreet.artifacts.answer": ("Answer",),
    "discreet.artifacts.answers": ("Answers",),
    "discreet.client.connection": ("connect",),
    "discreet.curator": ("Curator",),
    "discreet.errors": (
        "BadBudget",
        "BadInput",
        "BadQuestion",
        "BadRelease",
        "BadSchema",
        "BadSource",
        "BudgetExceeded",
        "DiscreetError",
        "LedgerError",
        "NotAnswerable",
        "Refused",
    ),
    "discreet.ledger": ("Ledger",),
    "discreet.privacy.adjacency": ("Adjacency", "PrivacyUnit"),
    "discreet.privacy.budget": ("Budget",),
    "discreet.families.numbers.queries.one_number": ("Means", "Sums"),
    "discreet.families.tables.queries.marginals": ("Marginals",),
    "discreet.families.halfspaces.queries.halfspaces": ("Halfspaces",),
    "discreet.families.predicates.queries.predicates": ("Predicates",),
    "discreet.releases": ("Plan", "plan", "release", "release_to_file"),
    "discreet.report": ("render_report",),
    "discreet.schema": ("Schema",),
}
_PLACES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Adjacency",
    "Answer",
    "Answers",
    "BadBudget",
    "BadInput",
    "BadQuestion",
    "BadRelease",
    "BadSchema",
    "BadSource",
    "Budget",
    "BudgetExceeded",
    "Curator",
    "DiscreetError",
    "Halfspaces",
    "Ledger",
    "LedgerError",
    "Marginals",
    "Means",
    "NotAnswerable",
    "Plan",
    "Predicates",
    "PrivacyUnit",
    "Refused",
    "ReleaseReader",
    "Schema",
    "Sums",
    "__version__",
    "connect",
    "open_release",
    "plan",
    "release",
    "release_to_file",
    "render_report",
]


def __getattr__(name: str) -> Any:
    try:
        value = getattr(import_module(_PLACES[name]), name)
    except KeyError:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
