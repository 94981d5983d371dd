"""The lists by which tests are dealt out name files that exist, and all that needs Spark."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.workers import LONG, SPARK

ROOT = Path(__file__).parents[1]
USES_SPARK = {"tests.spark_session", "tests.harness.battery", "tests.engines.reference"}
"""Modules that start a Spark of the process when a test asks for it."""
OF_ITS_OWN = {"tests/engines/test_cells.py"}
"""Takes only the engine in Python from `reference`."""


def imported(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    }


def test_every_file_that_is_named_exists() -> None:
    assert all((ROOT / file).is_file() for file in LONG)
    assert len(set(LONG)) == len(LONG)


def test_all_that_starts_a_spark_goes_to_one_worker() -> None:
    found = {
        str(file.relative_to(ROOT))
        for file in ROOT.glob("tests/**/test_*.py")
        if imported(file) & USES_SPARK
    }
    assert found - OF_ITS_OWN <= set(SPARK)
