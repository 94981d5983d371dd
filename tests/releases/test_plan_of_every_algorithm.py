"""A plan can be shown for whatever algorithm serves a class, also where its noise is decided on the way."""

from __future__ import annotations

import pytest

from discreet.privacy.budget import Budget
from discreet.releases.planning import plan
from discreet.schema import Schema
from tests.harness.material.tables import possible

SCHEMA = Schema.loads(
    'dataset = "people"\npeople = 1000\nadjacency = "change-one"\n'
    '[columns.age]\nkind = "integer"\nrange = [0, 99]\nnulls = "exclude"\n'
    '[columns.sex]\nkind = "category"\nvalues = ["F", "M"]\n[columns.ok]\nkind = "boolean"\n'
)
OFFERED = list(possible(SCHEMA))


@pytest.mark.parametrize(
    ("query_class", "algorithm"), OFFERED, ids=[f"{one.text} {name}" for one, name in OFFERED]
)
def test_a_plan_is_shown_for_every_algorithm(query_class, algorithm):
    planned = plan(
        SCHEMA,
        budget=Budget(epsilon=1),
        workload=[query_class],
        algorithms={query_class.text: algorithm},
    )
    (row,) = planned.rows()
    assert row["noise"]
