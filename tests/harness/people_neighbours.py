"""Random questions to tables that differ in one person: no number moves further than is declared.

Each person has more rows than are kept, of values that sort alike and are not alike, null, far away or no
numbers. Identifiers are equal in several spellings. So a person who is kept twice, and rows whose choice hangs
on somebody else's, move a number too far.

    python -m tests.harness.people_neighbours --questions 500 --seed 1
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from discreet.curator.planning import Planned, plan_questions
from discreet.engines import open_engine
from discreet.errors import DiscreetError
from discreet.postprocessing.reading.statement import read_statement
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget, Notion
from discreet.questions.dialects.curator_sql import CuratorDialect
from discreet.schema import Schema
from tests.curator.random_sql import Conditions
from tests.harness.question_neighbours import AGGREGATES, outcome, written
from tests.postgres_server import server

_COLUMNS = """
dataset = "t"
[columns.age]
kind = "integer"
range = [0, 9]
[columns.x]
kind = "number"
bounds = [-1, 1]
bits = 2
[columns.m]
kind = "category"
values = ["F", "M"]
[columns.code]
kind = "category"
values = ["1", "2"]
[columns.day]
kind = "date"
range = ["2020-01-01", "2020-12-31"]
"""
SCHEMAS = tuple(
    replace(Schema.loads(_COLUMNS), unit=PrivacyUnit("who", most, groups))
    for most, groups in ((1, None), (2, None), (3, 1))
)
ASKED = {"number": ["age", "x"], "integer": ["age"], "text": ["m", "code"], "date": ["day"], "boolean": ["m = 'F'"]}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "age": [0, 3, 9, 40, None],
    "x": [0.0, -0.0, 0.5, float("nan"), float("inf"), None],
    "m": ["F", "M", "m", "", "Z", None],
    "code": [0.0, -0.0, 1.0, 2.5, float("nan"), None],
    "day": [date(2020, 2, 29), date(1, 1, 1), None],
}
TYPES = pa.schema(
    [
        ("age", pa.int64()), ("x", pa.float64()), ("m", pa.string()), ("code", pa.float64()),
        ("day", pa.date32()),
    ]
)  # fmt: skip
SPELLINGS: dict[str, tuple[Any, ...]] = {
    "doubles": (0.0, -0.0, 1.0, 1.5, 2.0**53, float("nan"), None),
    "texts": ("Ann", "ann", "Ann ", "É", "É", "", "0.0", "-0.0", None),
    "decimals": tuple(map(Decimal, ("1", "1.0", "1.00", "1.000", "2", "2.5", "2.50", "0", "0.0"))),
    "numbers of Python": (1, 1.0, Decimal("1.00"), 2**60, Decimal(2**60 + 1), 2.5, Decimal("2.50"), None),
}  # fmt: skip
KINDS = ("arrow", "parquet", "duckdb", "postgres", "spark")
PEOPLE = 40
"""People beside those of odd identifiers."""


def rows(random: Random, spelling: str) -> list[dict[str, Any]]:
    """A table in no order: six rows of each person, all of few values."""
    plain = {"doubles": float, "texts": str, "decimals": Decimal, "numbers of Python": int}
    people = [plain[spelling](100 + n) for n in range(PEOPLE)]
    made = [
        {"who": who} | {name: random.choice(values) for name, values in VALUES.items()}
        for who in (*SPELLINGS[spelling], *people)
        for _ in range(6)
    ]
    random.shuffle(made)
    return made


def source(table: list[dict[str, Any]], spelling: str, kind: str, folder: Path, name: str) -> Any:
    values = pa.Table.from_pylist(
        [{each: row[each] for each in VALUES} for row in table], schema=TYPES
    )
    who = [row["who"] for row in table]
    if spelling == "numbers of Python":
        frame = values.to_pandas()
        frame["who"] = pd.Series(who, dtype=object)
        return frame
    if spelling == "decimals":
        spelled = [str(one) for one in who]
        return server().load(values.append_column("who", pa.array(spelled)), {"who": "numeric"})
    type_ = pa.float64() if spelling == "doubles" else pa.string()
    return written(values.append_column("who", pa.array(who, type_)), kind, folder, name)


def questions(random: Random, schema: Schema) -> Iterator[tuple[str, tuple[Planned, ...]]]:
    """Random statements that are planned, without end."""
    drawn = Conditions(random, ASKED)
    while True:
        kind = random.randrange(4)
        condition = drawn.condition()
        if kind == 0:
            sql = f"SELECT count(*), count(DISTINCT who) FROM t WHERE {condition}"
        elif kind == 1:
            sql = f"SELECT {random.choice(AGGREGATES)}({drawn.number(2)}) FROM t WHERE {condition}"
        elif kind == 2:
            sql = f"SELECT m, count(*), sum(x), count(DISTINCT who) FROM t WHERE {condition} GROUP BY m"
        else:
            sql = f"SELECT count(*) FROM t WHERE code LIKE '{random.choice(('-%', '0%', '%.0'))}'"
        try:
            plan = read_statement(sql, schema, CuratorDialect(schema, sql, ()))
            if plan.questions:
                budget = Budget(epsilon=1)
                yield (
                    sql,
                    plan_questions(plan.questions, schema, budget=budget, notion=Notion.EPSILON),
                )
        except DiscreetError:
            continue


def audit(count: int, seed: int, *, kind: str = "arrow", spelling: str = "doubles") -> list[str]:
    """What a person moves too far, or decides."""
    random, found = Random(seed), []
    with TemporaryDirectory() as folder, ExitStack() as engines:
        for schema in SCHEMAS:
            table = rows(random, spelling)
            gone = [*SPELLINGS[spelling][:4], table[0]["who"]]
            tables = [table, *([row for row in table if row["who"] != one] for one in gone)]
            opened = [
                engines.enter_context(
                    open_engine(
                        source(each, spelling, kind, Path(folder), f"{schema.unit.max_rows} {n}"),
                        schema,
                        threads=2,
                    )
                )
                for n, each in enumerate(tables)
            ]
            asked = questions(random, schema)
            for _ in range(count):
                sql, parts = next(asked)
                said, numbers = outcome(opened[0], parts)
                for who, engine in zip(gone, opened[1:], strict=True):
                    other, moved = outcome(engine, parts)
                    if other != said:
                        found.append(f"{sql}: without {who!r}: {said} | {other}")
                    else:
                        found += [
                            f"{sql}: without {who!r}, of whom {schema.unit.max_rows} rows are kept: {each}"
                            for each in _excess(parts, schema, numbers, moved)
                        ]
    return found


def _excess(
    parts: Sequence[Planned], schema: Schema, one: list[Any], other: list[Any]
) -> Iterator[str]:
    """The tallies that moved by more than is declared, in L1 or in L2."""
    tallies = [request.query for each in parts for request in each.requests]
    for tally, left, right in zip(tallies, one, other, strict=True):
        moved = np.abs(left.astype(object) - right.astype(object))
        most = tally.sensitivity(schema)
        if moved.sum() > most.l1 or (moved * moved).sum() > most.l2_squared:
            yield f"{tally.term.kind} moved by {moved.sum()}, and {most.l1} is declared"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.people_neighbours")
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    found = [
        f"{kind}, {spelling}: {line}"
        for spelling in SPELLINGS
        for kind in (KINDS if spelling in ("doubles", "texts") else KINDS[:1])
        for line in audit(given.questions, given.seed, kind=kind, spelling=spelling)
    ]
    for line in found:
        sys.stdout.write(f"{line[:400]}\n")
    sys.stdout.write(f"{given.questions:,} questions of each kind: {len(found)} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
