"""Random questions to random tiny tables and all neighbours of one person: what is lost, against what is charged.

`question_neighbours` and `people_neighbours` compare exact tallies with declared sensitivities, under one
schema each. Here nothing declared is believed. A question is planned and measured as a curator does it, with
every budget (epsilon, delta, rho, mu), adjacency, unit, `max_rows` and `max_groups`, and the exact numbers of
two neighbours are put through the noise that was really drawn (`audits.losses`). The person who differs holds
the ends of every column's domain, values just beside them and far beyond, nulls and what is no value at all.

    python -m tests.harness.loss_neighbours --questions 5000 --seed 1

With --releases, random releases by every algorithm are recorded and replayed instead, on the same tables: the replay of
`tests.harness.replay`, under units, bounds and budgets that its own tables do not have.

    python -m tests.harness.loss_neighbours --releases 500 --seed 1
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from discreet.audits.guessing.tables import GeneratedTable
from discreet.audits.losses import step_losses
from discreet.audits.observing import Divergence, RecordingNoise, ReplayingNoise, Tape
from discreet.core.checked_engine import CheckedEngine
from discreet.core.vault import Grant
from discreet.curator.planning import Planned, plan_questions
from discreet.curator.statements import measure
from discreet.engines import open_engine
from discreet.errors import DiscreetError
from discreet.postprocessing.reading.statement import read_statement
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import allowance
from discreet.questions.dialects.curator_sql import CuratorDialect
from discreet.releases.preparing import prepare
from discreet.releases.run import release
from discreet.schema import Schema
from discreet.schema.columns.column import Column
from tests.curator.random_sql import Conditions
from tests.harness.material.tables import Job, possible
from tests.harness.progress import Progress
from tests.harness.question_neighbours import written
from tests.harness.replay import check_charged, check_neighbours

KINDS = ("arrow", "parquet", "csv", "duckdb", "postgres", "spark")
BUDGETS = (
    (Budget(epsilon=1), Notion.EPSILON), (Budget(epsilon="1/7", delta="1e-6"), Notion.EPSILON),
    (Budget(rho="1/10"), Notion.RHO), (Budget(mu="1/3"), Notion.MU), (Budget(mu="2"), Notion.RHO),
    (Budget(epsilon="1/2", delta="1e-9"), Notion.MU), (Budget(epsilon="1/2", delta="1e-9"), Notion.RHO),
    (Budget(epsilon=1), Notion.RHO), (Budget(epsilon=3), Notion.MU),
)  # fmt: skip
NAMES = {
    "integer": "ijk",
    "number": "xyz",
    "category": "mnu",
    "boolean": "b",
    "date": "d",
    "datetime": "t",
}
PEOPLE = 5


def random_schema(random: Random) -> Schema:
    """Two to four columns of any kind, with odd bounds; any adjacency and unit."""
    pick = random.choice
    text = [f'dataset = "t"\nadjacency = "{pick(("add-remove", "change-one"))}"']
    if random.randrange(3):
        text.append(f'[unit]\nidentifier = "who"\nmax_rows = {random.randrange(1, 5)}')
        if random.randrange(2):
            text.append(f"max_groups = {random.randrange(1, 4)}")
    kinds = [pick(list(NAMES)) for _ in range(random.randrange(2, 5))]
    used: Counter[str] = Counter()
    for kind in kinds:
        if used[kind] < len(NAMES[kind]):
            text.append(f"[columns.{NAMES[kind][used[kind]]}]\n{_column(kind, random)}")
            used[kind] += 1
    return Schema.loads("\n".join(text))


def _column(kind: str, random: Random) -> str:
    pick = random.choice
    nulls = f'kind = "{kind}"\nnulls = "{pick(("cell", "exclude"))}"\n'
    outside = f'outside = "{pick(("edge", "other", "exclude"))}"\n'
    if kind == "integer":
        low, high, width = pick([
            (0, 9, 1), (-7, 4, 3), (-3, -1, 1), (5, 5, 1), (0, 999_999, 1), (-(2**40), 2**40 - 1, 2**20),
            (2**61, 2**61 + 7, 1), (100, 119, 4),
        ])  # fmt: skip
        return f"{nulls}{outside}range = [{low}, {high}]\nwidth = {width}"
    if kind == "number":
        least, most = pick([
            (0, 1), (-1, 1), (-0.1, 0.3), (1e-9, 3e-9), (-1e6, 1e12), (0.1, 0.7), (-3.3, -1.1), (1e15, 1e15 + 3),
        ])  # fmt: skip
        closed = pick(("left", "right"))
        return f'{nulls}{outside}bounds = [{least}, {most}]\nbits = {random.randrange(1, 5)}\nclosed = "{closed}"'
    if kind == "category":
        if not random.randrange(3):
            return f"{nulls}undeclared = true"
        values = pick(['["F", "M"]', '["1", "2.5", "-0"]', '["a", "", "b c", "ü"]'])
        return f"{nulls}values = {values}\nother = {pick(('true', 'false'))}"
    if kind == "date":
        return f'{nulls}{outside}range = ["2019-12-30", "2020-03-01"]\ngranularity = "{pick(("day", "week"))}"'
    if kind == "datetime":
        return f'{nulls}{outside}range = ["2020-02-28", "2020-03-01"]\ngranularity = "hour"'
    return nulls


def values_of(column: Column, random: Random) -> Any:
    """One value: the ends of the domain and what lies beside them, or no value."""
    pick = random.choice
    if random.randrange(8) == 0:
        return None
    if column.kind == "integer":
        low, high = (int(end) for end in column.value_bounds or (0, 0))
        return pick(
            [low, high, low, high, low - 1, high + 1, (low + high) // 2, 0, 2**63 - 1, -(2**63)]
        )
    if column.kind == "number":
        least, most = (float(end) for end in column.value_bounds or (0, 0))
        near = [
            math.nextafter(least, math.inf),
            math.nextafter(most, -math.inf),
            math.nextafter(most, math.inf),
        ]
        odd: list[Any] = [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7e308]
        return pick([least, most, least, most, *near, (least + most) / 2, *odd])
    if column.kind == "category":
        return pick(["F", "M", "1", "2.5", "-0", "a", "", "b c", "ü", "zz", "1.0"])
    if column.kind == "boolean":
        return pick([True, False])
    if column.kind == "date":
        odd = [
            date(2019, 12, 30),
            date(2020, 3, 1),
            date(2020, 2, 29),
            date(1, 1, 1),
            date(9999, 12, 31),
        ]
        return pick([*odd, date(2020, 1, 1) + timedelta(random.randrange(60))])
    odd_moments = [
        datetime(2020, 2, 28),
        datetime(2020, 3, 1, 23, 59, 59, 999_999),
        datetime(9999, 12, 31),
    ]
    return pick([*odd_moments, datetime(2020, 2, 28) + timedelta(minutes=random.randrange(4000))])


_TYPES = {
    "integer": pa.int64(), "number": pa.float64(), "category": pa.string(), "boolean": pa.bool_(),
    "date": pa.date32(), "datetime": pa.timestamp("us"),
}  # fmt: skip
Row = dict[str, Any]


def as_table(rows: Sequence[Row], schema: Schema) -> pa.Table:
    fields = [("who", pa.string()), *((one.name, _TYPES[one.kind]) for one in schema.columns)]
    return pa.Table.from_pylist(list(rows), pa.schema(fields))


def tables(random: Random, schema: Schema, neighbours: int) -> list[list[Row]]:
    """A table in no order, and neighbours of it: other rows of one person, more or fewer of them."""
    names = [f"p{n}" for n in range(PEOPLE)]

    def row(who: str | None) -> Row:
        return {"who": who} | {one.name: values_of(one, random) for one in schema.columns}

    most = schema.unit.max_rows
    has_unit = schema.unit.identifier is not None
    others = [
        row(who) for who in names for _ in range(random.randrange(0, most + 3) if has_unit else 1)
    ]
    found: list[list[Row]] = []
    same = row("one")
    for place in range(neighbours + 1):
        if not has_unit:
            changes = schema.adjacency == "change-one"
            mine = [row("one")] if changes or place else []
        elif schema.adjacency == "change-one":
            # All alike, or all different; never nobody, for a change takes nobody away.
            mine = (
                [row("one")] * most
                if place % 2
                else [row("one") for _ in range(random.randrange(1, most + 3))]
            )
        else:
            mine = (
                []
                if place == 0
                else [same] * most
                if place == 1
                else [row("one") for _ in range(most + place % 3)]
            )
        table = [*others, *mine]
        random.shuffle(table)
        found.append(table)
    return found


class Questions:
    """Random statements over a schema."""

    def __init__(self, random: Random, schema: Schema) -> None:
        self.random, self.schema = random, schema
        by: dict[str, list[str]] = {
            "number": [],
            "integer": [],
            "text": [],
            "date": [],
            "boolean": [],
        }
        for one in schema.columns:
            kind = {"category": "text", "datetime": "date"}.get(one.kind, one.kind)
            by[kind].append(one.name)
            if kind == "integer":
                by["number"].append(one.name)
        fallback = {
            "number": "3",
            "integer": "3",
            "text": "'F'",
            "date": "DATE '2020-02-29'",
            "boolean": "TRUE",
        }
        self.by = by
        self.conditions = Conditions(
            random, {kind: names or [fallback[kind]] for kind, names in by.items()}
        )

    def bounded(self, depth: int) -> str:
        """A number that has bounds, whatever the columns hold."""
        pick, inner = self.random.choice, self.bounded
        numbers = self.by["number"] or ["3"]
        if depth <= 0:
            return pick([*numbers, *numbers, "1", "-2", "0.1", "NULL", "7"])
        one, other = inner(depth - 1), inner(depth - 1)
        low, high = sorted(self.random.sample([-3, -1, 0, 0.3, 2, 5, 100], 2))
        if self.by["date"] and not self.random.randrange(5):
            return f"extract({pick(['year', 'month', 'week', 'day', 'dow', 'doy', 'hour'])} FROM {pick(self.by['date'])})"
        return pick([
            f"({one} {pick('+-*')} {other})", f"({one} / greatest(abs({other}), 0.5))", f"({one} % {other})",
            f"({one} % -3)", f"(-{one} % 2.5)", f"least(greatest({one}, {low}), {high})", f"greatest({one}, {other})",
            f"least({one}, NULL, {other})", f"round({one})", f"round({one}, {pick(['1', '-1', '0', '2'])})",
            f"floor({one} / 3)", f"ceil({one})", f"abs({one})", f"-({one})", f"sqrt({one})", f"sqrt(abs({one}))",
            f"ln(greatest({one}, 1e-3))", f"power({one}, {pick(['2', '3'])})", f"power(abs({one}), 0.5)",
            f"width_bucket({one}, {low}, {high}, {pick('123')})", f"CAST({one} AS INTEGER)", f"CAST({one} AS DOUBLE)",
            f"CASE WHEN {self.conditions.condition(1)} THEN {one} ELSE {other} END",
            f"CASE WHEN {self.conditions.condition(1)} THEN {one} END", f"coalesce({one}, {other})",
            f"nullif({one}, {other})", f"CAST({self.conditions.condition(1)} AS INTEGER)",
        ])  # fmt: skip

    def aggregate(self) -> str:
        pick = self.random.choice
        inside = self.bounded(self.random.randrange(0, 3))
        options = ["count(*)", f"count({inside})"]
        options += [f"{name}({inside})" for name in ("sum", "sum", "avg", "variance", "stddev_pop")]
        options += [
            f"{name}({inside}, {self.bounded(1)})" for name in ("corr", "covar_pop", "regr_slope")
        ]
        ordered = [*self.by["number"], *self.by["date"]]
        if ordered:
            options += [
                f"median({pick(ordered)})",
                f"quantile({pick(ordered)}, {pick(['0.1', '0.99', '0.333'])})",
            ]
        if self.schema.unit.identifier is not None:
            options += ["count(DISTINCT who)"] * 2
        options += [
            f"count(DISTINCT {one.name})" for one in self.schema.columns if one.kind != "number"
        ]
        chosen = pick(options)
        if not self.random.randrange(3):
            return f"{chosen} FILTER (WHERE {self.conditions.condition(2)})"
        return chosen

    def key(self) -> str:
        pick = self.random.choice
        plain = [one.name for one in self.schema.columns]
        computed = [self.conditions.number, self.conditions.text, self.conditions.date]
        return pick([*plain, *plain, self.bounded(1), pick(computed)(1), pick(computed)(2)])

    def statement(self) -> str:
        pick, random = self.random.choice, self.random
        where = f" WHERE {self.conditions.condition(2)}" if random.randrange(2) else ""
        kind = random.randrange(8)
        if kind == 0:
            name = pick(self.schema.columns).name
            alone = pick([f"histogram({name})", f"mode({name})", f"top({name}, 2)"])
            by = f" GROUP BY {self.key()}" if random.randrange(2) else ""
            return f"SELECT {alone} FROM t{where}{by}"
        listed = ", ".join(self.aggregate() for _ in range(random.randrange(1, 4)))
        if kind <= 2:
            return f"SELECT {listed} FROM t{where}"
        keys = [self.key() for _ in range(random.randrange(1, 3))]
        named = ", ".join(f"{each} AS g{n}" for n, each in enumerate(keys))
        group = ", ".join(f"g{n}" for n in range(len(keys)))
        rolled = pick(["ROLLUP ", "CUBE "]) + f"({group})" if not random.randrange(8) else group
        return f"SELECT {named}, {listed} FROM t{where} GROUP BY {rolled}"

    def planned(self) -> tuple[str, Budget, tuple[Planned, ...]]:
        """A statement that is not refused."""
        while True:
            sql, (budget, notion) = self.statement(), self.random.choice(BUDGETS)
            try:
                plan = read_statement(sql, self.schema, CuratorDialect(self.schema, sql, ()))
                if plan.questions:
                    parts = plan_questions(
                        plan.questions, self.schema, budget=budget, notion=notion
                    )
                    return sql, budget, parts
            except DiscreetError:
                continue


@dataclass(frozen=True, slots=True)
class _NoLedger:
    """A charge that was made elsewhere."""

    def begin_reading(self, entry: object) -> None:
        return None


def measured(engine: Any, schema: Schema, parts: Sequence[Planned], noise: Any) -> str:
    """Reads all that a statement asks; the error in words, if there is one."""
    planned = parts[0]
    ledger: Any = _NoLedger()
    entry: Any = None
    grant = Grant(
        _engine=CheckedEngine(engine, schema), _schema=schema, _ledger=ledger, _noise=noise, _entry=entry,
        accounting=planned.accounting, allowed=allowance(planned.charge, planned.accounting),
    )  # fmt: skip
    try:
        measure(parts, grant)
    except DiscreetError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def audit(
    count: int,
    seed: int,
    *,
    kinds: Sequence[str] = ("arrow",),
    asked: int = 25,
    neighbours: int = 6,
    progress: Progress | None = None,
) -> tuple[list[str], Counter[str]]:
    """What is lost beyond the charge, or told by an error; and how often each kind of step was compared."""
    random, found, seen = Random(seed), [], Counter[str]()
    done = 0
    while done < count:
        schema = random_schema(random)
        made = tables(random, schema, neighbours)
        kind = random.choice(kinds)
        with TemporaryDirectory() as folder, ExitStack() as engines:
            opened = [
                engines.enter_context(
                    open_engine(
                        written(as_table(each, schema), kind, Path(folder), f"{n}"),
                        schema,
                        threads=1,
                    )
                )
                for n, each in enumerate(made)
            ]
            questions = Questions(random, schema)
            for _ in range(min(asked, count - done)):
                sql, budget, parts = questions.planned()
                for line in compared(opened, schema, parts, seen):
                    found.append(f"{kind}: {sql} at {budget}: {line}\n{schema.dumps()}")
                done += 1
                if progress is not None:
                    progress.advance()
    return found, seen


def compared(
    opened: Sequence[Any], schema: Schema, parts: Sequence[Planned], seen: Counter[str]
) -> Iterator[str]:
    """Every neighbour against the first table."""
    tape = Tape()
    said = measured(opened[0], schema, parts, RecordingNoise(tape.steps))
    for place, engine in enumerate(opened[1:], start=1):
        other = Tape()
        try:
            there = measured(engine, schema, parts, ReplayingNoise(tape, other.steps))
            if there != said:
                yield f"neighbour {place}: {said or 'answered'} | {there or 'answered'}"
                continue
            losses = step_losses(tape.steps, other.steps, iter(()))
            check_charged(losses, parts[0].charge, parts[0].accounting)
            seen.update(
                step.name.split()[-1]
                for step, loss in zip(tape.steps, losses, strict=True)
                if loss.rho
            )
        except Divergence as divergence:
            yield f"neighbour {place}: {divergence}"


def audit_releases(
    count: int, seed: int, *, neighbours: int = 3, progress: Progress | None = None
) -> tuple[list[str], Counter[str]]:
    """The same of releases; and how often each algorithm took part."""
    random, found, seen = Random(seed), [], Counter[str]()
    while sum(seen.values()) < count:
        schema = random_schema(random)
        job = _job(schema, random)
        if job is None:
            continue
        first, *others = (generated(rows, schema) for rows in tables(random, schema, neighbours))

        def run(
            path: Path, ledger: Any, shown: Any, schema: Schema = schema, job: Any = job
        ) -> Any:
            made = release(
                path, schema, budget=job.budget, workload=job.classes, algorithms=job.algorithms, ledger=ledger,
                progress=shown,
            )  # fmt: skip
            return made.release

        try:
            check_neighbours(first, others, run)
        except Divergence as divergence:
            found.append(f"{job.algorithms} at {job.budget}: {divergence}\n{schema.dumps()}")
        seen.update(job.algorithms.values())
        if progress is not None:
            progress.advance()
    return found, seen


def generated(rows: Sequence[Row], schema: Schema) -> GeneratedTable:
    """The rows as lines of a CSV file."""
    header = ("who", *schema.names)
    lines = (tuple("" if row[name] is None else str(row[name]) for name in header) for row in rows)
    return GeneratedTable(schema=schema, header=header, rows=tuple(lines))


def _job(schema: Schema, random: Random) -> Job | None:
    """One or two classes, each by one of its algorithms, under a budget that they take."""
    options = list(possible(schema))
    if not options:
        return None
    for _ in range(20):
        chosen = {
            one.text: (one, name) for one, name in random.choices(options, k=random.randrange(1, 3))
        }
        classes = tuple(one for one, _ in chosen.values())
        algorithms = {text: name for text, (_, name) in chosen.items()}
        budget, _ = random.choice(BUDGETS)
        try:
            prepare(schema, budget=budget, workload=classes, algorithms=algorithms)
        except DiscreetError:
            continue
        return Job(classes=classes, algorithms=algorithms, budget=budget)
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.loss_neighbours")
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--releases", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    given = parser.parse_args(arguments)
    what, many = ("releases", given.releases) if given.releases else ("questions", given.questions)
    progress = Progress(what, many)
    if given.releases:
        found, seen = audit_releases(many, given.seed, progress=progress)
    else:
        found, seen = audit(many, given.seed, kinds=given.kinds, progress=progress)
    for line in found:
        sys.stdout.write(f"{line[:3000]}\n")
    listed = ", ".join(f"{name} {times:,}" for name, times in sorted(seen.items()))
    sys.stdout.write(f"{many:,} {what}, {len(found)} findings; seen: {listed}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
