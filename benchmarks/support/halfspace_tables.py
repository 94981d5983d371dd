"""Tables, questions and releases that the benchmarks of halfspaces share."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars

from discreet import Budget, Schema, release
from discreet.families.halfspaces.estimate.prior import random_halfspaces

QUESTIONS = 2_000
TWO = {"age": 32, "hours-per-week": 32}
FIVE = {
    "age": 32,
    "education-num": 16,
    "capital-gain": 32,
    "capital-loss": 32,
    "hours-per-week": 32,
}


def schema_text(columns: dict[str, int], people: int) -> str:
    parts = [f'dataset = "adult"\npeople = {people}\nadjacency = "change-one"']
    parts += [
        f'[columns."{name}"]\nkind = "integer"\nrange = [0, {cells - 1}]'
        for name, cells in columns.items()
    ]
    return "\n".join(parts)


def adult(data: Path, columns: dict[str, int]) -> Any:
    with (data / "tables" / "adult.csv").open(encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows)
        places = [header.index(name) for name in columns]
        return np.array([[int(row[place]) for place in places] for row in rows], dtype=np.int64)


def released(
    source: object,
    schema: Schema,
    asked: Any,
    epsilon: str,
    *,
    algorithm: str | None = None,
    delta: str = "0",
    ledger: Path | None = None,
) -> Any:
    """A release with a ledger of its own: the rows are public."""
    with tempfile.TemporaryDirectory() as folder:
        return release(
            source,
            schema,
            budget=Budget(epsilon=epsilon, delta=delta),
            workload=[asked],
            algorithms=None if algorithm is None else {asked.text: algorithm},
            ledger=ledger or Path(folder) / "ledger.db",
        )


class Table:
    """Rows, random questions and their true answers."""

    def __init__(self, rows: Any, columns: dict[str, int], seed: int) -> None:
        self.columns = tuple(columns)
        self.rows = rows
        self.many = len(self.rows)
        self.schema = Schema.loads(schema_text(columns, self.many))
        self.frame = polars.DataFrame(dict(zip(columns, self.rows.T, strict=True)))
        high = np.array(list(columns.values()), dtype=float) - 1
        normals, bounds = random_halfspaces(np.zeros(len(high)), high, QUESTIONS, seed=seed)
        self.normals, self.bounds = np.round(normals, 6), np.round(bounds, 6)
        self.truth = np.concatenate(
            [
                (self.rows @ self.normals[at : at + 50].T >= self.bounds[at : at + 50]).sum(axis=0)
                for at in range(0, QUESTIONS, 50)
            ]
        )

        self.high = high

    def error(self, answers: Any) -> float:
        return float(np.abs(np.clip(answers, 0, self.many) - self.truth).mean()) / self.many
