"""Statements that are refused: in words of SQL, with what to write instead, and before anything is charged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import discreet as dc
from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion


def _grown(times: int) -> str:
    """A text that grows tenfold with each call."""
    text = "'aaaaaaaaaa'"
    for _ in range(times):
        text = f"replace({text}, 'a', 'aaaaaaaaaa')"
    return text


_DOUBLED = ", ".join(f"a{n} AS (SELECT x || x AS x FROM a{n - 1})" for n in range(1, 40))
REFUSED = {
    f"SELECT length({_grown(4)}) AS x, count(*) FROM people": "4,096 letters",
    f"SELECT length({_grown(20)}) AS x, count(*) FROM people": "4,096 letters",
    f"WITH a0 AS (SELECT town AS x, count(*) FROM people GROUP BY town), {_DOUBLED} SELECT x FROM a39": "4,096 letters",
    f"SELECT age, count(*) FROM people WHERE age > 2 GROUP BY age HAVING '{'a' * 4000}' LIKE '{'%a' * 2000}b'": "shorter pattern",
    "SELECT * FROM people": "never shown",
    "SELECT EXISTS (SELECT 1 FROM people UNION ALL SELECT 2 FROM people)": "never shown",
    "SELECT count(*), EXISTS (1) FROM people": "takes a subquery",
    "SELECT count(*) FROM people WHERE town IN (SELECT town FROM people GROUP BY town)": "WHERE over rows takes no subquery",
    "SELECT avg(grade) FROM people": "write avg.CAST.grade AS DOUBLE",
    "SELECT avg(CAST(town AS INTEGER)) FROM people": "No declared value of column 'town' is a number",
    "SELECT": "nothing to show",
    "SELECT FROM people": "nothing to show",
    "SELECT count(*) FROM (SELECT) AS t": "nothing to show",
    "SELECT age FROM people ORDER BY age LIMIT 5": "never shown",
    "SELECT p.age FROM people p JOIN people q ON p.age = q.age": "declare a view",
    "SELECT to_char(day, 'YYYY-WW') AS m, count(*) FROM people GROUP BY m": "to_char.*YYYY, MM",
    "SELECT to_char(day, '---') AS m, count(*) FROM people GROUP BY m": "part of the date",
    "SELECT to_char(day, age) AS m, count(*) FROM people GROUP BY m": "pattern in quotes",
    f"SELECT to_char(day, '{'DD' * 30}') AS m, count(*) FROM people GROUP BY m": "40 letters",
    "SELECT extract(epoch FROM day) AS m, count(*) FROM people GROUP BY m": "isoyear, decade, century",
    "SELECT time_bucket(INTERVAL '15 minutes', day) AS m, count(*) FROM people GROUP BY m": "extract.hour FROM d.*/ 15",
    "SELECT count(*) FROM people WHERE day::time < '06:00'": "extract.hour FROM d",
    "SELECT count(*) FROM people WHERE 1.5 // age = 1": "floor.a / b",
    "SELECT left(town, score) AS t, count(*) FROM people GROUP BY t": "one column of kind category",
    "SELECT substr(town, -2) AS t, count(*) FROM people GROUP BY t": "right.text, n",
    "SELECT date_format(day, '%Y') AS m, count(*) FROM people GROUP BY m": "strftime",
    "SELECT strftime(day, '%j') AS m, count(*) FROM people GROUP BY m": "%Y, %m, %d",
    "SELECT strftime(day, 'year') AS m, count(*) FROM people GROUP BY m": "'%Y-%m'",
    f"SELECT strftime(day, '{'%d' * 30}') AS m, count(*) FROM people GROUP BY m": "40 letters",
    "SELECT dayname(age) AS d, count(*) FROM people GROUP BY d": "takes a date",
    "SELECT count(*) FROM elsewhere": "no table 'elsewhere'",
    "SELECT sex, count(*) * 1.0 / (SELECT count(*) FROM people q WHERE q.sex = people.sex) AS s FROM people GROUP BY sex": (
        "no table 'people'.*query around it"
    ),
    "SELECT sex, (SELECT count(*) FROM people WHERE sex = p.sex) AS s FROM people p GROUP BY sex": "query around it",
    "SELECT people.sex, count(*) FROM people p GROUP BY 1": "goes by the alias alone",
    "WITH t AS (SELECT sex, count(*) AS n FROM people GROUP BY sex) "
    "SELECT sex, (SELECT sum(n) FROM t u WHERE u.sex = t.sex) FROM t": "query around it",
    "SELECT count(*) FROM people WHERE town (km) > 3": "in double quotes: town",
    "SELECT town, age, count(*) FROM people GROUP BY town": "add it to GROUP BY",
    "SELECT max(age) FROM people": "quantile",
    "SELECT count(*) FROM people WHERE datediff('week', day, day) > 7": "Seven days are a week",
    "SELECT count(*) FROM people WHERE timestampdiff(day, day, day) > 7": "datediff.'day', d1, d2. of two columns",
    "SELECT count(*) FROM people WHERE day > day + INTERVAL '7 months'": "d \\+ 7",
    "SELECT datediff('day', min(day), max(day)) FROM people": "datediff\\(\\) is not answered",
    "SELECT count(*) FROM people; SELECT count(*) FROM people": "a question of its own",
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
    "SELECT town, sum(count(*)) OVER w AS s FROM people GROUP BY town": "into the brackets of OVER",
    "SELECT town, sum(count(*)) OVER (ORDER BY town ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) FROM people GROUP BY town": "EXCLUDE",
    "SELECT town, lag(count(*), NULL) OVER (ORDER BY town) FROM people GROUP BY town": "whole number",
    "SELECT town, ntile(count(*)) OVER (ORDER BY town) FROM people GROUP BY town": "whole number",
    "SELECT min(x) FROM (SELECT town AS x, count(*) FROM people GROUP BY town UNION ALL SELECT age, count(*) FROM people GROUP BY age) t": "one kind",
    "SELECT avg(town) FROM (SELECT town, count(*) FROM people GROUP BY town) t": "takes numbers",
    "SELECT count(*) FROM people EXCEPT SELECT 1": "UNION ALL",
    "SELECT rand(), count(*) FROM people": "nothing to do with the data",
    "SELECT sum(DISTINCT town) FROM people": "kind category",
    "SELECT age FROM people": "never shown",
    "SELECT ntile(4) OVER (ORDER BY age) AS q, count(*) FROM people GROUP BY q": "number single rows.*width_bucket",
    'SELECT count(*) FROM people WHERE town = "ash"': "^Double quotes are for names; .*: 'ash'",
    "SELECT town, age FROM people WHERE age > 3": "never shown",
    "SELECT avg(*) FROM people": "Only count.* takes a .; name the column",
    "SELECT count(*) FROM people TABLESAMPLE BERNOULLI (1)": "TABLESAMPLE is not answered: .* all rows",
    "SELECT [town].[x], count(*) FROM people": "double quotes, and not in square brackets",
    "SELECT extract(year FROM CURRENT_DATE) AS y, count(*) FROM people": "write the date",
    "SELECT now() - day, count(*) FROM people GROUP BY day": "write the date",
    "SELECT month(age), count(*) FROM people GROUP BY age": "takes dates",
    "SELECT month(count(*)) FROM people": "takes dates, and no numbers",
    "SELECT count(*) FROM people WHERE town = TRUE": "Compare it with a text such as 'ash'",
    "SELECT count(*) FROM people WHERE day = '2020-02-30'": "'2020-02-30', which is compared with column 'day'",
    "SELECT count(*) FROM people WHERE day = DATE '2020-02-30'": "The date '2020-02-30' is not readable",
    "SELECT var_pop(town) FROM people": "'town' is of kind category",
    "SELECT lag(n IGNORE NULLS) OVER (ORDER BY town) FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t": "^IGNORE NULLS",
    "SELECT * FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t PIVOT (sum(n) FOR town IN ('ash'))": "^PIVOT .*FILTER",
    "SELECT * FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t TABLESAMPLE (5 ROWS)": "^TABLESAMPLE",
    "WITH t AS (SELECT town, count(*) AS n FROM people GROUP BY town) SELECT * FROM t TABLESAMPLE (5 ROWS)": "^TABLESAMPLE",
    "SELECT town, count(*) FROM people GROUP BY town WITH TOTALS": "WITH TOTALS is not answered. Write GROUP BY ROLLUP",
    "SELECT town, count(*) AS n FROM people GROUP BY town UNION ALL BY NAME SELECT town, 1 AS n": "^UNION BY NAME .*same order",
    "SELECT town, count(*) AS n FROM people GROUP BY town ORDER BY n LIMIT 1 BY town": "^LIMIT ... BY",
    "SELECT town, rank() OVER (ORDER BY count(*)) AS r FROM people GROUP BY ROLLUP (town)": "into a subquery",
    "WITH t(a) AS (SELECT town, count(*) FROM people GROUP BY town) SELECT a FROM t": "t.a. names 1 columns, and there are 2",
    "WITH t(a, a) AS (SELECT town, count(*) FROM people GROUP BY town) SELECT a FROM t": "two columns alike",
    "SELECT * EXCLUDE (m) FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t": "EXCLUDE names 'm'",
    "SELECT x.* FROM (SELECT y.* FROM people) x": "no table 'y'",
    "SELECT avg(age) FROM (SELECT *, age + 1 AS age FROM people) x": "several columns 'age'",
    "SELECT round(avg(age), 1, TRUE) FROM people": "plain form only: without truncate",
    "SELECT CAST(avg(age) AS INTEGER DEFAULT 0 ON CONVERSION ERROR) FROM people": "^CAST ... DEFAULT",
    "SELECT log10(avg(age), 2) FROM people": "fewer arguments than the 2",
    "SELECT mode() FROM people": "takes a column",
    "SELECT mode(DISTINCT age) FROM people": "without DISTINCT",
    "SELECT var_map(age) FROM people": "other arguments",
    "SELECT width_bucket(age, 1) AS w, count(*) FROM people GROUP BY w": "four values",
    "SELECT town, grouping(sex), count(*) FROM people GROUP BY ROLLUP (town)": "keys of GROUP BY",
    "SELECT floor() AS x, n FROM (SELECT count(*) AS n FROM people) t": "floor",
    "SELECT town, n FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t ORDER BY left(town, 'a')": "numbers or texts",
    "SELECT town, sum(n) FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t GROUP BY 1, 2": "takes no aggregate",
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


def test_powers_of_powers_are_refused_before_they_are_written_out(
    exact_curator: Callable[[str], Answers],
) -> None:
    """Written out it has 8^5 factors; the reader counts them before it goes on."""
    nested = "age"
    for _ in range(5):
        nested = f"power({nested}, 8)"
    with pytest.raises(BadQuestion, match="terms"):
        exact_curator(f"SELECT count(*) FROM people WHERE {nested} > 1")


def _doubled(first: str, following: str, last: str, times: int) -> str:
    """Results of WITH, each of which uses the one before twice."""
    steps = [f"t0 AS ({first})"]
    steps += [f"t{n} AS ({following})".replace("BEFORE", f"t{n - 1}") for n in range(1, times + 1)]
    return f"WITH {', '.join(steps)} {last.replace('BEFORE', f't{times}')}"


TOWNS = "SELECT town, count(*) AS n FROM people GROUP BY town"
GROWING = {
    "cube": (
        f"SELECT count(*) FROM people GROUP BY CUBE({', '.join(['town', 'sex'] * 6)})",
        "4,096 grouping sets",
    ),
    "a cube of hundreds": (
        f"SELECT count(*) FROM people GROUP BY CUBE({', '.join(['town'] * 300)})",
        "more than a million grouping sets",
    ),
    "cubes": (
        f"SELECT count(*) FROM people GROUP BY {', '.join(['CUBE(town, sex, age, day)'] * 100)}",
        "grouping sets",
    ),
    "results of WITH": (
        _doubled(
            TOWNS,
            "SELECT * FROM BEFORE UNION ALL SELECT * FROM BEFORE",
            "SELECT sum(n) FROM BEFORE",
            10,
        ),
        "results of WITH",
    ),
    "numbers of WITH": (
        _doubled(
            "SELECT count(*) AS n FROM people",
            "SELECT (SELECT n FROM BEFORE) + (SELECT n FROM BEFORE) AS n",
            "SELECT n FROM BEFORE",
            10,
        ),
        "results of WITH",
    ),
    "columns of subqueries": (
        _doubled(
            "SELECT age > 1 AS x FROM people",
            "SELECT (x AND x) AS x FROM BEFORE",
            "SELECT count(*) FROM BEFORE WHERE x",
            11,
        ),
        "10,000 parts",
    ),
    "names": (
        f"SELECT count(*) AS n0, {', '.join(f'n{n} + n{n} AS n{n + 1}' for n in range(13))} FROM people",
        "names that SELECT gives",
    ),
}


@pytest.mark.parametrize("what", GROWING)
def test_what_grows_without_an_end_once_it_is_written_out_is_refused_before(
    what: str, exact_curator: Callable[[str], Answers]
) -> None:
    """A few hundred characters would else fill the memory of a service that answers anybody."""
    sql, words = GROWING[what]
    with pytest.raises(BadQuestion, match=words):
        exact_curator(sql)


def test_groupings_that_repeat_are_shown_as_often_and_measured_once(
    exact_curator: Callable[[str], Answers],
) -> None:
    """As in DuckDB. Three to the power of 16 of them are too many."""
    once = exact_curator("SELECT town, count(*) FROM people GROUP BY town")
    total = exact_curator("SELECT count(*) FROM people")
    repeated = exact_curator(
        "SELECT town, count(*) FROM people GROUP BY ROLLUP(town), ROLLUP(town)"
    )
    assert len(repeated) == 3 * len(once) + len(total)
    with pytest.raises(BadQuestion, match="at most 1,000"):
        exact_curator(f"SELECT count(*) FROM people GROUP BY {', '.join(['ROLLUP(town)'] * 16)}")


def test_a_number_that_no_double_holds_is_null(exact_curator: Callable[[str], Answers]) -> None:
    answers = exact_curator("SELECT 1e308 * 10 AS x, count(*) AS n FROM people")
    assert answers.groups == ("x",) and answers.value(0, int(answers.codes[0, 0])) is None


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


GROUPS = "(SELECT town, count(*) AS n FROM people GROUP BY town)"
NOT_JOINED = {
    "SELECT count(*) FROM people JOIN towns ON people.town = towns.town": "no table 'towns'",
    "SELECT count(*) FROM people p JOIN people q ON p.town = q.town": "declare a view",
    f"SELECT count(*) FROM people p JOIN {GROUPS} a ON p.town = a.town": "declare a view",
    f"SELECT town FROM {GROUPS} a JOIN {GROUPS} b ON a.town = b.town": "write the table's name before it",
    f"SELECT a.town FROM {GROUPS} a JOIN {GROUPS} b ON a.n = b.n": "equal to another one by chance",
    f"SELECT a.town FROM {GROUPS} a JOIN {GROUPS} b ON a.town > b.town": "ON takes equalities",
    f"SELECT a.town FROM {GROUPS} a JOIN {GROUPS} b ON a.town = b.place": "ON takes equalities",
    f"SELECT a.town FROM {GROUPS} a JOIN {GROUPS} b USING (place)": "both sides need one column",
    f"SELECT a.town FROM {GROUPS} a NATURAL JOIN {GROUPS} b": "NATURAL JOIN is not answered",
    f"SELECT a.town FROM {GROUPS} a LEFT JOIN {GROUPS} b": "needs ON or USING",
    f"SELECT town FROM {GROUPS} JOIN {GROUPS} b USING (town)": "needs a name",
    f"SELECT c.n FROM {GROUPS} a JOIN {GROUPS} b USING (town)": "no table 'c'",
    "SELECT a.n FROM (SELECT age, score, town, sex, count(*) AS n FROM people GROUP BY age, score, town, sex) a, (SELECT age, score, town, sex, "
    "count(*) AS n FROM people GROUP BY age, score, town, sex) b": "more than 100,000 rows",
}


@pytest.mark.parametrize("sql", NOT_JOINED)
def test_a_join_that_is_not_answered_is_refused_with_what_to_write(
    sql: str, exact_release: Callable[[str], Answers]
) -> None:
    with pytest.raises(BadQuestion, match=NOT_JOINED[sql]):
        exact_release(sql)


@pytest.mark.parametrize(
    "window",
    [
        "avg(count(*)) OVER (ORDER BY age ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)",
        "avg(count(*)) OVER (ORDER BY age RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "avg(count(*)) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "rank() OVER (ORDER BY age ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    ],
)
def test_a_frame_that_is_not_answered_is_refused_with_one_that_is(
    window: str, exact_release: Callable[[str], Answers]
) -> None:
    with pytest.raises(
        BadQuestion, match=r"ROWS BETWEEN 2 PRECEDING AND CURRENT ROW|ORDER BY in its"
    ):
        exact_release(f"SELECT age, {window} AS x FROM people GROUP BY age")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM people WHERE timestampdiff(year, day, DATE '2023-12-31') > 3",
        "SELECT date_part('year', age(day)) AS y, count(*) FROM people GROUP BY 1",
    ],
)
def test_a_difference_of_dates_by_name_is_refused_with_the_way_to_write_it(
    sql: str, exact_release: Callable[[str], Answers]
) -> None:
    with pytest.raises(BadQuestion, match=r"year\(DATE '2023-12-31'\) - year\(d\)"):
        exact_release(sql)
    exact_release("SELECT count(*) FROM people WHERE year(DATE '2023-12-31') - year(day) > 3")
