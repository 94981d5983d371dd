"""Bugs of residuals, parities and models: sensitivities, intervals, and what is charged."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RESIDUALS = "tests/marginals/test_residuals.py"
MODELS = "tests/marginals/test_models.py"
EVERYTHING = "tests/marginals/test_everything.py"
FOURIER = "tests/marginals/test_fourier.py"
COMPLETED = "tests/marginals/test_completed.py"

MARGINALS = (
    Mutant(
        name="a-changed-row-moves-a-residual-like-an-added-one",
        trap=1,
        file="src/discreet/families/tables/queries/residuals.py",
        old="return max(first for first, _ in changes), max(second for _, second in changes)",
        new="return one",
        tests=(
            f"{RESIDUALS}::test_the_sensitivity_of_a_residual_is_the_largest_move_of_any_pair_of_neighbours",
        ),
    ),
    Mutant(
        name="a-residual-forgets-the-other-cells",
        trap=2,
        file="src/discreet/families/tables/queries/residuals.py",
        old="one = prod(2 * (d - 1) for d in sizes), prod(d * (d - 1) for d in sizes)",
        new="one = prod(d - 1 for d in sizes), prod((d - 1) ** 2 for d in sizes)",
        tests=(
            f"{RESIDUALS}::test_the_sensitivity_of_a_residual_is_the_largest_move_of_any_pair_of_neighbours",
        ),
    ),
    Mutant(
        name="a-changed-row-moves-a-distance-by-one",
        trap=1,
        file="src/discreet/families/tables/queries/residuals.py",
        old="moved = sensitivity_of_disjoint_counts(schema.adjacency, schema.unit).l1",
        new="moved = schema.unit.max_rows",
        tests=(f"{RESIDUALS}::test_the_distance_from_a_model_moves_by_at_most_its_sensitivity",),
    ),
    Mutant(
        name="a-changed-row-moves-a-parity-by-one",
        trap=1,
        file="src/discreet/families/tables/queries/parities.py",
        old="moved = 2 * rows if self.columns else rows",
        new="moved = rows",
        tests=(
            f"{FOURIER}::test_the_sensitivity_of_a_parity_is_the_largest_move_of_any_pair_of_neighbours",
        ),
    ),
    Mutant(
        name="a-binned-table-moves-by-half",
        trap=1,
        file="src/discreet/families/tables/queries/residuals.py",
        old="""        \"\"\"A row lies in at most one cell.\"\"\"
        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)
""",
        new="""        \"\"\"A row lies in at most one cell.\"\"\"
        return sensitivity_of_disjoint_counts(Adjacency.ADD_REMOVE, schema.unit)
