"""The work on answers: interval arithmetic, choices, ranks, and what the notes say."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion
from discreet.postprocessing import arithmetic
from discreet.postprocessing.across import across, ranks
from discreet.postprocessing.functions import apply
from discreet.postprocessing.logic import compared
from discreet.postprocessing.ratios import ratio_ends
from discreet.postprocessing.reading.statement import SUBTOTALS
from discreet.postprocessing.rows import unplaced
from discreet.postprocessing.values import Labels, Levels, Noise, Numbers
from discreet.privacy.laws import DiscreteLaplaceLaw
from tests.no_noise import without_noise

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
    found = ranks([values], np.array([0, 1, 2]), LEVELS, kind="rank", descends=True)
    assert found.estimate.tolist() == [1, 2, 3]
    assert found.lower.tolist() == [[1, 1, 3]] and found.upper.tolist() == [[2, 2, 3]]


def test_texts_and_numbers_do_not_mix() -> None:
    with pytest.raises(BadQuestion, match="takes numbers"):
        apply("+", [Labels.of(["a"]), interval(0, 1)], LEVELS)
    with pytest.raises(BadQuestion, match="lose its interval"):
        apply("concat", [Labels.of(["a"]), interval(0, 1)], LEVELS)


REFUSED = {
    "SELECT * FROM people": "never shown",
    "SELECT age FROM people ORDER BY age LIMIT 5": "never shown",
    "SELECT p.age FROM people p JOIN people q ON p.age = q.age": "declare a view",
    "SELECT a.n / b.n FROM (SELECT count(*) AS n FROM people) a, (SELECT 2 AS n) b": "as a number",
    "SELECT to_char(day, 'YYYY-MM') AS m, count(*) FROM people GROUP BY m": "strftime",
    "SELECT date_format(day, '%Y') AS m, count(*) FROM people GROUP BY m": "strftime",
    "SELECT strftime(day, '%j') AS m, count(*) FROM people GROUP BY m": "%Y, %m, %d",
    "SELECT strftime(day, 'year') AS m, count(*) FROM people GROUP BY m": "'%Y-%m'",
    f"SELECT strftime(day, '{'%d' * 30}') AS m, count(*) FROM people GROUP BY m": "40 letters",
    "SELECT dayname(age) AS d, count(*) FROM people GROUP BY d": "takes a date",
    "SELECT count(*) FROM elsewhere": "no table 'elsewhere'",
    "SELECT town, age, count(*) FROM people GROUP BY town": "add it to GROUP BY",
    "SELECT max(age) FROM people": "quantile",
    "SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)": "subquery",
    "SELECT avg(count(*)) FROM people GROUP BY town": "subquery",
    "SELECT count(*) FROM people WHERE count(*) > 3": "HAVING",
    "SELECT town, count(*) FROM people GROUP BY 7": "lists 2 columns",
    "SELECT town, count(*) FROM people GROUP BY town ORDER BY 9": "lists 2 columns",
    "SELECT town, count(*) FROM people GROUP BY town LIMIT -1": "whole number",
    "WITH RECURSIVE r AS (SELECT 1) SELECT count(*) FROM people": "RECURSIVE",
    "SELECT toun, count(*) FROM people GROUP BY toun": "'town'",
    "SELECT count(*) FROM (SELECT town FROM people LIMIT 5) t": "never shown",
    "SELECT n FROM (SELECT town, count(*) AS m FROM people GROUP BY town) t": "no column 'n'",
    "SELECT u.n FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t": "no table 'u'",
    "SELECT row_number() OVER (ORDER BY age) FROM people": "never shown",
    "SELECT count(*) FROM people EXCEPT SELECT 1": "UNION ALL",
    "SELECT rand(), count(*) FROM people": "nothing to do with the data",
    "SELECT sum(DISTINCT town) FROM people": "kind category",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused_is_refused_in_words_of_sql(
    sql: str, exact_release: Callable[[str], Answers]
) -> None:
    with pytest.raises(BadQuestion, match=REFUSED[sql]) as refusal:
        exact_release(sql)
    assert not any(
        word in str(refusal.value) for word in ("Expression", "sqlglot", "NullSafe", "Paren")
    )


def test_notes_say_what_the_intervals_leave_open(path, schema, tmp_path) -> None:
    """Noise of so small a budget is wider than the table; it is turned off, so chance decides nothing."""
    with (
        without_noise(),
        pytest.warns(UserWarning),
        dc.Curator(path, schema, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=100)) as curator,
    ):
        budget = dc.Budget(epsilon="1/1000")
        close = "SELECT town, count(*) AS n FROM people GROUP BY town"
        having = curator.ask(f"{close} HAVING count(*) > 600", budget=budget)
        assert any("HAVING goes by the estimates" in note for note in having.notes)
        limited = curator.ask(f"{close} ORDER BY n DESC LIMIT 2", budget=budget)
        assert any("LIMIT leaves out" in note for note in limited.notes)
        assert curator.spent == budget, "the same question is answered once"
        unknown = "SELECT town, count(*) AS n FROM people WHERE town IS NULL GROUP BY town"
        having = curator.ask(f"{unknown} HAVING count(*) > 600", budget=budget)
        (note,) = [each for each in having.notes if "HAVING goes by the estimates" in each]
        assert "null" in note and "None" not in note, "groups are named as in the table"


def test_one_charge_pays_for_all_questions_of_a_statement(path, schema, tmp_path) -> None:
    with (
        pytest.warns(UserWarning),
        dc.Curator(path, schema, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=100)) as curator,
    ):
        sql = (
            "SELECT count(*) FILTER (WHERE sex = 'f') AS f, count(*) FILTER (WHERE age > 3) AS o, "
            "avg(age) - (SELECT avg(age) FROM people WHERE town = 'ash') AS d FROM people"
        )
        curator.ask(sql, budget=dc.Budget(epsilon=1))
        assert curator.spent == dc.Budget(epsilon=1)
        curator.ask("SELECT DISTINCT town FROM people", budget=dc.Budget(epsilon=1))
        assert curator.spent == dc.Budget(epsilon=1), "declared values cost nothing"


def test_values_of_a_column_by_group_come_with_intervals_that_hold(
    exact_release: Callable[[str], Answers], truth: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    """The noise is off, so the true number is surely between the ends, and the mode is the true one."""
    counted = exact_release("SELECT sex, count(DISTINCT score) AS n FROM people GROUP BY sex")
    true = {
        row[0]: row[1] for row in truth("SELECT sex, count(DISTINCT score) FROM people GROUP BY 1")
    }
    for row in counted:
        sex = {"null": None, "(other)": "!x"}.get(row.group["sex"], row.group["sex"])
        assert row["n"].lower <= true[sex] <= row["n"].upper
    modes = exact_release("SELECT sex, mode(town) AS town FROM people GROUP BY sex")
    assert [row.group["town"] for row in modes] == ["ash"] * 4
    assert exact_release("SELECT mode(town) AS town FROM people")[0].group["town"] == "ash"


ALIKE = {
    "SELECT var(age) FROM people": "SELECT variance(age) FROM people",
    "SELECT sex, std(age) AS x FROM people GROUP BY sex": "SELECT sex, stddev(age) AS x FROM people GROUP BY sex",
    "SELECT varp(score) FROM people": "SELECT var_pop(score) FROM people",
    "SELECT width_bucket(age, 1, 7, 3) AS x, count(*) FROM people GROUP BY x": "SELECT CASE WHEN age < 1 THEN 0 "
    "WHEN age < 3 THEN 1 WHEN age < 5 THEN 2 WHEN age < 7 THEN 3 WHEN age >= 7 THEN 4 END AS x, count(*) "
    "FROM people GROUP BY x",
    "SELECT date_trunc('month', day) AS score, count(*) FROM people GROUP BY score": "SELECT "
    "date_trunc('month', day) AS score, count(*) FROM people GROUP BY 1",
    "SELECT count(ALL age) FROM people": "SELECT count(age) FROM people",
    "SELECT count(*) FROM (people) AS p WHERE p.age > 3": "SELECT count(*) FROM people WHERE age > 3",
    "SELECT sum(power(score, 2)) FROM people": "SELECT sum(score * score) FROM people",
    "SELECT sum(log(10, age + 1)) FROM people": "SELECT sum(log(age + 1)) FROM people",
}


@pytest.mark.parametrize("sql", ALIKE)
def test_other_spellings_ask_the_same(sql: str, exact_curator: Callable[[str], Answers]) -> None:
    found, usual = exact_curator(sql), exact_curator(ALIKE[sql])
    assert [row.group for row in found] == [row.group for row in usual]
    for one, other in zip(found.columns, usual.columns, strict=True):
        np.testing.assert_allclose(one.estimate, other.estimate)
        np.testing.assert_allclose(one.upper, other.upper)


@pytest.mark.parametrize(
    "asked", ["percentile_cont(0.9) WITHIN GROUP (ORDER BY age)", "quantile_cont(age, 0.9)"]
)
def test_a_note_says_that_quantiles_are_not_interpolated(
    asked: str, exact_release: Callable[[str], Answers], exact_curator: Callable[[str], Answers]
) -> None:
    for ask in (exact_release, exact_curator):
        found = ask(f"SELECT {asked} AS x FROM people")
        assert (
            found[0]["x"].estimate
            == ask("SELECT quantile(age, 0.9) AS x FROM people")[0]["x"].estimate
        )
        assert any("percentile_disc" in note for note in found.notes)
        plain = ask("SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY age) FROM people")
        assert not any("percentile_disc" in note for note in plain.notes)


def test_a_mode_stands_beside_other_numbers(exact_curator: Callable[[str], Answers]) -> None:
    found = exact_curator("SELECT sex, mode(town) AS town, count(*) AS n FROM people GROUP BY sex")
    assert [row.group["town"] for row in found] == ["ash"] * 4


NUMERALS = """
dataset = "pupils"
[unit]
identifier = "pid"
max_rows = 1
[columns.grade]
kind = "category"
values = ["1", "2", "9", "10", "11"]
"""


@pytest.fixture(scope="module")
def pupils(tmp_path_factory: pytest.TempPathFactory):
    place = tmp_path_factory.mktemp("pupils")
    rows = [
        f"{pid},{grade}" for pid, grade in enumerate(["1", "2", "2", "9", "10", "10", "11", ""])
    ]
    (place / "pupils.csv").write_text("pid,grade\n" + "\n".join(rows) + "\n")
    schema = dc.Schema.loads(NUMERALS)
    with without_noise(), pytest.warns(UserWarning):
        curator = dc.Curator(
            place / "pupils.csv", schema, ledger=place / "l.db", cap=dc.Budget(epsilon=1000)
        )
    with curator:
        yield lambda sql: curator.ask(sql, budget=dc.Budget(epsilon=1))


def test_a_category_of_numerals_has_the_order_of_its_numbers(pupils) -> None:
    """As texts '10' stands before '9'. Compared with a number, it is one."""
    assert pupils("SELECT count(*) AS n FROM pupils WHERE grade > 9")[0]["n"].estimate == 3
    assert pupils("SELECT count(*) AS n FROM pupils WHERE grade <= 9")[0]["n"].estimate == 4
    kept = pupils("SELECT grade, count(*) FROM pupils GROUP BY grade HAVING grade >= 9")
    assert [row.group["grade"] for row in kept] == ["9", "10", "11"]
    listed = pupils("SELECT grade FROM pupils GROUP BY grade ORDER BY CAST(grade AS INTEGER) DESC")
    assert [row.group["grade"] for row in listed][:3] == ["11", "10", "9"]


def test_a_count_of_the_identifier_counts_rows(pupils) -> None:
    assert pupils("SELECT count(pid) AS n FROM pupils")[0]["n"].estimate == 8
    within = "SELECT grade, count(pid) AS n FROM (SELECT pid, grade FROM pupils) t GROUP BY grade HAVING n > 1"
    assert [row["n"].estimate for row in pupils(within)] == [2, 2]


def test_powers_of_powers_are_refused_before_they_are_written_out(
    exact_curator: Callable[[str], Answers],
) -> None:
    """Written out it has 8^5 factors; the reader counts them before it goes on."""
    nested = "age"
    for _ in range(5):
        nested = f"power({nested}, 8)"
    with pytest.raises(BadQuestion, match="terms"):
        exact_curator(f"SELECT count(*) FROM people WHERE {nested} > 1")


def test_a_ratio_of_numbers_that_share_a_draw_is_left_to_the_union_bound() -> None:
    """(x + 100) / x: as if they were independent, the interval would be that of two noises."""
    x = noisy([1000.0])
    more = arithmetic.add(x, Numbers.exact([100.0], 1), LEVELS)
    assert ratio_ends(more, x, LEVELS) is None
    assert ratio_ends(more, noisy([1000.0], draw=1), LEVELS) is not None


OF_NOTHING = (
    "avg(age * 2 + score)", "avg(age::int * 1.0 / 2 - 1)",
    "avg(member::int)", "variance(age)", "stddev_pop(age)", "corr(age, score)", "avg(DISTINCT age)",
    "variance(DISTINCT age)", "sum(age) / count(*)",
)  # fmt: skip


@pytest.mark.parametrize("aggregate", OF_NOTHING)
def test_an_aggregate_of_no_rows_is_unknown_and_never_a_bound(
    aggregate: str, exact_release: Callable[[str], Answers]
) -> None:
    """greatest(null, 0) is 0 in SQL: a mean that was so kept within its bounds was the bound, without any doubt."""
    sql = f"SELECT sex, {aggregate} AS x FROM people WHERE town = 'oak' AND age = 8 GROUP BY sex"
    found = exact_release(sql).columns[0]
    assert (np.isnan(found.estimate) | (found.upper - found.lower > 0)).all()
    assert np.isnan(found.estimate).any()


@pytest.mark.parametrize(
    "aggregate", ["variance(age)", "power(count(*), 2)", "round(avg(age), 1)", "log(2, count(*))"]
)
def test_a_condition_that_no_row_can_meet_leaves_no_groups(
    aggregate: str, exact_release: Callable[[str], Answers]
) -> None:
    """A number that stands in no row was once taken for none."""
    sql = f"SELECT town, {aggregate} AS x FROM people WHERE town = 'ash' AND town = 'oak' GROUP BY town"
    assert len(exact_release(sql)) == 0


@pytest.mark.parametrize("which", ["exact_release", "exact_curator"])
def test_a_condition_inside_an_aggregate_takes_no_group_out_of_the_result(
    which: str, request: pytest.FixtureRequest
) -> None:
    """It once did: who asked for all towns, and beside them for one town, got that one alone."""
    ask = request.getfixturevalue(which)
    found = ask(
        "SELECT town, count(*) FILTER (WHERE town = 'oak') AS own, count(*) AS n, "
        "sum(age) FILTER (WHERE town = 'oak') AS s, avg(age) FILTER (WHERE town = 'ash') AS a "
        "FROM people GROUP BY town"
    )
    towns = [found.value(0, int(code)) for code in found.codes[:, 0]]
    everyone = ask("SELECT town, count(*) AS n FROM people GROUP BY town")
    own, n, total, mean = found.columns
    assert towns == [everyone.value(0, int(code)) for code in everyone.codes[:, 0]]
    assert n.estimate.tolist() == everyone.columns[0].estimate.tolist()
    is_oak = np.array([town == "oak" for town in towns])
    for column in (own, total):
        for numbers in (column.estimate, column.lower, column.upper):
            assert (numbers[~is_oak] == 0).all() and (numbers[is_oak] > 0).all()
    is_ash = np.array([town == "ash" for town in towns])
    assert (np.isnan(mean.estimate) == ~is_ash).all()
    share = ask(
        "SELECT town, count(*) FILTER (WHERE town = 'oak') / count(*) AS x FROM people "
        "WHERE town IN ('ash', 'oak') GROUP BY town ORDER BY x"
    ).columns[0]
    assert share.estimate.tolist() == [0, 1]


SMALL = """
dataset = "small"
[columns.town]
kind = "category"
values = ["ash", "elm", "oak"]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.member]
kind = "boolean"
"""


def test_groups_that_where_rules_out_have_no_draws_of_their_own(tmp_path) -> None:
    """Tables of pairs share draws. Groups before those that are left once shifted the weights: a crash."""
    table = tmp_path / "small.csv"
    table.write_text("town,sex,member\n" + "ash,f,yes\nelm,m,no\noak,f,no\noak,m,yes\n" * 50)
    made = dc.release(
        table,
        dc.Schema.loads(SMALL),
        budget=dc.Budget(epsilon=4),
        workload=["marginals(2)"],
        ledger=tmp_path / "ledger.db",
    )
    asked = "SELECT town, count(*) - count(*) FILTER (WHERE sex = 'f') AS x FROM small"
    whole = made.ask(f"{asked} GROUP BY town").columns[0]
    for towns, places in {"'oak'": [2], "'elm', 'oak'": [1, 2], "'ash', 'oak'": [0, 2]}.items():
        some = made.ask(f"{asked} WHERE town IN ({towns}) GROUP BY town").columns[0]
        assert some.estimate == pytest.approx(whole.estimate[places])
        assert some.upper - some.lower == pytest.approx((whole.upper - whole.lower)[places])


def test_a_ratio_of_nothing_with_hardly_any_noise_has_ends() -> None:
    """Noise that is 0 nearly always has no width: 0 / 1000 has an interval, and finding it comes to an end."""
    still = Fraction(1, 50)
    found = ratio_ends(noisy([0.0], 0, still), noisy([1000.0], 1, still), LEVELS)
    assert found is not None
    assert [float(end[0, 0]) for end in found] == [0.0, 0.0]


CANNOT_BE_WORKED = {
    "SELECT town + 1 AS x, count(*) FROM people GROUP BY town": "takes numbers",
    "SELECT town || count(*) AS x FROM people GROUP BY town": "lose its interval",
    "SELECT count(*) - (SELECT count(*) FROM people GROUP BY sex) AS x FROM people": "LIMIT 1",
    "SELECT count(*) FROM people UNION ALL SELECT sex, count(*) FROM people GROUP BY sex": "different numbers",
    "SELECT power(count(*), count(*)) AS x FROM people": "exponent",
    "SELECT CASE WHEN count(*) > 3 THEN 'a' ELSE count(*) END AS x FROM people": "all numbers, or all texts",
}


@pytest.mark.parametrize("sql", CANNOT_BE_WORKED)
def test_work_that_cannot_be_done_is_refused_before_the_charge(
    sql: str, path, schema, tmp_path
) -> None:
    with (
        pytest.warns(UserWarning),
        dc.Curator(path, schema, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=100)) as curator,
    ):
        with pytest.raises(BadQuestion, match=CANNOT_BE_WORKED[sql]) as refusal:
            curator.ask(sql, budget=dc.Budget(epsilon=1))
        assert "Nothing was read or charged" in str(refusal.value)
        assert curator.left == dc.Budget(epsilon=100)


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


def test_results_of_with_are_not_joined_and_the_refusal_says_what_compares_them(
    exact_release: Callable[[str], Answers],
) -> None:
    joined = "WITH m AS (SELECT town, count(*) AS n FROM people GROUP BY town) SELECT a.n FROM m a JOIN m b ON a.town = b.town"
    with pytest.raises(BadQuestion, match=r"between results of WITH.*lag\(n, 12\) OVER"):
        exact_release(joined)
    with pytest.raises(BadQuestion, match="declare a view"):
        exact_release("SELECT count(*) FROM people JOIN towns ON people.town = towns.town")


def test_subtotals_are_said_to_be_told_from_nulls_by_grouping(
    exact_release: Callable[[str], Answers],
) -> None:
    asked = "SELECT sex, town, {}count(*) AS n FROM people GROUP BY ROLLUP (sex, town)"
    assert SUBTOTALS in exact_release(asked.format("")).notes
    told = exact_release(asked.format("grouping(sex) AS g, "))
    assert SUBTOTALS not in told.notes
    assert {row.group["g"] for row in told} == {"0", "1"}


def test_means_and_shares_stay_where_they_can_be_whatever_the_noise(tmp_path: Path) -> None:
    """Groups of no rows at a tiny budget: quotients of noise lie anywhere. No chance is in it, for every number is cut."""
    schema = dc.Schema.loads(
        'dataset = "t"\n[columns.g]\nkind = "category"\nvalues = ["a", "b", "c", "d"]\n'
        '[columns.x]\nkind = "integer"\nrange = [0, 9]\n'
    )
    table = pandas.DataFrame({"g": ["a"] * 40, "x": [3, 7] * 20})
    means = {
        "avg(CASE WHEN x > 4 THEN 1.0 ELSE 0 END)": (0, 1),
        "avg(CASE WHEN x > 4 THEN 5 WHEN x > 2 THEN -3 END)": (-3, 5),
        "avg(x > 4)": (0, 1),
        "count(*) FILTER (WHERE x > 4) * 1.0 / count(*)": (0, math.inf),
    }
    with dc.Curator(table, schema, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=10)) as curator:
        for asked, (low, high) in means.items():
            found = curator.ask(
                f"SELECT g, {asked} AS m FROM t GROUP BY g", budget=dc.Budget(epsilon="1/10")
            ).columns[0]
            there = ~np.isnan(found.lower)
            assert (found.lower[there] >= low).all() and (found.upper[there] <= high).all(), asked
            known = ~np.isnan(found.estimate)
            assert ((found.estimate[known] >= low) & (found.estimate[known] <= high)).all(), asked


def test_the_least_of_groups_counts_empty_ones_and_says_how_to_leave_them_out(
    exact_release: Callable[[str], Answers], exact_curator: Callable[[str], Answers]
) -> None:
    """Every declared group is there: which one is empty is not known to anyone who asks."""
    least = "SELECT min(n) AS least FROM (SELECT score, count(*) AS n FROM people GROUP BY score) t"
    for ask in (exact_release, exact_curator):
        found = ask(least)
        assert any("WHERE column IN" in note for note in found.notes)
        named = ask(f"{least} WHERE score IN (1, 2)")
        assert named.only.estimate > found.only.estimate


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM people WHERE date_diff('year', day, DATE '2023-12-31') > 3",
        "SELECT date_part('year', age(day)) AS y, count(*) FROM people GROUP BY 1",
    ],
)
def test_a_difference_of_dates_by_name_is_refused_with_the_way_to_write_it(
    sql: str, exact_release: Callable[[str], Answers]
) -> None:
    with pytest.raises(BadQuestion, match=r"year\(DATE '2023-12-31'\) - year\(d\)"):
        exact_release(sql)
    exact_release("SELECT count(*) FROM people WHERE year(DATE '2023-12-31') - year(day) > 3")
