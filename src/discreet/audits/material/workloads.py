"""Workloads for audits: every example of every registered family, by each algorithm of its class.

Nothing is listed by name: a family or an algorithm that is added is audited from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.privacy.budget import Budget
from discreet.queries.class_tables import example_texts
from discreet.queries.classes import QueryClass, parse_class
from discreet.releases.algorithms import algorithms_of
from discreet.schema import Schema

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Job:
    """A release to audit: what it is for, by which algorithms, at what cost."""

    classes: tuple[QueryClass, ...]
    algorithms: dict[str, str]
    budget: Budget


def possible(schema: Schema) -> Iterator[tuple[QueryClass, str]]:
    """Every (class, algorithm) that the registered families offer for a schema."""
    seen = set()
    for text in example_texts(schema):
        try:
            query_class = parse_class(text)
            query_class.check(schema)
        except DiscreetError:
            continue
        for algorithm in algorithms_of(query_class.name):
            key = (query_class.text, algorithm.name)
            if key not in seen and algorithm.refusal(query_class, schema) is None:
                seen.add(key)
                yield query_class, algorithm.name
