"""A question that several measurements answer gets their inverse-variance combination."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from discreet.answering import ReleaseReader
from discreet.answering.estimates import combined_note, is_combined
from discreet.answering.readings import Reading, combined
from discreet.artifacts.answer import Covers
from discreet.families.numbers.queries.one_number import Sums
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.predicates.queries.strategy import StrategyCounts
from discreet.families.ranges.answer.joined_ranges import JoinedSource
from discreet.families.ranges.answer.joining import JoinedRanges
from discreet.families.ranges.answer.joint_estimates import JoinedEstimates, joint_ends
from discreet.families.ranges.estimate.tree_intervals import RangeEstimates
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from discreet.queries.measurable import ClampedSum, PresentCount
from discreet.schema import IntegerColumn, Schema
from tests.parts_by_hand import (
    AGES,
    CELLS,
    EVERY,
    LAPLACE,
    NARROW,
    ROWS,
    SCHEMA,
    WIDE,
    grid,
    noise,
    opened,
    predicates,
    pruned_tree,
    residuals,
    splits,
    table,
    whole_tree,
)
from tests.releases_by_hand import measured, part_of, release_of_tables


def joint(reader: ReleaseReader) -> JoinedSource:
    (found,) = reader._library.made(JoinedRanges).sources
    assert isinstance(found, JoinedSource)
    return found


def boxes(pairs=EVERY) -> tuple[np.ndarray, np.ndarray]:
    ends = np.array(pairs, dtype=np.uint64)
    return ends[:, :1], ends[:, 1:]


@pytest.mark.parametrize("of", [table, residuals])
def test_a_range_that_leaves_make_up_gets_the_inverse_variance_combination(of) -> None:
    """No chance is involved: tree and table alone are asked beside it."""
    tree, other = whole_tree(NARROW), of(WIDE)
    both, alone = opened(tree, other), opened(tree)
    tables: Any = opened(other)._library.made(TableLibrary).table(("age",))
    found, own = joint(both).fitted(*boxes()), joint(alone).fitted(*boxes())
    assert isinstance(found, JoinedEstimates) and (found.sources == 2).all()
    for place, (low, high) in enumerate(EVERY):
        weights = np.zeros(CELLS + 1)
        weights[low : high + 1] = 1.0
        value = float((tables.counts * weights).sum())
        if hasattr(tables, "deviation"):
            theirs = tables.deviation(weights) ** 2
        else:
            theirs = tables.cell_variance * weights.sum()
        mine = own.outer_std[place] ** 2
        share = theirs / (mine + theirs)
        assert found.outer[place] == pytest.approx(share * own.outer[place] + (1 - share) * value)
        assert found.outer_std[place] == pytest.approx(math.sqrt(mine * theirs / (mine + theirs)))


@pytest.mark.parametrize("of", [table, residuals])
def test_where_the_number_of_rows_is_public_a_table_is_combined_without_the_noise_of_its_total(
    of,
) -> None:
    tree, other = whole_tree(NARROW), of(WIDE)
    both = opened(tree, other, public_rows=len(ROWS))
    found, own = joint(both).fitted(*boxes()), joint(opened(tree)).fitted(*boxes())
    cells = np.array([high - low + 1 for low, high in EVERY])
    variance = 400.0 if of is table else 400.0 / (CELLS + 1) ** 2
    theirs = variance * cells * (1 - cells / (CELLS + 1))
    expected = 1 / np.sqrt(own.outer_std**-2 + 1 / theirs)
    assert found.outer_std == pytest.approx(expected)
    counts = both._library.made(TableLibrary).table(("age",)).counts
    counts = counts + (len(ROWS) - counts.sum()) / counts.size
    sums = np.array([counts[low : high + 1].sum() for low, high in EVERY])
    share = expected**2 / theirs
    assert found.outer == pytest.approx(share * sums + (1 - share) * own.outer)


def test_a_range_that_cuts_a_leaf_gets_the_least_squares_estimate_of_tree_and_table() -> None:
    """Against the explicit solution, for every set of leaves that it may have leant on."""
    tree, other = pruned_tree(), table(DiscreteGaussianLaw(Fraction(9)))
    reader = opened(tree, other)
    found, index = joint(reader).fitted(*boxes()), joint(reader).trees[0].intervals
    counts = reader._library.made(TableLibrary).table(("age",)).counts[:CELLS]
    ends = [*index.starts.tolist(), CELLS]
    cut = 0
    for place, (low, high) in enumerate(EVERY):
        cut += low not in ends or high + 1 not in ends
        least = math.inf
        for start in range(len(ends) - 1):
            for stop in range(start + 1, len(ends)):
                asked, leaves = np.zeros(CELLS), np.zeros(CELLS)
                asked[low : high + 1] = 1.0
                leaves[ends[start] : ends[stop]] = 1.0
                own = index.deviation(np.array([start]), np.array([stop]))[0] ** 2
                gain = 9 * float(asked @ leaves) / (own + 9 * leaves.sum())
                variance = 9 * (asked.sum() - gain * float(asked @ leaves))
                if variance < least - 1e-9:
                    said = index.fitted_prefix[stop] - index.fitted_prefix[start]
                    least = variance
                    value = float(asked @ counts) + gain * (said - float(leaves @ counts))
        assert found.outer_std[place] == pytest.approx(math.sqrt(least))
        assert found.outer[place] == pytest.approx(value)
    assert cut > 50


FEW_OR_MANY = pytest.mark.parametrize("draws", [300, pytest.param(1000, marks=pytest.mark.trust)])


@FEW_OR_MANY
@pytest.mark.parametrize("of", [table, residuals])
def test_the_deviation_of_a_combination_is_that_of_its_error(of, draws) -> None:
    """Wide Gaussian noise, so that (error / deviation)^2 summed over draws is chi-squared: false alarm 1e-7;
    sees a variance that is off by 30% in 1,000 draws, by 60% in 300. One range a draw, and the total."""
    asked = [EVERY[place] for place in generator(None).integers(0, len(EVERY), draws)]
    squares = np.zeros(2)
    for low, high in asked:
        reader = opened(whole_tree(NARROW), of(WIDE))
        found = joint(reader).fitted(*boxes([(low, high)]))
        squares[0] += ((found.outer[0] - AGES[low : high + 1].sum()) / found.outer_std[0]) ** 2
        total = reader.ask("SELECT count(*) FROM people", whole=False).only
        squares[1] += ((total.estimate - len(ROWS)) / total.std) ** 2
    low, high = chi2.ppf([2.5e-8, 1 - 2.5e-8], draws)
    assert ((low < squares) & (squares < high)).all(), squares / draws


@FEW_OR_MANY
def test_intervals_of_a_pruned_tree_and_a_table_hold_and_are_narrower_than_either_alone(
    draws,
) -> None:
    """Laplace noise, one range a draw. At 95% a nominal interval misses 6% of the time at most: binomial,
    false alarm 1e-7; sees a coverage below 89% in 1,000 draws, below 83% in 300. Widths are 0.68 of the table's on
    average; with a deviation of 0.34 of it a draw, 0.95 is 13 deviations of the mean away in 300 draws."""
    hits, widths = 0, np.zeros(3)
    for low, high in [EVERY[k] for k in generator(None).integers(0, len(EVERY), draws)]:
        tree, other = pruned_tree(), table(DiscreteLaplaceLaw(Fraction(2)))
        answers = [
            opened(*parts).count_many("age", [low], [high])
            for parts in ((tree, other), (tree,), (other,))
        ]
        widths += [float(each.upper[0] - each.lower[0]) for each in answers]
        hits += answers[0].lower[0] <= AGES[low : high + 1].sum() <= answers[0].upper[0]
    assert draws - hits <= binom.isf(1e-7, draws, 0.06)
    assert widths[0] < 0.95 * widths[1:].min(), widths / draws


def test_two_intervals_for_a_cut_range_share_the_risk() -> None:
    """Nine tenths to the one with less noise, whatever the values: miss probabilities add up to 5%."""
    one = np.ones(1)
    for own, theirs in ((2.0, 3.0), (3.0, 2.0)):
        alone = RangeEstimates(50 * one, 44 * one, 60 * one, 0 * one, theirs * one)
        found = JoinedEstimates(
            52 * one, 52 * one, 52 * one, own * one, own * one, 0 * one, 2 * one.astype(int), alone
        )
        _, lower, upper, _, is_exact = joint_ends(found, 0.05, 0.0)
        risks = (0.045, 0.005) if own < theirs else (0.005, 0.045)
        mine, tree = (NormalDist().inv_cdf(1 - risk / 2) for risk in risks)
        assert lower[0] == pytest.approx(max(44.0, 52 - mine * own))
        assert upper[0] == pytest.approx(min(60 + tree * theirs, 52 + mine * own))
        assert is_exact.all()


def test_equal_questions_get_equal_answers_one_by_one_in_arrays_and_in_groups() -> None:
    reader = opened(pruned_tree(), table(LAPLACE))
    many = reader.count_many("age", [low for low, _ in EVERY], [high for _, high in EVERY])
    coded = reader.count_many(
        "age", [low for low, _ in EVERY], [high for _, high in EVERY], codes=True
    )
    for place, (low, high) in enumerate(EVERY):
        asked = reader.ask(f"SELECT count(*) FROM people WHERE age BETWEEN {low} AND {high}").only
        for found in (many, coded):
            assert (asked.estimate, asked.lower, asked.upper) == (
                found.estimate[place], found.lower[place], found.upper[place]
            )  # fmt: skip
    grouped = reader.ask("SELECT age, count(*), sum(age) FROM people GROUP BY age")
    cells = reader.count_cells(["age"], np.arange(CELLS + 1))
    assert [row.group["age"] for row in grouped][-1] == "null", "which no tree counts"
    assert np.array_equal(grouped.columns[0].estimate, cells.estimate)
    assert np.array_equal(grouped.columns[0].upper, cells.upper)
    single = reader.ask("SELECT count(*) FROM people WHERE age = 5").only
    assert (single.estimate, single.upper) == (cells.estimate[5], cells.upper[5])
    assert any(map(is_combined, grouped.notes))
    assert not any("without a value" in note for note in grouped.notes)


def test_an_answer_says_of_how_many_measurements_it_is_combined() -> None:
    question = "SELECT count(*) FROM people WHERE age >= 4"
    notes = opened(whole_tree(NARROW), table(WIDE)).ask(question).notes
    assert combined_note(2) in notes
    notes = opened(whole_tree(NARROW), whole_tree(WIDE), table(WIDE)).ask(question).notes
    assert combined_note(3) in notes
    for lone in (whole_tree(NARROW), table(WIDE)):
        assert not any(map(is_combined, opened(lone).ask(question).notes))


def deviation(reader: ReleaseReader, question: str) -> float:
    return reader.ask(question, whole=False).only.std


def test_two_trees_over_the_same_columns_are_combined_also_without_a_table() -> None:
    question = "SELECT count(*) FROM people WHERE age BETWEEN 3 AND 9"
    one, two = (
        deviation(opened(whole_tree(WIDE)), question),
        deviation(opened(whole_tree(NARROW)), question),
    )
    both = deviation(opened(whole_tree(WIDE), whole_tree(NARROW)), question)
    assert both == pytest.approx(1 / math.hypot(1 / one, 1 / two))
    shifts = ((4, 2), (0, 0))
    turned = whole_tree(NARROW, ("kids", "age"), ((2, 4), (0, 0)))
    boxed = "SELECT count(*) FROM people WHERE age BETWEEN 3 AND 9 AND kids >= 2"
    one = deviation(opened(whole_tree(WIDE, ("age", "kids"), shifts)), boxed)
    two = deviation(opened(turned), boxed)
    three = deviation(opened(table(WIDE, ("age", "kids"))), boxed)
    every = opened(whole_tree(WIDE, ("age", "kids"), shifts), turned, table(WIDE, ("age", "kids")))
    assert deviation(every, boxed) == pytest.approx(1 / math.sqrt(one**-2 + two**-2 + three**-2))


def test_the_total_is_combined_from_every_class_that_knows_it() -> None:
    """The tree counts values only: the table's cell of nulls makes up for it."""
    question = "SELECT count(*) FROM people"
    plain = deviation(opened(table(WIDE)), question)
    tree = deviation(opened(table(WIDE), whole_tree(NARROW)), question)
    assert tree < 0.5 * plain
    two = deviation(
        opened(
            table(WIDE),
            whole_tree(NARROW),
            whole_tree(NARROW, ("kids",), ((0,),)),
            table(WIDE, ("kids",)),
        ),
        question,
    )
    assert two < tree
    known = [predicates(WIDE), splits(WIDE), grid(NARROW), table(WIDE)]
    stds = [deviation(opened(part), question) for part in known]
    assert deviation(opened(*known), question) == pytest.approx(
        1 / math.sqrt(sum(std**-2 for std in stds))
    )
    assert opened(*known).ask(question).notes[-1] == combined_note(4)
    rows = opened(table(WIDE), whole_tree(NARROW), public_rows=len(ROWS)).ask(question).only
    assert (rows.lower, rows.upper) == (len(ROWS), len(ROWS))


