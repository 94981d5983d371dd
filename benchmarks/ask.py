"""Asking a release: how fast a batch is, and how soon the first answer comes. One JSON line a bar.

CPU time, not wall time: the machine may be busy with other things.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from benchmarks.support.bars import bar
from discreet.answering import ReleaseReader
from discreet.artifacts.files import write_release
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part, Release
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import Marginal
from discreet.schema import CategoryColumn, IntegerColumn, Schema

QUESTIONS = 1_000_000
FIRST_ANSWER = (
    "from discreet.answering import open_release; import sys; "
    "print(open_release(sys.argv[1]).ask("
    '"SELECT sex, count(*), avg(age) FROM people WHERE age >= 33 GROUP BY sex"))'
)


def example() -> Release:
    """Two marginals with noise-like numbers; asking does not care where they came from."""
    schema = Schema(
        dataset="people",
        columns=(
            IntegerColumn("age", 0, 99),
            CategoryColumn("sex", ("F", "M")),
            IntegerColumn("income", 0, 99_999, 10),
        ),
    )
    law = DiscreteLaplaceLaw(Fraction(4))
    numbers = np.random.default_rng(1)
    parts = []
    for columns in (("age", "sex"), ("income",)):
        query = Marginal(columns)
        measurement = Measurement(
            query=query,
            law=law,
            sensitivity=query.sensitivity(schema),
            cost=Cost.pure(Fraction(1, 4)),
            values=numbers.integers(0, 900, query.size(schema)),
        )
        parts.append(
            Part(
                kind="marginals",
                query_class=Marginals(columns=list(columns)),
                algorithm="example",
                measurements=(measurement,),
            )
        )
    return Release(
        schema=schema,
        budget=Budget(epsilon="1/2"),
        accounting=Accounting.BASIC,
        parts=tuple(parts),
        public_rows=None,
        claims=(),
        software="benchmark",
    )


def batch_rate(column: str, low: int, high: int, *, codes: bool) -> float:
    """Interval counts a second of CPU, the first call and all preparation included."""
    numbers = np.random.default_rng(2)
    ends = np.sort(numbers.integers(low, high, (2, QUESTIONS)), axis=0)
    started = time.process_time()
    found = ReleaseReader(example()).count_many(column, ends[0], ends[1], codes=codes)
    spent = time.process_time() - started
    assert len(found) == QUESTIONS and bool((found.lower <= found.upper).all())
    return QUESTIONS / spent


def cell_rate() -> float:
    numbers = np.random.default_rng(3)
    codes = np.stack(
        [numbers.integers(0, 100, QUESTIONS), numbers.integers(0, 4, QUESTIONS)], axis=1
    )
    started = time.process_time()
    found = ReleaseReader(example()).count_cells(["age", "sex"], codes)
    assert len(found) == QUESTIONS
    return QUESTIONS / (time.process_time() - started)


def first_answer() -> float:
    """CPU seconds of a fresh process that opens a file and answers one question; best of three."""
    import resource

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.release"
        write_release(example(), path)
        best = float("inf")
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, "-c", FIRST_ANSWER, str(path)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best = min(best, spent)
    return best


def main() -> int:
    passed = [
        bar(
            "interval counts per CPU second, by cells",
            batch_rate("income", 0, 10_000, codes=True), 500_000, at_least=True,
        ),
        bar(
            "interval counts per CPU second, by values",
            batch_rate("income", 0, 99_999, codes=False), 500_000, at_least=True,
        ),
        bar("cell counts per CPU second", cell_rate(), 500_000, at_least=True),
        bar("first answer of a cold process, CPU seconds", first_answer(), 1.2, at_least=False),
    ]  # fmt: skip
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
