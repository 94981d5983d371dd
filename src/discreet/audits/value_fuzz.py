"""Value fuzz: no value of any type stops a run, speaks, or moves an exact number further than declared.

    python -m discreet.audits.value_fuzz           every odd value in a table of its own
    python -m discreet.audits.value_fuzz --quick   the odd values of a type together in one table

For each type of `odd_values` there is a table of plain values, and neighbours of it in which one row
holds an odd value. Every verb of the engine runs on both. All that can be seen must be alike: whether
the table is refused, the class and the words of every error, the number and the text of the engine's
queries. The exact numbers may differ by the rows that differ. A type is refused by itself, so the plain
table is refused as well, in the same words and before any verb. No text of the table stands in any message,
nor in what a debugger finds behind it. Sources that can tell when they are touched are not touched before
the first verb (`watched_sources`).

Exit code 1 if anything is wrong; each finding is one line.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audits.odd_values import (
    CANARY,
    LONGEST,
    ROWS,
    Case,
    arrow_cases,
    arrow_table,
    duckdb_cases,
    pandas_cases,
    parquet_cases,
    polars_cases,
    untried_arrow_ids,
)
from discreet.audits.watched_sources import source_findings
from discreet.errors import BadSource, DiscreetError
from discreet.kernel.engines import SumRequest, open_engine
from discreet.queries.expressions import TRUE
from discreet.queries.tallies import Cells, Persons, Present, Rows, Tally, Total
from discreet.schema import Schema

_COLUMNS = """
[columns.category]
kind = "category"
values = ["x", "1", "true", "1970-01-01"]
other = true
[columns.integer]
kind = "integer"
range = [-8, 7]
[columns.number]
kind = "number"
bounds = [-8.0, 8.0]
bits = 4
[columns.boolean]
kind = "boolean"
[columns.date]
kind = "date"
range = ["1960-01-01", "2029-12-31"]
granularity = "year"
[columns.datetime]
kind = "datetime"
range = ["1970-01-01", "1970-01-02"]
granularity = "hour"
"""
BY_ROW = Schema.loads('dataset = "fuzz"\nadjacency = "change-one"\n' + _COLUMNS)
BY_PERSON = Schema.loads(
    'dataset = "fuzz"\nadjacency = "change-one"\n'
    '[unit]\nidentifier = "person"\nmax_rows = 3\n' + _COLUMNS
)
_SUMMED = (("integer", -8, 7), ("number", -8, 8), ("date", -3653, 21914))
_WATCHED = ("run", "rows", "arrays")
"""The verbs of a session that take a query."""


@dataclass(slots=True)
class Seen:
    """All that can be seen of a table, and the exact numbers beside it."""

    said: list[str] = field(default_factory=list)
    """Every error, in order, with the step that raised it."""
    queries: list[str] = field(default_factory=list)
    numbers: dict[str, dict[Any, int]] = field(default_factory=dict)
    is_refused: bool = False
    leaks: bool = False


def observe(source: object, schema: Schema, *, every_verb: bool = True) -> Seen:
    """Opens the source and runs the verbs, each whether or not the one before it failed."""
    seen = Seen()
    try:
        engine = open_engine(source, schema, threads=1)
    except Exception as error:
        _note(seen, "open", error)
        seen.is_refused = True
        return seen
    with engine:
        session = engine._session  # type: ignore[attr-defined]
        for name in _WATCHED:
            setattr(session, name, _recorded(getattr(session, name), seen.queries))
        for verb, job in _verbs(engine, schema).items():
            if every_verb or verb in ("marginals", "keys"):
                try:
                    seen.numbers[verb] = job()
                except Exception as error:
                    _note(seen, verb, error)
    return seen


def _recorded(method: Callable[[Any], Any], queries: list[str]) -> Callable[[Any], Any]:
    def noted(query: Any) -> Any:
        queries.append(query if isinstance(query, str) else query.sql(dialect="duckdb"))
        return method(query)

    return noted


def _note(seen: Seen, step: str, error: BaseException) -> None:
    seen.said.append(f"{step}: {type(error).__name__}: {error}")
    behind: BaseException | None = error
    while behind is not None:
        words = f"{behind!r}{behind.args}{getattr(behind, '__notes__', '')}"
        seen.leaks = seen.leaks or CANARY in words or not isinstance(behind, DiscreetError)
        behind = behind.__cause__ or behind.__context__


def _verbs(engine: Any, schema: Schema) -> dict[str, Callable[[], dict[Any, int]]]:
    sums = [SumRequest(name, 1, Fraction(low), Fraction(high)) for name, low, high in _SUMMED]
    tallies = [Tally(Rows()), Tally(Present("number")), Tally(Rows(), ("category",))]
    tallies += [Tally(Total("integer", 1)), Tally(Cells("datetime"), ("boolean",))]
    if schema.unit.identifier is not None:
        tallies.append(Tally(Persons(), ("category",)))
    nodes = np.arange(16, dtype=np.uint64).reshape(-1, 1)

    def keys() -> dict[Any, int]:
        found, held = engine.held_keys(("category",), TRUE)
        return dict(zip(found, held.tolist(), strict=True))

    def encoded() -> dict[Any, int]:
        rows: dict[Any, int] = {}
        for batch in engine.encoded_rows(schema.names, 16):
            for row in batch.tolist():
                rows[tuple(row)] = rows.get(tuple(row), 0) + 1
        return rows

    return {
        "marginals": lambda: _flat(engine.marginals([(name,) for name in schema.names])),
        "keys": keys,
        "pairs": lambda: _flat(engine.marginals([("category", "integer"), ("boolean", "date")])),
        "nodes": lambda: _flat([engine.node_counts(("integer",), (0,), nodes)]),
        "leaves": lambda: _flat([engine.node_counts(("datetime", "date"), (0, 0), _pairs())]),
        "tally": lambda: _flat(engine.tally(tallies)),
        "sums": lambda: _flat([np.array(engine.sums(sums))]),
        "encoded": encoded,
        "rows": lambda: {"rows": engine.row_count()},
    }


def _pairs() -> Any:
    return np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2).astype(np.uint64)


def _flat(arrays: Sequence[Any]) -> dict[Any, int]:
    return {
        (place, cell): int(number)
        for place, array in enumerate(arrays)
        for cell, number in enumerate(array.reshape(-1).tolist())
    }


_MOST: dict[str, int] = {"sums": 15 + 16 + 25567, "tally": 2 * 6 + 15}
"""How far a changed row moves the numbers of a verb, in L1; 2 for each column or table else."""


def differences(name: str, plain: Seen, odd: Seen, changed: int) -> list[str]:
    """What tells an odd table from its plain neighbour, `changed` rows apart, beyond what is declared."""
    found = []
    if plain.leaks or odd.leaks:
        found.append(f"{name}: a message, or what stands behind it, holds what it may not")
    if plain.said != odd.said:
        found.append(f"{name}: {_first(plain.said, odd.said)}")
    if plain.said and not plain.is_refused:
        found.append(f"{name}: the plain table stops a verb: {plain.said[0][:200]}")
    if plain.queries != odd.queries:
        found.append(f"{name}: the engine's queries differ: {_first(plain.queries, odd.queries)}")
    for verb in plain.numbers.keys() & odd.numbers.keys():
        one, other = plain.numbers[verb], odd.numbers[verb]
        moved = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())
        most = changed * _MOST.get(verb, 2 * 6)
        if verb in ("keys", "encoded", "nodes", "leaves"):
            most = 2 * changed
        if verb == "rows":
            most = 0
        if moved > most:
            found.append(f"{name}: {verb} moved by more than the {changed} rows that differ pay for")
    return found


def _first(plain: Sequence[str], odd: Sequence[str]) -> str:
    for one, other in zip([*plain, "nothing"], [*odd, "nothing"], strict=False):
        if one != other:
            return f"plain {one[:150]!r}, odd {other[:150]!r}"
    return "one more than the other"


def case_findings(case: Case, schema: Schema, *, quick: bool) -> list[str]:
    """The findings of one type: of all its odd values at once, or of each of them."""
    groups = [case.odd] if quick else [(one,) for one in case.odd]
    changed = 1 if schema.unit.identifier is None else 2 * schema.unit.max_rows
    plain = observe(case.made([case.plain] * ROWS), schema, every_verb=not quick)
    found = []
    for place, values in enumerate(groups):
        rows = [*values, *[case.plain] * (ROWS - len(values))]
        odd = observe(case.made(rows), schema, every_verb=not quick)
        name = f"{case.name}, odd value {place}" if not quick else case.name
        found += differences(name, plain, odd, changed * len(values))
    return found


def findings(*, quick: bool, progress: Callable[[str], None] | None = None) -> Iterator[str]:
    """Every finding, over all types of all packages and the sources that tell when they are touched."""
    yield from (f"arrow {name}: no value of this type is tried" for name in untried_arrow_ids())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        cases = [*arrow_cases(), *pandas_cases(), *polars_cases()]
        cases += [*parquet_cases(place), *duckdb_cases(place)]
        if not quick:
            import pyarrow

            cases.append(
                Case("arrow 10 MB", b"x", (LONGEST,), lambda v: arrow_table(pyarrow.string(), v))
            )
        for case in cases:
            if progress is not None:
                progress(case.name)
            for schema in (BY_ROW,) if quick else (BY_ROW, BY_PERSON):
                yield from case_findings(case, schema, quick=quick)
        yield from source_findings(place, BY_ROW)


def refused_types() -> list[str]:
    """Names of the cases that are refused by their type, for the report of a run."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        cases = [*arrow_cases(), *pandas_cases(), *polars_cases()]
        cases += [*parquet_cases(place), *duckdb_cases(place)]
        found = []
        for case in cases:
            try:
                open_engine(case.made([case.plain]), BY_ROW).close()
            except BadSource:
                found.append(case.name)
        return found


def main(words: Sequence[str]) -> int:
    """Print every finding; the exit code says whether there was one."""
    if set(words) - {"--quick"}:
        sys.stderr.write("The only option is --quick.\n")
        return 2
    started = time.monotonic()
    tried: list[str] = []
    wrong = list(findings(quick="--quick" in words, progress=tried.append))
    for one in wrong:
        sys.stdout.write(one + "\n")
    refused = refused_types()
    sys.stdout.write(
        f"{len(tried)} types, of which {len(refused)} are refused by their type: {', '.join(refused)}.\n"
        f"{len(wrong)} findings, {time.monotonic() - started:.0f} s.\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
