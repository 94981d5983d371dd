"""What statements answer: groups, spellings, bounds of what they give, and what the notes say."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import discreet as dc
from discreet.artifacts.answer import Unit
from discreet.artifacts.answers import Answers
from discreet.postprocessing.across import across
from discreet.postprocessing.reading.statement import SUBTOTALS
from discreet.postprocessing.values import Levels, Noise, Numbers
from discreet.privacy.laws import DiscreteLaplaceLaw
from tests.no_noise import without_noise


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
        assert any("HAVING follows the estimates" in note for note in having.notes)
        limited = curator.ask(f"{close} ORDER BY n DESC LIMIT 2", budget=budget)
        assert any("LIMIT leaves out" in note for note in limited.notes)
        assert curator.spent == budget, "the same question is answered once"
        for work, said in (
            ("SELECT town, sum(n) OVER (ORDER BY n) AS s FROM", "sum() OVER follows the estimates"),
            ("SELECT town, n FROM", "QUALIFY follows the estimates"),
            ("SELECT sum(n) FILTER (WHERE n > 600) AS s FROM", "FILTER follows the estimates"),
        ):
            more = " QUALIFY rank() OVER (ORDER BY n) = 1" if "QUALIFY" in said else ""
            found = curator.ask(f"{work} ({close}) t{more}", budget=budget)
            assert any(said in note for note in found.notes), (work, found.notes)
        assert curator.spent == budget
        unknown = "SELECT town, count(*) AS n FROM people WHERE town IS NULL GROUP BY town"
        having = curator.ask(f"{unknown} HAVING count(*) > 600", budget=budget)
        (note,) = [each for each in having.notes if "HAVING follows the estimates" in each]
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
    "SELECT `town`, count(*) FROM `people` GROUP BY `town`": "SELECT town, count(*) FROM people GROUP BY town",
    "SELECT count(*) FROM people WHERE truncate(age * 5, -1) = 30": "SELECT count(*) FROM people WHERE "
    "trunc(age * 5, -1) = 30",
    "SELECT count(*) FROM (people) AS p WHERE p.age > 3": "SELECT count(*) FROM people WHERE age > 3",
    "SELECT to_char(day, 'YYYY-MM') AS x, count(*) FROM people GROUP BY x": "SELECT strftime(day, '%Y-%m') AS x, "
    "count(*) FROM people GROUP BY x",
    "SELECT to_char(day, 'FMDay, DD. Mon \"Q\"') AS x, count(*) FROM people GROUP BY x": "SELECT "
    "strftime(day, '%A, %d. %b Q') AS x, count(*) FROM people GROUP BY x",
    "SELECT to_char(day, 'YYYY\"-Q\"Q') AS x, count(*) FROM people GROUP BY x": "SELECT "
    "year(day) || '-Q' || quarter(day) AS x, count(*) FROM people GROUP BY x",
    "SELECT count(*) FROM people WHERE date_diff(day, DATE '2020-01-05', DAY) > 3": "SELECT count(*) FROM people "
    "WHERE day - DATE '2020-01-05' > 3",
    "SELECT count(*) FROM people WHERE datediff(day, '2020-01-05') > 3": "SELECT count(*) FROM people "
    "WHERE day - DATE '2020-01-05' > 3",
    "SELECT datediff(month, DATE '2019-01-05', people.day) AS x, count(*) FROM people GROUP BY x": "SELECT "
    "datediff('month', DATE '2019-01-05', day) AS x, count(*) FROM people GROUP BY x",
    "SELECT time_bucket('1 month', day) AS x, count(*) FROM people GROUP BY x": "SELECT date_trunc('month', day) AS x, "
    "count(*) FROM people GROUP BY x",
    "SELECT count(*) FROM people WHERE age DIV 3 = 1": "SELECT count(*) FROM people WHERE age BETWEEN 3 AND 5",
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


def test_truth_values_are_compared_with_a_category_of_yes_and_no(tmp_path) -> None:
    """'1' is true, in WHERE and in HAVING; a category of other texts is refused, and never silently 0."""
    text = 'dataset = "members"\n[columns.active]\nkind = "category"\nvalues = ["0", "1"]\n'
    (tmp_path / "m.csv").write_text("active\n" + "1\n" * 5 + "0\n" * 3)
    with without_noise(), pytest.warns(UserWarning):
        curator = dc.Curator(
            tmp_path / "m.csv",
            dc.Schema.loads(text),
            ledger=tmp_path / "l.db",
            cap=dc.Budget(epsilon=99),
        )
    with curator:

        def ask(sql: str) -> Answers:
            return curator.ask(sql, budget=dc.Budget(epsilon=1))

        assert ask("SELECT count(*) AS n FROM members WHERE active = TRUE")[0]["n"].estimate == 5
        assert ask("SELECT count(*) AS n FROM members WHERE active = false")[0]["n"].estimate == 3
        kept = ask(
            "SELECT active, count(*) FROM members GROUP BY active HAVING NOT (active = true)"
        )
        assert [row.group["active"] for row in kept] == ["0"]


def test_neighbours_in_an_order_are_groups_that_have_a_place_in_it(
    exact_curator: Callable[[str], Answers], truth: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    """Null and (other) are listed also where they are empty: they are nobody's neighbour, and have none."""
    sql = "SELECT town, lag(count(*)) OVER (ORDER BY town) AS before, lead(count(*), 1, -1) OVER (ORDER BY town) AS after FROM people GROUP BY town"
    found = {row.group["town"]: row for row in exact_curator(sql)}
    counts = dict(truth("SELECT town, count(*) FROM people GROUP BY town"))
    assert np.isnan(found["ash"]["before"].estimate)
    assert found["elm"]["before"].estimate == counts["ash"]
    assert found["elm"]["after"].estimate == counts["oak"]
    assert found["oak"]["after"].estimate == -1
    for group in ("null", "(other)"):
        assert np.isnan(found[group]["before"].estimate) and found[group]["after"].estimate == -1
    assert any("no place in an order" in note for note in exact_curator(sql).notes)


