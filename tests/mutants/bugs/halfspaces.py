"""Bugs in what halfspaces and predicates measure, and in the intervals that they promise."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

STRATEGY = "src/discreet/families/predicates/queries/strategy.py"
PREDICATES = "tests/halfspaces/test_predicates.py"
ANSWERS = "tests/halfspaces/test_halfspace_answers.py"
TREE = "tests/halfspaces/test_halfspace_tree.py"
TREE_CELLS = "src/discreet/families/halfspaces/estimate/tree.py"

HALFSPACES: tuple[Mutant, ...] = (
    Mutant(
        name="a-model-is-planned-below-the-noise-of-one-count",
        trap=42,
        file="src/discreet/families/predicates/release/mwem.py",
        old="        return max(simulated, least)\n",
        new="        return simulated\n",
        tests=(
            f"{PREDICATES}::"
            "test_a_model_that_is_named_is_never_planned_below_the_noise_of_one_count",
        ),
    ),
    Mutant(
        name="a-strategys-sensitivity-forgets-the-row-that-has-no-cell",
        trap=1,
        file="src/discreet/families/shared/queries/matrices.py",
        old="np.concatenate([array, np.zeros((len(array), 1), dtype=np.int64)], axis=1).T",
        new="array.T",
        tests=(
            f"{PREDICATES}::test_the_sensitivity_of_a_strategy_is_the_furthest_any_neighbour_moves_it",
        ),
    ),
    Mutant(
        name="many-halfspaces-are-charged-as-one",
        trap=2,
        file=STRATEGY,
        old="return Sensitivity(l1=many * rows, l2_squared=many * rows * rows)",
        new="return Sensitivity(l1=rows, l2_squared=rows * rows)",
        tests=(
            "tests/halfspaces/test_net.py::test_a_net_of_halfspaces_is_charged_for_every_count",
        ),
    ),
    Mutant(
        name="blocks-under-change-one-are-charged-as-if-a-row-were-added",
        trap=1,
        file="src/discreet/queries/blocks.py",
        old="return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)",
        new="return sensitivity_of_disjoint_counts(type(schema.adjacency).ADD_REMOVE, schema.unit)",
        tests=(f"{ANSWERS}::test_blocks_move_as_far_as_their_sensitivity_says",),
    ),
    Mutant(
        name="the-literal-net-runs-where-the-number-of-rows-is-a-secret",
        trap=20,
        file="src/discreet/reference/halfspaces/net_release.py",
        old="if not schema.rows_are_public:",
        new="if False:",
        tests=(
            "tests/halfspaces/test_net.py::test_the_net_is_refused_where_the_number_of_rows_is_a_secret",
        ),
    ),
    Mutant(
        name="a-selection-is-not-paid-for",
        trap=26,
        file="src/discreet/core/vault.py",
        old="        self._spend([mechanism.cost()])\n        self._begin_reading()\n"
        "        counts = self._engine.marginals(score.marginals)\n",
        new="        self._begin_reading()\n        counts = self._engine.marginals(score.marginals)\n",
        tests=(f"{PREDICATES}::test_every_selection_and_measurement_of_a_model_is_paid_for",),
    ),
    Mutant(
        name="a-cut-leaf-is-left-out-of-the-interval",
        trap=42,
        file=TREE_CELLS,
        old="RangeEstimates(estimate, inner, inner + cut_off, inner_std, outer_std)",
        new="RangeEstimates(estimate, inner, inner, inner_std, outer_std)",
        tests=(
            f"{TREE}::test_going_down_the_tree_finds_the_leaves_that_comparing_each_of_them_finds",
        ),
    ),
    Mutant(
        name="the-noise-of-a-sum-forgets-what-it-shares-with-the-whole-tree",
        trap=42,
        file=TREE_CELLS,
        old="        return sums, np.sqrt(variance[:, 0] + part[:, 0] ** 2 * self.root_variance)",
        new="        return sums, np.sqrt(variance[:, 0])",
        tests=(
            f"{TREE}::test_the_noise_of_a_sum_is_that_of_least_squares_worked_out_with_whole_matrices",
        ),
    ),
    Mutant(
        name="cut-blocks-are-left-out-of-the-interval",
        trap=42,
        file="src/discreet/families/halfspaces/answer/cells.py",
        old="            swept.outer,\n            swept.outer_boxes,\n",
        new="            swept.inner,\n            swept.inner_boxes,\n",
        tests=(f"{ANSWERS}::test_intervals_cover_as_often_as_they_say",),
    ),
    Mutant(
        name="rows-with-nulls-that-satisfy-a-question-are-forgotten",
        trap=42,
        file="src/discreet/families/halfspaces/answer/halfspaces.py",
        old="        self._check_nulls(region, cells)\n",
        new="",
        tests=(
            f"{TREE}::test_a_question_that_rows_with_nulls_could_satisfy_is_refused_with_the_remedy",
        ),
    ),
    Mutant(
        name="a-box-that-one-of-two-conditions-fills-counts-as-inside-both",
        trap=42,
        file="src/discreet/families/halfspaces/answer/conditions.py",
        old="join = np.logical_and if asked.every else np.logical_or",
        new="join = np.logical_or",
        tests=(
            f"{TREE}::test_joined_conditions_hold_between_the_cells_inside_and_the_cells_touched",
        ),
    ),
    Mutant(
        name="a-declared-inequality-counts-a-whole-cell-by-its-middle",
        trap=42,
        file="src/discreet/families/predicates/queries/predicates.py",
        old="    check_single_values(schema, asked)\n",
        new="",
        tests=(
            f"{PREDICATES}::test_a_declared_inequality_that_cuts_a_cell_is_refused_alone_and_joined",
        ),
    ),
    Mutant(
        name="a-null-in-one-column-takes-rows-from-every-predicate",
        trap=42,
        file="src/discreet/families/predicates/queries/strategy.py",
        old="            inside &= ~(missing @ (some != 0).T)\n",
        new="            inside &= ~missing.any(axis=1, keepdims=True)\n",
        tests=(f"{PREDICATES}::test_a_null_in_one_predicates_column_takes_no_row_from_another",),
    ),
    Mutant(
        name="predicates-lose-the-rows-that-another-column-leaves-out",
        trap=42,
        file="src/discreet/families/predicates/queries/predicates.py",
        old="        check_rows_are_kept(schema, read_conditions(schema, self.conditions))\n",
        new="        read_conditions(schema, self.conditions)\n",
        tests=(
            f"{PREDICATES}::test_a_column_that_leaves_rows_out_is_refused_where_others_would_lose_them",
        ),
    ),
)
