"""A histogram behind the engine protocol: the real kernel reads it, the real noise is added to it.

Benchmarks start from published histograms, not from rows; expanding them into tables would only
measure the database. Everything from the vault on is what users run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.vault import Grant, Vault
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.schema import Schema


class HistogramEngine:
    """Counts nodes of a histogram whose sides are the columns of the schema, in order."""

    def __init__(self, histogram: np.ndarray, schema: Schema) -> None:
        self._counts = histogram.astype(np.int64)
        self._names = [column.name for column in schema.columns]

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
        found = []
        for names in column_sets:
            gone = tuple(a for a, name in enumerate(self._names) if name not in names)
            kept = [name for name in self._names if name in names]
            summed = self._counts.sum(axis=gone) if gone else self._counts
            found.append(np.transpose(summed, [kept.index(name) for name in names]))
        return found

    def node_counts(self, columns: Any, shifts: Any, nodes: np.ndarray) -> np.ndarray:
        (counts,) = self.marginals([columns])
        for axis, shift in enumerate(shifts):
            size = counts.shape[axis]
            if shift:
                counts = np.add.reduceat(counts, np.arange(0, size, 1 << shift), axis=axis)
        return counts[tuple(nodes[:, axis].astype(np.int64) for axis in range(nodes.shape[1]))]

    def row_count(self) -> int:
        return int(self._counts.sum())

    def sums(self, requests: Any) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close."""


def histogram_schema(shape: Sequence[int], *, adjacency: str = "add-remove") -> Schema:
    """Integer columns x0, x1, ... of the given sizes."""
    columns = "".join(
        f'[columns.x{axis}]\nkind = "integer"\nrange = [0, {size - 1}]\nnulls = "exclude"\n'
        for axis, size in enumerate(shape)
    )
    return Schema.loads(f'dataset = "histogram"\nadjacency = "{adjacency}"\n{columns}')


@contextmanager
def opened_grant(
    histogram: np.ndarray,
    schema: Schema,
    budget: Budget,
    *,
    accounting: Accounting = Accounting.BASIC,
) -> Iterator[Grant]:
    """A grant on the histogram, charged to a ledger of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder,
        Ledger.open(Path(folder) / "ledger.db") as ledger,
    ):
        vault = Vault(HistogramEngine(histogram, schema), schema, ledger)  # type: ignore[arg-type]
        with vault.charge(
            budget, purpose="benchmark", request="benchmark", accounting=accounting
        ) as grant:
            yield grant
