"""The public names with their types; `__init__.py` loads each when it is first used."""

from discreet.answering import ReleaseReader, open_release
from discreet.artifacts.answer import Answer
from discreet.artifacts.answers import Answers
from discreet.client.connection import connect
from discreet.curator import Curator
from discreet.errors import (
    BadBudget,
    BadInput,
    BadQuestion,
    BadRelease,
    BadSchema,
    BadSource,
    BudgetExceeded,
    DiscreetError,
    LedgerError,
    NotAnswerable,
    Refused,
)
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.tables.queries.marginals import Marginals
from discreet.ledger import Ledger
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.releases import Plan, plan, release, release_to_file
from discreet.report import render_report
from discreet.schema import Schema

__version__: str

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
