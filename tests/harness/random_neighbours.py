"""Random neighbours of the audits' tables, and random releases of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.audits.guessing.tables import GeneratedTable
from discreet.errors import DiscreetError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.queries.classes import QueryClass
from discreet.releases.preparing import prepare
from discreet.schema import Schema
from tests.harness.material.tables import Job, possible, random_row

if TYPE_CHECKING:
    from numpy.random import Generator

BUDGETS = (
    Budget(epsilon=1),
    Budget(epsilon="1/3"),
    Budget(epsilon=1, delta="1e-6"),
    Budget(rho="1/10"),
)


def neighbours(
    table: GeneratedTable, generator: Generator, *, most: int
) -> Iterator[GeneratedTable]:
    """Up to `most` neighbours under the table's own adjacency and unit."""
    for _ in range(most):
        has_unit = table.schema.unit.identifier is not None
        yield (_other_person if has_unit else _other_row)(table, generator)


def _other_row(table: GeneratedTable, generator: Generator) -> GeneratedTable:
    rows = list(table.rows)
    fresh = random_row(generator, table.header, table.schema)
    if table.schema.adjacency is Adjacency.CHANGE_ONE:
        if rows:
            rows[generator.integers(len(rows))] = fresh
    elif rows and generator.integers(2):
        del rows[generator.integers(len(rows))]
    else:
        rows.insert(int(generator.integers(len(rows) + 1)), fresh)
    return replace(table, rows=tuple(rows))


def _other_person(table: GeneratedTable, generator: Generator) -> GeneratedTable:
    """All rows of one person added, removed or replaced. Rows without an identifier are nobody's: they never count."""
    people = sorted({row[0] for row in table.rows if row[0]})
    changing = table.schema.adjacency is Adjacency.CHANGE_ONE
    if people and (changing or generator.integers(2)):
        gone = people[generator.integers(len(people))]
        rows = [row for row in table.rows if row[0] != gone]
    else:
        gone, rows = "somebody new", list(table.rows)
        if changing:
            return table  # nobody is there to be changed
    if changing or gone == "somebody new":
        extra = [
            random_row(generator, table.header, table.schema, person=gone)
            for _ in range(generator.integers(1, 6))
        ]
        rows = [*rows, *extra]
    order = generator.permutation(len(rows))
    return replace(table, rows=tuple(rows[i] for i in order))


def random_job(schema: Schema, generator: Generator) -> Job:
    """One to three classes, each by a random one of its algorithms, under a budget that they accept."""
    options = list(possible(schema))
    while True:
        picked = [options[i] for i in generator.permutation(len(options))]
        chosen: dict[str, tuple[QueryClass, str]] = {}
        for query_class, algorithm in picked:
            if len(chosen) < 1 + generator.integers(3):
                chosen.setdefault(query_class.text, (query_class, algorithm))
        job = Job(
            classes=tuple(query_class for query_class, _ in chosen.values()),
            algorithms={text: algorithm for text, (_, algorithm) in chosen.items()},
            budget=BUDGETS[generator.integers(len(BUDGETS))],
        )
        try:
            prepare(schema, budget=job.budget, workload=job.classes, algorithms=job.algorithms)
        except DiscreetError:
            continue  # this class does not go with this kind of budget: a refusal, not a release
        return job
