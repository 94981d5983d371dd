"""Planted bugs about values that a release publishes by name."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

COUNTED = "tests/keys/test_named_and_counted.py"
ANSWERS = "tests/keys/test_answers_from_names.py"
FORGED = "tests/keys/test_forged_names.py"
BY_ANOTHER = f"{FORGED}::test_what_names_can_cost_is_checked_of_any_version"

KEYS = (
    Mutant(
        name="names-and-counts-of-a-release-paid-as-one",
        trap=27,
        file="src/discreet/families/keys/release.py",
        old="        left = Budget(epsilon=share.epsilon - finder.epsilon)\n",
        new="        left = Budget(epsilon=share.epsilon)\n",
        tests=(f"{COUNTED}::test_beside_other_classes_a_delta_is_counted_by_basic_composition",
               f"{COUNTED}::test_values_of_many_are_named_and_counted_and_all_others_are_counted_together"),
    ),
    Mutant(
        name="found-values-counted-as-if-a-person-had-one-row",
        trap=3,
        file="src/discreet/families/keys/queries.py",
        old="        return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)\n",
        new="        return Sensitivity(1, 1) if schema else sensitivity_of_disjoint_counts(*schema)\n",
        tests=(f"{COUNTED}::test_no_person_moves_the_counts_by_more_than_their_sensitivity",),
    ),
    Mutant(
        name="a-found-value-counts-among-the-others-too",
        trap=2,
        file="src/discreet/families/keys/queries.py",
        old="        rest = [present - int(found.sum(dtype=np.int64)), rows - present]\n",
        new="        rest = [present, rows - present]\n",
        tests=(f"{COUNTED}::test_no_person_moves_the_counts_by_more_than_their_sensitivity",),
    ),
    Mutant(
        name="verify-believes-how-many-keys-a-person-touches",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    if each.touched != touched:\n",
        new="    if each.touched > touched:\n",
        tests=(BY_ANOTHER,),
    ),
    Mutant(
        name="verify-takes-names-in-the-order-of-the-rows",
        trap=36,
        file="src/discreet/answering/verification/verify.py",
        old="    if misshapen or any(key >= following for key, following in pairwise(each.keys)):\n",
        new="    if misshapen or len(set(each.keys)) < len(each.keys) - len([*pairwise(())]):\n",
        tests=(BY_ANOTHER,),
    ),
    Mutant(
        name="names-without-a-delta-verify",
        trap=29,
        file="src/discreet/answering/verification/verify.py",
        old="    if not 0 < each.cost.delta < 1:\n",
        new="    if not 0 <= each.cost.delta < 1:\n",
        tests=(BY_ANOTHER,),
    ),
    Mutant(
        name="a-value-that-was-not-named-takes-no-part-of-the-risk",
        trap=42,
        file="src/discreet/families/keys/estimate.py",
        old="    return 1 - (1 - confidence_level(confidence)) * (1 - NAMING_SHARE)\n",
        new="    return 1 - (1 - confidence_level(confidence))\n",
        tests=(f"{ANSWERS}::test_an_interval_covers_however_many_hold_a_value",),
    ),
    Mutant(
        name="a-value-that-was-not-named-is-taken-for-absent",
        trap=42,
        file="src/discreet/families/keys/answer.py",
        old="            upper += rows * len(chosen.added)\n",
        new="",
        tests=(f"{ANSWERS}::test_of_a_value_that_is_not_published_a_bound_is_said_with_its_confidence",),
    ),
    Mutant(
        name="tables-of-declared-cells-answer-for-published-values",
        trap=42,
        file="src/discreet/answering/asking.py",
        old="        if source.reads_names or not self._named:\n",
        new="        if source.reads_names or self._named is not None:\n",
        tests=(f"{ANSWERS}::test_beside_tables_of_the_same_column_values_are_still_named",),
    ),
    Mutant(
        name="names-are-paid-for-in-a-notion-that-has-no-cost-for-them",
        trap=26,
        file="src/discreet/families/keys/release.py",
        old="    accountings: ClassVar[tuple[Accounting, ...]] = (Accounting.BASIC,)\n",
        new="    accountings: ClassVar[tuple[Accounting, ...]] = tuple(Accounting)\n",
        tests=(f"{COUNTED}::test_beside_other_classes_a_delta_is_counted_by_basic_composition",),
    ),
)  # fmt: skip
