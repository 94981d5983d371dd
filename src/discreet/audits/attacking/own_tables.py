"""Our side of an attack: a table on disk, a schema, and a ledger that is thrown away afterwards.

Nothing that is made here is published: the attack is scored beside it, for the custodian alone. So it is charged to
no real ledger.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from discreet.answering import ReleaseReader
from discreet.attacks.outcome import Line
from discreet.curator import Curator
from discreet.plain_tables import ARROW, PARQUET, CsvForm, read_columns
from discreet.privacy.budget import Budget
from discreet.releases import release
from discreet.schema import Schema


class OwnTable:
    """A table that may be released or asked any number of times, each under a fresh ledger."""

    def __init__(self, folder: Path, source: object, schema: Schema) -> None:
        self._folder, self.source, self.schema = folder, source, schema
        self._ledgers = 0

    def _ledger(self) -> Path:
        self._ledgers += 1
        return self._folder / f"ledger-{self._ledgers}.db"

    def released(self, workload: Sequence[Any], budget: Budget) -> ReleaseReader:
        """A release of the table."""
        return release(
            self.source, self.schema, budget=budget, workload=workload, ledger=self._ledger()
        )

    def curator(self, cap: Budget) -> Curator:
        """A curator of the table."""
        return Curator(self.source, self.schema, ledger=self._ledger(), cap=cap)


@contextmanager
def own_table(columns: Mapping[str, Sequence[Any]], schema: str | Schema) -> Iterator[OwnTable]:
    """Columns as a CSV file, with their schema."""
    with tempfile.TemporaryDirectory(prefix="discreet-attack-") as name:
        folder = Path(name)
        table = folder / "table.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        declared = Schema.loads(schema) if isinstance(schema, str) else schema
        yield OwnTable(folder, table, declared)


def rows_of(
    source: object, schema: Schema, *, wanted: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """The custodian's rows as plain columns, a CSV file as its schema says that it is written."""
    options = schema.csv
    form = CsvForm(
        names=options.names,
        skip_first=options.header and options.names is not None,
        delimiter=options.delimiter,
        quote=options.quote,
        encoding="utf-8-sig" if options.encoding == "utf-8" else options.encoding,
        nulls=options.null_strings,
    )
    columns = read_columns(source, wanted=wanted, form=form)
    if isinstance(source, (str, Path)) and Path(source).suffix not in (PARQUET, *ARROW):
        for column in schema.columns:
            for pattern, written in (
                options.rewritings(column.kind) if column.name in columns else ()
            ):
                fits = re.compile(re.sub(r"\$$", r"\\Z", pattern))  # `$` may be before a line's end
                columns[column.name] = [fits.sub(written, text) for text in columns[column.name]]
    return columns


def mean_line(
    publication: str, values: Sequence[float], *, ours: bool = False, note: str = ""
) -> Line:
    """The mean over several draws, with a 95% interval for it."""
    mean = float(np.mean(values))
    half = 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else None
    return Line(
        publication,
        mean,
        lower=None if half is None else mean - half,
        upper=None if half is None else mean + half,
        ours=ours,
        note=note,
    )