def test_chosen_values_have_no_interval_of_their_own(
    exact_curator: Callable[[str], Answers],
) -> None:
    """WHERE rules out groups of a mode as it does those of a count."""
    found = exact_curator(
        "SELECT town, mode(sex) FROM people WHERE town IN ('ash', 'oak') GROUP BY town"
    )
    assert [row.group["town"] for row in found] == ["ash", "oak"] and not found.columns
    assert any("rows fewer than the fullest cell" in note for note in found.notes)


def test_a_refusal_of_a_release_names_what_it_can_answer(path, schema, tmp_path) -> None:
    reader = dc.release(
        path, schema, budget=dc.Budget(epsilon=1), workload=["means(age)", "marginals(sex)"],
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    with pytest.raises(
        dc.NotAnswerable,
        match=r"marginals\(age\).*missing is stddev\(age\).*avg\(age\) is answered",
    ):
        reader.ask("SELECT avg(age), stddev(age) AS spread FROM people ORDER BY 1")
    with pytest.raises(dc.NotAnswerable, match=r"without it, count\(\*\), avg\(age\) are answered"):
        reader.ask("SELECT count(*), avg(age), avg(score) FROM people")
    with pytest.raises(dc.NotAnswerable) as refusal:
        reader.ask("SELECT variance(score), avg(score) FROM people")
    assert "without it" not in str(refusal.value)


def test_a_measured_mean_also_gives_the_sum(path, schema, tmp_path, truth) -> None:
    """From the sum from the middle of the bounds and the count beside it; at confidence 1 - 1e-9."""
    reader = dc.release(
        path, schema, budget=dc.Budget(epsilon=1), workload=["means(age)"], ledger=tmp_path / "l.db"
    )
    ((exact,),) = truth("SELECT sum(age) FROM people")
    found = reader.ask("SELECT sum(age) FROM people", confidence=1 - 1e-9).only
    assert found.lower <= exact <= found.upper
    assert 0 < found.upper - found.lower < exact / 4


def test_a_literal_with_a_zone_is_the_moment_that_it_names(
    exact_release: Callable[[str], Answers], exact_curator: Callable[[str], Answers]
) -> None:
    asked = "SELECT count(*) FROM people WHERE day > {}"
    for ask in (exact_release, exact_curator):
        wanted = ask(asked.format("TIMESTAMP '2020-01-05 12:00:00'")).only.estimate
        for moment in ("2020-01-05 12:00:00+00", "2020-01-05 14:00:00+02", "2020-01-05T12:00:00Z"):
            assert ask(asked.format(f"TIMESTAMPTZ '{moment}'")).only.estimate == wanted
    with pytest.raises(dc.BadQuestion, match="CAST takes"):
        exact_release(asked.format("CAST(day AS TIMESTAMPTZ)"))


def test_a_mean_of_counts_that_noise_pushed_below_zero_starts_at_zero_and_keeps_its_width() -> None:
    law, levels = DiscreteLaplaceLaw(Fraction(5)), Levels(Fraction(95, 100))
    noise = Noise(np.array([-30.0, 0.0, -30.0, 400.0]), {(0, 0, ""): (1.0, law, 1)})
    nothing = np.zeros(4)
    counts = Numbers(
        np.maximum(noise.value, 0), nothing[None], nothing[None] + 500, nothing, unit=Unit.COUNT,
        origins={(0, 0, ""): 1}, noise=noise,
    )  # fmt: skip
    groups = [np.array([0, 1, 2]), np.array([1, 2, 3])]
    found = across("avg", counts, groups, levels, level=0.5, tag="t")
    assert isinstance(found, Numbers)
    assert found.estimate.tolist() == [0.0, pytest.approx(370 / 3)]
    assert found.lower[0, 0] == 0.0
    width = found.upper[0, 1] - 370 / 3
    assert found.upper[0, 0] == pytest.approx(width) and width > 0
