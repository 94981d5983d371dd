"""Bugs of the curator: what is charged, read, named, recorded, and how wide an interval is."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ANSWERS = "tests/curator/test_curator_answers.py"
COVERAGE = "tests/curator/test_curator_coverage.py"
ENGINE = "tests/curator/test_curator_engine.py"
EXPRESSIONS = "tests/curator/test_curator_expressions.py"
CHOICES = "tests/queries/test_group_choices.py"
GUARDS = "tests/curator/test_curator_guards.py"
KEYS = "tests/curator/test_curator_keys.py"
NAMING = "tests/kernel/test_partition_selection.py"
VIEWS = "tests/curator/test_curator_views.py"
LONG = "tests/curator/test_long_texts.py"
COMPUTED = "tests/curator/test_computed_groups.py"
CELLS = "tests/queries/test_expressions_on_cells.py"
RANDOM = "tests/curator/test_random_expressions.py"

PAID = f"{GUARDS}::test_tallies_are_read_on_a_charge_that_pays_for_all_of_them"
RECORD = f"{ANSWERS}::test_the_same_question_is_answered_from_the_record_at_no_cost"
TOUCHED = f"{KEYS}::test_no_person_moves_more_keys_or_numbers_of_people_than_is_paid_for"
OWN_NOISE = f"{KEYS}::test_the_numbers_of_found_groups_have_noise_of_their_own_and_are_paid_apart"
GAUSSIAN = (
    "tests/kernel/test_gaussian_selection.py::"
    "test_the_names_of_all_keys_together_keep_epsilon_and_delta"
)
ONE_UNIT = f"{NAMING}::test_one_unit_more_changes_the_chance_of_a_name_by_no_more_than_its_part_of_epsilon_and_delta"
READING = """        self._spend(costs)
        self._begin_reading()
        counted = [*(each.query for each in requests), *(each.scores.tally for each in choices)]
        exact = self._engine.tally(counted)
"""

CURATOR = (
    Mutant(
        name="a-tally-is-charged-after-it-was-read",
        trap=25,
        file="src/discreet/core/vault.py",
        old=READING,
        new="""        counted = [*(each.query for each in requests), *(each.scores.tally for each in choices)]
        exact = self._engine.tally(counted)
        self._spend(costs)
        self._begin_reading()
""",
        tests=(PAID,),
    ),
    Mutant(
        name="only-the-first-tally-of-a-question-is-paid",
        trap=27,
        file="src/discreet/core/vault.py",
        old=READING,
        new=READING.replace("self._spend(costs)", "self._spend(costs[:1])"),
        tests=(PAID,),
    ),
    Mutant(
        name="every-aggregate-gets-the-whole-budget",
        trap=27,
        file="src/discreet/curator/planning.py",
        old="iter(shares(allowed, [weight for each in weights for weight in each.values()]))",
        new="iter([allowed] * sum(map(len, weights)))",
        tests=(f"{ANSWERS}::test_one_charge_pays_for_all_the_aggregates_of_a_question",),
    ),
    Mutant(
        name="a-repeated-question-is-drawn-anew",
        trap=31,
        file="src/discreet/curator/recording.py",
        old='            "version": self.version,\n',
        new='            "version": self.version + str(time.monotonic_ns()),\n',
        tests=(RECORD,),
    ),
    Mutant(
        name="an-answer-leaves-before-it-is-recorded",
        trap=25,
        file="src/discreet/curator/recording.py",
        old="""                measured = measure(grant)
                grant.record(measured.payload())
""",
        new="""                measured = measure(grant)
