"""Workloads for audits: every registered query class and algorithm, found through the tables.

Nothing is listed by name: a class or an algorithm that is added is audited from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.privacy.budget import Budget
from discreet.queries.classes import QueryClass, parse_class
from discreet.queries.registry import class_readers
from discreet.releases.algorithms import algorithms_of
from discreet.releases.preparing import prepare
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

BUDGETS = (
    Budget(epsilon=1),
    Budget(epsilon="1/3"),
    Budget(epsilon=1, delta="1e-6"),
    Budget(rho="1/10"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A release to audit: what it is for, by which algorithms, at what cost."""

    classes: tuple[QueryClass, ...]
    algorithms: dict[str, str]
    budget: Budget


def possible(schema: Schema) -> Iterator[tuple[QueryClass, str]]:
    """Every (class, algorithm) that the tables offer for a schema."""
    names = [column.name for column in schema.columns]
    arguments = ["1", "2", *names, *(", ".join(pair) for pair in combinations(names, 2))]
    arguments += [f"{argument}, 2" for argument in arguments[2:]]
    arguments += [f"{one}; {two} * 3" for one, two in combinations(names, 2)]
    if len(names) > 2:  # pairs of unequal weight, between which a release may choose
        arguments.append(f"{names[0]}, {names[1]}; {names[0]}, {names[2]} * 3")
    splits = [_in_quotes(f"{_in_quotes(name)} IS NOT NULL") for name in names]
    arguments += [f"2; {one}, {two}" for one, two in combinations(splits, 2)]
    seen = set()
    for class_name in class_readers():
        for argument in arguments:
            try:
                query_class = parse_class(f"{class_name}({argument})")
                query_class.check(schema)
            except DiscreetError:
                continue
            for algorithm in algorithms_of(query_class.name):
                key = (query_class.text, algorithm.name)
                if key not in seen and algorithm.refusal(query_class, schema) is None:
                    seen.add(key)
                    yield query_class, algorithm.name


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


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
