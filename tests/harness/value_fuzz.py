"""Value fuzz: no value of any type stops a run, speaks, or moves an exact number further than declared.

    python -m tests.harness.value_fuzz            every type; every odd value also alone; under every verb
    python -m tests.harness.value_fuzz --quick    types that some package converts, in a few seconds
    python -m tests.harness.value_fuzz parquet    types whose name this pattern is found in
    python -m tests.harness.value_fuzz --engine spark --values 5000
                                                  one engine; so many made-up texts beside the listed values

For each type of `oddities` there is a table of plain values, and neighbours of it in which one row
holds an odd value, or is missing. Every verb of the engine runs on both. All that can be seen must be alike: whether
the table is refused, the class and the words of every error, the number and the text of the engine's
queries. The exact numbers may differ by the rows that differ. A type is refused by itself, so the plain
table is refused as well, in the same words and before any verb. No text of the table stands in any message,
nor in what a debugger finds behind it. Sources that can tell when they are touched are not touched before
the first verb (`watched_sources`).

Made-up texts are others in each run; the seed is printed, and `--seed` repeats a run. Exit code 1 if anything is
wrong; each finding is one line.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from discreet.engines import SumRequest, open_engine
from discreet.engines.duckdb.dialect import DIALECT
from discreet.engines.sql.dialect import Dialect
from discreet.errors import BadSource, DiscreetError
from discreet.queries.tallies import Cells, Persons, Present, Rows, Tally, Total, Valued
from discreet.questions.expression_bounds import over_clamped_columns
from discreet.questions.expressions import TRUE, Call, ColumnValue
from discreet.schema import Schema
from tests.harness.material.engine_rows import encoded_rows
from tests.harness.oddities.arrow import arrow_cases, parquet_cases, untried_arrow_ids
from tests.harness.oddities.duckdb import duckdb_cases
from tests.harness.oddities.frames import pandas_cases, polars_cases
from tests.harness.oddities.postgres import postgres_cases
from tests.harness.oddities.spark import spark_cases
from tests.harness.oddities.values import CANARY, ROWS, Case, invented
from tests.harness.oddities.watched_sources import STOPS, source_findings
from tests.harness.progress import Progress

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
PACKAGES = ("arrow", "pandas", "polars", "parquet", "duckdb", "postgres", "spark")
ENGINES = PACKAGES[-3:]
"""Those that made-up texts are tried on too."""
MADE_UP = 5_000
BY_KIND = {
    kind: Schema(dataset="fuzz", columns=(BY_ROW.column(kind),), adjacency=BY_ROW.adjacency)
    for kind in ("category", "datetime")
}
_MOMENTS = re.compile(r"timestamp|date|M8|Date|TIMESTAMP|DATE|UTC|int96")
_CONVERTED = re.compile(
    r"^arrow (string|large_string|timestamp\[(s|ms|ns), tz=UTC|decimal(64|128\(4)|decimal256|duration\[s"
    r"|date64|halffloat|(dictionary|run_end).*(string|=timestamp)|extension<arrow.(json|uuid))"
    r"|^pandas (dtype\('<M8\[s|dtype\('<m8\[s|str|category|object|period|s UTC|ArrowDtype|sparse)"
    r"|^polars (String|Categorical|Datetime.*'ms'.*UTC|Duration.*'ms'|Int128|Object)"
    r"|^parquet (string|decimal128\(38, 0|timestamp\[(ms|us|ns)\]|int96|extension<arrow.json)"
    r"|^duckdb (VARCHAR COLLATE|TIMESTAMP_|DECIMAL\(38,0|ENUM)"
    r'|^postgres ("(text|float8|numeric|timestamptz|date|jsonb|bytea|char)"|odd_|citext|text COLLATE)'
    r"|^spark (string$|string collate UTF8_LCASE$|decimal\(38,0|timestamp$|date$|bytes that are no text$)"
    r"|^spark parquet (string$|int96)"
)
"""Types that some package converts while it reads: those that the quick part tries."""
_SUMMED = (("integer", -8, 7), ("number", -8, 8), ("date", -3653, 21914))
_MIXED = over_clamped_columns(
    Call("%", (ColumnValue("number", "number"), ColumnValue("integer", "integer")), "number")
)
"""An expression that divides by what rows hold."""
_WATCHED = ("run", "rows", "arrays", "stream")
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
    except STOPS as error:
        _note(seen, "open", error)
        seen.is_refused = True
        return seen
    with engine:
        session = engine._session  # type: ignore[attr-defined]
        for name in _WATCHED:
            if hasattr(session, name):
                dialect = engine._layers.dialect  # type: ignore[attr-defined]
                noted = _recorded(getattr(session, name), seen.queries, source, dialect)
                setattr(session, name, noted)
        verbs = _verbs(engine, schema)
        for verb in verbs if every_verb else ["marginals", *_keyed(schema)]:
            try:
                seen.numbers[verb] = verbs[verb]()
            except STOPS as error:
                _note(seen, verb, error)
    return seen


def _keyed(schema: Schema) -> list[str]:
    return ["keys"] if "category" in schema.names else []


def _recorded(
    method: Callable[..., Any], queries: list[str], source: object, dialect: Dialect
) -> Callable[..., Any]:
    def noted(query: Any, *more: Any) -> Any:
        text = query if isinstance(query, str) else dialect.render(query)
        text = re.sub(r"discreet_[0-9a-f]{32}", "discreet", text)  # each engine's own names
        place = source.rpartition("#")[2] if isinstance(source, str) else ""
        queries.append(text.replace(place, "the source") if place else text)
        return method(text if dialect is DIALECT else query, *more)  # not rendered again

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
    tallies += [Tally(Total("integer", 1, 0)), Tally(Cells("datetime"), ("boolean",))]
    tallies += [Tally(_TOTAL_OF_MIXED), Tally(Valued(_MIXED))]
    if schema.unit.identifier is not None:
        tallies.append(Tally(Persons(), ("category",)))
    nodes = np.arange(16, dtype=np.uint64).reshape(-1, 1)

    def keys() -> dict[Any, int]:
        found, held = engine.held_keys(("category",), TRUE)
        return dict(zip(found, held.tolist(), strict=True))

    def encoded() -> dict[Any, int]:
        rows: dict[Any, int] = {}
        for batch in encoded_rows(engine, schema.names, 16):
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
    return (
        np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2).astype(np.uint64)
    )


def _flat(arrays: Sequence[Any]) -> dict[Any, int]:
    return {
        (place, cell): int(number)
        for place, array in enumerate(arrays)
        for cell, number in enumerate(array.reshape(-1).tolist())
    }


_TOTAL_OF_MIXED = Total(_MIXED, 4, 0, 3)
_LEAST, _GREATEST = Tally(_TOTAL_OF_MIXED).row_bounds(BY_ROW)
_CHANGED = {"sums": 15 + 16 + 25567, "tally": 2 * 7 + 15 + _GREATEST - _LEAST, "rows": 0}
"""How far a changed row moves the numbers of a verb, in L1."""
_REMOVED = {"sums": 8 + 8 + 21914, "tally": 7 + 8 + max(_GREATEST, -_LEAST), "rows": 1}
"""How far a row that is missing does."""
_ONE_TABLE = ("keys", "encoded", "nodes", "leaves")
"""Verbs that count a row in one cell; others count it in one of each column or table."""


def _most(verb: str, *, removed: bool) -> int:
    """How far one row moves the numbers of a verb, in L1."""
    listed = (_REMOVED if removed else _CHANGED).get(verb)
    if listed is not None:
        return listed
    return (1 if removed else 2) * (1 if verb in _ONE_TABLE else 6)


def differences(
    name: str,
    plain: Seen,
    odd: Seen,
    rows_changed: int,
    kept_rows: int = 1,
    *,
    removed: bool = False,
) -> list[str]:
    """What tells an odd table from its plain neighbour beyond what is declared.

    A changed row leaves one person and enters another: of each, so many rows as are kept may change.
    With `removed`, the rows are missing from the plain table.
    """
    moved_persons = 1 if kept_rows == 1 else kept_rows if removed else 2 * kept_rows
    changed = rows_changed * moved_persons
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
        if verb == "rows" and kept_rows > 1:
            most = changed
        else:
            most = changed * _most(verb, removed=removed)
        if moved > most:
            found.append(
                f"{name}: {verb} moved by more than the {changed} rows that differ pay for"
            )
    return found


def _first(plain: Sequence[str], odd: Sequence[str]) -> str:
    for one, other in zip([*plain, "nothing"], [*odd, "nothing"], strict=False):
        if one != other:
            return f"plain {one[:150]!r}, odd {other[:150]!r}"
    return "one more than the other"


def long_findings(case: Case) -> list[str]:
    """All odd values of a type together, by row and by person; then each alone. Every verb runs each time.

    Each odd table is compared with one that lacks its odd rows, and with one in which they are plain. The latter
    is left out where no value is tried alone: a row that is changed is one that goes and one that comes.
    """
    found = []
    for schema in (BY_ROW, BY_PERSON):
        rows, kept = [case.plain] * max(ROWS, len(case.odd) + 4), schema.unit.max_rows
        less = observe(case.made(rows[: -len(case.odd)]), schema)
        odd = observe(case.made([*case.odd, *rows[len(case.odd) :]]), schema)
        found += differences(f"{case.name}, removed", less, odd, len(case.odd), kept, removed=True)
        if not case.alone:
            continue
        plain = observe(case.made(rows), schema)
        found += differences(case.name, plain, odd, len(case.odd), kept)
        if schema is BY_ROW:
            one_less = observe(case.made(rows[1:]), schema)
            for place, value in enumerate(case.odd):
                odd = observe(case.made([value, *rows[1:]]), schema)
                alone = f"{case.name}, odd value {place}"
                found += differences(alone, plain, odd, 1)
                found += differences(f"{alone}, removed", one_less, odd, 1, removed=True)
    return found


def _kind(case: Case) -> str:
    return "datetime" if _MOMENTS.search(case.name) else "category"


def quick_findings(case: Case) -> list[str]:
    """The same in a fraction of the time: all odd values of a type in one table, as one kind of column.

    A plain table stops no verb, so it is looked at only where the odd one is refused, or where a
    collation may have changed what its rows are counted as.
    """
    schema = BY_KIND[_kind(case)]
    rows = [*case.odd, *[case.plain] * (ROWS - len(case.odd))]
    odd = observe(case.made(rows), schema, every_verb=False)
    if odd.said or odd.leaks or "COLLATE" in case.name:
        plain = observe(case.made([case.plain] * len(rows)), schema, every_verb=False)
        return differences(case.name, plain, odd, len(case.odd))
    if sum(odd.numbers["marginals"].values()) != len(rows):
        return [f"{case.name}: the cells do not add up to the number of rows"]
    return []


def findings(
    *,
    quick: bool,
    packages: Sequence[str] = PACKAGES,
    only: str = "",
    made_up: Sequence[str] = (),
    tried: list[Case] | None = None,
) -> Iterator[str]:
    """The findings of all types of some packages; with `only`, of those in whose name this pattern is found.

    What was tried is added to `tried`.
    """
    with tempfile.TemporaryDirectory() as folder:
        listed = _cases(Path(folder), packages, made_up, quick=quick)
        cases = [case for case in listed if re.search(only, case.name)]
        progress = Progress("odd values", sum(len(case.odd) for case in cases))
        for case in cases:
            if tried is not None:
                tried.append(case)
            try:
                found = quick_findings(case) if quick else long_findings(case)
            except STOPS as error:  # of the package, while it makes the table
                found = [f"{case.name}: a table cannot be made of it: {error!r}"[:300]]
            yield from found
            progress.advance(len(case.odd), last=case.name)


def other_findings() -> Iterator[str]:
    """Types that are not tried, and what is wrong with sources that tell when they are touched."""
    yield from (f"arrow {name}: no value of this type is tried" for name in untried_arrow_ids())
    with tempfile.TemporaryDirectory() as folder:
        yield from source_findings(Path(folder), BY_ROW)


def _cases(
    folder: Path,
    packages: Sequence[str] = PACKAGES,
    made_up: Sequence[str] = (),
    *,
    quick: bool,
) -> Iterator[Case]:
    makers: dict[str, Callable[[], Iterator[Case]]] = {
        "arrow": arrow_cases,
        "pandas": pandas_cases,
        "polars": polars_cases,
        "parquet": partial(parquet_cases, folder),
        "duckdb": partial(duckdb_cases, folder, made_up, every_collation=not quick),
        "postgres": partial(postgres_cases, made_up, every_collation=not quick),
        "spark": partial(spark_cases, folder, made_up),
    }
    for package in packages:
        for case in makers[package]():
            if not quick or _CONVERTED.search(case.name):
                yield case


def refused_types(packages: Sequence[str] = PACKAGES) -> list[str]:
    """Names of the cases that are refused by their type, for the report of a run."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for case in _cases(Path(folder), packages, quick=True):
            try:
                open_engine(case.made([case.plain]), BY_ROW).close()
            except BadSource:
                found.append(case.name)
        return found


def main(words: Sequence[str]) -> int:
    """Print every finding; the exit code says whether there was one."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.value_fuzz")
    parser.add_argument("pattern", nargs="?", default="", help="types whose name this is found in")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--engine", choices=PACKAGES, action="append")
    parser.add_argument("--values", type=int, default=MADE_UP, help="made-up texts")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    given = parser.parse_args(words)
    started = time.monotonic()
    tried: list[Case] = []
    wrong = []
    packages = given.engine or PACKAGES
    by_type = findings(
        quick=given.quick,
        packages=packages,
        only=given.pattern,
        made_up=() if given.quick else invented(given.values, given.seed),
        tried=tried,
    )
    for one in chain(by_type, () if given.engine else other_findings()):
        wrong.append(one)
        sys.stdout.write(one + "\n")
        sys.stdout.flush()
    names = {case.name for case in tried}
    refused = [name for name in refused_types(packages) if name in names]
    sys.stdout.write(
        f"{len(tried)} tables, of which {len(refused)} are refused by their type: {', '.join(refused)}.\n"
        f"{sum(len(case.odd) for case in tried):,} odd values, {len(wrong)} findings, "
        f"{time.monotonic() - started:.0f} s (seed {given.seed}).\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
