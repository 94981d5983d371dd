"""What the threads of a concurrency audit share: a small table, and the numbers that are right for it.

The table is made so that no two questions of the audit have the same exact answer, nor an answer
near another's: a number that strays from one call into another is then seen for what it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.answering import open_release
from discreet.answering.verification.signing import content_digest
from discreet.artifacts.files import release_members, write_release
from discreet.artifacts.release import Release
from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.core.noise import NoiseSource
from discreet.core.test_door import observed_vaults
from discreet.curator import Curator
from discreet.engines import open_engine
from discreet.engines.protocol import Engine
from discreet.ledger import Ledger
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Counts
from discreet.queries.tallies import Key
from discreet.releases.run import release
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    CsvOptions,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from tests.harness.threads.interleaving import Outcome

BANDS = 8
COLUMNS = ("person", "band", "town", "score", "kind", "even")
WORKLOAD = [
    "marginals(band, kind)",
    "marginals(even)",
    "intervals(score)",
    "rectangles(band, score)",
    "halfspaces(band, score)",
    'predicates("band < 3")',
]
CAP = Budget(epsilon=10**6, delta="1e-2")
CHARGED_WELL = 5
"""How many of eight threads that want the last of a budget can be served."""


class ExactNoise:
    """No noise at all: what would be published is the exact number. For tables of the audit's own."""

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        return exact.copy()

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        return np.repeat(exact[np.newaxis, :], len(laws), axis=0)

    def choose(self, scores: Counts, unit: Fraction, *, step: str, among: Any = None) -> int:
        return int(np.argmax(scores))

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        return exact >= threshold_with_noise

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        return tuple(keys)


def without_noise(engine: Engine) -> tuple[Engine, NoiseSource]:
    """For the test door: vaults opened inside publish exact numbers."""
    return engine, ExactNoise()


def rows_in(band: int) -> int:
    """How many rows lie in a band: far apart, and no sum of some of them is another's."""
    return 40 + 13 * band * band


def people() -> dict[str, list[Any]]:
    """The columns of the table, row by row."""
    table: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for band in range(BANDS):
        for number in range(rows_in(band)):
            table["person"].append(len(table["person"]))
            table["band"].append(band)
            table["town"].append(f"town {number % 3}")
            table["score"].append(float((37 * number + 101 * band) % 1000))
            table["kind"].append("ab"[number % 2])
            table["even"].append(number % 2 == 0)
    return table


def schema_of(dataset: str, *, unit: PrivacyUnit | None = None) -> Schema:
    return Schema(
        dataset=dataset,
        columns=(
            IntegerColumn("band", 0, BANDS - 1),
            CategoryColumn("kind", ("a", "b")),
            NumberColumn("score", 0.0, 1000.0, bits=10),
            CategoryColumn("town", (), undeclared=True),
            BooleanColumn("even", nulls="exclude"),
        ),
        unit=unit or PrivacyUnit(),
        csv=CsvOptions(),
    )


