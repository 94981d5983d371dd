"""A table with too many cells does not decide how all the others are released; it is left out, and said."""

from __future__ import annotations

import polars
import pytest

from discreet import Budget, Schema, plan, release
from discreet.errors import BadInput, NotAnswerable
from discreet.families.tables.queries.marginals import Marginals
from discreet.releases.algorithms import left_out_note
from discreet.releases.preparing import prepare

TEXT = """
dataset = "trips"
[columns.minute]
kind = "integer"
range = [0, {top}]
[columns.metres]
kind = "integer"
range = [0, {top}]
[columns.carrier]
kind = "category"
values = ["a", "b", "c"]
[columns.day]
kind = "integer"
range = [1, 7]
"""
WIDE, NARROW = Schema.loads(TEXT.format(top=2999)), Schema.loads(TEXT.format(top=1999))
PAIR = ("minute", "metres")


def test_a_pair_with_too_many_cells_is_left_out_and_the_others_are_released_as_without_it():
    every = Marginals(2)
    assert every.left_out(WIDE) == (PAIR,) and every.left_out(NARROW) == ()
    assert len(every.sets(WIDE)) == 5 and len(every.sets(NARROW)) == 6
    (wide,) = prepare(WIDE, budget=Budget(epsilon=1), workload="marginals(2)").parts
    named = Marginals(tables=every.sets(WIDE))
    (listed,) = prepare(WIDE, budget=Budget(epsilon=1), workload=named).parts
    assert wide.algorithm == listed.algorithm
    assert wide.requests == listed.requests
    (residuals,) = prepare(
        WIDE, budget=Budget(epsilon=1), workload="marginals(2)",
        algorithms={"marginals(2)": "residuals"},
    ).parts  # fmt: skip
    assert residuals.algorithm == "residuals", "one pair alone had too many cells for it"


def test_what_is_left_out_is_said_and_can_be_had_by_name():
    (row,) = plan(WIDE, workload="marginals(2)", budget=Budget(epsilon=1)).classes
    assert "minute x metres (9,006,001 cells)" in row.error.note
    assert "marginals(minute, metres)" in row.error.note
    (row,) = plan(NARROW, workload="marginals(2)", budget=Budget(epsilon=1)).classes
    assert "Left out" not in row.error.note
    assert Marginals(*PAIR).sets(WIDE) == (PAIR,)
    assert left_out_note(Marginals(*PAIR), WIDE) == ""
    two = Marginals(tables=[PAIR, ("carrier", "day")])
    assert two.sets(WIDE)[0] == PAIR


def test_columns_with_about_as_many_cells_as_people_are_named():
    few = Schema.loads(TEXT.format(top=999).replace('"trips"', '"trips"\npeople = 3000'))
    (row,) = plan(few, workload="marginals(2)", budget=Budget(epsilon=1)).classes
    assert "minute (1,001 cells), metres (1,001 cells). Declare wider" in row.error.note
    many = Schema.loads(TEXT.format(top=999).replace('"trips"', '"trips"\npeople = 300000'))
    (row,) = plan(many, workload="marginals(2)", budget=Budget(epsilon=1)).classes
    assert "Declare wider" not in row.error.note


def test_a_question_about_the_pair_that_was_left_out_is_refused_in_words(tmp_path):
    table = polars.DataFrame(
        {"minute": [1, 2], "metres": [5, 6], "carrier": ["a", "b"], "day": [1, 2]}
    )
    made = release(
        table, WIDE, budget=Budget(epsilon=1), workload="marginals(2)", ledger=tmp_path / "l.db"
    )
    made.ask("SELECT count(*) FROM trips WHERE minute < 5 AND carrier = 'a'")
    with pytest.raises(NotAnswerable, match=r"marginals\(minute, metres\)"):
        made.ask("SELECT count(*) FROM trips WHERE minute < 5 AND metres < 9")


def test_where_every_table_is_too_large_none_is_left_out():
    both = Schema.loads(TEXT.format(top=2999).split("[columns.carrier]")[0])
    assert Marginals(2).left_out(both) == ()
    assert Marginals(2).sets(both) == (PAIR,)


def test_very_many_columns_are_refused_for_their_number():
    text = 'dataset = "d"\n' + "".join(
        f'[columns.c{place}]\nkind = "category"\nvalues = ["a", "b", "c"]\n' for place in range(151)
    )
    with pytest.raises(BadInput, match=r"11,325 column sets, and at most 10,000") as told:
        prepare(Schema.loads(text), budget=Budget(epsilon=1), workload="marginals(2)")
    assert "Fourier" not in str(told.value)


def test_predicates_over_too_many_cells_are_refused_for_those():
    asked = 'predicates("minute >= 100 AND metres < 50", "carrier = \'a\'")'
    with pytest.raises(BadInput, match=r"minute, metres, carrier have .* combinations") as told:
        prepare(WIDE, budget=Budget(epsilon=1), workload=asked)
    assert "linear" not in str(told.value) and "at most 4,194,304" in str(told.value)


def test_a_table_of_more_cells_than_people_weighs_no_more_than_people_do():
    """Public facts decide: the schema's people, and nothing where it says none, or more than any table has cells."""
    shared = {}
    for people in (None, 3000, 10**9):
        said = "" if people is None else f"\npeople = {people}"
        schema = Schema.loads(TEXT.format(top=999).replace('"trips"', f'"trips"{said}'))
        for algorithm in ("direct", "residuals"):
            (part,) = prepare(
                schema, budget=Budget(epsilon=1), workload="marginals(2)",
                algorithms={"marginals(2)": algorithm},
            ).parts  # fmt: skip
            found = {each.query.columns: each.mechanism.cost() for each in part.requests}
            shared[people, algorithm] = found
            assert sum(cost.epsilon for cost in found.values()) == 1
    for algorithm in ("direct", "residuals"):
        assert shared[None, algorithm] == shared[10**9, algorithm]
        few, many = (shared[each, algorithm] for each in (3000, 10**9))
        assert few[PAIR].epsilon < many[PAIR].epsilon
        small = ("carrier", "day")
        assert few[small].epsilon > 2 * many[small].epsilon
