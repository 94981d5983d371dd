"""De-anonymisation, intersection, rebuilt rows, refusals, deterministic mechanisms, failed definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.definitions import (
    counterexamples,
    largest_difference,
    one_row_published,
    separated_neighbours,
)
from discreet.attacks.differencing import bits_from_refused_sums, value_from_refused_maximum
from discreet.attacks.generalised import covers, homogeneous
from discreet.attacks.linking import Scoreboard
from discreet.attacks.microdata import certain, rebuilt
from discreet.audits.attacking import (
    audit_refusal,
    deanonymise,
    definitions,
    deterministic,
    intersect,
    microdata,
)
from discreet.audits.attacking.intersecting import STATE, from_the_originals
from discreet.audits.attacking.rebuilding import SHAPE, block, overlap, pair_tables
from discreet.audits.attacking.refusals import MaximumAuditor, SumAuditor
from discreet.custodian.disclosure.anonymity import anonymity
from discreet.errors import BadInput


@pytest.mark.parametrize(
    ("general", "value", "covered"),
    [
        ("19***", "19456", True),
        ("19***", "30456", False),
        ("19***", "194567", False),
        ("30-40", "31", True),
        ("30-40", "41", False),
        ("30-40", "old", False),
        ("a|b", "b", True),
        ("*", "anything", True),
    ],
)
def test_a_generalised_value_covers_what_it_stands_for(general, value, covered):
    assert covers(general, value) is covered


def test_marcias_score_is_613_and_the_print_has_a_slip():
    outcome = intersect()
    assert outcome.details["score"] == ["613"]
    assert outcome.details["k_as_printed"] == 4
    assert outcome.details["k_from_originals"] == 1
    assert outcome.details["band"] == "fair"
    assert anonymity(STATE, ["zip", "age"]).k == 4
    assert from_the_originals()["zip"][6] == "19***"


def test_a_class_with_one_secret_gives_it_away():
    table = {"zip": ["1", "1", "2", "2"], "illness": ["a", "a", "b", "c"]}
    assert homogeneous(table, ["zip"], "illness") == {0: "a", 1: "a"}


def test_tables_of_ones_own_are_intersected_and_the_outcome_is_not_private():
    tables = [{"zip": ["3*", "3*"], "s": ["1", "2"]}, {"zip": ["3*", "3*"], "s": ["2", "3"]}]
    outcome = intersect(tables, person={"zip": "31"}, sensitive="s")
    assert outcome.details["values"] == ["2"] and outcome.banner
    with pytest.raises(BadInput, match="which column is sensitive"):
        intersect(tables)


def test_a_few_remembered_entries_name_a_row_and_only_if_it_stands_out():
    rows = [{1: (5.0, 10.0), 2: (1.0, 20.0)}, {3: (4.0, 100.0)}, {1: (2.0, 300.0)}, {4: (1.0, 1.0)}]
    board = Scoreboard(rows)
    assert board.named({1: (5.0, 12.0), 2: (2.0, 19.0)}, eccentricity=1.0) == 0
    assert board.named({9: (5.0, 12.0)}) is None
    assert board.named({1: (3.5, 150.0)}, eccentricity=3.0) is None


def test_the_outcome_names_more_rows_the_more_is_remembered():
    points = deanonymise(people=200, items=300, tries=40).series[0].points
    assert points[-1][1] >= 0.9 and points[0][1] < points[-1][1]


def test_exact_tables_are_met_and_give_most_rows_away():
    rows = block(20, seed=3)
    tables = pair_tables(rows)
    found = rebuilt(SHAPE, tables)
    assert found.sum() == 20
    for table in tables:
        others = tuple(at for at in range(4) if at not in table.columns)
        assert np.array_equal(found.sum(axis=others), table.counts)
    assert overlap(found, rows) >= 0.5
    truth = np.zeros(SHAPE, dtype=np.int64)
    np.add.at(truth, tuple(rows.T), 1)
    sure = certain(SHAPE, tables, found)
    assert sure.sum() > 0 and (sure <= truth).all() and (sure <= found).all()


def test_rows_are_rebuilt_before_and_not_after():
    """Ours: all 60 rows right, of 192 combinations each, does not happen."""
    outcome = microdata(people=30, blocks=2)
    assert outcome.lines[0].value > 0.6
    assert outcome.lines[-1].ours and outcome.lines[-1].value < 1


def test_refused_sums_give_every_bit_away():
    bits = [1, 1, 0, 1, 0, 0, 0, 1]
    assert bits_from_refused_sums(SumAuditor(bits), 8, bits[0]) == bits


def test_a_refused_maximum_names_who_holds_it_and_a_careful_auditor_does_not_tell():
    values = [3.0, 9.0, 4.0, 1.0]
    assert value_from_refused_maximum(MaximumAuditor(values), range(4)) == (1, 9.0)
    refusals = set()
    for order in ([3.0, 9.0, 4.0, 1.0], [9.0, 3.0, 4.0, 1.0], [1.0, 3.0, 4.0, 9.0]):
        auditor = MaximumAuditor(order, careful=True)
        auditor(range(4))
        refusals.add(auditor([1, 2, 3]) is None)
    assert refusals == {True}


def test_the_outcome_of_refusals():
    """Ours is a chain of 11 guesses; 12 right by chance are not asserted against."""
    outcome = audit_refusal(people=12)
    assert outcome.lines[0].value == 1.0
    assert outcome.lines[1].value > 0.5 > outcome.lines[2].value
    assert outcome.lines[3].ours


def test_two_neighbours_are_found_wherever_a_mechanism_is_not_constant():
    pair = separated_neighbours(lambda rows: sum(rows) >= 3, [0] * 6, [1] * 6)
    assert pair is not None
    assert sum(a != b for a, b in zip(*pair, strict=True)) == 1
    assert separated_neighbours(lambda rows: 7, [0] * 6, [1] * 6) is None


def test_every_deterministic_mechanism_is_separated_and_ours_is_not():
    """20,000 games at advantage .462: the interval of 6 standard errors is [.42, .50]."""
    outcome = deterministic()
    assert all(line.value == 1.0 for line in outcome.lines if not line.ours)
    assert 0.42 < outcome.lines[-1].value < 0.504


def test_the_failed_definitions_fail_as_computed():
    rows = tuple("abcd")
    other = ("a", "b", "c", "e")
    slack = largest_difference(one_row_published(rows), one_row_published(other))
    assert slack == Fraction(1, 4)
    assert [each.harmed for each in counterexamples(10)] == [1.0, 1.0, 1.0, pytest.approx(1 / 11)]
    assert "epsilon = 1/500" in definitions(people=500).lines[0].publication


def test_a_column_that_no_table_has_is_named():
    table = {"sex": ["f", "m"], "ill": ["a", "b"]}
    for person, sensitive in (({"sec": "f"}, "ill"), ({"sex": "f"}, "il")):
        with pytest.raises(BadInput, match=r"no column '(sec|il)'"):
            intersect([table, table], person=person, sensitive=sensitive)
