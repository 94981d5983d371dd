"""Random questions to tables that differ in one row: whether a question is answered must not depend on it.

A table of plain values, without a null, has neighbours with one more row: a null or an extreme value in one
column. A database that looks at a file's statistics (has the column a null? what are its ends?) may plan
another query for each of them, and an error of that query would tell of the row. So every random question is
read from all of them, in every kind of source: the error must be the same, and the exact numbers may move by
the declared sensitivity only.

    python -m tests.harness.question_neighbours --questions 2000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from discreet.curator.planning import Planned, plan_questions
from discreet.engines import open_engine
from discreet.errors import DiscreetError
from discreet.postprocessing.reading.statement import read_statement
from discreet.privacy.budget import Budget, Notion
from discreet.questions.dialects.curator_sql import CuratorDialect
from tests.curator.random_sql import Conditions
from tests.every_kind import EVERY_KIND as SCHEMA
from tests.harness.progress import Progress
from tests.postgres_server import postgres_source
from tests.spark_session import session

COLUMNS = {
    "boolean": ["ok"],
    "number": ["age", "x"],
    "integer": ["age"],
    "text": ["m"],
    "date": ["day", "at"],
}
PLAIN: dict[str, Any] = {
    "age": 40, "x": 0.5, "m": "F", "ok": True, "day": date(2020, 3, 4), "at": datetime(2020, 3, 4, 5),
}  # fmt: skip
ODD: dict[str, list[Any]] = {
    "age": [None, 2**63 - 1, -(2**63), 77],
    "x": [None, float("inf"), float("nan"), -1e308, 1.0],
    "m": [None, "", "zz", "M"],
    "ok": [None, False],
    "day": [None, date(1, 1, 1), date(9999, 12, 31)],
    "at": [None, datetime(1, 1, 1), datetime(9999, 12, 31)],
}
TYPES = pa.schema(
    [
        ("age", pa.int64()), ("x", pa.float64()), ("m", pa.string()), ("ok", pa.bool_()),
        ("day", pa.date32()), ("at", pa.timestamp("us")),
    ]
)  # fmt: skip
ROWS = 30
SOURCES = ("parquet", "duckdb", "csv", "arrow", "postgres", "spark")
AGGREGATES = ("count", "sum", "avg", "variance")


def tables(*, nulls_alone: bool = False) -> Iterator[tuple[str, pa.Table]]:
    """The plain table, then its neighbours, each with a name; `nulls_alone`: only the one whose new row is empty."""
    rows = [PLAIN | {"age": 40 + k % 3} for k in range(ROWS)]
    yield "plain", pa.Table.from_pylist(rows, TYPES)
    yield "nulls", pa.Table.from_pylist([*rows, dict.fromkeys(PLAIN)], TYPES)
    if nulls_alone:
        return
    for name, values in ODD.items():
        for value in values:
            yield f"{name} = {value}", pa.Table.from_pylist([*rows, PLAIN | {name: value}], TYPES)


def written(table: pa.Table, kind: str, folder: Path, name: str) -> Any:
    """A table as a source of some kind."""
    path = folder / f"{name}.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as database:
            database.register("given", table)
            database.execute("CREATE TABLE t AS SELECT * FROM given")
    elif kind == "postgres":
        return postgres_source(table)
    elif kind == "spark":
        return session().createDataFrame(table)
    return table if kind == "arrow" else str(path)


def questions(random: Random) -> Iterator[tuple[str, tuple[Planned, ...]]]:
    """Random statements that are planned, without end: those that are refused before a charge are passed over."""
    drawn = Conditions(random, COLUMNS)
    while True:
        kind = random.randrange(4)
        if kind == 0:
            sql = f"SELECT count(*) FROM t WHERE {drawn.condition()}"
        elif kind == 1:
            inside, other = drawn.number(2), drawn.condition(2)
            sql = f"SELECT {random.choice(AGGREGATES)}({inside}) FROM t WHERE {other}"
        elif kind == 2:
            key = random.choice([drawn.number, drawn.text, drawn.date])(2)
            sql = f"SELECT {key} AS k, count(*), sum(age) FROM t GROUP BY k"
        else:
            sql = f"SELECT m, median(age), avg(x) FILTER (WHERE {drawn.condition(2)}) FROM t GROUP BY m"
        try:
            plan = read_statement(sql, SCHEMA, CuratorDialect(SCHEMA, sql, ()))
            if plan.questions:
                budget = Budget(epsilon=1)
                yield (
                    sql,
                    plan_questions(plan.questions, SCHEMA, budget=budget, notion=Notion.EPSILON),
                )
        except DiscreetError:
            continue


def outcome(engine: Any, parts: Sequence[Planned]) -> tuple[str, list[Any]]:
    """What a reading ends in: the error in words, or exact numbers."""
    tallies = [request.query for each in parts for request in each.requests]
    try:
        return "", [np.asarray(each) for each in engine.tally(tallies)]
    except DiscreetError as error:
        return f"{type(error).__name__}: {error}", []


def audit(
    count: int,
    seed: int,
    *,
    kinds: Sequence[str] = SOURCES,
    nulls_alone: bool = False,
    progress: Progress | None = None,
) -> list[str]:
    """What tells a table from its neighbours."""
    found: list[str] = []
    with TemporaryDirectory() as folder, ExitStack() as engines:
        opened = [
            (kind, [
                (name, engines.enter_context(open_engine(written(table, kind, Path(folder), f"{place}"), SCHEMA, threads=1)))
                for place, (name, table) in enumerate(tables(nulls_alone=nulls_alone))
            ])
            for kind in kinds
        ]  # fmt: skip
        asked = questions(Random(seed))
        for _ in range(count):
            sql, parts = next(asked)
            for kind, neighbours in opened:
                (_, plain), *others = neighbours
                said, numbers = outcome(plain, parts)
                if said:
                    found.append(f"{kind}: {sql}: {said}")
                for name, engine in others:
                    other, moved = outcome(engine, parts)
                    if other != said:
                        found.append(
                            f"{kind}, {name}: {sql}: {said or 'answered'} | {other or 'answered'}"
                        )
                    elif not said:
                        found += [
                            f"{kind}, {name}: {sql}: {each}"
                            for each in _excess(parts, numbers, moved)
                        ]
            if progress is not None:
                progress.advance()
    return found


def _excess(parts: Sequence[Planned], one: list[Any], other: list[Any]) -> Iterator[str]:
    """The tallies that one row more moved by more than is declared."""
    tallies = [request.query for each in parts for request in each.requests]
    for tally, left, right in zip(tallies, one, other, strict=True):
        moved = int(np.abs(left.astype(object) - right.astype(object)).sum())
        most = tally.sensitivity(SCHEMA).l1
        if moved > most:
            yield f"{tally.term.kind} moved by {moved}, and {most} is declared"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.question_neighbours")
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    found = audit(given.questions, given.seed, progress=Progress("questions", given.questions))
    for line in found:
        sys.stdout.write(f"{line[:400]}\n")
    sys.stdout.write(
        f"{given.questions:,} questions, {len(SOURCES)} kinds of sources: {len(found)} findings\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