@dataclass(slots=True)
class World:
    """A table in three forms, a ledger, and what was paid for so far, by the model's own count."""

    folder: Path
    table: dict[str, list[Any]]
    ledger: Ledger
    made: Release
    """A release of the table, for readers of it."""
    small: Release
    """One of a single table: synthetic rows of the other take a second."""
    prefix: str = ""
    """Before every number: of a process that has datasets of its own in a shared ledger."""
    sources: Path | None = None
    """Where the table is, if not in `folder`."""
    number: int = 0
    opened: list[Any] = field(default_factory=list)
    paid: dict[str, dict[str, Fraction]] = field(default_factory=dict)
    """By dataset and by what was asked: the charge that the ledger must show for it, once."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    model: Engine | None = None

    @classmethod
    def make(cls, folder: Path) -> World:
        import csv

        import pyarrow
        import pyarrow.parquet

        folder.mkdir(parents=True, exist_ok=True)
        table = people()
        pyarrow.parquet.write_table(pyarrow.table(table), folder / "people.parquet")
        with (folder / "people.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
        ledger = Ledger.open(folder / "ledger.db")
        of_two = Schema(dataset="small", columns=schema_of("small").columns[:2])
        made, small = (
            release(
                folder / "people.parquet", schema, budget=Budget(epsilon=8), workload=workload,
                ledger=ledger,
            ).release
            for schema, workload in ((schema_of("released"), WORKLOAD), (of_two, WORKLOAD[:1]))
        )  # fmt: skip
        for name, each in (("made", made), ("small", small)):
            write_release(each, folder / f"{name}.release")
        return cls(folder, table, ledger, made, small)

    @classmethod
    def join(cls, folder: Path, *, prefix: str) -> World:
        """The world that another process made in `folder`: the same table, releases and ledger file.

        With a prefix, its datasets and the files that it writes are its own. Without one, they are those of every
        other process that makes the same calls in the same order.
        """
        made, small = (
            open_release(folder / f"{name}.release").release for name in ("made", "small")
        )
        own = folder / f"own {prefix}" if prefix else folder
        own.mkdir(exist_ok=True)
        ledger = Ledger.open(folder / "ledger.db")
        return cls(own, people(), ledger, made, small, prefix=prefix, sources=folder)

    def close(self) -> None:
        for each in self.opened:
            each.close()
        self.ledger.close()

    def next_number(self) -> str:
        """A number that no other drill of this world has."""
        with self.lock:
            self.number += 1
            return f"{self.prefix}{self.number}"

    def source(self, form: int) -> Any:
        """The table as Parquet, as CSV, or in memory."""
        if form % 3 == 0:
            return (self.sources or self.folder) / "people.parquet"
        if form % 3 == 1:
            return (self.sources or self.folder) / "people.csv"
        import pyarrow

        return pyarrow.table(self.table)

    def schema(self, form: int, dataset: str) -> Schema:
        """CSV is bounded by person too, so that its rows are kept in a table that is made once."""
        unit = PrivacyUnit(identifier="person", max_rows=1) if form % 3 == 1 else None
        return schema_of(dataset, unit=unit)

    def engine(self, form: int) -> Engine:
        """Freshly opened, so that nothing is kept yet."""
        engine = open_engine(self.source(form), self.schema(form, "engine"), threads=1)
        self.opened.append(engine)
        return engine

    def model_engine(self) -> Engine:
        """One that no threads share: what it counts is right for the table in any form."""
        if self.model is None:
            self.model = self.engine(0)
        return self.model

    def curator(self, form: int, *, cap: Budget = CAP) -> Curator:
        """Freshly opened on a dataset of its own; it publishes exact numbers."""
        dataset = f"people {self.next_number()}"
        with observed_vaults(without_noise):
            curator = Curator(
                self.source(form),
                self.schema(form, dataset),
                ledger=self.ledger,
                cap=cap,
                threads=1,
            )
        self.opened.append(curator)
        return curator

    def pay(self, dataset: str, asked: str, cost: Budget) -> None:
        """The model's own book: the same thing is paid for once."""
        with self.lock:
            self.paid.setdefault(dataset, {})[asked] = cost.epsilon

    def unbalanced(self) -> list[str]:
        """Datasets whose total in the ledger is not the model's."""
        found = []
        for dataset, paid in self.paid.items():
            spent, right = self.ledger.spent(dataset).epsilon, sum(paid.values(), Fraction(0))
            if spent != right:
                found.append(f"the ledger says that {dataset!r} spent {spent}, and it was {right}")
        return found

    # The model: exact answers, counted row by row

    def count(self, test: Callable[[int, str, float], bool]) -> int:
        columns = (self.table["band"], self.table["kind"], self.table["score"])
        return sum(test(*row) for row in zip(*columns, strict=True))


def plain(value: Any) -> Any:
    """Anything that a call returns, as numbers and texts that can be compared."""
    if isinstance(value, Exception):
        return [type(value).__name__, str(value)]
    if isinstance(value, Outcome):
        return plain(value.error if value.error is not None else value.result)
    if isinstance(value, Release):
        return content_digest(release_members(value)).hex()
    if hasattr(value, "release") and isinstance(value.release, Release):
        return plain(value.release)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (np.generic,)):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    for method in ("to_pydict", "to_dict"):
        if hasattr(value, method):
            return plain(getattr(value, method)())
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: plain(getattr(value, name)) for name in fields if not name.startswith("_")}
    if hasattr(value, "__next__"):
        return [plain(each) for each in value]
    return repr(value) if not isinstance(value, (str, int, float, bool, type(None))) else value
