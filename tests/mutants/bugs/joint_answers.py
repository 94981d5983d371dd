"""Bugs of answers that several measurements share: noise forgotten, counted twice, or promised twice."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

JOINED = "tests/answers/test_joined_answers.py"
ONE_WAY = "tests/answers/test_one_way_to_an_answer.py"

JOINT_ANSWERS = (
    Mutant(
        name="a-combination-ignores-the-noise-of-its-tree",
        trap=42,
        file="src/discreet/families/ranges/answer/joined_ranges.py",
        old="        between[:, row, row] += noise[:, row]\n",
        new="",
        tests=(
            f"{JOINED}::test_a_range_that_leaves_make_up_gets_the_inverse_variance_combination",
        ),
    ),
    Mutant(
        name="a-combination-has-the-noise-of-its-best-reading-only",
        trap=42,
        file="src/discreet/answering/readings.py",
        old="    variance = math.fsum(weight**2 * each.variance for weight, each in used)\n",
        new="    variance = math.fsum(weight**2 * each.variance for weight, each in used[:1])\n",
        tests=(
            f"{JOINED}::test_declared_predicates_splits_trees_and_tables_are_combined_where_each_knows_a_count",
        ),
    ),
    Mutant(
        name="a-part-that-is-read-twice-counts-as-two",
        trap=42,
        file="src/discreet/answering/readings.py",
        old="        if not any(each.parts & other.parts for other in kept):\n",
        new="        if not any(each is other for other in kept):\n",
        tests=(
            f"{JOINED}::test_readings_with_a_part_in_common_are_not_taken_for_independent",
            f"{JOINED}::test_a_part_that_is_asked_in_two_ways_is_counted_once",
        ),
    ),
    Mutant(
        name="the-noise-that-tables-share-is-forgotten",
        trap=42,
        file="src/discreet/families/tables/estimate/symmetric_tables.py",
        old="                part = part * (common[name] - mine[name] * theirs[name] * size)\n",
        new="                part = part * common[name]\n",
        tests=(f"{JOINED}::test_the_deviation_of_a_combination_is_that_of_its_error",),
    ),
    Mutant(
        name="two-intervals-that-must-both-hold-take-the-whole-risk-each",
        trap=42,
        file="src/discreet/families/ranges/answer/joint_estimates.py",
        old="spread_factor(np.where(used, own, 1.0) * risk, tail)",
        new="spread_factor(np.where(used, 1.0, own) * risk, tail)",
        tests=(f"{JOINED}::test_two_intervals_for_a_cut_range_share_the_risk",),
    ),
    Mutant(
        name="values-outside-the-domain-are-combined-away",
        trap=42,
        file="src/discreet/families/ranges/answer/joining.py",
        old="    if any(column.has_other for column in declared):\n        return None\n",
        new="",
        tests=(f"{JOINED}::test_rows_that_only_one_source_counts_are_not_combined_away",),
    ),
    Mutant(
        name="an-answer-is-that-of-another-region-of-the-batch",
        trap=42,
        file="src/discreet/answering/asking.py",
        old="                    [each[place] for each in read], region",
        new="                    [each[0] for each in read], region",
        tests=(
            f"{ONE_WAY}::test_every_kind_of_part_answers_in_a_batch_as_alone",
            f"{ONE_WAY}::test_a_kind_of_part_from_outside_is_asked_like_any_other",
        ),
    ),
    Mutant(
        name="only-the-last-aggregate-tells-its-notes",
        trap=42,
        file="src/discreet/answering/asking.py",
        old="            notes |= dict.fromkeys(own.notes)\n",
        new="            notes = dict.fromkeys(own.notes)\n",
        tests=(
            f"{ONE_WAY}::test_a_models_note_is_told_in_whichever_order_a_question_lists_its_aggregates",
            f"{ONE_WAY}::test_an_aggregate_is_answered_the_same_whatever_stands_beside_it",
        ),
    ),
    Mutant(
        name="a-public-total-counts-the-cells-that-were-not-asked-for",
        trap=42,
        file="src/discreet/answering/regions/public_total.py",
        old="rows - (total - sums))",
        new="rows - sums)",
        tests=(f"{ONE_WAY}::test_most_cells_are_counted_as_a_public_total_less_the_others",),
    ),
)