def test_the_count_of_values_and_a_sum_are_combined_with_the_table() -> None:
    present = measured(SCHEMA, PresentCount("age"), [AGES.sum() + noise(WIDE, 1)[0]], WIDE)
    total = int((AGES * np.arange(CELLS)).sum())
    added = measured(SCHEMA, ClampedSum("age", grid=1), [total + noise(WIDE, 1)[0]], WIDE)
    sums = part_of(Sums("age"), added)
    alone = opened(sums).ask("SELECT sum(age) FROM people").only.std
    by_cells = opened(table(NARROW)).ask("SELECT sum(age) FROM people").only.std
    both = opened(sums, table(NARROW)).ask("SELECT sum(age) FROM people")
    assert both.only.std == pytest.approx(1 / math.hypot(1 / alone, 1 / by_cells))
    assert both.notes == (combined_note(2),)
    counted = "SELECT count(age) FROM people"
    parts = [whole_tree(NARROW), part_of(Sums("age"), present), table(NARROW)]
    stds = [deviation(opened(part), counted) for part in parts]
    assert deviation(opened(*parts), counted) == pytest.approx(
        1 / math.sqrt(sum(std**-2 for std in stds))
    )


def test_readings_with_a_part_in_common_are_not_taken_for_independent() -> None:
    one = Reading.of(10.0, ((1.0, WIDE, 1),), frozenset({0}))
    other = Reading.of(30.0, ((1.0, NARROW, 1),), frozenset({1}))
    both = combined([one, other])
    assert (both.value, both.sources, both.parts) == (26.0, 2, {0, 1})
    assert both.variance == pytest.approx(80.0)
    assert combined([one, one, other, one]) == both
    shared = Reading.of(30.0, ((1.0, NARROW, 1),), frozenset({0, 1}))
    assert combined([one, shared]) == shared, "the less noisy one alone"


