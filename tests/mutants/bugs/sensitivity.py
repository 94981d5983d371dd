"""Bugs 1 to 6: how far one person can move what is measured."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

BUDGETS = "tests/privacy/test_budget.py"
VAULT = "tests/kernel/test_vault.py"
MECHANISMS = "tests/kernel/test_mechanisms.py"
TABLE = "tests/releases/test_algorithm_table.py"
ENGINE = "tests/kernel/test_engine_guards.py"
REFINE = "tests/audits/test_refine_replay.py"

SENSITIVITY = (
    Mutant(
        name="change-one-counted-as-add-remove",
        trap=1,
        file="src/discreet/privacy/adjacency.py",
        old="return Sensitivity(l1=2 * rows, l2_squared=2 * rows * rows)",
        new="return Sensitivity(l1=rows, l2_squared=rows * rows)",
        tests=(f"{BUDGETS}::test_changing_a_unit_moves_twice_as_much_as_adding_it",),
        quick=True,
    ),
    Mutant(
        name="a-changed-row-pays-for-one-path-of-a-tree",
        trap=1,
        file="src/discreet/core/refining.py",
        old="Adjacency.CHANGE_ONE: 2}[schema.adjacency]",
        new="Adjacency.CHANGE_ONE: 1}[schema.adjacency]",
        tests=(f"{VAULT}::test_every_path_of_a_refined_tree_costs_exactly_its_epsilon",),
    ),
    Mutant(
        name="a-changed-row-in-one-part-of-a-partition",
        trap=1,
        file="src/discreet/privacy/composition.py",
        old="return for_a_group(worst, 2 * unit.max_rows)",
        new="return for_a_group(worst, unit.max_rows)",
        tests=(
            "tests/privacy/test_composition.py::"
            "test_changing_a_row_touches_two_parts_and_costs_twice_in_epsilon_four_times_in_rho",
        ),
    ),
    Mutant(
        name="sum-forgets-that-a-changed-row-may-become-null",
        trap=1,
        file="src/discreet/queries/measurable.py",
        old="return min(0, floor(low * self.grid)), max(0, ceil(high * self.grid))",
        new="return floor(low * self.grid), ceil(high * self.grid)",
        tests=(f"{VAULT}::test_the_sensitivity_of_a_sum_counts_nulls_as_zero_under_change_one",),
    ),
    Mutant(
        name="laplace-noise-calibrated-in-l2",
        trap=2,
        file="src/discreet/core/mechanisms/additive.py",
        old="return DiscreteLaplaceLaw(scale=sensitivity.l1 / self.epsilon)",
        new="return DiscreteLaplaceLaw(scale=math.isqrt(sensitivity.l2_squared) / self.epsilon)",
        tests=(f"{VAULT}::test_change_one_doubles_the_noise_of_a_table_but_not_of_a_single_count",),
    ),
    Mutant(
        name="gaussian-noise-ignores-that-two-cells-move",
        trap=2,
        file="src/discreet/privacy/adjacency.py",
        old="return Sensitivity(l1=2 * rows, l2_squared=2 * rows * rows)",
        new="return Sensitivity(l1=2 * rows, l2_squared=rows * rows)",
        tests=(f"{BUDGETS}::test_changing_a_unit_moves_twice_as_much_as_adding_it",),
    ),
    Mutant(
        name="noise-forgets-a-persons-other-rows",
        trap=3,
        file="src/discreet/privacy/adjacency.py",
        old="    rows = unit.max_rows\n",
        new="    rows = 1\n",
        tests=(f"{VAULT}::test_a_unit_of_several_rows_multiplies_the_noise",),
    ),
    Mutant(
        name="one-count-forgets-a-persons-other-rows",
        trap=3,
        file="src/discreet/privacy/adjacency.py",
        old="return Sensitivity(l1=unit.max_rows, l2_squared=unit.max_rows**2)",
        new="return Sensitivity(l1=1, l2_squared=1)",
        tests=(
            "tests/queries/test_sensitivity.py::test_the_rows_of_one_unit_move_a_query_by_at_most_its_sensitivity",
        ),
    ),
    Mutant(
        name="rows-of-a-person-unbounded",
        trap=3,
        file="src/discreet/engines/sql/dialect.py",
        old='        query.set("qualify", ',
        new='        query.set("hint", ',
        tests=(f"{ENGINE}::test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place",),
    ),
    Mutant(
        name="one-row-more-of-a-person-kept",
        trap=3,
        file="src/discreet/engines/sql/layers.py",
        old="number, self._schema.unit.max_rows)",
        new="number, self._schema.unit.max_rows + 1)",
        tests=(f"{ENGINE}::test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place",),
    ),
    Mutant(
        name="one-verb-sees-the-unbounded-table",
        trap=3,
        file="src/discreet/engines/duckdb/rows.py",
        old="table = self._kept_table(columns) if self._kept_once else self._scanned()",
        new="table = self._scanned()",
        tests=(f"{ENGINE}::test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place",),
    ),
    Mutant(
        name="rows-of-nobody-are-one-person",
        trap=3,
        file="src/discreet/engines/sql/layers.py",
        old=".where(s.at_most(letters, s.whole(units.LONGEST_TEXT)))",
        new=".where(exp.true())",
        tests=(f"{ENGINE}::test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place",),
    ),
    Mutant(
        name="values-not-clamped",
        trap=4,
        file="src/discreet/engines/sql/cells.py",
        old="        found = s.clamp(unit, *ends(column))\n    else:",
        new="        found = unit\n    else:",
        more=(
            (
                "clamped = s.clamp(product, s.double(float(lowest)), s.double(float(highest)))",
                "clamped = s.clamp(product, s.double(-9.0e18), s.double(9.0e18))",
            ),
            ("clamped = s.clamp(product, s.whole(lowest), s.whole(highest))", "clamped = product"),
        ),
        tests=(f"{ENGINE}::test_values_far_outside_the_bounds_add_no_more_than_the_bounds",),
    ),
    Mutant(
        name="lower-bound-used-twice",
        trap=4,
        file="src/discreet/core/vault.py",
        old="total = SumRequest(query.column, query.grid, Fraction(bounds[0]), Fraction(bounds[1]))",
        new="total = SumRequest(query.column, query.grid, Fraction(bounds[0]), Fraction(bounds[0]))",
        tests=(
            "tests/queries/test_sensitivity.py::test_what_is_measured_is_the_sum_within_the_declared_bounds",
        ),
    ),
    Mutant(
        name="sum-sensitivity-of-the-lower-bound-twice",
        trap=4,
        file="src/discreet/queries/measurable.py",
        old="furthest = max(-low, high)",
        new="furthest = max(-low, low)",
        tests=(f"{VAULT}::test_the_sensitivity_of_a_sum_counts_nulls_as_zero_under_change_one",),
    ),
    Mutant(
        name="mean-divides-by-a-secret-number-of-rows",
        trap=5,
        file="src/discreet/families/numbers/release.py",
        old="if not schema.rows_are_public:",
        new="if schema.unit.identifier is not None:",
        tests=(f"{TABLE}::test_a_mean_never_divides_by_a_secret_number_of_rows",),
    ),
    Mutant(
        name="exponential-mechanism-without-its-half",
        trap=6,
        file="src/discreet/core/mechanisms/exponential.py",
        old="return self.epsilon / (2 * sensitivity)",
        new="return self.epsilon / sensitivity",
        tests=(f"{MECHANISMS}::test_the_exponent_of_the_exponential_mechanism_is_halved",),
    ),
    Mutant(
        name="sparse-vector-with-half-the-noise-on-counts",
        trap=6,
        file="src/discreet/core/mechanisms/threshold.py",
        old="return DiscreteLaplaceLaw(scale=4 * sensitivity / self.epsilon)",
        new="return DiscreteLaplaceLaw(scale=2 * sensitivity / self.epsilon)",
        tests=(f"{MECHANISMS}::test_above_threshold_draws_the_scales_of_its_theorem",),
    ),
    Mutant(
        name="sparse-vector-goes-on-after-its-first-above",
        trap=6,
        file="src/discreet/core/alert.py",
        old="            self.over = self._grant._noise.is_above(\n",
        new="            self.over = False\n            return self._grant._noise.is_above(\n",
        tests=(f"{VAULT}::test_an_alert_costs_once_and_ends_with_its_first_true",),
    ),
    Mutant(
        name="sparse-vector-without-noise-on-its-threshold",
        trap=6,
        file="src/discreet/core/alert.py",
        old='self._bar = int(noise.add(start, law, step=grant._next_step("threshold"))[0])',
        new='self._bar = 0 * int(noise.add(start, law, step=grant._next_step("threshold"))[0]) + threshold',
        tests=(
            "tests/kernel/test_alert_guards.py::test_counts_are_compared_with_the_one_noisy_threshold",
        ),
    ),
    Mutant(
        name="sparse-vector-takes-counts-of-any-sensitivity",
        trap=6,
        file="src/discreet/core/alert.py",
        old="if query.size(schema) != 1 or query.sensitivity(schema).l1 > self._sensitivity:",
        new="if query.size(schema) != 1:",
        tests=(
            "tests/queries/test_sensitivity.py::test_an_alert_refuses_a_count_that_a_person_moves_further",
        ),
    ),
    Mutant(
        name="a-file-with-two-names-counts-twice",
        trap=3,
        file="src/discreet/engines/sources.py",
        old="    return tuple({Path(one).stat()[1:3]: one for one in reversed(names)}.values())[::-1]\n",
        new="    return tuple(names)\n",
        tests=("tests/engines/test_sources.py::test_a_file_counts_once_however_many_names_it_has",),
    ),
    Mutant(
        name="rows-of-a-broken-run-count-again",
        trap=3,
        file="src/discreet/engines/sources.py",
        old="if not _is_left_behind(one.relative_to(folder).parts)]",
        new="]",
        tests=("tests/engines/test_sources.py::test_what_a_broken_run_left_behind_is_not_counted",),
    ),
    Mutant(
        name="replaced-rows-of-a-table-in-files-count-again",
        trap=3,
        file="src/discreet/engines/sources.py",
        old="        if len(files) > 1 and any(any(",
        new="        if not files and any(any(",
        tests=(
            "tests/engines/test_sources.py::test_a_directory_that_also_holds_replaced_rows_is_refused",
        ),
    ),
    Mutant(
        name="a-file-that-a-dataset-has-twice-counts-twice",
        trap=3,
        file="src/discreet/engines/frames.py",
        old="    if len({Path(one).stat()[1:3] for one in refuse_replaced(files)}) < len(files):\n",
        new="    if len(set(refuse_replaced(files))) > len(files):\n",
        tests=("tests/engines/test_sources.py::test_an_arrow_dataset_counts_no_file_twice",),
    ),
    Mutant(
        name="a-glob-counts-rows-of-a-broken-run-again",
        trap=3,
        file="src/discreet/engines/sources.py",
        old="for one in matched if not _is_left_behind(",
        new="for one in matched if one or _is_left_behind(",
        tests=(
            "tests/engines/test_sources.py::test_a_glob_passes_over_what_a_broken_run_left_behind",
        ),
    ),
    Mutant(
        name="names-of-files-are-taken-for-patterns",
        trap=3,
        file="src/discreet/engines/duckdb/scan.py",
        old="    _refuse_patterns(files)\n    named = [",
        new="    named = [",
        tests=("tests/engines/test_sources.py::test_no_name_of_a_file_is_taken_for_a_pattern",),
    ),
    Mutant(
        name="a-name-with-brackets-is-taken-for-a-pattern",
        trap=3,
        file="src/discreet/engines/duckdb/scan.py",
        old='r"[*?[]"',
        new='r"[*?]"',
        tests=(
            "tests/engines/test_sources.py::test_no_name_of_a_file_is_taken_for_a_pattern",
            "tests/engines/test_sources.py::test_no_table_of_a_view_is_taken_for_a_pattern",
        ),
    ),
)
