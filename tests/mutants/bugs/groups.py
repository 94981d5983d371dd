"""Bugs of measures by group: noise for one group where a row touches two, intervals for fewer draws than there are."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SENSITIVITY = "tests/groups/test_group_sensitivity.py"
NUMBERS = "tests/groups/test_group_numbers.py"
RANGES = "tests/groups/test_group_ranges.py"
QUANTILES = "tests/ranges/test_quantiles.py"
AT_ONCE = "tests/ranges/test_all_at_once.py"
PLANS = "tests/releases/test_plan_reasons.py"
SUMS = "src/discreet/families/groups/queries/group_sums.py"
WORST = f"{SENSITIVITY}::test_the_worst_unit_moves_all_groups_by_exactly_the_stated_sensitivity"

GROUPS = (
    Mutant(
        name="the-claim-of-means-by-group-is-a-third-of-what-the-noise-allows",
        trap=42,
        file="src/discreet/families/groups/answer/bounds.py",
        old="    return widest / float(values)\n",
        new="    return widest / float(3 * values)\n",
        tests=(
            f"{NUMBERS}::test_the_claim_is_what_the_plan_says_and_holds_for_the_groups_that_it_names",
        ),
    ),
    Mutant(
        name="a-changed-row-moves-one-group-of-sums",
        trap=1,
        file=SUMS,
        old="                return Sensitivity(l1=2 * moved, l2_squared=2 * moved * moved)\n",
        new="                return Sensitivity(l1=moved, l2_squared=moved * moved)\n",
        tests=(WORST,),
        quick=True,
    ),
    Mutant(
        name="a-changed-row-stays-in-its-group-of-ranges",
        trap=1,
        file="src/discreet/families/groups/queries/group_ranges.py",
        old="    return max(same_l1, 2 * one_l1), max(same_l2, 2 * one_l2)\n",
        new="    return same_l1, same_l2\n",
        tests=(WORST,),
    ),
    Mutant(
        name="a-person-of-many-rows-moves-a-group-by-one-row",
        trap=3,
        file=SUMS,
        old="        moved = self.width(schema) * schema.unit.max_rows\n",
        new="        moved = self.width(schema)\n",
        tests=(WORST,),
    ),
    Mutant(
        name="the-sum-from-above-wraps",
        trap=9,
        file=SUMS,
        old="        below, present = (each.astype(object) for each in tallied)\n",
        new="        below, present = (each.astype(np.int64) for each in tallied)\n",
        tests=(f"{SENSITIVITY}::test_where_a_sum_is_clamped_the_other_end_takes_up_what_it_lost",),
    ),
    Mutant(
        name="sum-and-count-of-groups-both-take-the-whole-share",
        trap=27,
        file="src/discreet/families/groups/release/numbers.py",
        old="    return list(zip((total, count), shares(share, weights), strict=True))\n",
        new="    return [(total, share), (count, share)]\n",
        tests=(f"{NUMBERS}::test_the_parts_of_a_share_add_up_to_it",),
    ),
    Mutant(
        name="groups-put-together-have-the-noise-of-one",
        trap=42,
        file="src/discreet/families/groups/answer/noisy_columns.py",
        old="        [(abs(weight), law, many) for weight, law in zip(weights, laws, strict=True)], confidence\n",
        new="        [(abs(weight), law, 1) for weight, law in zip(weights, laws, strict=True)], confidence\n",
        tests=(
            f"{NUMBERS}::test_the_interval_of_several_groups_together_has_the_noise_of_all_of_them",
        ),
    ),
    Mutant(
        name="rows-without-a-value-counted-by-group",
        trap=42,
        file="src/discreet/families/groups/answer/number_source.py",
        old="            if counts_all and keeps_every_row(column) and column.value_cells == column.cells:\n",
        new="            if counts_all:\n",
        tests=(f"{NUMBERS}::test_a_release_answers_plain_sql_and_verifies",),
    ),
    Mutant(
        name="rows-in-no-group-left-out-of-a-count",
        trap=42,
        file="src/discreet/families/groups/answer/taken_groups.py",
        old="        if name not in region.names and not keeps_every_row(schema.column(name)):\n",
        new="        if False and name not in region.names:\n",
        tests=(f"{NUMBERS}::test_rows_in_no_group_are_not_silently_left_out",),
    ),
    Mutant(
        name="a-bound-of-one-group-given-for-all",
        trap=42,
        file="src/discreet/families/ranges/estimate/all_ranges.py",
        old="    each = -math.expm1(math.log1p(-delta) / copies)  # groups are independent\n",
        new="    each = delta\n",
        tests=(
            f"{AT_ONCE}::test_a_simulated_bound_of_one_number_is_its_exact_quantile_or_a_little_more",
            f"{RANGES}::test_simulated_bounds_of_groups_fail_as_rarely_as_they_say",
        ),
    ),
    Mutant(
        name="noise-simulated-for-a-median-lacks-the-halves-noise",
        trap=42,
        file="src/discreet/families/ranges/estimate/tree_intervals.py",
        old="            left += spread * normal.standard_normal(left.shape)\n",
        new="            left += 0.5 * spread * normal.standard_normal(left.shape)\n",
        tests=(f"{QUANTILES}::test_simulated_noise_has_the_covariance_of_the_fit",),
    ),
    Mutant(
        name="a-median-is-tested-as-if-rising-counts-had-half-their-noise",
        trap=42,
        file="src/discreet/families/ranges/answer/quantiles.py",
        old="np.sqrt(np.minimum(narrowed, 1.0))",
        new="np.sqrt(np.minimum(narrowed, 1.0)) / 2",
        tests=(
            f"{QUANTILES}::test_intervals_of_medians_hold_and_are_narrower_than_the_first_test",
        ),
    ),
    Mutant(
        name="a-simulated-quantile-taken-for-a-bound",
        trap=42,
        file="src/discreet/families/ranges/estimate/all_ranges.py",
        old="    above = int(binom.ppf(UNLUCKY, draws, delta)) - 1\n",
        new="    above = int(draws * delta)\n",
        tests=(
            f"{AT_ONCE}::test_so_few_draws_above_a_bound_that_is_too_small_are_as_unlucky_as_stated",
        ),
    ),
    Mutant(
        name="bridges-without-the-boundaries-above",
        trap=42,
        file="src/discreet/families/ranges/estimate/bridges.py",
        old="errors = np.concatenate([np.zeros((many, 1)), line + own], axis=1)",
        new="errors = np.concatenate([np.zeros((many, 1)), own], axis=1)",
        tests=(f"{AT_ONCE}::test_a_bridge_goes_through_the_boundaries_above_it",),
    ),
    Mutant(
        name="a-quantile-of-the-full-tree-taken-for-that-of-a-stopped-one",
        trap=42,
        file="src/discreet/families/ranges/estimate/box_bridges.py",
        old="found = min(found, places[place] + tail / delta)",
        new="found = places[place]",
        tests=(f"{AT_ONCE}::test_boxes_of_a_tree_that_its_noise_stops_stay_within_the_bound",),
    ),
    Mutant(
        name="a-box-has-the-noise-of-one-level",
        trap=42,
        file="src/discreet/families/ranges/answer/box_usefulness.py",
        old="                logs -= each.many * np.log1p(-((slopes * each.scale) ** 2))\n",
        new="                logs = -each.many * np.log1p(-((slopes * each.scale) ** 2))\n",
        tests=(f"{AT_ONCE}::test_the_draws_of_several_levels_are_bounded_together",),
    ),
    Mutant(
        name="a-plan-forgets-the-upper-levels",
        trap=42,
        file="src/discreet/families/ranges/release/claims.py",
        old="    bridges = [BridgeLevel(bits - depth[0], law) for depth, law in levels]\n",
        new="    bridges = [BridgeLevel(bits - depth[0], law) for depth, law in levels][:1]\n",
        tests=(f"{AT_ONCE}::test_a_plan_counts_the_noise_of_every_level",),
    ),
    Mutant(
        name="gamma-is-ignored-by-trees-and-grids",
        trap=42,
        file="src/discreet/families/halfspaces/queries/halfspaces.py",
        old="        if self.gamma == USUAL_GAMMA and self.projections is None:\n",
        new="        if self.gamma != 0:\n",
        tests=(f"{PLANS}::test_gamma_and_projections_are_used_or_refused",),
    ),
    Mutant(
        name="a-delta-just-below-one-in-n-goes-unwarned",
        trap=29,
        file="src/discreet/privacy/guidance.py",
        old="    if people is not None and delta * people > NEAR_ONE:\n",
        new="    if people is not None and delta * people > 1:\n",
        tests=(f"{PLANS}::test_a_delta_not_far_below_one_in_the_number_of_people_is_warned_of",),
    ),
)