def test_declared_predicates_splits_trees_and_tables_are_combined_where_each_knows_a_count() -> (
    None
):
    question = "SELECT count(*) FROM people WHERE age >= 8"
    parts = [predicates(WIDE), splits(WIDE), whole_tree(NARROW), table(WIDE)]
    stds = [deviation(opened(part), question) for part in parts]
    for some in ([0, 1], [0, 2], [0, 3], [1, 3], [2, 3], [0, 1, 2, 3]):
        reader = opened(*(parts[place] for place in some))
        expected = 1 / math.sqrt(sum(stds[place] ** -2 for place in some))
        found = reader.ask(question, whole=False)
        assert found.only.std == pytest.approx(expected)
        assert found.only.covers is Covers.NOISE and combined_note(len(some)) in found.notes
        assert abs(found.only.estimate - AGES[8:].sum()) < 40 * expected


def test_a_part_that_is_asked_in_two_ways_is_counted_once() -> None:
    """The tree and the table behind a range are in its reading already."""
    reader = opened(predicates(WIDE), whole_tree(NARROW), table(WIDE))
    question = "SELECT count(*) FROM people WHERE age >= 8 OR age >= 8"
    both = reader.ask(question)
    assert combined_note(3) in both.notes
    assert sum(map(is_combined, both.notes)) == 1


