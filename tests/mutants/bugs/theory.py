"""Bugs of the general mechanism and of the theory that is run."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LAW = "tests/theory/test_general_law.py"
SIZES = "tests/theory/test_sample_sizes.py"
RELEASE = "tests/theory/test_general_release.py"
WHOLE = "tests/marginals/test_whole_tables.py"
ADDING = "tests/marginals/adding_up/test_adding_up.py"
ADDITIVE = "tests/marginals/adding_up/test_additive_answers.py"
COMPLETE = "tests/marginals/adding_up/test_complete_rows.py"
SIDE_BY_SIDE = "tests/marginals/adding_up/test_side_by_side.py"
AGREEING = "tests/marginals/test_agreeing.py"
USEFUL = "tests/theory/test_usefulness.py"
INCIDENCE = "tests/theory/test_incidence.py"

THEORY = (
    Mutant(
        name="errors-of-databases-times-m-have-a-sensitivity-of-one",
        trap=1,
        file="src/discreet/reference/general/scores.py",
        old="    def sensitivity(self, schema: Schema) -> int:\n        return self.size\n",
        new="    def sensitivity(self, schema: Schema) -> int:\n        return 1\n",
        tests=(f"{LAW}::test_no_neighbour_makes_a_database_more_likely_than_epsilon_allows",),
    ),
    Mutant(
        name="walks-in-several-windows-are-counted-for-each",
        trap=17,
        file="src/discreet/samplers/walks.py",
        old="            found.append(wide - narrower)\n",
        new="            found.append(wide)\n",
        tests=(f"{LAW}::test_walks_of_each_level_are_counted_as_by_hand",),
    ),
    Mutant(
        name="a-level-is-drawn-as-if-its-walks-were-of-that-level-only",
        trap=17,
        file="src/discreet/samplers/walks.py",
        old="        low_sum += walks * low_power * (one - high) >> working\n"
        "        high_sum -= -(walks * high_power * (one - low)) >> working\n",
        new="        low_sum += walks * low_power\n        high_sum += walks * high_power\n",
        tests=(
            f"{LAW}::test_the_law_by_dynamic_programming_is_that_of_all_databases_to_12_digits",
        ),
    ),
    Mutant(
        name="rows-without-a-value-vanish-from-the-databases",
        trap=23,
        file="src/discreet/reference/general/release.py",
        old="        with_rest = column.cells > column.value_cells or not keeps_every_row(column)\n"
        "        return column.name",
        new="        with_rest = False\n        return column.name",
        tests=(f"{RELEASE}::test_intervals_are_off_by_no_more_than_the_theorem_says",),
    ),
    Mutant(
        name="the-general-mechanism-runs-where-the-number-of-rows-is-secret",
        trap=20,
        file="src/discreet/reference/general/release.py",
        old="    if schema.rows_are_public:\n        return None\n",
        new="    if schema.people:\n        return None\n",
        tests=(f"{RELEASE}::test_what_it_cannot_do_is_refused_before_anything_is_read",),
    ),
    Mutant(
        name="theorem-3-1-counts-databases-of-one-row",
        trap=42,
        file="src/discreet/theory/sample_sizes.py",
        old="    return log_binomial(size + kinds - 1, size)\n",
        new="    return log_binomial(kinds, 1)\n",
        tests=(f"{SIZES}::test_the_exact_law_of_the_mechanism_keeps_the_promise_of_theorem_3_1",),
    ),
    Mutant(
        name="lemma-3-2-rounds-a-quarter-as-far",
        trap=42,
        file="src/discreet/theory/sample_sizes.py",
        old="self.rounding / size",
        new="self.rounding / (4 * size)",
        tests=(f"{SIZES}::test_some_database_of_the_size_of_the_lemma_is_as_near_as_it_says",),
    ),
    Mutant(
        name="an-interval-of-the-population-forgets-the-luck-of-the-draw",
        trap=42,
        file="src/discreet/answering/population.py",
        old="float(betaincinv(highest + 1, few - highest, 1 - delta / 2))",
        new="highest / few",
        tests=("tests/theory/test_population.py::test_the_share_of_the_population_is_covered",),
    ),
    Mutant(
        name="a-list-of-predicates-is-bounded-like-a-single-one",
        trap=42,
        file="src/discreet/families/predicates/answer/predicates.py",
        old="answered(delta / len(questions))",
        new="answered(delta)",
        tests=(
            "tests/theory/test_usefulness.py::"
            "test_a_list_of_predicates_is_bounded_by_the_union_of_its_answers",
        ),
    ),
    Mutant(
        name="a-net-is-called-close-whatever-its-gamma",
        trap=42,
        file="src/discreet/families/halfspaces/answer/usefulness.py",
        old="asked.projections is None and asked.gamma <= gamma",
        new="asked.projections is None",
        tests=("tests/theory/test_usefulness.py::test_the_net_is_useful_for_some_close_halfspace",),
    ),
    Mutant(
        name="cells-below-zero-are-cut-off-one-by-one",
        trap=42,
        file="src/discreet/families/tables/answer/counting.py",
        old="    if table.whole is not None:\n        counts",
        new="    if table.whole is not None and not axes:\n        counts",
        tests=(
            f"{WHOLE}::test_answers_agree_however_they_are_summed_also_where_noise_went_below_zero",
        ),
    ),
    Mutant(
        name="of-four-quarters-one-may-fall-below-zero",
        trap=42,
        file="src/discreet/families/tables/estimate/agreeing.py",
        old="    least, most = np.maximum(0, half - lower), np.minimum(upper, half)\n",
        new="    least, most = 0 * half, np.minimum(upper, half)\n",
        tests=(
            f"{AGREEING}::test_counts_are_whole_and_not_below_zero_and_agree_however_they_are_summed",
        ),
    ),
    Mutant(
        name="tables-that-share-pairs-crosswise-are-found-one-after-another",
        trap=42,
        file="src/discreet/families/tables/estimate/agreeing.py",
        old="        if any(not one < other for one, other in pairwise(inside)):\n            return False\n",
        new="",
        tests=(f"{AGREEING}::test_tables_can_agree_where_what_they_share_is_nested",),
    ),
    Mutant(
        name="claims-about-measured-cells-are-made-for-counts-that-agree",
        trap=42,
        file="src/discreet/families/tables/release/whole_answers.py",
        old="            reached = farthest_from_whole(measured, each.bound, agreed)\n",
        new="            reached = each.bound\n",
        tests=(f"{AGREEING}::test_claims_are_about_the_answers_and_not_about_the_measured_cells",),
    ),
    Mutant(
        name="answers-that-may-lie-below-zero-are-claimed-to-be-cut-to-all-rows",
        trap=42,
        file="src/discreet/families/shared/release/measured.py",
        old=" or part.is_answered_as_measured",
        new="",
        tests=(
            f"{ADDING}::test_more_tables_of_three_columns_than_a_whole_table_holds_are_answered_as_measured",
        ),
    ),
    Mutant(
        name="answers-as-measured-are-cut-off-one-by-one",
        trap=42,
        file="src/discreet/answering/estimates.py",
        old="        if not self.is_count or self.is_settled:\n",
        new="        if not self.is_count:\n",
        tests=(
            f"{ADDING}::test_more_tables_of_three_columns_than_a_whole_table_holds_are_answered_as_measured",
        ),
    ),
    Mutant(
        name="claims-of-parts-side-by-side-are-about-each-part-alone",
        trap=42,
        file="src/discreet/releases/together.py",
        old="            own = _moved_claims(own, _moved(before, release, together))\n",
        new="",
        tests=(
            f"{SIDE_BY_SIDE}::test_claims_of_parts_side_by_side_allow_for_how_far_answers_were_moved",
        ),
    ),
    Mutant(
        name="a-bound-of-ranges-beside-tables-is-about-the-tree-alone",
        trap=42,
        file="src/discreet/families/ranges/answer/class_bounds.py",
        old="moved_ranges(library, found[0])",
        new="0.0",
        tests=(f"{SIDE_BY_SIDE}::test_ranges_beside_tables_of_the_same_column_add_up_with_them",),
    ),
    Mutant(
        name="an-interval-of-a-range-may-not-hold-the-count-that-adds-up",
        trap=42,
        file="src/discreet/answering/combining.py",
        old="        lower=np.minimum(np.maximum(best.lower, 0.0), counts),\n"
        "        upper=np.maximum(best.upper, counts),\n",
        new="",
        tests=(f"{SIDE_BY_SIDE}::test_an_interval_of_ranges_beside_tables_holds_the_count",),
    ),
    Mutant(
        name="cells-that-are-declared-empty-keep-what-the-sums-leave-them",
        trap=42,
        file="src/discreet/families/tables/estimate/agreeing.py",
        old="            counts = moved_out(found, table, flat).reshape(noisy.shape)\n",
        new="            counts = found.reshape(noisy.shape)\n",
        tests=(f"{AGREEING}::test_cells_that_are_declared_empty_stay_empty_and_all_others_agree",),
    ),
    Mutant(
        name="an-older-file-with-declared-empty-cells-is-read-from-counts-that-its-claims-are-not-about",
        trap=42,
        file="src/discreet/families/tables/answer/evidence.py",
        old=" if said.endswith(NONE_IN_EMPTY_CELLS) else None\n",
        new="\n",
        tests=(f"{ADDING}::test_an_older_file_with_declared_empty_cells_is_read_as_measured",),
    ),
    Mutant(
        name="an-interval-of-whole-counts-leaves-the-measured-one",
        trap=42,
        file="src/discreet/families/tables/answer/counting.py",
        old="        lower=np.minimum(held.lower, counts),\n        upper=np.maximum(held.upper, counts),\n",
        new="        lower=held.lower + (counts - held.estimate),\n"
        "        upper=held.upper + (counts - held.estimate),\n",
        tests=(f"{WHOLE}::test_an_interval_holds_what_the_measured_one_holds_and_the_answer",),
    ),
    Mutant(
        name="claims-about-measured-cells-are-made-for-whole-counts",
        trap=42,
        file="src/discreet/families/tables/answer/usefulness.py",
        old="        most, theorem = max(moved), UNION + MOVED\n",
        new="        theorem = UNION + MOVED\n",
        tests=(
            f"{WHOLE}::test_claims_allow_for_the_distance_between_the_table_and_what_was_measured",
        ),
    ),
    Mutant(
        name="a-whole-table-of-any-shape-is-believed",
        trap=41,
        file="src/discreet/families/tables/answer/evidence.py",
        old='    if numbers.dtype.kind != "i" or numbers.min() < 0 or numbers.max() > most:\n'
        "        raise ValueError\n",
        new="",
        tests=(f"{WHOLE}::test_a_whole_table_that_cannot_be_is_refused",),
    ),
    Mutant(
        name="an-older-file-is-read-from-a-table-that-its-claims-are-not-about",
        trap=42,
        file="src/discreet/families/tables/answer/evidence.py",
        old="    if said_of_answers(part, schema) != FROM_WHOLE_TABLE:\n        return []\n",
        new="",
        tests=(f"{WHOLE}::test_an_older_file_is_read_as_it_was_measured",),
    ),
    Mutant(
        name="a-changed-row-moves-one-cell-of-a-table-of-complete-rows",
        trap=1,
        file="src/discreet/families/tables/queries/complete_tables.py",
        old="        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)\n",
        new="        return Sensitivity(l1=schema.unit.max_rows, l2_squared=schema.unit.max_rows**2)\n",
        tests=(
            f"{COMPLETE}::test_neighbours_move_a_table_of_complete_rows_by_at_most_its_sensitivity",
        ),
    ),
    Mutant(
        name="tables-about-different-rows-are-averaged",
        trap=42,
        file="src/discreet/families/tables/answer/together/library.py",
        old="        return found[min(found, key=lambda each: (len(each), each))] if found else []\n",
        new="        return [each for some in found.values() for each in some]\n",
        tests=(f"{COMPLETE}::test_tables_that_leave_out_different_rows_are_not_averaged",),
    ),
    Mutant(
        name="direct-tables-of-booleans-each-leave-out-rows-of-their-own",
        trap=42,
        file="src/discreet/families/tables/release/direct.py",
        old="        complete = _must_be_complete(sets, schema)\n",
        new="        complete = False\n",
        tests=(
            f"{COMPLETE}::test_direct_tables_of_booleans_that_leave_rows_out_are_about_the_complete_rows",
        ),
    ),
    Mutant(
        name="answers-that-add-up-are-cut-off-at-zero",
        trap=42,
        file="src/discreet/answering/asking.py",
        old="        if not as_measured:\n            found = {",
        new="        if True:\n            found = {",
        tests=(f"{ADDITIVE}::test_additive_answers_add_up_for_columns_of_any_kind",),
    ),
    Mutant(
        name="tables-that-a-model-fills-in-are-cut-off-one-by-one",
        trap=42,
        file="src/discreet/families/tables/answer/together/library.py",
        old="        model.whole = self.agreed_over(model.columns)\n",
        new="",
        tests=(
            f"{WHOLE}::test_answers_agree_however_they_are_summed_also_where_noise_went_below_zero",
        ),
    ),
    Mutant(
        name="a-plane-near-a-direction-cuts-what-the-direction-cuts",
        trap=42,
        file="src/discreet/families/halfspaces/answer/usefulness.py",
        old="        yield centre @ each, side @ np.abs(each) + apart * far\n",
        new="        yield centre @ each, 0 * far\n",
        tests=(f"{USEFUL}::test_no_plane_cuts_more_than_the_most_that_any_plane_can_cut",),
    ),
    Mutant(
        name="rows-in-cut-cells-are-left-out-of-the-bound-of-all-halfspaces",
        trap=42,
        file="src/discreet/families/halfspaces/answer/usefulness.py",
        old="    return float(noise) + moved + cut + ROUNDING\n",
        new="    return 0.1 * float(noise) + ROUNDING\n",
        tests=(
            f"{USEFUL}::test_where_planes_cut_cells_no_halfspace_is_off_by_more_than_the_bound",
        ),
    ),
    Mutant(
        name="heavy-parts-are-read-with-the-noise-that-chose-them",
        trap=42,
        file="src/discreet/theory/incidence.py",
        old="    real = raw - noise_covariance / (sampling + noise_variance)\n",
        new="    real = raw\n",
        tests=(f"{INCIDENCE}::test_noise_that_both_counts_share_is_taken_off",),
    ),
    Mutant(
        name="two-answers-share-no-noise-where-they-share-a-table",
        trap=42,
        file="src/discreet/families/tables/estimate/consistent.py",
        old="                shared = float(product.sum()) * times\n",
        new="                shared = float(product.sum())\n",
        tests=(
            f"{INCIDENCE}::test_the_covariance_of_two_answers_is_that_of_the_draws_they_are_made_of",
        ),
    ),
    Mutant(
        name="a-closed-release-is-explained-to-everybody",
        trap=45,
        file="src/discreet/service/web/review_pages.py",
        old='        session, desk, release = release_for(query["release"], request)\n',
        new="        session, desk = session_of(request), desk_of(request)\n"
        '        release = desk.house.shelf.get(query["release"])\n',
        tests=(
            "tests/service/test_service_pages.py::"
            "test_a_closed_release_is_explained_only_to_those_who_may_see_it",
        ),
    ),
)
