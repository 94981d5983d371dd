"""Tables and schemas with a column whose values nobody declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

import discreet as dc

SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
{unit}
[columns.town]
kind = "category"
undeclared = true
nulls = "{nulls}"
[columns.sex]
kind = "category"
values = ["F", "M"]
"""
BUDGET = dc.Budget(epsilon=4, delta="1e-6")
SURE = 1 - 1e-8
"""The confidence of intervals in tests that chance must not fail."""


def schema_of(
    adjacency: str = "add-remove",
    *,
    rows: int | None = None,
    groups: int | None = None,
    nulls: str = "cell",
    more: str = "",
) -> dc.Schema:
    unit = "" if rows is None else f'[unit]\nidentifier = "person"\nmax_rows = {rows}'
    unit += "" if groups is None else f"\nmax_groups = {groups}"
    return dc.Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit, nulls=nulls) + more)


def frame_of(towns: Sequence[str | None], **columns: list[Any]) -> pd.DataFrame:
    """One person a row, unless said otherwise."""
    sexes = ["F" if place % 2 else "M" for place in range(len(towns))]
    given = {"person": range(len(towns)), "town": towns, "sex": sexes, **columns}
    return pd.DataFrame(given).astype({"town": object})


TOWNS: list[str | None] = [
    *["Rome"] * 900, *["Oslo"] * 500, *["Lima"] * 300, *["Tiny"] * 2, *[None] * 100, *[f"v{k}" for k in range(98)]
]  # fmt: skip
"""1,900 rows. At `BUDGET` the first three towns are sure to be named, and each other one with probability
below 1e-5."""
