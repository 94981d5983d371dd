"""Work in processes of their own: measured there, or kept out of what is measured here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
BY_DUCKDB = (
    "import duckdb, sys; duckdb.execute('PRAGMA disable_progress_bar'); duckdb.execute(sys.argv[1])"
)


def measured(script: str, *words: object) -> dict[str, float]:
    """What a script prints last, as JSON, run with this tree's package."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run_module(module: str, *words: object) -> dict[str, float]:
    """What a module of the benchmarks prints last, as JSON, run with this tree's package."""
    root = SOURCE.parent
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, *map(str, words)],
        env={**os.environ, "PYTHONPATH": f"{SOURCE}:{root}"},
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def executed(sql: str) -> None:
    """SQL in a DuckDB of its own: what it allocates does not count here."""
    subprocess.run([sys.executable, "-c", BY_DUCKDB, sql], check=True)