def test_a_grid_of_single_cells_and_a_table_of_them_are_one_grid_of_less_noise() -> None:
    question = "SELECT count(*) FROM people WHERE age + 2 * kids >= 9"
    slope = ("age + 2 * kids >= 9", "age + 2 * kids < 9")
    counts = StrategyCounts.of(SCHEMA, slope)
    rows: Any = ROWS
    truth = sum(r["age"] is not None and r["age"] + 2 * r["kids"] >= 9 for r in rows)
    exact = np.array([truth, AGES.sum() - truth]) + noise(WIDE, 2)
    declared = part_of(Predicates(slope), measured(SCHEMA, counts, exact, WIDE), kind="predicates")
    parts = [grid(WIDE), table(NARROW, ("age", "kids")), declared]
    stds = [deviation(opened(part), question) for part in parts]
    every = opened(*parts).ask(question)
    assert every.only.std == pytest.approx(1 / math.sqrt(sum(std**-2 for std in stds)))
    assert [note for note in every.notes if is_combined(note)] == [combined_note(3)]
    parts, stds = parts[:2], stds[:2]
    assert combined_note(2) in opened(*parts).ask(question).notes
    assert deviation(opened(*parts), question) == pytest.approx(
        1 / math.hypot(*(1 / s for s in stds))
    )


def test_rows_that_only_one_source_counts_are_not_combined_away() -> None:
    """Where outside values have a cell of their own a condition may take it, and no tree has it."""
    columns = (IntegerColumn("age", 0, CELLS - 1, 1, outside="other"), *SCHEMA.columns[1:])
    schema = Schema(dataset="people", columns=columns)
    rows: list[Any] = [*ROWS, *({"age": 99, "kids": 1, "sex": "F"},) * 50]
    release = release_of_tables(schema, [["age"]], rows, parts=[whole_tree(WIDE)])
    reader = ReleaseReader(release)
    found = reader.ask("SELECT count(*) FROM people WHERE age >= 8")
    assert found.only.upper == AGES[8:].sum() + 50 and not any(map(is_combined, found.notes))