""",
        tests=(f"{ANSWERS}::test_an_answer_is_durable_before_it_leaves",),
    ),
    Mutant(
        name="a-changed-person-moves-groups-like-an-added-one",
        trap=1,
        file="src/discreet/queries/tallies.py",
        old="            moved = min(2 * touched, cells)\n",
        new="            moved = touched\n",
        tests=(TOUCHED,),
    ),
    Mutant(
        name="a-changed-row-moves-one-group-of-a-tally",
        trap=1,
        file="src/discreet/queries/tallies.py",
        old="                return Sensitivity(l1=2 * rows * furthest, l2_squared=rows**2 * squared)\n",
        new="                return Sensitivity(l1=rows * furthest, l2_squared=rows**2 * squared)\n",
        tests=(f"{GUARDS}::test_no_row_moves_a_tally_further_than_it_says",),
    ),
    Mutant(
        name="a-tally-is-clamped-by-what-the-rows-hold",
        trap=19,
        file="src/discreet/engines/sql/expressions.py",
        old="(s.less(high, unit), high)]",
        new="(s.less(high, unit), unit)]",
        tests=(f"{ENGINE}::test_tallies_of_one_scan_add_up_what_the_rows_say",),
    ),
    Mutant(
        name="a-means-interval-takes-the-noisy-count-for-the-number-of-rows",
        trap=5,
        file="src/discreet/curator/answers/intervals.py",
        old="                width = _ratio_width(unit, above, int(place) / STEPS * reach, below, confidence)\n",
        new="                width = unit * above.half_width(confidence)\n",
        tests=(
            f"{COVERAGE}::test_a_means_interval_is_as_wide_as_the_noise_of_sum_and_count_together",
        ),
    ),
    Mutant(
        name="every-row-of-a-sum-is-rounded-to-the-coarse-grid",
        trap=11,
        file="src/discreet/curator/summing.py",
        old="        bits = max(1, ROW_BITS - ceil(widest).bit_length())\n",
        new="        bits = 0 * ceil(widest)\n",
        tests=(
            f"{COVERAGE}::test_a_sums_interval_covers_what_rounding_every_row_alike_takes_away",
        ),
    ),
    Mutant(
        name="keys-named-from-too-few-people-on",
        trap=18,
        file="src/discreet/core/mechanisms/partition_selection.py",
        old="    slack = delta.numerator * one // delta.denominator\n",
        new="    slack = 2 * delta.numerator * one // delta.denominator\n",
        tests=(ONE_UNIT,),
    ),
    Mutant(
        name="every-key-of-a-person-gets-the-whole-delta",
        trap=29,
        file="src/discreet/core/mechanisms/partition_selection.py",
        old="        return Keeping(epsilon=self.epsilon / touched, delta=self.delta / touched)\n",
        new="        return Keeping(epsilon=self.epsilon / touched, delta=self.delta)\n",
        tests=(ONE_UNIT,),
    ),
    Mutant(
        name="noise-that-hides-one-key-of-a-person-alone",
        trap=3,
        file="src/discreet/core/mechanisms/gaussian_selection.py",
        old="delta=delta / 2, l2_squared=touched)",
        new="delta=delta / 2, l2_squared=1)",
        tests=(GAUSSIAN,),
    ),
    Mutant(
        name="a-threshold-that-one-key-of-a-person-alone-stays-below",
        trap=29,
        file="src/discreet/core/mechanisms/gaussian_selection.py",
        old="    share = delta / touched * (",
        new="    share = delta * (",
        tests=(GAUSSIAN,),
    ),
    Mutant(
        name="every-key-that-there-is-is-named",
        trap=18,
        file="src/discreet/core/vault.py",
        old='        return self._noise.keep(keys, held, law, step=self._next_step("keep"))\n',
        new="        return tuple(keys[: len(held) + law.bits])\n",
        tests=(f"{KEYS}::test_groups_of_many_are_found_and_those_of_one_person_are_not",),
    ),
    Mutant(
        name="what-named-a-group-serves-for-its-numbers-too",
        trap=14,
        file="src/discreet/core/vault.py",
        old='                values=self._noise.add(own, law, step=self._next_step("tally")),\n',
        new=(
            '                values=self._noise.add(own, law, step=self._next_step("tally"))\n'
            "                if request.query.found is None\n"
            "                else own,\n"
        ),
        tests=(OWN_NOISE,),
    ),
    Mutant(
        name="names-and-numbers-of-found-groups-paid-as-one",
        trap=27,
        file="src/discreet/curator/planning.py",
        old="    return finder, Budget(epsilon=budget.epsilon - part)\n",
        new="    return finder, Budget(epsilon=budget.epsilon)\n",
        tests=(OWN_NOISE,),
    ),
    Mutant(
        name="keys-counted-by-rows-and-not-by-people",
        trap=3,
        file="src/discreet/engines/sql/keys.py",
        old="        once = exp.select(*whose, *grouped).from_(rows).distinct()\n",
        new="        once = exp.select(*whose, *grouped).from_(rows)\n",
        tests=(f"{KEYS}::test_a_key_counts_people_and_not_rows",),
    ),
    Mutant(
        name="keys-of-a-person-unbounded",
        trap=3,
        file="src/discreet/engines/sql/keys.py",
        old="        once = within_groups(once, grouped, schema.unit.groups, compiler.dialect)\n",
        new="",
        tests=(TOUCHED,),
    ),
    Mutant(
        name="groups-of-a-person-unbounded",
        trap=3,
        file="src/discreet/engines/sql/tallies.py",
        old="        return unit.max_groups is not None and unit.max_groups < unit.max_rows\n",
        new="        return unit.max_rows < 0\n",
        tests=(TOUCHED,),
    ),
    Mutant(
        name="a-view-joins-people-by-any-column",
        trap=3,
        file="src/discreet/schema/views.py",
        old="        if table not in self.public and not any(self._is_persons(*pair) for pair in equal):\n",
        new="        if not equal:\n",
        tests=(f"{VIEWS}::test_any_other_join_is_refused_in_a_sentence",),
    ),
    Mutant(
        name="a-view-takes-people-for-one-whom-rows-tell-apart",
        trap=3,
        file="src/discreet/engines/sql/views.py",
        old="        return dialect.identifier(raw(column), type_)\n",
        new="        return raw(column)\n",
        tests=(f"{VIEWS}::test_two_people_of_different_texts_never_meet_in_a_row",),
    ),
    Mutant(
        name="the-ends-of-an-interval-of-moments-are-rounded-inward",
        trap=42,
        file="src/discreet/curator/answers/answer_columns.py",
        old="    return rounded if rounded <= end else math.nextafter(rounded, -math.inf)\n",
        new="    return rounded\n",
        tests=(f"{COVERAGE}::test_the_median_of_moments_lies_in_its_cell_and_is_one_of_them",),
    ),
    Mutant(
        name="an-expression-is-added-up-without-its-clamp",
        trap=4,
        file="src/discreet/engines/sql/tallies.py",
        old="        return s.clamped_or_null(steps, s.whole(low), s.whole(high))\n",
        new="        return steps if low < high else s.null()\n",
        more=(
            (
                "            value = s.clamped_or_null(value, low, high)\n",
                "            value = s.choose([(s.is_null(low), high)], value)\n",
            ),
        ),
        tests=(
            f"{EXPRESSIONS}::test_a_row_adds_no_more_than_the_bounds_even_where_doubles_round_beyond_them",
        ),
    ),
    Mutant(
        name="the-bounds-of-a-product-come-from-two-corners",
        trap=4,
        file="src/discreet/questions/expression_bounds.py",
        old="    return _hull([a * b for a in left for b in right])\n",
        new="    return _hull([a * b for a, b in zip(left, right, strict=True)])\n",
        tests=(f"{EXPRESSIONS}::test_bounds_follow_from_the_schema",),
    ),
    Mutant(
        name="the-bounds-of-least-forget-that-nulls-are-passed-over",
        trap=4,
        file="src/discreet/questions/expression_bounds.py",
        old="        there = [pair for value, pair in zip(known, ends, strict=True) if _is_never_null(value)]\n",
        new="        there = list(ends)\n",
        tests=(f"{EXPRESSIONS}::test_bounds_follow_from_the_schema",),
    ),
    Mutant(
        name="a-centred-sum-forgets-the-noise-of-its-count",
        trap=5,
        file="src/discreet/curator/answers/answer_columns.py",
        old="    return tuple((abs(weight), law_of(term), 1) for weight, term in weighted_of(each))\n",
        new="    return tuple((abs(weight), law_of(term), 1) for weight, term in weighted_of(each)[:1])\n",
        tests=(f"{EXPRESSIONS}::test_a_sum_made_of_two_tallies_is_as_wide_as_the_noise_of_both",),
    ),
    Mutant(
        name="a-changed-row-moves-a-rank-like-an-added-one",
        trap=1,
        file="src/discreet/queries/group_choices.py",
        old="    return rows * changed\n",
        new="    return rows * min(added, changed)\n",
        tests=(f"{CHOICES}::test_one_row_moves_the_scores_of_all_groups_by_no_more_than_is_said",),
    ),
    Mutant(
        name="a-changed-row-moves-the-choice-of-one-group",
        trap=1,
        file="src/discreet/queries/group_choices.py",
        old="        return rows * 2 * added\n",
        new="        return rows * added\n",
        tests=(f"{CHOICES}::test_one_row_moves_the_scores_of_all_groups_by_no_more_than_is_said",),
    ),
    Mutant(
        name="only-the-first-of-many-choices-is-paid",
        trap=27,
        file="src/discreet/core/vault.py",
        old="for choice in choices for _ in range(choice.times)",
        new="for choice in choices[:1] for _ in range(choice.times)",
        tests=(f"{GUARDS}::test_choices_in_groups_are_made_on_a_charge_that_pays_for_all_of_them",),
    ),
    Mutant(
        name="a-cell-that-an-expression-cuts-counts-as-inside",
        trap=42,
        file="src/discreet/questions/cells/truths.py",
        old="FALSE * (False in truth.options)",
        new="FALSE * (truth.options == {False})",
        tests=(
            f"{CELLS}::test_a_cell_is_inside_if_all_its_values_are_and_outside_if_none_is",
            f"{CELLS}::test_two_columns_are_compared_on_the_product_of_their_cells",
        ),
    ),
    Mutant(
        name="cells-that-a-comparison-of-two-columns-cuts-count-as-inside",
        trap=42,
        file="src/discreet/answering/regions/selecting.py",
        old="return column.name == self.columns[0] and not np.isin(self.bits, SINGLE).all()",
        new="return False",
        tests=(f"{CELLS}::test_two_columns_are_compared_on_the_product_of_their_cells",),
    ),
    Mutant(
        name="an-expression-forgets-that-it-may-be-null",
        trap=42,
        file="src/discreet/questions/cells/reaching/expressions.py",
        old="    return found if found.null or not null else found._replace(null=True)\n",
        new="    return found\n",
        tests=(
            f"{RANDOM}::test_random_conditions_have_the_same_truth_on_cells_and_in_python",
            f"{CELLS}::test_counts_of_random_conditions_lie_in_their_intervals",
        ),
    ),
    Mutant(
        name="a-long-text-is-joined-with-itself-without-an-end",
        trap=33,
        file="src/discreet/questions/reading/texts.py",
        old="    return max(LEAST_JOINED, MOST_JOINED // parts)\n",
        new="    return (1 << 31) - 1\n",
        tests=(f"{LONG}::test_no_joined_text_is_longer_than_a_few_thousand_letters",),
    ),
    Mutant(
        name="a-pattern-goes-deeper-than-a-databases-stack",
        trap=33,
        file="src/discreet/questions/reading/comparisons.py",
        old='        if len(text) > LONGEST_PATTERN or text.count("%") > MOST_WILDCARDS:\n',
        new="        if len(text) > 10**7:\n",
        tests=(
            f"{LONG}::test_a_pattern_that_matches_by_deep_recursion_is_refused_before_the_charge",
        ),
    ),
    Mutant(
        name="a-far-date-stops-a-question-after-its-charge",
        trap=33,
        file="src/discreet/engines/sql/expressions.py",
        old="dialect.day(s.rest(days, _FOUR_CENTURIES))",
        new="dialect.day(days)",
        tests=(f"{COMPUTED}::test_no_date_is_too_far_for_a_condition",),
    ),
    Mutant(
        name="a-text-that-is-no-number-stops-a-question-after-its-charge",
        trap=33,
        file="src/discreet/engines/sql/expressions.py",
        old="        read = read_text(wanted, value, dialect)\n",
        new='        read = s.cast(value, "DOUBLE" if wanted == "number" else "BIGINT")\n',
        tests=(
            f"{RANDOM}::test_random_conditions_count_the_same_rows_in_the_engine_and_in_python",
        ),
    ),
    Mutant(
        name="a-computed-group-takes-values-that-the-schema-leaves-out",
        trap=19,
        file="src/discreet/engines/sql/tallies.py",
        old="            value = self._value(bins.columns[0])\n",
        new="            value = self._unit(bins.columns[0])\n",
        tests=(f"{COMPUTED}::test_the_engine_counts_each_row_in_the_group_of_its_cell_or_in_none",),
    ),
)
