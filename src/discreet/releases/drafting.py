"""A schema draft from a table's column names and types. No row is read."""

from __future__ import annotations

from discreet.engines import column_names_and_types
from discreet.schema.drafting import draft


def draft_schema(source: object) -> str:
    """TOML with each column's name and kind, and blanks for a person to fill in."""
    described = column_names_and_types(source)
    return draft([name for name, _ in described], dict(described))
