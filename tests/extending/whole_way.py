"""All that one can do with a release, one after the other: for each thing that is added from outside."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.answering import ReleaseReader
from discreet.audits.guessing.releases import audit_release
from discreet.audits.guessing.tables import GeneratedTable
from discreet.releases.verifying import verify
from tests.harness.replay import check_neighbours
from tests.harness.suite import ShrunkNoise
from tests.releasing import release

BUDGET = dc.Budget(epsilon=2)
RATE = 1e-6
"""How often a whole way may fail by chance, at most, at each of its two statistical steps."""
SURE = 1 - 1e-7


@dataclass(frozen=True)
class Way:
    """A table, a release of it, and a question whose answer is known."""

    source: Any
    schema: dc.Schema
    workload: tuple[str, ...]
    question: str
    exact: float
    algorithms: Mapping[str, str] | None = None


def walked(way: Way, folder: Path) -> ReleaseReader:
    """Plan, release, ask, ask many, bound, synthesize, report, verify, replay and audit.

    False alarm: 1e-7 at the interval, 1e-6 at the audit.
    """
    asked: dict[str, Any] = {
        "budget": BUDGET,
        "workload": way.workload,
        "algorithms": way.algorithms,
    }
    planned = dc.plan(way.schema, rows=1000, **asked).to_dict()["classes"]
    assert [each["class"] for each in planned] == list(way.workload)
    assert all(each["expected_error"] > 0 for each in planned)
    path = folder / "made.release"
    dc.release_to_file(way.source, way.schema, path, ledger=folder / "ledger.db", **asked)
    reader = dc.open_release(path)
    one = reader.ask(way.question, confidence=SURE).only
    assert one.lower <= way.exact <= one.upper
    many = reader.ask_many([way.question] * 2, confidence=SURE)
    assert [each.only.estimate for each in many] == [one.estimate] * 2
    assert reader.usefulness(way.workload[0], delta="1/20").bound > 0
    assert len(reader.synthesize(50, seed=1)) == 50
    page = dc.render_report(reader)
    assert all(text in page for text in way.workload)
    checked = verify(path)
    assert checked.ok and not checked.unchecked and checked.total == BUDGET
    _replayed(way, asked)
    _audited(way, asked)
    return reader


def _replayed(way: Way, asked: dict[str, Any]) -> None:
    """On neighbours nothing differs but exact numbers, by what was paid for."""
    names = way.schema.names
    rows = tuple(tuple(str((k + place) % 4) for place in range(len(names))) for k in range(4))
    table = GeneratedTable(schema=way.schema, header=names, rows=rows)

    def run(path: Path, ledger: Any, progress: Any) -> Any:
        return release(path, way.schema, ledger=ledger, progress=progress, **asked)

    neighbours = [replace(table, rows=rows[:-1]), replace(table, rows=(*rows, rows[0]))]
    for losses in check_neighbours(table, neighbours, run):
        assert 0 < sum(loss.epsilon or 0 for loss in losses) <= (BUDGET.epsilon or 0)


def _audited(way: Way, asked: dict[str, Any]) -> None:
    """Honest noise is not refuted; a third of it is."""
    honest = audit_release(way.schema, runs=100, false_positive_rate=RATE, **asked)
    assert not honest.refuted and honest.laws
    shrunk = ShrunkNoise(Fraction(3))
    assert audit_release(
        way.schema, runs=300, false_positive_rate=RATE, drawn=shrunk, **asked
    ).refuted


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
