"""A small table with everything in it, and curators over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc

SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
{unit}
[columns.age]
kind = "integer"
range = [0, 119]
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.income]
kind = "number"
bounds = [0, 1000]
bits = 12
nulls = "exclude"
[columns.born]
kind = "date"
range = ["1990-01-01", "2020-12-31"]
granularity = "year"
[columns.member]
kind = "boolean"
"""


def schema_of(adjacency: str = "add-remove", *, max_rows: int | None = None) -> dc.Schema:
    unit = "" if max_rows is None else f'[unit]\nidentifier = "person"\nmax_rows = {max_rows}'
    return dc.Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))


def table_of(rows: int = 400) -> pd.DataFrame:
    places = range(rows)
    return pd.DataFrame(
        {
            "person": [f"p{place % (rows // 2 + 1)}" for place in places],
            "age": pd.array([(place * 37) % 100 for place in places], dtype="Int64"),
            "sex": [("F", "M", "X", None)[place % 4] for place in places],
            "income": [float((place * 91) % 700) for place in places],
            "born": [f"{1990 + place % 31}-05-17" for place in places],
            "member": [(True, False, None)[place % 3] for place in places],
        }
    )


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    table_of().to_parquet(path)
    return path


Opener = Callable[..., dc.Curator]


@pytest.fixture
def opened(table: Path, tmp_path: Path) -> Iterator[Opener]:
    """Opens curators on one ledger, and closes them."""
    found: list[dc.Curator] = []

    def open_one(**options: Any) -> dc.Curator:
        schema = options.pop("schema", None) or schema_of()
        given = {"ledger": tmp_path / "ledger.db", "cap": dc.Budget(epsilon=10), **options}
        curator = dc.Curator(given.pop("source", table), schema, **given)
        found.append(curator)
        return curator

    yield open_one
    for curator in found:
        curator.close()
