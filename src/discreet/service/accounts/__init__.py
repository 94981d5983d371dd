"""Who may use the service: people, their roles, tokens and sessions, in SQLite or PostgreSQL."""

from discreet.service.accounts.kept import Accounts
from discreet.service.accounts.opening import open_accounts
from discreet.service.accounts.people import (
    AccountEvent,
    KeyState,
    Person,
    Role,
    Session,
    TokenView,
)
from discreet.service.accounts.sqlite import SqliteAccounts

__all__ = [
    "AccountEvent",
    "Accounts",
    "KeyState",
    "Person",
    "Role",
    "Session",
    "SqliteAccounts",
    "TokenView",
    "open_accounts",
]
