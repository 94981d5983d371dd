"""Bugs of range releases: paths and searches that cost more than was paid, bins from the rows."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

RELEASES = "tests/ranges/test_range_releases.py"
SUMS = "tests/ranges/test_tree_sums.py"
SEARCH = "tests/ranges/test_noisy_search.py"
REFINE = "tests/audits/test_refine_replay.py"
SENSITIVITY = "tests/queries/test_sensitivity.py"

RANGES = (
    Mutant(
        name="a-sum-over-leaves-has-no-noise-of-the-whole",
        trap=42,
        file="src/discreet/families/ranges/estimate/tree_passes.py",
        old="        variance = float(part[0]) ** 2 * self._root_variance\n",
        new="        variance = 0.0\n",
        tests=(f"{SUMS}::test_weighted_leaves_have_the_variance_of_dense_least_squares",),
    ),
    Mutant(
        name="the-noise-beside-a-boundary-is-left-out",
        trap=42,
        file="src/discreet/families/ranges/estimate/tree_passes.py",
        old="                fixed[half] += below[is_before][other]\n",
        new="",
        tests=(f"{SUMS}::test_sums_up_to_each_leaf_have_the_variance_of_dense_least_squares",),
    ),
    Mutant(
        name="a-mean-over-leaves-allows-for-half-of-its-noise",
        trap=42,
        file="src/discreet/families/ranges/answer/tree_sums.py",
        old="return self.source.intervals.weighted_deviation(weights)\n",
        new="return self.source.intervals.weighted_deviation(weights) / 2\n",
        tests=(f"{SUMS}::test_intervals_of_sums_and_means_hold",),
    ),
    Mutant(
        name="a-tree-ends-where-the-rows-end",
        trap=19,
        file="src/discreet/core/refining.py",
        old="            exact = count(tree.columns, tree.shifts(level), alive)\n",
        new=(
            "            exact = count(tree.columns, tree.shifts(level), alive)\n"
            "            reached = int(np.flatnonzero(exact).max(initial=0)) + 1\n"
            "            alive, exact = alive[:reached], exact[:reached]\n"
        ),
        tests=(
            f"{REFINE}::test_neighbours_get_the_same_tree_and_no_more_than_epsilon_tells_them_apart",
        ),
    ),
    Mutant(
        name="the-grid-of-a-search-is-cut-where-rows-lie",
        trap=19,
        file="src/discreet/reference/intervals/search.py",
        old="        starts = [self._buckets(column)[0] for column in columns]\n",
        new=(
            "        tables = self._grant._engine.marginals([(column,) for column in columns])\n"
            "        starts = [sorted({0, *np.flatnonzero(each).tolist()}) for each in tables]\n"
        ),
        tests=(f"{RELEASES}::test_the_cuts_of_a_grid_hang_on_noisy_counts_alone",),
    ),
    Mutant(
        name="a-level-of-a-path-takes-twice-its-share",
        trap=27,
        file="src/discreet/core/refining.py",
        old="        own = whole * share\n",
        new="        own = whole * (share if level == last else 2 * share)\n",
        tests=(f"{RELEASES}::test_every_path_costs_exactly_its_share",),
    ),
    Mutant(
        name="a-tree-in-two-stages-pays-for-the-second-only",
        trap=27,
        file="src/discreet/families/ranges/release/two_stage.py",
        old="        return self.epsilon * STRUCTURE, self.epsilon * (1 - STRUCTURE)\n",
        new="        return self.epsilon * STRUCTURE, self.epsilon\n",
        tests=(f"{RELEASES}::test_noise_too_small_to_measure_is_no_accident[two-stage-tree-300]",),
    ),
    Mutant(
        name="searches-go-on-until-the-line-is-cut",
        trap=26,
        file="src/discreet/reference/intervals/search.py",
        old="        for _ in range(self._search.searches):\n",
        new="        for _ in range(cells):\n",
        tests=(f"{SEARCH}::test_searches_end_with_the_budget_however_many_buckets_are_left",),
    ),
    Mutant(
        name="a-changed-row-lies-in-one-box-of-a-grid",
        trap=1,
        file="src/discreet/queries/blocks.py",
        old="        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)\n",
        new="        return Sensitivity(l1=schema.unit.max_rows, l2_squared=schema.unit.max_rows**2)\n",
        tests=(f"{SENSITIVITY}::test_no_two_rows_move_an_evaluated_query_further_than_it_says",),
    ),
    Mutant(
        name="fine-noise-of-a-tree-drawn-again-after-stopping",
        trap=27,
        file="src/discreet/core/refining.py",
        old="                values=noisy[0].copy() if is_last else np.where(stopped, noisy[0], noisy[1]),\n",
        new=(
            "                values=noisy[0].copy()\n"
            "                if is_last\n"
            "                else np.where(\n"
            '                    stopped, noise.add(exact, laws[0], step=next_step("refine")), noisy[1]\n'
            "                ),\n"
        ),
        tests=(
            "tests/kernel/test_vault.py::"
            "test_coarse_and_fine_numbers_of_a_stopped_node_have_their_joint_law",
        ),
    ),
    Mutant(
        name="a-strategy-over-cells-forgets-how-many-rows-a-unit-has",
        trap=3,
        file="src/discreet/families/ranges/queries/cell_strategy.py",
        old="        return Sensitivity(l1=max(1, l1) * rows, l2_squared=max(1, l2) * rows * rows)\n",
        new="        return Sensitivity(l1=max(1, l1), l2_squared=max(1, l2))\n",
        tests=(f"{SENSITIVITY}::test_no_two_rows_move_an_evaluated_query_further_than_it_says",),
    ),
    Mutant(
        name="the-noise-that-two-ends-of-an-interval-share-is-counted-on-twice",
        trap=42,
        file="src/discreet/families/ranges/estimate/cell_strategies.py",
        old="np.maximum(spread[start] + spread[stop] - 2 * self.covariance[start, stop], 0.0)",
        new="np.maximum(spread[start] + spread[stop] - 3 * self.covariance[start, stop], 0.0)",
        tests=(
            "tests/ranges/test_range_strategy.py::"
            "test_the_variance_of_every_interval_is_that_of_its_least_squares",
        ),
    ),
)
