"""A tiny table in memory behind the engine protocol, ledgers of their own, and noise that is watched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.noise import DrawnNoise
from discreet.core.test_door import observed_vaults
from discreet.engines.protocol import SumRequest, bounding_key, checked_sum
from discreet.errors import EngineFailed
from discreet.ledger import Ledger
from discreet.queries.tallies import Cells, Tally, Total
from discreet.releases import run
from discreet.schema import Schema

Row = dict[str, Any]

PEOPLE = """
dataset = "people"
{facts}
adjacency = "{adjacency}"
{unit}
[columns.age]
kind = "integer"
range = [0, 99]
{age}
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.income]
kind = "number"
bounds = [-0.5, 7.25]
bits = 4
"""


def people_schema(
    adjacency: str = "add-remove",
    *,
    identifier: bool = False,
    facts: str = "",
    age: str = "",
    cap: str = "",
) -> Schema:
    unit = '[unit]\nidentifier = "person"\nmax_rows = 3\n' if identifier else ""
    unit += f"[cap]\n{cap}\n" if cap else ""
    return Schema.loads(PEOPLE.format(adjacency=adjacency, unit=unit, facts=facts, age=age))


class TableEngine:
    """The protocol's verbs over a list of rows, by the schema's own reference encoder."""

    def __init__(self, rows: Sequence[Row], schema: Schema, *, broken: BaseException | None = None):
        self.schema, self.broken, self.closed = schema, broken, False
        self.calls: list[str] = []
        self.rows = self._bounded(list(rows))

    def _bounded(self, rows: list[Row]) -> list[Row]:
        unit = self.schema.unit
        if unit.identifier is None:
            return rows
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row[unit.identifier] is not None:
                groups[str(row[unit.identifier])].append(row)
        kept = []
        for person, own in groups.items():
            own.sort(key=lambda row: bounding_key(person, self._codes(row)))
            kept += own[: unit.max_rows]
        return kept

    def _codes(self, row: Row) -> list[int | None]:
        return [column.code_of(row[column.name]) for column in self.schema.columns]

    def _called(self, verb: str) -> None:
        self.calls.append(verb)
        if self.broken is not None:
            raise self.broken

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
        self._called("marginals")
        found = []
        for names in column_sets:
            assert names
            columns = [self.schema.column(name) for name in names]
            counts = np.zeros([column.cells for column in columns], dtype=np.int64)
            for row in self.rows:
                cell = tuple(column.code_of(row[column.name]) for column in columns)
                if None not in cell:
                    counts[cell] += 1
            found.append(counts)
        return found

    def node_counts(self, columns: Any, shifts: Any, nodes: Any) -> Any:
        raise NotImplementedError

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        self._called("sums")
        return [self._sum(request) for request in requests]

    def _sum(self, request: SumRequest) -> int:
        column: Any = checked_sum(self.schema, request)
        low, high = column.value_bounds
        total = 0
        for row in self.rows:
            code = column.code_of(row[column.name])
            if code is None or code >= column.value_cells:
                continue
            value = Fraction(column.unit_of(row[column.name]))
            value = min(max(value, low), high)
            value = min(max(value, request.low), request.high)
            total += round(value * request.scale)
        return total

    def tally(self, tallies: Sequence[Tally]) -> list[np.ndarray]:
        self._called("tally")
        return [self._tally(tally) for tally in tallies]

    def _tally(self, tally: Tally) -> np.ndarray:
        """Totals, values and cells of all rows by group: what releases ask for."""
        found = np.zeros(tally.shape(self.schema), dtype=np.int64)
        term: Any = tally.term
        column: Any = self.schema.column(term.column if isinstance(term, Cells) else term.of)
        for row in self.rows:
            code = column.code_of(row[column.name])
            codes = [self.schema.column(str(n)).code_of(row[str(n)]) for n in tally.groups]
            group = tuple(each for each in codes if each is not None)
            if code is None or len(group) < len(codes) or code >= column.value_cells:
                continue
            if isinstance(term, Cells):
                found[(*group, code >> (term.shift or 0))] += 1
                continue
            low, high = column.value_bounds
            added = 1
            if isinstance(term, Total):
                value = min(max(Fraction(column.unit_of(row[column.name])), low), high)
                added = round(value * term.grid) - term.center
            found[group] += added
        return found.reshape(-1)

    def row_count(self) -> int:
        self._called("row_count")
        return len(self.rows)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> TableEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WatchedNoise(DrawnNoise):
    """Draws as usual and keeps the exact numbers; or says what it was told to, whatever the exact ones are."""

    def __init__(self, say: Callable[[int], np.ndarray] | None = None) -> None:
        super().__init__()
        self.exact: list[np.ndarray] = []
        self._say = say

    def add(self, exact: Any, law: Any, *, step: str) -> Any:
        self.exact.append(exact.copy())
        return super().add(exact, law, step=step) if self._say is None else self._say(exact.size)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[TableEngine]:
    """Every engine that `release` opened; a source is a list of rows, or an error that its engine raises."""
    opened: list[TableEngine] = []

    def open_table(source: Any, schema: Schema, *, progress: Any, **_: Any) -> TableEngine:
        broken = source if isinstance(source, BaseException) else None
        engine = TableEngine([] if broken else source, schema, broken=broken)
        opened.append(engine)
        progress(0.5)
        return engine

    monkeypatch.setattr(run, "open_engine", open_table)
    return opened


@pytest.fixture
def watch() -> Iterator[Callable[..., WatchedNoise]]:
    """Puts a `WatchedNoise` into every vault that is opened from now on."""
    with ExitStack() as doors:

        def install(say: Callable[[int], np.ndarray] | None = None) -> WatchedNoise:
            noise = WatchedNoise(say)
            doors.enter_context(observed_vaults(lambda engine: (engine, noise)))
            return noise

        yield install


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as book:
        yield book


@pytest.fixture
def stopped() -> EngineFailed:
    return EngineFailed("The engine stopped.")


@pytest.fixture
def make_schema() -> Callable[..., Schema]:
    return people_schema


@pytest.fixture
def make_engine() -> type[TableEngine]:
    return TableEngine


def person(age: Any = 40, sex: Any = "f", income: Any = 1.5, **more: Any) -> Row:
    return {"age": age, "sex": sex, "income": income, **more}


@pytest.fixture
def make_person() -> Callable[..., Row]:
    return person
