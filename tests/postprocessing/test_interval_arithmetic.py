"""Numbers with intervals: arithmetic, functions, choices, sums, ratios, ranks and places in an order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.artifacts.answer import Unit
from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion
from discreet.families.shared.estimate.combination import half_width
from discreet.postprocessing import arithmetic
from discreet.postprocessing.across import across, ranks
from discreet.postprocessing.functions import apply
from discreet.postprocessing.logic import compared
from discreet.postprocessing.plan import Literal, Order
from discreet.postprocessing.ratios import ratio_ends
from discreet.postprocessing.rows import unplaced
from discreet.postprocessing.values import Labels, Levels, Noise, Numbers, chosen_among
from discreet.postprocessing.working.measured_groups import MeasuredGroups
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.schema import Schema

LEVELS = Levels(Fraction(95, 100))


ENDS = st.floats(-50, 50).map(lambda x: round(x, 2))


def interval(low: float, high: float, place: float = 0.5) -> Numbers:
    """One number somewhere between two ends."""
    low, high = min(low, high), max(low, high)
    middle = low + (high - low) * place
    return Numbers(
        np.array([middle]),
        np.array([[low]]),
        np.array([[high]]),
        np.zeros(1),
        origins={(0, 0, ""): 1},
    )


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["+", "-", "*", "/", "%", "greatest", "least"]),
    *[ENDS] * 4,
    *[st.floats(0, 1)] * 4,
)
def test_interval_arithmetic_holds_whatever_the_numbers_are(
    name: str, a: float, b: float, c: float, d: float, p: float, q: float, r: float, t: float
) -> None:
    """Any two numbers inside their intervals give a result inside its own, or null."""
    left, right = interval(a, b, p), interval(c, d, q)
    found = apply(name, [left, right], LEVELS)
    assert isinstance(found, Numbers)
    if np.isnan(found.estimate[0]):
        return
    inside = [
        Numbers.exact([float(each.lower[0, 0] + (each.upper[0, 0] - each.lower[0, 0]) * where)], 1)
        for each, where in ((left, r), (right, t))
    ]
    exact = apply(name, inside, LEVELS)
    assert isinstance(exact, Numbers)
    value = exact.estimate[0]
    if not np.isnan(value):
        slack = 1e-6 * (1 + abs(value))
        assert found.lower[0, 0] - slack <= value <= found.upper[0, 0] + slack


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(
        [
            "abs",
            "floor",
            "ceil",
            "sqrt",
            "exp",
            "ln",
            "sign",
            "trunc",
            "round",
            "sin",
            "cos",
            "tan",
            "atan",
            "tanh",
            "sinh",
            "cbrt",
            "degrees",
            "square",
        ]
    ),
    ENDS,
    ENDS,
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_functions_of_one_number_hold_whatever_it_is(
    name: str, a: float, b: float, p: float, where: float
) -> None:
    found = apply(name, [interval(a, b, p)], LEVELS)
    low, high = min(a, b), max(a, b)
    exact = apply(name, [Numbers.exact([low + (high - low) * where], 1)], LEVELS)
    assert isinstance(found, Numbers) and isinstance(exact, Numbers)
    value = exact.estimate[0]
    if np.isnan(value) or np.isnan(found.estimate[0]) or (name == "sqrt" and low < 0):
        return
    slack = 1e-9 * (1 + abs(value))
    assert found.lower[0, 0] - slack <= value <= found.upper[0, 0] + slack


def test_a_divisor_that_may_be_zero_leaves_the_quotient_open() -> None:
    found = arithmetic.divide(interval(1, 2), interval(-1, 3, 0.9), LEVELS)
    assert found.lower[0, 0] == -np.inf and found.upper[0, 0] == np.inf
    found = arithmetic.divide(interval(1, 2), interval(0, 4), LEVELS)
    assert found.lower[0, 0] == 0.25 and found.upper[0, 0] == np.inf


def test_a_case_that_is_not_sure_covers_both_branches() -> None:
    one, other = interval(0, 10), interval(4, 6)
    met = compared(one, ">", other, LEVELS)
    assert met.unsure is not None and met.unsure.all()
    found = arithmetic.chosen(
        np.array([True]), met.unsure, interval(100, 101), interval(7, 8), LEVELS
    )
    assert isinstance(found, Numbers)
    assert (found.lower[0, 0], found.upper[0, 0]) == (7, 101)
    sure = compared(interval(7, 10), ">", other, LEVELS)
    assert sure.unsure is None and sure.values.tolist() == [True]


def noisy(values: list[float], draw: int = 0, scale: Fraction = Fraction(2)) -> Numbers:
    law = DiscreteLaplaceLaw(scale)
    found = np.array(values)
    ends = law.half_width(LEVELS.confidence)
    noise = Noise(found, {(-2, draw, ""): (1.0, law, 1)})
    return Numbers(
        found, (found - ends)[None], (found + ends)[None], np.full(len(found), law.std),
        origins={(0, draw, ""): 1}, noise=noise,
    )  # fmt: skip


def test_the_noise_of_a_weighted_sum_is_that_of_its_law() -> None:
    """x - x is 0 without noise, x + x has twice the width of x, and x + y less than that."""
    x, y = noisy([10.0], 0), noisy([20.0], 1)
    nothing = arithmetic.subtract(x, x, LEVELS)
    assert nothing.lower[0, 0] == nothing.upper[0, 0] == 0
    twice, both = arithmetic.add(x, x, LEVELS), arithmetic.add(x, y, LEVELS)
    width = x.upper[0, 0] - x.lower[0, 0]
    assert twice.upper[0, 0] - twice.lower[0, 0] == pytest.approx(2 * width)
    assert width < both.upper[0, 0] - both.lower[0, 0] < 2 * width
    assert both.std[0] == pytest.approx(np.sqrt(2) * x.std[0])


def counted(found: list[float], draw: int = 0) -> Numbers:
    """Counts as they are answered: cut off at 0, where the interval keeps its width."""
    raw = noisy(found, draw)
    width = raw.upper - raw.estimate
    cut = np.maximum(raw.estimate, 0.0)
    return replace(
        raw, estimate=cut, lower=np.maximum(raw.lower, 0.0), upper=cut + width, unit=Unit.COUNT
    )


def test_a_count_and_a_number_are_as_close_as_the_count() -> None:
    """Noise pushed the count to -30. It is shown as 0 to 30 or so, and 100 less it as 70 or so to 100."""
    count, hundred = counted([-30.0]), Numbers.exact([100.0], len(LEVELS))
    more, less = arithmetic.add(count, hundred, LEVELS), arithmetic.subtract(hundred, count, LEVELS)
    width = count.upper[0, 0]
    assert (more.estimate[0], more.lower[0, 0], more.upper[0, 0]) == (100, 100, 100 + width)
    assert (less.estimate[0], less.lower[0, 0], less.upper[0, 0]) == (100, 100 - width, 100)
    back = arithmetic.subtract(more, count, LEVELS)
    assert back.lower[0, 0] == back.upper[0, 0] == 100, "the draw of the count cancels still"


def test_a_sum_of_counts_is_not_below_zero_and_its_interval_is_as_wide_as_its_noise() -> None:
    both = arithmetic.add(counted([-30.0, 2.0], 0), counted([-10.0, 500.0], 1), LEVELS)
    plain = arithmetic.add(noisy([0.0, 2.0], 0), noisy([0.0, 500.0], 1), LEVELS)
    assert both.unit is Unit.COUNT and both.estimate.tolist() == [0, 502]
    assert both.lower[0, 0] == 0 and both.upper[0, 0] == plain.upper[0, 0]
    assert both.lower[0, 1] == plain.lower[0, 1] and both.upper[0, 1] == plain.upper[0, 1]
    all_three = arithmetic.add(both, counted([-5.0, 1.0], 2), LEVELS)
    assert all_three.lower[0, 0] == 0 < all_three.upper[0, 0]
    as_measured = replace(noisy([-30.0]), unit=Unit.COUNT)
    assert arithmetic.add(as_measured, as_measured, LEVELS).estimate[0] == -60


def test_a_sum_over_rows_is_not_independent_of_one_of_them() -> None:
    rows = noisy([10.0, 20.0, 30.0])
    total = across("sum", rows, [np.arange(3)], LEVELS, level=0.5, tag="all")
    assert isinstance(total, Numbers) and total.noise is not None
    assert total.estimate[0] == 60
    spread = total.taken(np.zeros(3, dtype=np.int64))
    assert isinstance(spread, Numbers)
    difference = arithmetic.subtract(rows, spread, LEVELS)
    assert difference.noise is None, "the total holds the row's own draw"
    assert difference.shared > 1


def test_the_rank_of_a_noisy_number_says_which_places_are_possible() -> None:
    values = Numbers(
        np.array([10.0, 9.0, 1.0]),
        np.array([[8.0, 7.0, 0.0]]),
        np.array([[12.0, 11.0, 2.0]]),
        np.zeros(3),
        origins={(0, 0, ""): 1},
    )
    found = ranks([values], [Order(Literal(0), True)], np.array([0, 1, 2]), LEVELS, kind="rank")
    assert found.estimate.tolist() == [1, 2, 3]
    assert found.lower.tolist() == [[1, 1, 3]] and found.upper.tolist() == [[2, 2, 3]]


def test_texts_and_numbers_do_not_mix() -> None:
    with pytest.raises(BadQuestion, match="takes numbers"):
        apply("+", [Labels.of(["a"]), interval(0, 1)], LEVELS)
    with pytest.raises(BadQuestion, match="lose its interval"):
        apply("concat", [Labels.of(["a"]), interval(0, 1)], LEVELS)


def test_a_ratio_of_numbers_that_share_a_draw_is_left_to_the_union_bound() -> None:
    """(x + 100) / x: as if they were independent, the interval would be that of two noises."""
    x = noisy([1000.0])
    more = arithmetic.add(x, Numbers.exact([100.0], 1), LEVELS)
    assert ratio_ends(more, x, LEVELS) is None
    assert ratio_ends(more, noisy([1000.0], draw=1), LEVELS) is not None


def test_a_ratio_of_nothing_with_hardly_any_noise_has_ends() -> None:
    """Noise that is 0 nearly always has no width: 0 / 1000 has an interval, and finding it comes to an end."""
    still = Fraction(1, 50)
    found = ratio_ends(noisy([0.0], 0, still), noisy([1000.0], 1, still), LEVELS)
    assert found is not None
    assert [float(end[0, 0]) for end in found] == [0.0, 0.0]


def several(*ends: tuple[float, float]) -> Numbers:
    low, high = np.array(ends).T
    return Numbers(
        (low + high) / 2, low[np.newaxis], high[np.newaxis], high - low, origins={(0, 0, ""): 1}
    )


def test_a_number_that_may_be_anything_has_no_place_in_an_order() -> None:
    """Means of groups that may hold no row have the whole range; others are told apart."""
    empty = (1.0, 100.0)
    assert unplaced(several((37, 38), empty, (41, 46), empty)).tolist() == [
        False,
        True,
        False,
        True,
    ]
    assert unplaced(several((0, 0.2), (0.3, 0.4), (0, np.inf))).tolist() == [False, False, True]
    assert not unplaced(several((37, 38), (36, 39), (41, 46))).any(), "a little wider is not open"
    many = [empty] * 9
    assert unplaced(several((37, 38), *many, (2, 60), (41, 46))).tolist() == [
        False, *[True] * 9, False, False
    ], "more than half, of which nothing but the bounds is known"  # fmt: skip
    assert not unplaced(several((37, 60), (1, 61), (1, 61), (1, 40))).any(), "hardly wider"
    assert not unplaced(several((37, 38), *[(1.0 + step, 100.0) for step in range(9)])).any()
    assert not unplaced(several(empty, empty, empty)).any(), "none is told apart"
    assert not unplaced(several(empty)).any()
    assert not unplaced(Labels.of(["a", "b"])).any()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=4), ENDS)
def test_what_all_intervals_hold_their_meeting_holds(
    ends: list[tuple[float, float]], true: float
) -> None:
    parts = [interval(min(true, low), max(true, high)) for low, high in ends]
    found = apply("meeting", parts, LEVELS)
    assert isinstance(found, Numbers)
    assert found.lower[0, 0] <= true <= found.upper[0, 0]
    assert found.lower[0, 0] <= found.estimate[0] <= found.upper[0, 0]
    narrowest = min(each.upper[0, 0] - each.lower[0, 0] for each in parts)
    assert found.upper[0, 0] - found.lower[0, 0] <= narrowest


def test_intervals_with_nothing_in_common_leave_the_narrowest() -> None:
    found = apply("meeting", [interval(0, 1), interval(5, 5.5)], LEVELS)
    assert isinstance(found, Numbers)
    assert (found.lower[0, 0], found.estimate[0], found.upper[0, 0]) == (5, 5.25, 5.5)


LAW = DiscreteLaplaceLaw(Fraction(3))


def noisy_counts(values: np.ndarray) -> Numbers:
    """Counts with independent draws, as a curator answers them."""
    half = LAW.half_width(LEVELS.confidence)
    return Numbers(
        values,
        np.array([values - half]),
        np.array([values + half]),
        np.full(len(values), LAW.std),
        unit=Unit.COUNT,
        origins={(0, -1, ""): 1},
        noise=Noise(values, {(-2, 0, ""): (1.0, LAW, 1)}),
    )


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_groups_of_several_sizes_have_each_the_law_of_its_own_sum(function: str) -> None:
    """Not the union bound over their rows, which is several times as wide."""
    groups = [np.arange(30), np.arange(30, 32), np.array([], dtype=np.int64)]
    counts = noisy_counts(np.full(32, 100.0))
    found = across(function, counts, groups, LEVELS, level=0.5, tag="groups")
    assert isinstance(found, Numbers)
    for place, size in ((0, 30), (1, 2)):
        half = half_width([(1.0, LAW, size)], LEVELS.confidence)
        half, middle = (half / size, 100.0) if function == "avg" else (half, 100.0 * size)
        assert found.estimate[place] == middle
        assert found.upper[0, place] - middle == pytest.approx(half, abs=1)
        assert middle - found.lower[0, place] == pytest.approx(half, abs=1)
    assert np.isnan(found.estimate[2])  # of no rows there is no sum


def test_a_sum_of_rows_that_noise_chose_is_no_sum_of_so_many_draws() -> None:
    """The 10 largest of 200 equal counts are large by their noise: the law of 10 draws would miss in each of 40 runs.

    The interval holds if no draw of 200 is beyond the union bound: a false alarm has a probability below 1e-9, as each
    run misses with at most 5%, and 20 of 40 would have to.
    """
    public, held, plain = np.random.default_rng(3), 0, 0
    levels = Levels(Fraction(95, 100), (1, 200))
    for _ in range(40):
        values = 50.0 + np.rint(public.laplace(0, 3, 200))
        halves = [LAW.half_width(levels.at(level)) for level in range(2)]
        counts = replace(
            noisy_counts(values),
            lower=np.array([values - half for half in halves]),
            upper=np.array([values + half for half in halves]),
        )
        top = np.argsort(-values)[:10]
        chosen = chosen_among(counts, 200).taken(top)
        found = across("sum", chosen, [np.arange(10)], levels, level=0.5, tag="groups")
        assert isinstance(found, Numbers) and found.shared == 200
        held += bool(found.lower[1, 0] <= 500 <= found.upper[1, 0])
        as_drawn = across(
            "sum", counts.taken(top), [np.arange(10)], levels, level=0.5, tag="groups"
        )
        assert isinstance(as_drawn, Numbers)
        plain += bool(as_drawn.lower[0, 0] <= 500 <= as_drawn.upper[0, 0])
    assert held > 20 and plain == 0


@pytest.mark.parametrize("known", [-7, 7])
def test_a_number_known_by_its_noise_is_no_measured_count(known: int) -> None:
    """An order by such a number looks it up in no question, whatever its hash."""

    def unasked(question: int, level: int) -> Answers:
        raise AssertionError(f"question {question} was looked up")

    groups = MeasuredGroups(
        unasked, Schema.loads('dataset = "d"\n[columns.x]\nkind = "boolean"\n'), LEVELS
    )
    value = replace(interval(1.0, 2.0), origins={(-1, known, ""): 1})
    assert not groups.is_added_up(value)


def test_a_mean_of_nobody_may_be_what_stands_for_null() -> None:
    """Of the first group there may be no row: its interval is all that the bounds allow. The second surely has some."""
    means = Numbers(
        np.array([50.0, 50.0]),
        np.array([[20.0, 45.0]]),
        np.array([[80.0, 55.0]]),
        np.array([60.0, 2.5]),
        origins={(0, -1, ""): 1},
    )
    found = apply("coalesce", [means, Numbers.exact([0.0, 0.0], 1)], LEVELS)
    assert isinstance(found, Numbers)
    assert found.estimate.tolist() == [50, 50]
    assert found.lower.tolist() == [[0, 45]] and found.upper.tolist() == [[80, 55]]
