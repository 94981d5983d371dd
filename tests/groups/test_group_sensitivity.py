"""How far one unit moves the numbers of all groups: every pair of worst rows, in every pair of groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.families.groups.queries.group_ranges import GroupBuckets, GroupStrategy
from discreet.families.groups.queries.group_sums import GroupCounts, GroupEnds, GroupSums
from discreet.queries.measurable import SATURATION, CountQuery, TallyQuery
from discreet.queries.registry import query_from_dict
from tests.groups.people import schema_of, tallied

MATRIX = tuple(tuple((3 * row + 5 * cell) % 11 - 5 for cell in range(40)) for row in range(3))
QUERIES = (
    GroupEnds("age", ("region",), 1),
    GroupEnds("income", ("region", "sex"), 4),
    GroupSums("age", ("region",), 2, 39),
    GroupSums("income", ("sex",), 1, 0),
    GroupCounts("age", ("region",)),
    GroupBuckets("age", ("sex",), 3),
    GroupStrategy("age", ("region",), MATRIX),
)
VALUES = (None, -99.0, -50.0, 0.0, 50.0, 150.0, 999.0)
AGES = (None, 0, 17, 39)


def one_row(query, region, sex, income, age):
    schema = schema_of()
    rows = [(region, sex, income, age)]
    return query.answered([tallied(each, rows, schema) for each in query.tallies(schema)], schema)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda each: f"{each.kind} {each.column}")
def test_the_worst_unit_moves_all_groups_by_exactly_the_stated_sensitivity(
    query, adjacency, max_rows
):
    """All pairs of a row and another, over groups, ends, middles, nulls and values that are clamped."""
    said = query.sensitivity(schema_of(adjacency, max_rows))
    ages = range(40) if isinstance(query, GroupStrategy) else AGES
    incomes = VALUES if query.column == "income" else (0.0,)
    ages = ages if query.column == "age" else (0,)
    persons = [
        max_rows * one_row(query, region, sex, income, age)
        for region, sex, income, age in product("ns", ("f", None), incomes, ages)
    ]
    moves = persons
    if adjacency == "change-one":
        moves = [one - other for one, other in product(persons, repeat=2)]
    assert max(int(np.abs(move).sum()) for move in moves) == said.l1
    assert max(int((move**2).sum()) for move in moves) == said.l2_squared


@pytest.mark.parametrize("query", QUERIES, ids=lambda each: f"{each.kind} {each.column}")
def test_a_query_by_group_is_stored_and_read_back_and_is_no_table(query):
    assert query_from_dict(query.to_dict()) == query
    assert isinstance(query, TallyQuery) and not isinstance(query, CountQuery)
    assert query.size(schema_of()) == len(one_row(query, "n", "f", 1.0, 1))


def test_where_a_sum_is_clamped_the_other_end_takes_up_what_it_lost():
    """A clamped sum from below, and one row more: both numbers together still move by the width at most."""
    query, schema = GroupEnds("age", ("sex",), 1), schema_of()
    rows = (2**63 + SATURATION - 1) // 39  # one row more, and the other end leaves 64 bits
    for added in (0, 17, 39):
        totals = [39 * (rows - 1), 39 * (rows - 1) + added]
        answers = [
            query.answered(
                [
                    np.array([min(total, SATURATION)] * 4, dtype=object),
                    np.array([rows + more] * 4, dtype=object),
                ],
                schema,
            )
            for more, total in enumerate(totals)
        ]
        moved = np.abs(answers[1].astype(object) - answers[0].astype(object)).reshape(2, 4).sum(0)
        assert moved.max() <= 39


def test_a_query_by_group_refuses_what_is_none():
    for make in (
        lambda: GroupEnds("age", (), 1),
        lambda: GroupEnds("age", ("age",), 1),
        lambda: GroupSums("age", ("sex",), 0, 0),
        lambda: GroupBuckets("age", ("sex",), 65),
        lambda: GroupStrategy("age", ("sex", "sex"), MATRIX),
    ):
        with pytest.raises(BadInput):
            make()
    with pytest.raises(BadInput, match="only integer, number and boolean"):
        GroupEnds("sex", ("region",), 1).sensitivity(schema_of())
    with pytest.raises(BadInput, match="one number for each of its 40 cells"):
        GroupStrategy("age", ("sex",), ((1, 2),)).size(schema_of())