""",
        tests=(
            "tests/queries/test_sensitivity.py::"
            "test_no_two_rows_move_an_evaluated_query_further_than_it_says",
        ),
    ),
    Mutant(
        name="noise-on-cells-is-taken-for-noise-on-a-residual",
        trap=42,
        file="src/discreet/families/tables/estimate/residuals.py",
        old="            weight * many\n",
        new="            weight\n",
        tests=(
            "tests/marginals/test_residuals.py::"
            "test_a_residual_is_known_from_cells_or_from_itself_and_from_both_together",
        ),
    ),
    Mutant(
        name="a-models-claim-forgets-that-a-cell-may-be-empty",
        trap=42,
        file="src/discreet/families/tables/release/claims.py",
        old="np.maximum(model.counts, ceilings - model.counts)",
        new="(ceilings - model.counts)",
        tests=(
            "tests/marginals/test_claims.py::"
            "test_a_cell_of_a_model_is_off_by_what_its_columns_allow",
        ),
    ),
    Mutant(
        name="looking-for-pairs-is-charged-once-for-all",
        trap=27,
        file="src/discreet/families/tables/release/adaptive_fitting.py",
        old="parts = shares(looking, [1] * len(queries))",
        new="parts = [looking] * len(queries)",
        tests=(f"{MODELS}::test_an_adaptive_release_spends_what_it_was_given_and_verifies",),
    ),
    Mutant(
        name="what-a-glance-has-cost-is-spent-again",
        trap=27,
        file="src/discreet/families/tables/release/adaptive_fitting.py",
        old="self.rest = prepared.share.minus(self.one_way).minus(self.glance)",
        new="self.rest = prepared.share.minus(self.one_way)",
        tests=(f"{MODELS}::test_an_adaptive_release_spends_what_it_was_given_and_verifies",),
    ),
    Mutant(
        name="after-a-glance-all-cells-get-the-whole-share",
        trap=27,
        file="src/discreet/families/tables/release/everything.py",
        old="prepared.query_class, prepared.schema, share=share, accounting=prepared.accounting",
        new="prepared.query_class, prepared.schema, share=prepared.share, accounting=prepared.accounting",
        tests=(f"{EVERYTHING}::test_a_release_with_laplace_noise_follows_what_it_glanced_at",),
    ),
    Mutant(
        name="claims-after-a-glance-know-the-noise-of-before",
        trap=42,
        file="src/discreet/families/tables/release/everything.py",
        old="requests=tuple(tables), laws=laws, kept={}",
        new="requests=tuple(tables), kept={}",
        tests=(f"{EVERYTHING}::test_with_laplace_noise_a_glance_is_taken_where_it_costs_little",),
    ),
    Mutant(
        name="a-glance-puts-tables-together-that-leave-out-different-rows",
        trap=42,
        file="src/discreet/families/tables/release/adaptive.py",
        old="is_direct and not self.apart | self.spread",
        new="is_direct",
        tests=(f"{EVERYTHING}::test_with_laplace_noise_a_glance_is_taken_where_it_costs_little",),
    ),
    Mutant(
        name="a-ceiling-takes-no-part-of-the-risk",
        trap=42,
        file="src/discreet/families/tables/answer/models/model_table.py",
        old="at_part_of_risk(confidence, 2 * CEILING_RISK / len(self.margins))",
        new="at_part_of_risk(confidence, 20 * CEILING_RISK / len(self.margins))",
        tests=(
            "tests/marginals/test_models.py::"
            "test_a_model_and_the_tables_that_cap_it_share_the_risk_of_an_interval",
        ),
    ),
    Mutant(
        name="a-batch-of-rows-doubles-until-it-overflows",
        trap=9,
        file="src/discreet/families/tables/estimate/settling.py",
        old="min(2 * batch[column], most[column])",
        new="2 * batch[column]",
        tests=(f"{MODELS}::test_rows_of_a_large_table_are_moved_however_often_that_works",),
    ),
    Mutant(
        name="a-distance-below-zero-takes-the-noise-out-of-the-bound",
        trap=42,
        file="src/discreet/families/tables/answer/models/model_table.py",
        old="        return max(0.0, self.distance) + self.law.half_width(float(two_sided))\n",
        new="        return max(0.0, self.distance + self.law.half_width(float(two_sided)))\n",
        tests=(
            f"{MODELS}::test_a_measured_distance_below_zero_leaves_the_noise_in_every_interval",
        ),
    ),
    Mutant(
        name="a-ceiling-below-zero-leaves-a-single-number",
        trap=42,
        file="src/discreet/families/tables/answer/models/model_table.py",
        old="        return np.asarray(np.maximum(margin.counts, 0.0) + reach)\n",
        new="        return np.asarray(margin.counts + reach)\n",
        tests=(
            f"{MODELS}::"
            "test_a_ceiling_below_zero_or_below_the_model_leaves_the_noise_in_every_interval",
        ),
    ),
    Mutant(
        name="a-count-below-zero-is-cut-to-almost-nothing",
        trap=42,
        file="src/discreet/families/shared/estimate/rounding.py",
        old="    upper = np.clip(upper - np.minimum(beyond, 0.0), least, most)\n",
        new="    upper = np.clip(upper, least, most)\n",
        tests=(
            "tests/answers/test_combination.py::"
            "test_no_count_has_an_interval_narrower_than_the_noise_on_one_side",
        ),
    ),
    Mutant(
        name="rows-without-a-cell-spread-unasked",
        trap=42,
        file="src/discreet/families/tables/release/adaptive.py",
        old="refused_sets(sets, schema, even=self.even)",
        new="refused_sets(sets, schema, even=True)",
        more=(("ResidualMarginals(even=self.even)", "ResidualMarginals(even=True)"),),
        tests=(
            "tests/marginals/test_awkward_tables.py::test_rows_without_a_cell_are_in_no_answer_about_that_column",
        ),
    ),
    Mutant(
        name="a-spread-falls-below-the-normal-one",
        trap=42,
        file="src/discreet/privacy/laws/sums.py",
        old="    corrected = np.maximum(z + kurtosis * (z**3 - 3 * z) / 24, z)\n",
        new="    corrected = np.maximum(z + kurtosis * (z**3 - 3 * z) / 24, 0.0)\n",
        tests=(
            "tests/privacy/test_laws_spread.py::"
            "test_a_spread_is_never_below_the_normal_one_and_hardly_more_without_kurtosis",
        ),
    ),
    Mutant(
        name="a-spread-short-where-its-first-correction-vanishes",
        trap=42,
        file="src/discreet/privacy/laws/sums.py",
        old="SHORTFALL, SHORT_WITHIN = 0.0068, 0.5\n",
        new="SHORTFALL, SHORT_WITHIN = 0.0, 0.5\n",
        tests=(
            "tests/privacy/test_laws_spread.py::"
            "test_a_spread_is_never_narrower_than_that_of_wide_laplace_draws_at_any_confidence",
        ),
    ),
    Mutant(
        name="a-law-lies-below-noise-of-its-own-variance",
        trap=42,
        file="src/discreet/privacy/laws/law.py",
        old="        return Envelope(2 * grown / steepest**2 * (1 + 1e-9), 1 / (2 * steepest), 0.0)\n",
        new="        return Envelope(self.variance, 1 / (2 * steepest), 0.0)\n",
        tests=(
            "tests/privacy/test_laws_knowledge.py::"
            "test_what_a_law_lies_below_bounds_its_exponential_moments",
        ),
    ),
    Mutant(
        name="a-smoothed-sums-width-taken-for-the-sums",
        trap=42,
        file="src/discreet/privacy/laws/fourier.py",
        old="REACH = 4.75",
        new="REACH = 0.0",
        tests=(
            "tests/privacy/test_laws_fourier.py::test_a_width_is_never_short_and_at_most_a_hundredth_of_a_deviation_long",
        ),
    ),
    Mutant(
        name="rows-outside-the-box-counted-into-it",
        trap=42,
        file="src/discreet/families/tables/answer/sums/model_sums.py",
        old="best = np.maximum(best, inside[axis] - others)",
        new="best = np.maximum(best, inside[axis])",
        tests=(
            "tests/answers/test_model_sums.py::test_the_bounds_hold_for_every_table_with_these_columns",
        ),
    ),
    Mutant(
        name="a-claim-of-half-the-widest-interval",
        trap=42,
        file="src/discreet/families/tables/release/claims.py",
        old="math.ceil(max(bounds) - 1e-9)",
        new="math.ceil(max(bounds) / 2)",
        tests=(
            "tests/marginals/test_claims.py::test_no_interval_of_a_cell_reaches_farther_than_a_models_claim_nor_that_than_all_rows",
        ),
    ),
    Mutant(
        name="noise-of-single-columns-left-out-of-usual-errors",
        trap=42,
        file="src/discreet/families/tables/answer/models/cell_errors.py",
        old="return np.asarray(self.sampling + self.columns**2)",
        new="return np.asarray(self.sampling)",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_noise_of_single_columns_is_in_every_interval_however_well_the_model_fits",
        ),
    ),
    Mutant(
        name="an-upper-end-with-the-whole-risk-everywhere",
        trap=42,
        file="src/discreet/families/tables/answer/models/usual_errors.py",
        old="above = np.where(lower > 0, _reach_above(sets.expected, reach, risk), whole)",
        new="above = whole",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_the_upper_end_gets_the_whole_risk_only_where_no_count_is_below_the_interval",
        ),
    ),
    Mutant(
        name="small-counts-reach-up-no-farther-than-down",
        trap=42,
        file="src/discreet/families/tables/answer/models/usual_errors.py",
        old="return np.asarray(np.maximum(reach, above))",
        new="return reach",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_the_upper_end_gets_the_whole_risk_only_where_no_count_is_below_the_interval",
        ),
    ),
    Mutant(
        name="counts-are-expected-where-the-model-has-them-whatever-was-measured",
        trap=42,
        file="src/discreet/families/tables/answer/models/cell_errors.py",
        old="expected = _scaled(modelled, lines, rows)",
        new="expected = modelled",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_counts_are_expected_where_the_columns_own_tables_say",
        ),
    ),
    Mutant(
        name="sampling-of-all-rows-instead-of-those-that-columns-leave-free",
        trap=42,
        file="src/discreet/families/tables/answer/models/cell_errors.py",
        old="sampling = expected * _free(lines, rows)",
        new="sampling = expected",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_sampling_varies_as_much_as_random_rows_do_given_the_counts_of_columns",
        ),
    ),
    Mutant(
        name="the-only-free-error-of-a-table-has-normal-tails",
        trap=42,
        file="src/discreet/families/tables/answer/models/usual_errors.py",
        old="        if sets.one_is_free and sets.expected.size:",
        new="        if False:",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_errors_that_follow_from_one_have_two_values_where_the_misfit_is_known",
        ),
    ),
    Mutant(
        name="a-distance-of-one-free-error-is-no-matter-of-chance",
        trap=42,
        file="src/discreet/families/tables/answer/models/misfits.py",
        old="chances = [CHANCES if each else CERTAIN for each in one_is_free]",
        new="chances = [CERTAIN for each in one_is_free]",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_a_small_distance_of_one_free_error_does_not_show_that_a_model_fits",
        ),
    ),
    Mutant(
        name="an-unmeasured-factor-at-high-confidence",
        trap=42,
        file="src/discreet/families/tables/answer/models/usual_errors.py",
        old="        if level > MOST_MEASURED:\n            return None\n",
        new="",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_what_was_not_measured_is_left_to_the_bound_that_is_proved",
        ),
    ),
    Mutant(
        name="single-columns-take-all-that-a-model-has",
        trap=27,
        file="src/discreet/families/tables/release/adaptive.py",
        old="found if is_cheap and found.single <= MOST_ONE_WAY else None",
        new="found if is_cheap else None",
        tests=(f"{EVERYTHING}::test_no_weight_of_single_columns_leaves_a_model_without_a_budget",),
    ),
    Mutant(
        name="cells-that-a-bad-model-empties-are-sure-to-be-empty",
        trap=42,
        file="src/discreet/families/tables/answer/models/cell_errors.py",
        old="doubted = np.maximum(missed, DOUBT * np.sqrt(even * _free(lines, rows)))",
        new="doubted = missed",
        tests=(
            "tests/marginals/test_usual_errors.py::test_a_cell_that_a_bad_model_empties_may_hold_rows",
        ),
    ),
    Mutant(
        name="what-cannot-be-so-far-off-is-counted-as-unlikely-table-by-table",
        trap=42,
        file="src/discreet/families/tables/answer/models/misfits.py",
        old="possible * likelihood) / kept",
        new="possible * likelihood)",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_tables_whose_distances_noise_hides_tell_together_how_far_a_model_is_off",
        ),
    ),
    Mutant(
        name="distances-of-other-tables-stand-for-a-tables-own",
        trap=42,
        file="src/discreet/families/tables/answer/models/misfits.py",
        old="found = np.stack([(own @ chance) * seen for own, chance, seen in parts])",
        new="found = np.stack([own @ chance for own, chance, _ in parts])",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_a_misfit_is_what_was_measured_or_what_other_tables_have_where_noise_hides_it",
        ),
    ),
    Mutant(
        name="a-noisy-distance-decides-which-table-is-believed",
        trap=42,
        file="src/discreet/families/tables/answer/models/model_table.py",
        old="max(model.usually_off, 1.0)",
        new="max(model.distance, 1.0)",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_noise_in_distances_does_not_decide_which_table_of_a_model_is_believed",
        ),
    ),
    Mutant(
        name="a-set-of-cells-is-off-by-no-more-than-one-of-them",
        trap=42,
        file="src/discreet/families/tables/answer/models/model_table.py",
        old="sets = self.usual.cells.changed(lambda each: summed(each, mask, axes))",
        new="sets = self.usual.cells.changed(lambda each: summed(each, mask, axes) / mask.sum())",
        tests=(
            "tests/marginals/test_usual_errors.py::"
            "test_sums_over_cells_reach_no_further_than_the_bound_that_is_proved",
        ),
    ),
    Mutant(
        name="a-row-without-a-cell-counts-in-two-cells",
        trap=2,
        file="src/discreet/families/tables/queries/completing.py",
        old="    outside = every_row - inside.sum(axis=axis, dtype=np.int64)\n",
        new="    outside = every_row\n",
        tests=(
            f"{COMPLETED}::test_the_sensitivity_of_a_completed_query_is_the_largest_move_of_any_pair_of_neighbours",
        ),
    ),
    Mutant(
        name="the-cell-for-rows-without-one-is-not-in-the-sensitivity",
        trap=2,
        file="src/discreet/families/tables/queries/residuals.py",
        old="cells = all_cells(column) if name in self.completed else column.cells",
        new="cells = column.cells",
        tests=(
            f"{COMPLETED}::test_the_sensitivity_of_a_completed_query_is_the_largest_move_of_any_pair_of_neighbours",
        ),
    ),
    Mutant(
        name="answers-count-rows-without-a-cell-in-the-last-one",
        trap=42,
        file="src/discreet/families/tables/estimate/consistent.py",
        old="        found[self.declared_cells(columns)] = weights\n",
        new="        found[tuple(slice(size - own, size) for size, own in zip(shape, weights.shape, strict=True))] = weights\n",
        tests=(f"{COMPLETED}::test_a_weighted_sum_of_declared_cells_has_the_noise_of_just_these",),
    ),
    Mutant(
        name="a-stored-query-forgets-which-columns-are-completed",
        trap=41,
        file="src/discreet/families/tables/queries/residuals.py",
        old='        more = {"completed": list(self.completed)} if self.completed else {}\n',
        new="        more: dict[str, Any] = {}\n",
        tests=(f"{COMPLETED}::test_completed_queries_are_stored_and_others_as_before",),
    ),
)
