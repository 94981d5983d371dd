"""Bugs 7 to 13: numbers that are not the integers and rationals of the proof."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LINT = (
    "tests/tools/test_privacy_lint.py::test_the_tree_is_clean_and_every_exemption_is_still_needed"
)
ENGINE = "tests/kernel/test_engine_guards.py"
NOISE = "tests/kernel/test_noise_guards.py"
CHOICES = "tests/samplers/test_samplers_choices.py"
TIES = "tests/samplers/test_samplers_ties.py"
MECHANISMS = "tests/kernel/test_mechanisms.py"
BUDGETS = "tests/privacy/test_budget.py"
GAUSSIAN = "tests/privacy/test_gaussian_notion.py"
CONVERSION = "tests/privacy/test_conversion.py"
LEDGER = "tests/ledger/test_ledger.py"

NUMERICS = (
    Mutant(
        name="laplace-noise-drawn-in-floats",
        trap=7,
        file="src/discreet/core/noise.py",
        old="        return samplers.draw(law, count, entropy=self._entropy)\n",
        new=(
            "        words = samplers.uniform_below(1 << 53, count, entropy=self._entropy)\n"
            "        uniform = (words + 0.5) / 2**53 - 0.5\n"
            "        real = -law.spread * np.sign(uniform) * np.log1p(-2 * abs(uniform))\n"
            "        return np.rint(real).astype(np.int64)\n"
        ),
        tests=(LINT,),
        quick=True,
    ),
    Mutant(
        name="float-filter-without-its-margin",
        trap=7,
        file="src/discreet/samplers/gaussian.py",
        old="        accepted = chance >= 1.0 + margin\n        for i in np.flatnonzero((chance > -margin) != accepted):\n            exponents = partial(self._exponents, int(drawn[i]))\n            accepted[i] = _decide(exponents, int(words[i]), 0, self._word_bits, entropy)\n",
        new="        accepted = chance > margin\n",
        tests=(f"{TIES}::test_discrete_gaussian_noise_keeps_its_law_when_most_coins_tie",),
    ),
    Mutant(
        name="coin-decided-by-its-first-word",
        trap=7,
        file="src/discreet/samplers/bernoulli.py",
        old="        coins[tie] = thresholds.below(index, floor, word_bits, entropy)\n",
        new="        coins[tie] = False\n",
        tests=(f"{TIES}::test_coins_of_two_bits_fall_as_often_as_wide_ones",),
    ),
    Mutant(
        name="sum-added-up-in-doubles",
        trap=8,
        file="src/discreet/engines/sql/cells.py",
        old='return s.choose([(s.is_null(kept), s.null())], s.cast(clamped, "BIGINT"))',
        new='return s.choose([(s.is_null(kept), s.null())], s.cast(clamped, "DOUBLE"))',
        tests=(f"{ENGINE}::test_a_sum_is_the_exact_integer_whatever_the_order_of_the_rows",),
    ),
    Mutant(
        name="exact-answers-not-saturated-before-noise",
        trap=9,
        file="src/discreet/core/noise.py",
        old="    return np.clip(exact, -SATURATION, SATURATION)\n",
        new="    return exact\n",
        tests=(f"{NOISE}::test_numbers_near_the_end_of_int64_are_clamped_and_never_wrap",),
    ),
    Mutant(
        name="sum-wraps-into-64-bits",
        trap=9,
        file="src/discreet/core/vault.py",
        old="    return max(-SATURATION, min(SATURATION, total))\n",
        new="    return (total + (1 << 63)) % (1 << 64) - (1 << 63)\n",
        tests=(
            "tests/queries/test_sensitivity.py::test_a_sum_beyond_64_bits_is_cut_off_and_does_not_wrap",
        ),
    ),
    Mutant(
        name="score-gaps-wrap-in-int64",
        trap=9,
        file="src/discreet/samplers/selection.py",
        old="gaps = wide.max().astype(np.uint64) - wide.astype(np.uint64)",
        new="gaps = np.maximum(wide.max() - wide, 0).astype(np.uint64)",
        tests=(f"{CHOICES}::test_the_whole_range_of_int64_is_a_gap_without_wrapping",),
    ),
    Mutant(
        name="not-a-number-clamped-to-the-upper-bound",
        trap=10,
        file="src/discreet/engines/sql/units.py",
        old='            return self._dialect.finite(s.cast(value, "DOUBLE"))\n',
        new='            return s.cast(value, "DOUBLE")\n',
        tests=(f"{ENGINE}::test_a_number_that_is_no_number_counts_as_null_and_never_as_an_edge",),
    ),
    Mutant(
        name="answers-off-the-grid-rounded-to-it",
        trap=11,
        file="src/discreet/queries/measurable.py",
        old="        if (Fraction(self.center) * self.grid).denominator != 1:\n",
        new="        if (Fraction(self.center) * self.grid).denominator == 0:\n",
        tests=("tests/queries/test_sensitivity.py::test_a_sum_is_centred_on_its_grid_only",),
    ),
    Mutant(
        name="sensitivity-of-a-grid-rounded-to-nearest",
        trap=11,
        file="src/discreet/queries/measurable.py",
        old="min(0, floor(low * self.grid))",
        new="min(0, round(low * self.grid))",
        tests=(
            "tests/queries/test_sensitivity.py::test_a_bound_between_two_steps_of_the_grid_counts_as_the_step_beyond",
        ),
    ),
    Mutant(
        name="sensitivity-of-a-sum-rounded-down",
        trap=11,
        file="src/discreet/queries/measurable.py",
        old="max(0, ceil(high * self.grid))",
        new="max(0, floor(high * self.grid))",
        tests=(
            "tests/queries/test_sensitivity.py::test_a_bound_between_two_steps_of_the_grid_counts_as_the_step_beyond",
        ),
    ),
    Mutant(
        name="large-score-gaps-get-weight-one",
        trap=12,
        file="src/discreet/samplers/bernoulli.py",
        old="DIGITS: Final = 64\n",
        new="DIGITS: Final = 32\n",
        tests=(f"{NOISE}::test_a_candidate_behind_by_any_power_of_two_is_never_chosen",),
    ),
    Mutant(
        name="weights-of-the-exponential-mechanism-in-floats",
        trap=12,
        file="src/discreet/samplers/selection.py",
        old="        accepted = np.flatnonzero(coins.toss(gaps[proposed], source))\n",
        new=(
            "        words = source.words(batch, np.uint32) / 2.0**32\n"
            "        accepted = np.flatnonzero(words < np.exp(-float(unit) * gaps[proposed]))\n"
        ),
        tests=(LINT,),
    ),
    Mutant(
        name="a-tenth-is-its-binary-float",
        trap=13,
        file="src/discreet/privacy/exact.py",
        old="    text = repr(value) if isinstance(value, float) else str(value)\n",
        new="    if isinstance(value, float):\n        return Fraction(value)\n    text = str(value)\n",
        tests=(f"{BUDGETS}::test_a_tenth_ten_times_is_exactly_one",),
    ),
    Mutant(
        name="losses-rounded-down",
        trap=13,
        file="src/discreet/privacy/conversion/rounding.py",
        old="    return _decimal(value, up=True)\n",
        new="    return _decimal(value, up=False)\n",
        tests=(f"{CONVERSION}::test_the_gaussian_delta_is_the_independent_one_rounded_up",),
    ),
    Mutant(
        name="allowance-in-rho-rounded-up",
        trap=13,
        file="src/discreet/privacy/conversion/concentrated.py",
        old="        rho = round_down(guess * number(1 - shrink))\n        if epsilon_from_rho(rho, delta=slack) <= limit:\n",
        new="        rho = round_up(guess * number(1 + shrink))\n        if rho:\n",
        tests=(
            "tests/queries/test_spending.py::test_the_rho_that_a_budget_allows_converts_back_to_no_more_than_the_budget",
        ),
    ),
    Mutant(
        name="endless-totals-rounded-down",
        trap=13,
        file="src/discreet/ledger/account.py",
        old="top, bottom = -(-top * GRAINS // bottom), GRAINS",
        new="top, bottom = top * GRAINS // bottom, GRAINS",
        tests=(f"{LEDGER}::test_endless_denominators_are_rounded_up_and_never_down",),
    ),
    Mutant(
        name="classic-gaussian-formula-above-epsilon-one",
        trap=13,
        file="src/discreet/privacy/conversion/gaussian.py",
        old="    return smallest_passing(keeps_the_promise, square)\n",
        new="    return square * round_up(2 * context().log(number(Fraction(5, 4) / slack))) / loss**2\n",
        tests=(f"{MECHANISMS}::test_the_analytic_gaussian_meets_its_delta_and_is_not_wasteful[4]",),
    ),
    Mutant(
        name="a-rho-is-taken-for-a-mu",
        trap=13,
        file="src/discreet/privacy/cost.py",
        old="        raise other_notion(allowed, notion)  # a rho says nothing of mu\n",
        new="        return Budget.of_mu_squared(2 * allowed.rho)\n",
        tests=(f"{GAUSSIAN}::test_what_a_charge_costs_a_cap_in_mu",),
    ),
    Mutant(
        name="a-selection-is-half-price-in-mu",
        trap=13,
        file="src/discreet/privacy/cost.py",
        old="half_range=epsilon / 2)",
        new="half_range=epsilon / 4)",
        tests=(f"{GAUSSIAN}::test_a_selection_costs_as_much_as_half_its_epsilon_of_anything_pure",),
    ),
    Mutant(
        name="the-mu-of-anything-pure-is-its-epsilon",
        trap=13,
        file="src/discreet/privacy/conversion/gaussian.py",
        old="        return bool(upper(beyond) <= wanted - slack_of(wanted))\n",
        new="        return bool(beyond and mu_squared >= half * half)\n",
        tests=(f"{GAUSSIAN}::test_no_test_tells_bounded_losses_apart_better_than_their_mu_says",),
    ),
    Mutant(
        name="discrete-gaussian-noise-is-given-a-mu",
        trap=13,
        file="src/discreet/privacy/laws/gaussian.py",
        old="        return Cost.concentrated(Fraction(sensitivity.l2_squared) / (2 * self.sigma_squared))\n",
        new="        return Cost.of_mu(Fraction(sensitivity.l2_squared) / self.sigma_squared)\n",
        tests=(
            f"{GAUSSIAN}::test_rounded_gaussian_noise_costs_what_its_law_says_and_the_discrete_one_has_no_mu",
        ),
    ),
)
