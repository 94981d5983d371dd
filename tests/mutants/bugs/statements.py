"""Bugs in statements: one charge for several questions, intervals of expressions, and functions of rows."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

COVERAGE = "tests/postprocessing/test_interval_coverage.py"
CORPUS = "tests/postprocessing/test_corpus.py"
JOINT = "tests/answers/test_joint_noise.py"
ARITHMETIC = "tests/postprocessing/test_interval_arithmetic.py"
REFUSED = "tests/postprocessing/test_refused_statements.py"
WORK = "tests/postprocessing/test_work.py"
FAR = "tests/curator/test_far_from_zero.py"
SUMS = "tests/answers/test_sums_of_expressions.py"
ODD = "tests/answers/test_odd_questions.py"
UNDERSTOOD = "tests/postprocessing/test_understood_clauses.py"
EVERY_CLAUSE = (f"{UNDERSTOOD}::test_every_clause_is_refused_or_answered_as_duckdb_does",)
EVERY_FUNCTION = (f"{UNDERSTOOD}::test_every_function_is_refused_or_answered_as_duckdb_does",)

GROUPS = "tests/curator/test_computed_groups.py"
FORESEEN = "tests/releases/test_foreseen_claims.py"

STATEMENTS = (
    Mutant(
        name="rows-that-are-alike-are-summed-one-by-one",
        trap=42,
        file="src/discreet/postprocessing/windows.py",
        old="""    if frame == ROWS:
        return""",
        new="""    if frame != WHOLE:
        return""",
        tests=(f"{CORPUS}::test_a_curator_without_noise_answers_as_duckdb_does",),
    ),
    Mutant(
        name="a-rank-by-a-noisy-second-key-is-exact",
        trap=42,
        file="src/discreet/postprocessing/across.py",
        old="""    if noisy is None:
        return""",
        new="""    if noisy is None or noisy > 0:
        return""",
        tests=(f"{COVERAGE}::test_intervals_of_expressions_hold[a rank by a second key]",),
    ),
    Mutant(
        name="how-many-groups-noise-leaves-is-exact",
        trap=42,
        file="src/discreet/postprocessing/working/expressions.py",
        old="""value is None and doubt is not None and""",
        new="""value is None and doubt is None and""",
        tests=(f"{COVERAGE}::test_intervals_of_expressions_hold[how many are large]",),
    ),
    Mutant(
        name="a-text-over-results-grows-without-an-end",
        trap=42,
        file="src/discreet/postprocessing/functions.py",
        old="""            if length > LONGEST_RESULT or""",
        new="""            if length > 1_000_000 or""",
        tests=(f"{REFUSED}::test_what_is_refused_is_refused_in_words_of_sql",),
    ),
    Mutant(
        name="a-sum-of-rows-that-noise-chose-has-the-law-of-so-many-draws",
        trap=42,
        file="src/discreet/postprocessing/across.py",
        old="""value.noise is not None and chosen_from(value) == 1:
""",
        new="""value.noise is not None:
""",
        tests=(f"{ARITHMETIC}::test_a_sum_of_rows_that_noise_chose_is_no_sum_of_so_many_draws",),
    ),
    Mutant(
        name="a-mean-of-rows-is-divided-by-one-too-many",
        trap=42,
        file="src/discreet/postprocessing/across.py",
        old="""    return found.times(1 / size) if is_mean else found
""",
        new="""    return found.times(1 / (size + 1)) if is_mean else found
""",
        tests=(f"{ARITHMETIC}::test_groups_of_several_sizes_have_each_the_law_of_its_own_sum",),
    ),
    Mutant(
        name="a-group-by-means-an-alias-before-a-column-that-it-names",
        trap=42,
        file="src/discreet/postprocessing/reading/row_selects.py",
        old="folded(column.name) not in own and not own <= written",
        new="folded(column.name) not in own",
        tests=(f"{CORPUS}::test_a_curator_without_noise_answers_as_duckdb_does",),
    ),
    Mutant(
        name="keys-that-share-a-column-list-groups-that-no-row-can-be-in",
        trap=42,
        file="src/discreet/questions/groups_together.py",
        old="            kept &= np.isin(",
        new="            kept |= np.isin(",
        tests=(f"{GROUPS}::test_keys_have_the_groups_together_that_some_row_can_be_in",),
    ),
    Mutant(
        name="nulls-have-no-place-among-the-groups-of-keys-together",
        trap=42,
        file="src/discreet/questions/groups_together.py",
        old="[key.bins.null for key in on_line]",
        new="[0 for key in on_line]",
        tests=(f"{GROUPS}::test_keys_have_the_groups_together_that_some_row_can_be_in",),
    ),
    Mutant(
        name="the-cells-at-the-ends-are-thought-to-hold-declared-values-alone",
        trap=42,
        file="src/discreet/questions/keys.py",
        old="""        else (unclamped(reach_of_cells(column, code, code + 1), column),)
