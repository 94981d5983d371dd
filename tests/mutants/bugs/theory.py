"""Bugs of the general mechanism and of the theory that is run."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LAW = "tests/theory/test_general_law.py"
SIZES = "tests/theory/test_sample_sizes.py"
RELEASE = "tests/theory/test_general_release.py"

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
        file="src/discreet/families/predicates/answer/usefulness.py",
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
)
