"""Bugs 18 to 23: something other than a noisy number depends on the rows."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

REPLAY = "tests/audits/test_replay.py"
REFINE = "tests/audits/test_refine_replay.py"
VAULT = "tests/kernel/test_vault.py"
NOISE = "tests/kernel/test_noise_guards.py"
ENGINE = "tests/kernel/test_engine_guards.py"
RUNS = "tests/releases/test_release_runs.py"
FIXED = "tests/audits/test_fixed_pairs.py"
SAME_TREE = f"{REFINE}::test_neighbours_get_the_same_tree_and_no_more_than_epsilon_tells_them_apart"

DATA_DEPENDENCE = (
    Mutant(
        name="cells-without-rows-are-not-noised",
        trap=18,
        file="src/discreet/core/vault.py",
        old='                values=self._noise.add(numbers, law, step=self._next_step("measure")),\n',
        new=(
            '                values=self._noise.add(numbers, law, step=self._next_step("measure"))'
            " * (numbers > 0),\n"
        ),
        tests=(
            f"{FIXED}::test_a_table_with_one_row_more_is_told_apart_by_no_more_than_was_charged",
        ),
        quick=True,
    ),
    Mutant(
        name="nodes-without-rows-are-dropped-from-a-tree",
        trap=18,
        file="src/discreet/core/refining.py",
        old="            exact = count(tree.columns, tree.shifts(level), alive)\n",
        new=(
            "            exact = count(tree.columns, tree.shifts(level), alive)\n"
            "            alive, exact = alive[exact > 0], exact[exact > 0]\n"
        ),
        tests=(f"{REFINE}::test_every_node_of_a_level_is_published_whether_rows_lie_there_or_not",),
    ),
    Mutant(
        name="categories-counted-by-what-the-rows-hold",
        trap=18,
        file="src/discreet/engines/sql/engine.py",
        old="        counts = np.zeros(int(starts[-1]), dtype=np.int64)\n        counts[found.astype(np.int64)] = counted\n        return [",
        new="        counts = np.zeros(int(starts[-1]), dtype=np.int64)\n        counts[: len(counted)] = counted\n        return [",
        tests=(f"{ENGINE}::test_a_number_that_is_no_number_counts_as_null_and_never_as_an_edge",),
    ),
    Mutant(
        name="tree-stops-by-exact-counts",
        trap=19,
        file="src/discreet/core/refining.py",
        old="            view = LevelView(level, alive, first, epsilons[2], tuple(levels), schedule.weights)\n",
        new="            view = LevelView(level, alive, exact, epsilons[2], tuple(levels), schedule.weights)\n",
        tests=(SAME_TREE,),
    ),
    Mutant(
        name="clamping-bounds-from-the-rows",
        trap=19,
        file="src/discreet/core/vault.py",
        old="        totals = dict(zip(wanted, self._engine.sums(list(wanted)), strict=True)) if wanted else {}\n",
        new=(
            "        seen = self._engine.row_count()\n"
            "        near = [\n"
            "            SumRequest(one.column, one.scale, one.low, min(one.high, one.low + seen))\n"
            "            for one in wanted\n"
            "        ]\n"
            "        totals = dict(zip(wanted, self._engine.sums(near), strict=True)) if wanted else {}\n"
        ),
        tests=(
            f"{FIXED}::test_a_table_with_one_row_more_is_told_apart_by_no_more_than_was_charged",
        ),
    ),
    Mutant(
        name="exact-number-of-rows-published",
        trap=20,
        file="src/discreet/releases/run.py",
        old="        rows = grant.public_rows() if schema.rows_are_public else None\n",
        new="        rows = grant._engine.row_count()\n",
        tests=(f"{RUNS}::test_the_number_of_rows_is_published_only_where_it_is_public",),
    ),
    Mutant(
        name="progress-tells-the-number-of-rows",
        trap=20,
        file="src/discreet/releases/run.py",
        old="            made = self._measured(grant, all_read)\n",
        new=(
            '            self._tell(f"{engine.row_count()} rows", 0.0)\n'
            "            made = self._measured(grant, all_read)\n"
        ),
        tests=(
            "tests/audits/test_leaks.py::"
            "test_hundreds_of_questions_to_a_release_of_canaries_let_nothing_out",
        ),
    ),
    Mutant(
        name="rows-are-public-where-a-person-has-several",
        trap=20,
        file="src/discreet/core/vault.py",
        old="if self._schema.adjacency is not Adjacency.CHANGE_ONE or self._schema.unit.identifier:",
        new="if self._schema.adjacency is not Adjacency.CHANGE_ONE:",
        tests=(f"{FIXED}::test_the_number_of_rows_is_a_secret_where_a_person_may_have_several",),
    ),
    Mutant(
        name="verify-overlooks-a-published-number-of-rows",
        trap=20,
        file="src/discreet/answering/verification/verify.py",
        old="    problems += _public_rows_problems(release)\n",
        new="",
        tests=(
            "tests/answers/test_verifying.py::test_a_stated_number_of_rows_is_a_problem_where_it_is_secret",
        ),
    ),
    Mutant(
        name="estimates-read-the-rows-again",
        trap=21,
        file="src/discreet/families/shared/release/measured.py",
        old="            estimates=self.estimates(measured, public_rows),\n",
        new=(
            "            estimates={\n"
            '                f"counts {place}": grant._engine.marginals([each.query.columns])[0].reshape(-1)\n'
            "                for place, each in enumerate(measured)\n"
            '                if each.query.kind == "marginal"\n'
            "            },\n"
        ),
        tests=(
            f"{FIXED}::test_a_table_with_one_row_more_is_told_apart_by_no_more_than_was_charged",
        ),
    ),
    Mutant(
        name="answers-can-open-the-table",
        trap=21,
        file="src/discreet/answering/reader.py",
        old="from discreet.answering.asking import Asking\n",
        new="from discreet.answering.asking import Asking\nfrom discreet.engines import open_engine  # noqa: F401\n",
        tests=("tests/test_rooms.py::test_rooms_that_answer_never_import_the_core_or_a_database",),
    ),
    Mutant(
        name="noise-chosen-by-the-number-of-rows",
        trap=22,
        file="src/discreet/core/vault.py",
        old="        exact = self._read([request.query for request in requests])\n        return tuple(\n",
        new=(
            "        exact = self._read([request.query for request in requests])\n"
            "        if self._engine.row_count() % 2:\n"
            "            laws = [_wider(law) for law in laws]\n"
            "        return tuple(\n"
        ),
        more=(
            (
                "def _saturated(total: int) -> int:\n",
                "def _wider(law):\n"
                "    from dataclasses import fields, replace\n\n"
                "    (field,) = fields(law)\n"
                "    return replace(law, **{field.name: 2 * getattr(law, field.name)})\n\n\n"
                "def _saturated(total: int) -> int:\n",
            ),
        ),
        tests=(
            f"{FIXED}::test_a_table_with_one_row_more_is_told_apart_by_no_more_than_was_charged",
        ),
    ),
    Mutant(
        name="an-empty-table-is-published-without-noise",
        trap=23,
        file="src/discreet/core/noise.py",
        old="return saturated(exact) + self.draw(law, exact.size)",
        new="return saturated(exact) + (self.draw(law, exact.size) if exact.any() else 0)",
        tests=(f"{NOISE}::test_a_table_of_zeros_gets_noise_like_any_other",),
    ),
    Mutant(
        name="a-sum-over-no-values-fails",
        trap=23,
        file="src/discreet/engines/sql/engine.py",
        old="return [0 if total is None else int(total) for total in totals]",
        new="return [int(total) for total in totals]",
        tests=(f"{ENGINE}::test_a_table_of_no_rows_or_of_nulls_alone_is_counted_like_any_other",),
    ),
    Mutant(
        name="a-single-row-is-refused-as-too-few",
        trap=23,
        file="src/discreet/core/vault.py",
        old="        answers: list[Counts] = []\n",
        new=(
            "        if any(0 < int(table.sum()) < 2 for table in marginals.values()):\n"
            '            raise BadInput("Too few rows.")\n'
            "        answers: list[Counts] = []\n"
        ),
        tests=(f"{FIXED}::test_tables_of_no_row_and_of_one_behave_alike",),
    ),
)