""",
        new="""        else (reach_of_cells(column, code, code + 1),)
""",
        tests=(f"{GROUPS}::test_a_condition_leaves_the_cells_that_a_raw_value_may_be_in",),
    ),
    Mutant(
        name="a-plan-invents-a-table-without-noise",
        trap=42,
        file="src/discreet/releases/foreseen.py",
        old="""            drawn = exact + drawn_like(law, len(exact), self._public)
""",
        new="""            drawn = exact
""",
        tests=(f"{FORESEEN}::test_a_plan_foresees_the_claims_of_tables",),
    ),
    Mutant(
        name="a-deep-expression-is-written-as-one-tree",
        trap=37,
        file="src/discreet/engines/sql/syntax.py",
        old="_LARGE_TREE = 60\n",
        new="_LARGE_TREE = 10**9\n",
        tests=(
            "tests/engines/test_deep_expressions.py::test_what_the_reader_takes_every_dialect_writes",
        ),
    ),
    Mutant(
        name="what-is-written-out-again-and-again-is-counted-once",
        trap=37,
        file="src/discreet/questions/limits/work.py",
        old="_OF_A_TEXT, _OF_A_DATE = 32, 14\n",
        new="_OF_A_TEXT, _OF_A_DATE = 1, 1\n",
        tests=(
            "tests/engines/test_deep_expressions.py::test_no_dialect_writes_a_part_more_often_than_the_reader_counts",
        ),
    ),
    Mutant(
        name="each-question-of-a-statement-spends-the-whole-budget",
        trap=27,
        file="src/discreet/curator/planning.py",
        old="""    parts = iter(shares(allowed, [weight for each in weights for weight in each.values()]))
""",
        new="""    parts = iter([part for each in weights for part in shares(allowed, list(each.values()))])
""",
        tests=(f"{CORPUS}::test_a_curator_without_noise_answers_as_duckdb_does",),
    ),
    Mutant(
        name="the-parts-of-an-expression-each-take-the-whole-risk",
        trap=42,
        file="src/discreet/postprocessing/values.py",
        old="        return 1 - (1 - self.confidence) / self.shared[level]\n",
        new="        return self.confidence\n",
        tests=(f"{COVERAGE}::test_levels_share_the_risk",),
    ),
    Mutant(
        name="numbers-that-share-their-draws-count-as-independent",
        trap=42,
        file="src/discreet/postprocessing/values.py",
        old="""        if any(rows.get(place[:2], place[2]) != place[2] for place in other.terms):
            return None
""",
        new="",
        tests=(f"{ARITHMETIC}::test_a_sum_over_rows_is_not_independent_of_one_of_them",),
    ),
    Mutant(
        name="a-quotient-is-bounded-although-its-divisor-may-be-zero",
        trap=42,
        file="src/discreet/postprocessing/arithmetic.py",
        old="    upper = np.where(may_be_zero, np.inf, upper)\n",
        new="",
        tests=(f"{ARITHMETIC}::test_interval_arithmetic_holds_whatever_the_numbers_are",),
    ),
    Mutant(
        name="a-case-that-is-not-sure-shows-one-branch",
        trap=42,
        file="src/discreet/postprocessing/arithmetic.py",
        old="    if unsure is not None:\n        lower = np.where(unsure",
        new="    if False:\n        lower = np.where(unsure",
        tests=(f"{ARITHMETIC}::test_a_case_that_is_not_sure_covers_both_branches",),
    ),
    Mutant(
        name="rows-are-shown-where-a-subquery-has-no-aggregate",
        trap=37,
        file="src/discreet/postprocessing/reading/statement.py",
        old="""        if isinstance(table, Rows):
            raise BadQuestion(ROWS_ARE_NOT_SHOWN)
        if len(self.pending)""",
        new="""        if isinstance(table, Rows):
            table = _NO_WORK
        if len(self.pending)""",
        tests=(
            "tests/curator/test_curator_refusals.py::test_a_question_outside_the_allow_list_is_refused_unread_and_uncharged",
        ),
    ),
    Mutant(
        name="work-that-cannot-be-done-is-charged-for",
        trap=25,
        file="src/discreet/curator/curator.py",
        old="""        statement.rehearse()
        with self._visitors.inside():
""",
        new="""        with self._visitors.inside():
""",
        tests=(f"{REFUSED}::test_work_that_cannot_be_done_is_refused_before_the_charge",),
    ),
    Mutant(
        name="a-files-statistics-plan-another-query",
        trap=33,
        file="src/discreet/engines/duckdb/session.py",
        old="statistics_propagation,filter_pushdown",
        new="filter_pushdown",
        tests=(
            f"{FAR}::test_what_a_file_says_of_its_columns_decides_nothing",
            "tests/audits/test_question_neighbours.py::test_one_row_decides_no_question",
        ),
    ),
    Mutant(
        name="a-ratio-forgets-the-noise-of-its-divisor",
        trap=42,
        file="src/discreet/postprocessing/ratios.py",
        old="    return half_width((*top, *scaled(bottom, ratio)), confidence)\n",
        new="    return half_width(top, confidence)\n",
        tests=(f"{COVERAGE}::test_intervals_of_expressions_hold[a large ratio]",),
    ),
    Mutant(
        name="a-ratio-of-numbers-that-share-a-draw-counts-them-as-independent",
        trap=42,
        file="src/discreet/postprocessing/ratios.py",
        old="        return None  # they share a draw\n",
        new="        pass\n",
        tests=(
            f"{ARITHMETIC}::test_a_ratio_of_numbers_that_share_a_draw_is_left_to_the_union_bound",
        ),
    ),
    Mutant(
        name="a-row-that-may-have-no-value-adds-one",
        trap=42,
        file="src/discreet/families/tables/answer/sums/added_values.py",
        old="    if reach.null:  # such a row adds nothing\n",
        new="    if False:\n",
        tests=(f"{SUMS}::test_a_row_that_may_have_no_value_may_add_nothing",),
    ),
    Mutant(
        name="a-root-of-what-may-be-below-zero-always-has-a-value",
        trap=42,
        file="src/discreet/questions/cells/reaching/arithmetic.py",
        old="        return numbers(first, last, null=low < least)\n",
        new="        return numbers(first, last)\n",
        tests=(f"{SUMS}::test_a_row_that_may_have_no_value_may_add_nothing",),
    ),
    Mutant(
        name="a-logarithm-is-taken-of-whatever-a-row-holds",
        trap=33,
        file="src/discreet/engines/postgres/numbers.py",
        old="                [(s.at_most(s.double(least), number), s.call(function, number))], s.null()\n",
        new="                [(s.is_null(number), s.null())], s.call(function, number)\n",
        tests=(
            "tests/engines/test_battery.py"
            "::test_both_engines_count_awkward_values_alike[doubles-awkward people]",
        ),
    ),
    Mutant(
        name="a-power-of-a-power-is-written-out-without-an-end",
        trap=34,
        file="src/discreet/questions/reading/numbers.py",
        old="        self.terms += (int(known) - 1) * (self.terms - before)  # it is written out so often\n",
        new="",
        tests=(f"{REFUSED}::test_powers_of_powers_are_refused_before_they_are_written_out",),
    ),
    Mutant(
        name="grouping-sets-are-made-without-an-end",
        trap=34,
        file="src/discreet/postprocessing/reading/row_selects.py",
        old="        if many > MOST_SETS:\n",
        new="        if many < 0:\n",
        tests=(
            f"{REFUSED}::test_what_grows_without_an_end_once_it_is_written_out_is_refused_before[cube]",
        ),
    ),
    Mutant(
        name="results-of-with-are-used-without-an-end",
        trap=34,
        file="src/discreet/postprocessing/reading/statement.py",
        old="        if self._uses > MOST_USES:\n",
        new="        if self._uses < 0:\n",
        tests=(
            f"{REFUSED}::test_what_grows_without_an_end_once_it_is_written_out_is_refused_before[results of WITH]",
        ),
    ),
    Mutant(
        name="columns-of-subqueries-are-written-out-without-an-end",
        trap=34,
        file="src/discreet/postprocessing/reading/scope.py",
        old="            if written_out > MOST_WRITTEN_OUT:\n",
        new="            if written_out < 0:\n",
        tests=(
            f"{REFUSED}::test_what_grows_without_an_end_once_it_is_written_out_is_refused_before[columns of subqueries]",
        ),
    ),
    Mutant(
        name="names-of-select-are-written-out-without-an-end",
        trap=34,
        file="src/discreet/postprocessing/reading/expressions.py",
        old="            if self._names_used > MOST_NAMES_USED:\n",
        new="            if self._names_used < 0:\n",
        tests=(
            f"{REFUSED}::test_what_grows_without_an_end_once_it_is_written_out_is_refused_before[names]",
        ),
    ),
    Mutant(
        name="the-distance-of-boxes-that-begin-at-the-edge-alone",
        trap=42,
        file="src/discreet/families/ranges/answer/box_usefulness.py",
        old="        between = sums[row:] - sums[row]\n",
        new="        between = sums[row:]\n",
        tests=(
            "tests/ranges/test_range_usefulness.py::test_the_distance_of_all_boxes_is_the_largest_of_each",
        ),
    ),
    Mutant(
        name="draws-that-two-numbers-share-count-as-two",
        trap=42,
        file="src/discreet/postprocessing/joint_noise.py",
        old="weights[key] = (law, weights[key][1] + each) if key in weights else (law, each)",
        new="weights[(key, len(weights)) if key in weights else key] = (law, each)",
        tests=(f"{JOINT}::test_a_difference_of_counts_has_the_noise_of_the_cells_that_differ",),
    ),
    Mutant(
        name="a-ratio-is-not-looked-for-beyond-its-first-end",
        trap=42,
        file="src/discreet/postprocessing/joint_noise.py",
        old="        larger = [np.maximum(np.abs(a / r - b), np.abs(b)) for a, b in self._parts]\n",
        new="        larger = [np.zeros(len(b)) for _, b in self._parts]\n",
        tests=(f"{JOINT}::test_a_ratio_is_looked_for_as_far_as_the_law_of_its_noise_reaches",),
    ),
    Mutant(
        name="cells-left-out-of-a-public-total-have-the-wrong-sign",
        trap=42,
        file="src/discreet/answering/regions/public_total.py",
        old="np.where(fewer, weights - 1.0, weights)",
        new="np.where(fewer, 1.0 - weights, weights)",
        tests=(f"{JOINT}::test_more_than_half_of_a_public_total_is_counted_by_the_other_cells",),
    ),
    Mutant(
        name="a-mean-of-no-rows-is-its-bound",
        trap=42,
        file="src/discreet/postprocessing/functions.py",
        old="        estimate=np.where(np.isnan(number.estimate), np.nan, found.estimate),\n",
        new="        estimate=found.estimate,\n",
        tests=(f"{WORK}::test_an_aggregate_of_no_rows_is_unknown_and_never_a_bound",),
    ),
    Mutant(
        name="the-draws-of-a-group-are-put-beside-another",
        trap=42,
        file="src/discreet/families/tables/answer/shared_draws.py",
        old="            found[key][1][at] += each\n",
        new="            found[key][1][at - 1] += each\n",
        tests=(f"{WORK}::test_groups_that_where_rules_out_have_no_draws_of_their_own",),
    ),
    Mutant(
        name="noise-that-is-there-more-often-than-may-be-missed-has-no-width",
        trap=42,
        file="src/discreet/privacy/laws/fourier.py",
        old="    some = np.flatnonzero((variance > 0) & (nonzero > miss))\n",
        new="    some = np.flatnonzero((variance > 0) & (nonzero > 4 * miss))\n",
        tests=(
            "tests/privacy/test_laws_fourier.py::test_noise_that_is_hardly_ever_there_has_no_width_and_takes_no_time",
        ),
    ),
    Mutant(
        name="an-else-takes-no-row-whose-condition-is-unknown",
        trap=42,
        file="src/discreet/postprocessing/reading/aggregates.py",
        old="        return exp.Not(this=is_true)\n",
        new="        return exp.Not(this=exp.Paren(this=condition.copy()))\n",
        tests=(f"{CORPUS}::test_a_release_without_noise_answers_as_duckdb_does",),
    ),
    Mutant(
        name="groups-that-every-aggregate-rules-out-are-missing",
        trap=42,
        file="src/discreet/postprocessing/working/measured_groups.py",
        old="            every |= self._ruled_out(source, source.condition, full)\n",
        new="            pass\n",
        tests=(f"{CORPUS}::test_a_release_without_noise_answers_as_duckdb_does",),
    ),
    Mutant(
        name="what-is-null-by-the-estimates-is-surely-null",
        trap=42,
        file="src/discreet/postprocessing/functions.py",
        old="            unsure = _null_by_the_estimates(each) | of_nobody\n",
        new="            unsure = of_nobody\n",
        tests=(f"{ODD}::test_what_is_null_by_the_estimates_alone_may_have_a_value",),
    ),
    Mutant(
        name="undeclared-values-are-not-counted-among-the-different-ones",
        trap=42,
        file="src/discreet/postprocessing/reading/expressions.py",
        old="            known = declared\n",
        new="            pass\n",
        tests=(f"{ODD}::test_undeclared_values_count_as_one_different_value",),
    ),
    Mutant(
        name="what-no-reader-looks-at-is-understood",
        trap=37,
        file="src/discreet/questions/dialects/clauses.py",
        old="if part not in known and value",
        new='if part == "into" and value',
        tests=(f"{UNDERSTOOD}::test_a_part_that_is_not_listed_is_refused", *EVERY_CLAUSE),
    ),
    Mutant(
        name="arguments-that-the-parser-drops-are-not-missed",
        trap=37,
        file="src/discreet/questions/dialects/clauses.py",
        old="if id(each) not in kept and not",
        new="if id(each) in () and not",
        tests=EVERY_FUNCTION,
    ),
    Mutant(
        name="a-list-of-columns-behind-a-name-is-dropped",
        trap=37,
        file="src/discreet/postprocessing/reading/statement.py",
        old="        if not listed:\n",
        new="        if not listed or len(listed) != 5:\n",
        tests=EVERY_CLAUSE,
    ),
    Mutant(
        name="a-star-keeps-what-exclude-names",
        trap=37,
        file="src/discreet/postprocessing/reading/result_selects.py",
        old="for place, one in enumerate(columns) if place not in places]",
        new="for place, one in enumerate(columns) if place >= 0 or places]",
        tests=EVERY_CLAUSE,
    ),
    Mutant(
        name="a-window-beside-subtotals-is-of-each-grouping",
        trap=37,
        file="src/discreet/postprocessing/reading/row_selects.py",
        old="        if len(sets) > 1:\n            self._check",
        new="        if len(sets) > 1000:\n            self._check",
        tests=EVERY_CLAUSE,
    ),
    Mutant(
        name="a-grouping-that-is-listed-twice-is-shown-once",
        trap=37,
        file="src/discreet/postprocessing/reading/row_selects.py",
        old="made = [by_set[present] for present in sets]",
        new="made = list(by_set.values())",
        tests=EVERY_CLAUSE,
    ),
    Mutant(
        name="subtotals-that-are-alike-are-distinct",
        trap=37,
        file="src/discreet/postprocessing/reading/row_selects.py",
        old='is_distinct=bool(select.args.get("distinct")),',
        new="is_distinct=False,",
        tests=EVERY_CLAUSE,
    ),
    Mutant(
        name="not-like-over-results-is-like",
        trap=37,
        file="src/discreet/postprocessing/reading/calls.py",
        old='return Call("not", (made,)) if node.args.get("negate") else made',
        new="return made",
        tests=EVERY_CLAUSE,
    ),
)
